/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an ATTR record says of a file (doc/file-protocol.md): items, back to back, each 8 bytes of
 * header, a name, and a value. Header: 0 kind  1 length of the name  2 zero (2)  4 length of the
 * value.
 *
 * Invariant: attributes_check() accepts only items in the order of their kinds, each within its
 * limits; nothing that a kind does not have.
 */
#ifndef SLUICE_COMMAND_ATTRIBUTES_H
#define SLUICE_COMMAND_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTRIBUTE_HEADER_BYTES 8
#define ATTRIBUTE_NAME_MAX     255
#define ATTRIBUTE_VALUE_MAX    65536 /* of an extended attribute; the kernel takes no longer ones */

/* What is kept of each file; the bits are also those of the message START. */
enum attribute_choice {
    ATTRIBUTES_OWNERS = 1,
    ATTRIBUTES_GROUPS = 2,
    ATTRIBUTES_NUMERIC = 4, /* owners and groups by number, not by name */
    ATTRIBUTES_LINKS = 8,   /* hard links */
    ATTRIBUTES_ACLS = 16,
    ATTRIBUTES_XATTRS = 32,
    ATTRIBUTES_ALL = 63,
};

enum attribute_kind {
    ATTRIBUTE_LINK = 1, /* value: the number of the file of which this is a name (8 bytes) */
    ATTRIBUTE_OWNER,    /* name: of the user, or empty; value: its number (4 bytes) */
    ATTRIBUTE_GROUP,    /* the same of the group */
    ATTRIBUTE_ACL,      /* an entry; name: of its user or group, or empty; value: tag, permissions
                           (2 bytes each), number (4) */
    ATTRIBUTE_DEFAULT_ACL, /* the same, of what is made in the directory */
    ATTRIBUTE_XATTR,       /* name and value of an extended attribute */
    ATTRIBUTE_KINDS,
};

struct attribute {
    uint8_t kind, name_len;
    uint32_t len_bytes;
    const uint8_t *name, *value;
};

/* Items that are being written. Zero has none. */
struct attribute_list {
    uint8_t *data;
    uint32_t len_bytes, size, max_bytes;
    bool full; /* one has not found room within max_bytes, or no memory */
};

void attribute_put(struct attribute_list *l, const struct attribute *a);
/* The same with a number as the value, and a name that ends with 0. */
void attribute_put_number(struct attribute_list *l, enum attribute_kind kind, const char *name,
                          uint64_t number);
void attribute_list_fini(struct attribute_list *l);

/* NULL, or what is wrong with the items. chosen: enum attribute_choice, what was asked for. */
const char *attributes_check(const uint8_t *data, uint32_t len_bytes, uint32_t chosen);
/* Reads the item at *at of checked ones, and moves *at behind it. False: there is none. */
bool attributes_next(const uint8_t *data, uint32_t len_bytes, uint32_t *at, struct attribute *a);

#endif
