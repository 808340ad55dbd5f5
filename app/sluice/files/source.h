/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One file being read to be sent: which piece comes next, its bytes straight into the caller's
 * memory, the digest of all of it.
 *
 * A regular file is what it was when it was opened: size bytes; if it shrinks meanwhile, that is an
 * error. A stream (pipe, terminal, device) ends where it ends, and may have nothing yet.
 */
#ifndef SLUICE_COMMAND_SOURCE_H
#define SLUICE_COMMAND_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sluice/files/digest.h"
#include "sluice/files/extent.h"

struct source {
    int fd; /* -1: none is open */
    bool stream;
    struct stat st;
    uint64_t size;       /* bytes; of a stream: 0 */
    uint64_t at_bytes;   /* everything before it was read */
    uint64_t hole_bytes; /* of those, holes */
    struct extent extent;
    struct digest *digest;
};

int source_init(struct source *s);
void source_fini(struct source *s);

/* walked: only a regular file will do, and no link. Path "-" is standard input where !walked.
 * 0 or a negative errno. */
int source_open(struct source *s, const char *path, bool walked);
void source_close(struct source *s);

/* The piece at at_bytes: its length (0: the end), hole or data. A stream's is as long as may be. */
int source_next(struct source *s, uint64_t *len_bytes, bool *hole);
/* Reads up to len bytes of data: their number; of a stream 0 at its end. Negative errno: -ENODATA:
 * the file shrank; -EAGAIN: the stream has nothing yet; -EINTR. */
int64_t source_read(struct source *s, void *to, size_t len);
/* Passes len bytes of a hole. */
void source_skip(struct source *s, uint64_t len_bytes);

#endif
