/* SPDX-License-Identifier: BSD-3-Clause */
/* What says whether a file is still the one that was seen before, with the same content. */
#ifndef SLUICE_COMMAND_IDENTITY_H
#define SLUICE_COMMAND_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct identity {
    dev_t dev;
    ino_t ino;
    uint64_t bytes; /* its size */
    int64_t mtime_s;
    int64_t mtime_ns;
};

static inline struct identity identity_of(const struct stat *st)
{
    return (struct identity){.dev = st->st_dev,
                             .ino = st->st_ino,
                             .bytes = (uint64_t)st->st_size,
                             .mtime_s = st->st_mtim.tv_sec,
                             .mtime_ns = st->st_mtim.tv_nsec};
}

static inline bool identity_same(const struct identity *a, const struct identity *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->bytes == b->bytes &&
           a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
}

#endif
