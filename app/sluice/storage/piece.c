/* SPDX-License-Identifier: BSD-3-Clause */
/* One piece of a file, as a thread of the storage does it. See piece.h. */
#include "sluice/storage/piece.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Bytes that the kernel is asked to read ahead of a piece, so that a disk works while a thread
 * copies and hashes: on its own, Linux reads 128 or 256 KiB ahead. */
#define AHEAD_BYTES (8u << 20)

static bool piece_cancelled(const struct storage_file *f)
{
    return __atomic_load_n(&f->cancel, __ATOMIC_RELAXED);
}

int64_t piece_try(const struct storage_piece *p, int fd, uint32_t from, uint32_t len)
{
    off_t at = (off_t)(p->offset + from);
    ssize_t n = p->write ? pwrite(fd, p->data + from, len, at) : pread(fd, p->data + from, len, at);

    return n < 0 ? -errno : n;
}

/* Moves len bytes of the piece from byte `from` on. 0 or a negative errno. */
static int piece_part(const struct storage_file *f, const struct storage_piece *p, uint32_t from,
                      uint32_t len)
{
    while (len > 0) {
        int64_t n = piece_try(p, f->fd, from, len);

        if (n == -EINTR)
            continue;
        if (n < 0)
            return (int)n;
        if (n == 0)
            return p->write ? -EIO : -ENODATA;
        from += (uint32_t)n;
        len -= (uint32_t)n;
    }
    return 0;
}

/* Moves and hashes the piece from byte `from` on; each step finds its bytes in the core's cache. 0
 * or a negative errno. */
static int piece_steps(struct storage_file *f, struct storage_piece *p, uint32_t from, bool hash)
{
    int err = 0;

    while (from < p->len_bytes && err == 0) {
        uint32_t left = p->len_bytes - from;
        uint32_t n = left < DIGEST_PIECE_BYTES ? left : DIGEST_PIECE_BYTES;

        if (piece_cancelled(f))
            return -ECANCELED;
        if (hash && p->write)
            digest_update(f->digest, p->data + from, n);
        err = piece_part(f, p, from, n);
        if (err == 0 && hash && !p->write)
            digest_update(f->digest, p->data + from, n);
        from += n;
        p->done_bytes = err == 0 ? from : p->done_bytes;
    }
    return err;
}

int piece_move(struct storage_file *f, struct storage_piece *p)
{
    if (!p->write)
        posix_fadvise(f->fd, (off_t)(p->offset + p->len_bytes), AHEAD_BYTES, POSIX_FADV_WILLNEED);
    return piece_steps(f, p, 0, true);
}

uint32_t piece_direct(const struct storage_file *f, const struct storage_piece *p)
{
    if (f->direct_fd < 0 || storage_refused(f) || p->offset % PIECE_ALIGN != 0 ||
        (uintptr_t)p->data % PIECE_ALIGN != 0)
        return 0;
    return p->len_bytes - p->len_bytes % PIECE_ALIGN;
}

void piece_hash(struct storage_file *f, const struct storage_piece *p)
{
    digest_update(f->digest, p->data, p->len_bytes);
}

int piece_rest(struct storage_file *f, struct storage_piece *p, int64_t moved)
{
    int err;

    if (moved == -EINVAL || moved == -EOPNOTSUPP) {
        __atomic_store_n(&f->refused, true, __ATOMIC_RELAXED);
        moved = 0;
    }
    if (moved == -EINTR || moved == -EAGAIN)
        moved = 0;
    if (moved < 0)
        return (int)moved;
    err = piece_steps(f, p, (uint32_t)moved, false);
    if (err == 0 && !p->write)
        piece_hash(f, p);
    return err;
}
