/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the names that files have on another host, and opens the directories in them.
 *
 * Invariant: a name that passed name_check() is relative, has no empty, "." or ".." component and
 * no component longer than the kernel's 255 bytes. name_parent() never follows a symbolic link, so
 * it never leaves the directory it starts from.
 */
#ifndef SLUICE_COMMAND_NAME_H
#define SLUICE_COMMAND_NAME_H

#include <stddef.h>

#include "sluice/files/made_dirs.h"

/* NULL if the len bytes at name (not 0-terminated) are a good name, else what is wrong with it. */
const char *name_check(const char *name, size_t len);

/*
 * Opens the directory below root_fd that holds a checked name. Missing directories are made with
 * the mode that the umask leaves, and added to *made, unless made is NULL. *base is set to the last
 * component. Returns the descriptor or a negative errno (-ELOOP, -ENOTDIR: something else has a
 * directory's name).
 */
int name_parent(int root_fd, const char *name, const char **base, struct made_dirs *made);

#endif
