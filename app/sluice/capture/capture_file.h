/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a capture: pcapng [PCAPNG], into a new file with mode 0600, a named pipe, or standard
 * output. Blocks are collected, and written whole by capture_file_flush().
 *
 * Invariant: whatever happens, a regular file ends with a whole block, also if it is the standard
 * output: if a write fails (the disk is full), the file is cut behind the last block that it has
 * whole. After a failure nothing more is written, and capture_file_close() returns it.
 *
 *   frames = sum of interface_frames = Enhanced Packet Blocks in the file
 */
#ifndef SLUICE_CAPTURE_FILE_H
#define SLUICE_CAPTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/capture_ring.h"

#define CAPTURE_PORTS_MAX 16u /* ports of a daemon, each of which is an interface */

struct capture_file {
    int fd;
    bool regular, is_pipe;
    uint8_t *buffer;
    size_t used_bytes;
    uint64_t frames; /* of whole blocks that were written */
    uint64_t interface_frames[CAPTURE_PORTS_MAX];
    uint64_t buffer_frames[CAPTURE_PORTS_MAX]; /* of each interface, in the buffer */
    int error;                                 /* negative errno of the first failure; 0: none */
};

/* One interface, at the end of a capture. */
struct capture_stats {
    uint32_t interface;
    uint64_t begin_ns, end_ns; /* time of day */
    uint64_t written, dropped; /* frames in the file; frames that had no room in the ring */
};

/* Opens the path ("-": standard output). -EEXIST: there is such a file, and `replace` is false;
 * -ENOTTY: standard output is a terminal. */
int capture_file_open(struct capture_file *f, const char *path, bool replace);
/* Begins the file. `ports` names what is captured. */
void capture_file_begin(struct capture_file *f, const char *ports);
/* Adds the next interface; the first is 0. */
void capture_file_interface(struct capture_file *f, const char *name, const char *description,
                            uint32_t snap_bytes);
/* Adds the block at b, of len_bytes, as a frame of that interface. What the block says of these is
 * replaced: it may lie in memory that others write. */
void capture_file_frame(struct capture_file *f, const void *b, uint32_t len_bytes,
                        uint32_t interface);
void capture_file_stats(struct capture_file *f, const struct capture_stats *s);
/* Return 0, or the first failure. */
int capture_file_flush(struct capture_file *f);
int capture_file_close(struct capture_file *f);

#endif
