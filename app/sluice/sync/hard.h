/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Further names of files that came before (hard links), at the receiver of a sync.
 *
 * Invariant: a name is given only to a file that this sync has placed, or found in its place, and
 * that is still the same inode; no link is followed on the way to it.
 */
#ifndef SLUICE_COMMAND_HARD_H
#define SLUICE_COMMAND_HARD_H

#include "sluice/files/part_file.h"
#include "sluice/sync/sync.h"

/* Gives the file a further name, checked by name_check(). Returns RECORD_OK, or another code with
 * the details in p->why. */
enum record_code hard_place(const struct sync *s, struct part_file *p, const struct destination *d,
                            const char *name, const struct record *r);

#endif
