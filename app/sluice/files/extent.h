/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the data and the holes of a file, in order (SEEK_DATA, SEEK_HOLE). */
#ifndef SLUICE_COMMAND_EXTENT_H
#define SLUICE_COMMAND_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

struct extent {
    uint64_t offset, len; /* bytes; len 0: the end of the file */
    bool hole;
};

/*
 * Finds the extent that starts at offset in a file of `size` bytes. On a file system without holes
 * everything is data. May move the file position. Returns 0 or a negative errno; -ENODATA: the file
 * has shrunk, and nothing of it is at offset.
 */
int extent_find(int fd, uint64_t offset, uint64_t size, struct extent *out);

#endif
