/* SPDX-License-Identifier: BSD-3-Clause */
/* Data and holes of a file, in order (SEEK_DATA, SEEK_HOLE). */
#ifndef SLUICE_COMMAND_EXTENT_H
#define SLUICE_COMMAND_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

struct extent {
    uint64_t offset, len; /* bytes; len 0: the end of the file */
    bool hole;
};

/*
 * The extent of the file of size bytes that starts at offset. A file system that knows no holes
 * has data everywhere. May move the file position. 0 or a negative errno.
 */
int extent_find(int fd, uint64_t offset, uint64_t size, struct extent *out);

#endif
