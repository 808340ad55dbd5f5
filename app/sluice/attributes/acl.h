/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * POSIX access control lists, as Linux keeps them in extended attributes of the system: version 2,
 * then for each entry tag, permissions (2 bytes each) and number (4), little-endian.
 */
#ifndef SLUICE_COMMAND_ACL_H
#define SLUICE_COMMAND_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACL_ENTRIES_MAX 8191 /* as many as the kernel takes: 64 KiB */

enum acl_tag {
    ACL_USER_OBJ = 1,
    ACL_USER = 2,
    ACL_GROUP_OBJ = 4,
    ACL_GROUP = 8,
    ACL_MASK = 16,
    ACL_OTHER = 32,
};

/* Which list of a file. */
enum acl_list { ACL_ACCESS, ACL_DEFAULT, ACL_LISTS };

struct acl_entry {
    uint16_t tag, perm;
    uint32_t id; /* of ACL_USER and ACL_GROUP, else 0 */
};

struct acl {
    struct acl_entry *entries;
    uint32_t n, size; /* n 0: there is no list */
};

void acl_fini(struct acl *a);
/* 0; -ENOMEM; -E2BIG: there are too many. */
int acl_add(struct acl *a, struct acl_entry e);
/* Puts the entries in order, and says whether the kernel would take them. */
bool acl_order(struct acl *a);
/* Reads a list of an open file, which O_PATH may have opened. 0, also if there is none or the file
 * system has none; or a negative errno. */
int acl_read(struct acl *a, int fd, enum acl_list which);
/* Whether the file's list is another one. Lists are in order. */
bool acl_differs(const struct acl *a, int fd, enum acl_list which);
/* Sets the list; n 0 removes it. 0 or a negative errno. */
int acl_set(const struct acl *a, int fd, enum acl_list which);

#endif
