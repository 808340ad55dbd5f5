/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads one file that is to be sent: finds the next piece, reads its bytes straight into the
 * caller's memory, and computes the digest of the whole file.
 *
 * A regular file counts with the size that it had when it was opened; if it shrinks meanwhile, that
 * is an error. A stream (pipe, terminal, device) has no size: it ends where it ends, and may have
 * no data yet.
 */
#ifndef SLUICE_COMMAND_SOURCE_H
#define SLUICE_COMMAND_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sluice/files/digest.h"
#include "sluice/files/extent.h"
#include "sluice/files/name.h"

struct source {
    int fd; /* -1: none is open */
    bool stream;
    struct stat st;
    uint64_t size;       /* bytes; of a stream: 0 */
    uint64_t at_bytes;   /* everything before it was read */
    uint64_t hole_bytes; /* bytes before at_bytes that are holes */
    uint64_t kept_bytes; /* bytes before at_bytes that the receiver had already */
    struct extent extent;
    struct digest *digest;
};

int source_init(struct source *s);
void source_fini(struct source *s);

/* Opens what the user names; "-" is standard input. A pipe may have no writer yet: source_read()
 * then returns -EAGAIN. 0 or a negative errno. */
int source_open(struct source *s, const char *path);
/* Opens what the user names where no link is followed: a regular file. 0 or a negative errno. */
int source_open_itself(struct source *s, const char *path);
/* Opens what was found below d->root_fd; name_check() accepts its path there. It must still be a
 * regular file, and nothing on that path a link. 0 or a negative errno. */
int source_open_below(struct source *s, struct name_dir *d, const char *below);
void source_close(struct source *s);

/* Whether it is a file of a chunk or more without holes: then source_next() finds none. */
bool source_solid(const struct source *s);
/* Finds the piece at at_bytes: its length (0: the end; UINT64_MAX: a stream), and whether it is a
 * hole or data. 0 or a negative errno. */
int source_next(struct source *s, uint64_t *len_bytes, bool *hole);
/* Reads up to len bytes of data. Returns their number (0: end of a stream) or a negative errno.
 * -ENODATA: the file shrank; -EAGAIN: the stream has no data yet; -EINTR: a signal asked to stop.
 */
int64_t source_read(struct source *s, void *to, size_t len);
/* Skips len bytes of a hole. */
void source_skip(struct source *s, uint64_t len_bytes);
/* Reads the next len bytes of a file, holes as zeros, and stays where it is. 0 or a negative errno.
 */
int source_peek(const struct source *s, void *to, size_t len);
/* Takes the next len bytes of a file, which the caller has read. */
void source_take(struct source *s, const void *data, size_t len);
/* The same, and the receiver has them. */
void source_keep(struct source *s, const void *data, size_t len);

#endif
