/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A manifest in memory: names of files with the hashes of their contents, and of symbolic links.
 *
 * Invariant: after manifest_sort() and manifest_unique(), names are in the order of their bytes,
 * and no name is there twice.
 */
#ifndef SLUICE_COMMAND_MANIFEST_H
#define SLUICE_COMMAND_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/files/record.h"
#include "sluice/manifest/identity.h"

/* A file whose hash is not known yet. */
struct manifest_unread {
    struct identity identity; /* path is not "": it must still be this file */
    char path[];              /* to open; "": the item's name, below the root */
};

struct manifest_item {
    char *name;
    char *target;                   /* of a symbolic link; NULL: it is a file */
    struct manifest_unread *unread; /* NULL: the hash is known */
    uint8_t hash[RECORD_HASH_BYTES];
    uint64_t bytes; /* of a file, if they are known */
    uint64_t line;  /* where it was read; else how many items had been added */
};

struct manifest {
    struct manifest_item *items;
    size_t n, size;
    bool ours;       /* sluice has written it: its last line says whether it is whole */
    bool incomplete; /* and it is not */
    uint64_t bytes;  /* of all files, as the last line says; 0: not known */
};

void manifest_fini(struct manifest *m);
/* Adds a file, or a link if target is not NULL. Returns the item, valid until the next call, or
 * NULL: no memory. */
struct manifest_item *manifest_add(struct manifest *m, const char *name, const char *target);
/* Sorts the items by name; of one name, in the order in which they were added. */
void manifest_sort(struct manifest *m);
/* Removes all but the last of sorted items of one name. */
void manifest_unique(struct manifest *m);
/* NULL: no item has the name. The items are sorted and unique. */
const struct manifest_item *manifest_find(const struct manifest *m, const char *name);

#endif
