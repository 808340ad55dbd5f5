/* SPDX-License-Identifier: BSD-3-Clause */
/* The names in a directory, as they are at one moment, in the order of their bytes. */
#ifndef SLUICE_COMMAND_LISTING_H
#define SLUICE_COMMAND_LISTING_H

#include <stddef.h>

struct listing {
    char *text;   /* the names, each with its 0 */
    char **names; /* n of them, without "." and ".." */
    size_t n;
};

/* Reads the names in the open directory. 0 or a negative errno; then there is nothing to free. */
int listing_read(struct listing *l, int dir_fd);
void listing_free(struct listing *l);

#endif
