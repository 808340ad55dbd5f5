/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directories and symbolic links of a sync, at the receiver.
 *
 * Invariant: nothing outside of the destination is touched: each step is relative to an open
 * directory, and no link is followed. A link has its target and time before it gets its name. A dry
 * run changes nothing.
 */
#ifndef SLUICE_COMMAND_PLACE_H
#define SLUICE_COMMAND_PLACE_H

#include "sluice/files/part_file.h"
#include "sluice/sync/sync.h"

/* name: checked by name_check(), or "" for the destination itself. Each function returns RECORD_OK,
 * or another code with the details in p->why. */

/* A directory whose content follows: makes it, in place of what is there and is none, and has its
 * owner write to it. */
enum record_code place_begin(const struct sync *s, struct part_file *p, const struct destination *d,
                             const char *name, const struct record *r);
/* Its content is there: sets mode and time. */
enum record_code place_end(struct part_file *p, const struct destination *d, const char *name,
                           const struct record *r);
enum record_code place_link(const struct sync *s, struct part_file *p, const struct destination *d,
                            const char *name, const char *target, const struct record *r);

/* Gives something its name in dir_fd, in place of what is there, which may be a directory; path:
 * the name for messages. If it fails, the temporary name is removed. 0 or a negative errno. */
int place_rename(const struct destination *d, int dir_fd, const char *temporary, const char *base,
                 const char *path);

#endif
