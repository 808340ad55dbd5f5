/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files in which files are received: ".NAME.part-" and 16 hex digits, in the final directory.
 * (A file without a name, O_TMPFILE, would cost less. But when it gets its name, programs that
 * watch the directory are told of no file that is whole: of no rename, and of no close after
 * writing.)
 *
 * The digits follow from what the sender says of the file, so that a later transfer of the same
 * file finds what an interrupted one has left. A part file is locked (flock) by the process that
 * writes to it; if it is locked, or not wholly ours, another one with random digits is made.
 *
 * A file shorter than RECORD_CHUNK_BYTES has nothing worth resuming. Its part is not locked, which
 * would cost it a third of its system calls. Instead, no part so short is removed by
 * part_name_clean() before it has been left alone for PART_NAME_BRIEF_S.
 */
#ifndef SLUICE_COMMAND_PART_NAME_H
#define SLUICE_COMMAND_PART_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/files/record.h"

#define PART_NAME_OWNER_MAX 320
#define PART_NAME_BRIEF_S   3600 /* the longest pause of a transfer between two bytes of a file */

struct part_name {
    char text[NAME_MAX + 1];
    bool lasting; /* a later transfer will find it */
};

/*
 * Makes the name for an offered file. owner: names the sender, so that no other one learns what is
 * in the file; has at most PART_NAME_OWNER_MAX bytes, with its 0.
 */
void part_name_make(struct part_name *n, const char *owner, const char *base,
                    const struct record *offer);
/*
 * Opens the part file for reading and writing, and locks it. resume: what it has is kept;
 * otherwise it is emptied. If it cannot be had, or n is not lasting, *n gets random digits, which
 * need `base`. Nobody else may read a new one. Returns the descriptor or a negative errno.
 */
int part_name_open(struct part_name *n, int dir_fd, const char *base, bool resume);
/* Makes a part file that is neither locked nor found later, for a file shorter than
 * RECORD_CHUNK_BYTES. *n gets random digits. mode: its mode; nobody else gets more than to read it.
 * Returns the descriptor or a negative errno. */
int part_name_brief(struct part_name *n, int dir_fd, const char *base, mode_t mode);
/* Gives it random digits, so that nothing has the name yet, and nobody will look for it. 0 or -EIO.
 */
int part_name_draw(struct part_name *n, const char *base);
/* Whether the name is still that of the open part file: somebody may have removed that, and another
 * transfer made a new one. */
bool part_name_holds(const struct part_name *n, int dir_fd, int fd);
/* Bytes that the part file has, if it could be resumed now; 0: none. */
uint64_t part_name_bytes(const struct part_name *n, int dir_fd);
/* Whether a file of this name, the last component, is taken for a part file. No file that is
 * received may have such a name: it would be removed as one that nobody came back for. */
bool part_name_is(const char *name);
/* Removes part files of this user in the directory that nobody writes to, and that were last
 * written to keep_s ago or earlier; those shorter than RECORD_CHUNK_BYTES, if nothing of them has
 * changed for PART_NAME_BRIEF_S either; and links with such names, if that is a minute or more.
 * now_s: since 1970. */
void part_name_clean(int dir_fd, uint32_t keep_s, int64_t now_s);

#endif
