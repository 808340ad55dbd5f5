/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines of --itemize, with the letters of rsync's --itemize-changes: what is done (< sent,
 * > received, c made here, h a hard link, . only attributes), what it is (f, d, L), then what
 * differs, each letter in its place: c content, s size, t time, p permissions, o owner, g group,
 * a ACL, x extended attributes; or +++++++++: it was not there.
 *
 * Each function says nothing if nothing changes, or if nobody wants to know.
 */
#ifndef SLUICE_COMMAND_ITEM_H
#define SLUICE_COMMAND_ITEM_H

#include <sys/stat.h>

#include "sluice/files/record.h"
#include "sluice/sync/sync.h"

/* before: what had the name; NULL: nothing had. moved: the content is sent; else only mode and time
 * are set. */
void item_file(const struct sync *s, const char *name, const struct stat *before,
               const struct record *r, bool moved);
/* name "": the target itself. */
void item_directory(const struct sync *s, const char *name, const struct stat *before,
                    const struct record *r);
/* before: the link that had the name; same: it points to the same target. */
void item_link(const struct sync *s, const char *name, const char *target,
               const struct stat *before, bool same, const struct record *r);
/* A further name of the file that was placed as `first`. before: what had the name. */
void item_hard(const struct sync *s, const char *name, const char *first, const struct stat *before,
               const struct record *r);
void item_deleted(const struct sync_options *o, const char *name, bool directory);

#endif
