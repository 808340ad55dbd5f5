/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of --files-from: only these take part in a sync, with the directories that they are in.
 * Of a directory that is named, what is in it takes no part.
 */
#ifndef SLUICE_COMMAND_CHOSEN_H
#define SLUICE_COMMAND_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/sync/name_set.h"

struct chosen {
    char **list; /* n of them, in the order in which they came */
    size_t n, size;
    struct name_set names;
};

/* Zero has no names. */
void chosen_fini(struct chosen *c);
/* Adds a name, relative to the source. Slashes at both ends, and "./", mean nothing. NULL, or what
 * is wrong with it. */
const char *chosen_add(struct chosen *c, const char *name);
/* Adds each line of the file, but for empty ones and those that begin with # or ;. Returns an exit
 * code; the error is printed. path "-": standard input. */
int chosen_read(struct chosen *c, const char *path);
/* Whether this takes part. */
bool chosen_has(const struct chosen *c, const char *name, bool directory);

#endif
