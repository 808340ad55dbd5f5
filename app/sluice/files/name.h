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
#include "sluice/files/record.h"

/* NULL if the len bytes at name (not 0-terminated) are a good name, else what is wrong with it. */
const char *name_check(const char *name, size_t len);

/*
 * Opens the directory below root_fd that holds a checked name. Missing directories are made with
 * the mode that the umask leaves, and added to *made, unless made is NULL. *base is set to the last
 * component. Returns the descriptor or a negative errno (-ELOOP, -ENOTDIR: something else has a
 * directory's name).
 */
int name_parent(int root_fd, const char *name, const char **base, struct made_dirs *made);

/*
 * The directory below root_fd that was opened last. Names that follow each other are mostly in one
 * directory, which then stays open. It is the one that was opened, even if it has been moved since:
 * an owner that lets others change the tree closes it soon.
 */
struct name_dir {
    int root_fd; /* the owner's */
    int fd;      /* -1: none is open */
    size_t len;
    char path[RECORD_NAME_MAX]; /* without a 0 */
};

/* As name_parent(), but the descriptor is of `d`: valid until the next call or name_dir_close(). */
int name_dir_parent(struct name_dir *d, const char *name, const char **base,
                    struct made_dirs *made);
/* Closes it: the next name opens its directory by its path. */
void name_dir_close(struct name_dir *d);

#endif
