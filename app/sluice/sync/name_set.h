/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of names, as their XXH3-128: 16 bytes for each, however long it is, so that the names of
 * millions of files fit. Two names with one hash count as one, which no accident makes happen. A
 * sender that makes it happen keeps a file from being deleted, and no more.
 */
#ifndef SLUICE_COMMAND_NAME_SET_H
#define SLUICE_COMMAND_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/files/digest.h"

struct name_set {
    uint8_t (*slots)[RECORD_HASH_BYTES]; /* all zero: free */
    size_t size, n;                      /* n of size slots, a power of two, are taken */
    struct digest *digest;
};

/* A set that is zero is empty. */
void name_set_fini(struct name_set *s);
/* kind: the same name may be in it once for each kind. 1: the name is new, 0: it was there;
 * -ENOMEM. */
int name_set_add(struct name_set *s, char kind, const char *name);
bool name_set_has(const struct name_set *s, char kind, const char *name);

#endif
