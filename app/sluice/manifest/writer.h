/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the manifest of a run (--manifest): what the run has moved, or found in its place.
 *
 * Hashes are those of the transfer. A file that was in its place, and whose hash is not known, is
 * read once all else is done.
 *
 * Invariant: nothing new has the manifest's name until the whole manifest is on the disk, and the
 * run has succeeded. If it has not, what is known has the name with ".incomplete" behind it, until
 * a later run succeeds.
 */
#ifndef SLUICE_COMMAND_WRITER_H
#define SLUICE_COMMAND_WRITER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "sluice/files/part_name.h"
#include "sluice/manifest/manifest.h"

struct writer {
    struct manifest manifest;
    int fd, dir_fd; /* of the temporary file, and of its directory; -1: there is none */
    int root_fd;    /* of the target, if files in there are to be read; -1: none are */
    bool no_memory;
    mode_t mode; /* of the manifest */
    char base[NAME_MAX + 1];
    char shown[256]; /* the manifest's path, for messages */
    struct part_name temporary;
};

/* Opens the temporary file, beside the manifest. path NULL: no manifest is written, and none of the
 * functions below does anything. Returns an exit code; the error is printed. */
int writer_open(struct writer *w, const char *path);

/* The functions below take NULL for no writer, too. A name that comes again replaces what was
 * there. */

/* The file is in its place, with this hash. */
void writer_file(struct writer *w, const char *name, const uint8_t hash[RECORD_HASH_BYTES],
                 uint64_t bytes);
void writer_link(struct writer *w, const char *name, const char *target);
/* The file of this run's user, whose hash is not known. */
void writer_source(struct writer *w, const char *name, const char *path, const struct stat *st);
/* The file that has the name in the open directory, of which there is one only. */
void writer_there(struct writer *w, const char *name, int root_fd);

/* Ends the manifest of a run that has ended with this exit code. Returns it, or the code of an
 * error here, which is printed. */
int writer_close(struct writer *w, int code, bool quiet);

#endif
