/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended attributes of an open file, which O_PATH may have opened: of the file itself, also if it
 * is a symbolic link. Sizes in bytes.
 */
#ifndef SLUICE_COMMAND_XATTR_H
#define SLUICE_COMMAND_XATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/attributes/attributes.h"

#define XATTR_VALUE_MAX ATTRIBUTE_VALUE_MAX
#define XATTR_NAMES_MAX 65536 /* of all names of a file, each with its 0: what the kernel lists */

/* Whether attributes of this name are moved: as root, all but those of the system, and but the
 * labels of SELinux, which are a matter of each host; else those of users. */
bool xattr_taken(const char *name, bool root);

/* Reads the names, in order: n of them. 0, also if the file system has none, or a negative errno.
 * Then there is nothing to free. */
struct xattr_names {
    char *text, **names;
    size_t n;
};
int xattr_names(struct xattr_names *x, int fd, bool root);
void xattr_names_free(struct xattr_names *x);

/* Bytes of the value, or a negative errno; -ENODATA: there is none of this name. */
ssize_t xattr_get(int fd, const char *name, uint8_t value[XATTR_VALUE_MAX]);
int xattr_put(int fd, const char *name, const void *value, size_t len);
int xattr_remove(int fd, const char *name);

/* Whether the file has other attributes than the ATTRIBUTE_XATTR of these checked items. */
bool xattr_differs(int fd, const uint8_t *items, uint32_t len_bytes, bool root);
/* Gives the file those attributes, and removes others. 0, or the negative errno of the first that
 * cannot be set; -EPERM also if there are some that only root sets. */
int xattr_set(int fd, const uint8_t *items, uint32_t len_bytes, bool root);

#endif
