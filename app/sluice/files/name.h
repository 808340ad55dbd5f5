/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of files that come from another host, and the way to them.
 *
 * Invariant: a name that passed name_check() is relative, has no empty, "." or ".." component and
 * no component longer than the kernel's 255 bytes; name_parent() never leaves the directory it
 * starts from, whatever symbolic links lie in it, and never follows one.
 */
#ifndef SLUICE_COMMAND_NAME_H
#define SLUICE_COMMAND_NAME_H

#include <stddef.h>

#include "sluice/files/made_dirs.h"

/* NULL, or why the len bytes at name (no 0 at the end) are refused. */
const char *name_check(const char *name, size_t len);

/*
 * Opens the directory that holds a checked name, below root_fd; missing ones are made, as
 * the umask says, and added to *made. The descriptor, or a negative errno (-ELOOP, -ENOTDIR:
 * something else is in the way). *base is the last component.
 */
int name_parent(int root_fd, const char *name, const char **base, struct made_dirs *made);

#endif
