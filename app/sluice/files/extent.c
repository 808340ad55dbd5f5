/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the data and the holes of a file, in order. */
#include "sluice/files/extent.h"

#include <errno.h>
#include <unistd.h>

/* Where the next data or hole (by whence) begins, at most size; or a negative errno. */
static int64_t extent_seek(int fd, uint64_t offset, uint64_t size, int whence)
{
    off_t at = lseek(fd, (off_t)offset, whence);

    if (at < 0 && errno == ENXIO) { /* none up to the end */
        at = lseek(fd, 0, SEEK_END);
        if (at >= 0 && (uint64_t)at < size)
            return -ENODATA;
    }
    if (at < 0)
        return -errno;
    return (uint64_t)at < size ? (int64_t)at : (int64_t)size;
}

int extent_find(int fd, uint64_t offset, uint64_t size, struct extent *out)
{
    int64_t data, end;

    out->offset = offset;
    out->len = 0;
    out->hole = false;
    if (offset >= size)
        return 0;
    data = extent_seek(fd, offset, size, SEEK_DATA);
    if (data == -EINVAL || data == -EOPNOTSUPP) {
        out->len = size - offset;
        return 0;
    }
    if (data < 0)
        return (int)data;
    if ((uint64_t)data > offset) {
        out->hole = true;
        out->len = (uint64_t)data - offset;
        return 0;
    }
    end = extent_seek(fd, offset, size, SEEK_HOLE);
    if (end < 0)
        return (int)end;
    /* A hole punched between the two seeks would make an empty extent: take the rest as data. */
    out->len = ((uint64_t)end > offset ? (uint64_t)end : size) - offset;
    return 0;
}
