/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiver's file, for the list of its blocks. See basis.h. */
#include "sluice/delta/basis.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "sluice/delta/rolling.h"
#include "sluice/loop.h"

#define PIECE_BYTES (256u << 10) /* read at a time, but at least a block */
#define WORK_BYTES  (4u << 20)   /* read before anything else has its turn */

void basis_init(struct basis *b)
{
    *b = (struct basis){.fd = -1};
}

void basis_fini(struct basis *b)
{
    basis_close(b);
    free(b->memory);
    b->memory = NULL;
}

/* Makes room for at least a block. 0 or -ENOMEM. */
static int basis_room(struct basis *b)
{
    uint64_t room = b->block > PIECE_BYTES ? b->block : PIECE_BYTES;

    if (b->room >= room)
        return 0;
    free(b->memory);
    b->memory = malloc(room);
    b->room = b->memory != NULL ? room : 0;
    return b->memory != NULL ? 0 : -ENOMEM;
}

int basis_open(struct basis *b, int fd, uint64_t ask)
{
    struct stat st;
    int err = fstat(fd, &st) < 0 ? -errno : 0;

    if (err == 0) {
        b->size = (uint64_t)st.st_size;
        b->sparse = (uint64_t)st.st_blocks * 512 < b->size;
        b->block = rolling_block(b->size);
        err = basis_room(b);
    }
    if (err == 0 && getrandom(&b->seed, sizeof b->seed, 0) != sizeof b->seed)
        err = -EIO;
    if (err < 0) {
        close(fd);
        return err;
    }
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    b->fd = fd;
    b->ask = ask;
    b->at = 0;
    b->told = 0;
    b->extent = (struct extent){0};
    return 0;
}

void basis_close(struct basis *b)
{
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}

/* Passes over blocks that lie in a hole. 0 or a negative errno. */
static int basis_skip(struct basis *b)
{
    uint64_t end = b->extent.offset + b->extent.len;
    int err;

    if (!b->sparse)
        return 0;
    if (b->at >= end) {
        err = extent_find(b->fd, b->at, b->size, &b->extent);
        if (err < 0)
            return err;
        end = b->extent.offset + b->extent.len;
    }
    if (b->extent.hole)
        b->at += (end - b->at) / b->block * b->block;
    return 0;
}

/* Reads whole blocks from b->at on, at most `max`, and none that lies in a hole. Returns their
 * number or a negative errno. */
static int64_t basis_read(struct basis *b, uint32_t max)
{
    uint64_t n = (b->size - b->at) / b->block, done = 0;

    n = n < max ? n : max;
    if (b->sparse && !b->extent.hole) {
        uint64_t data = b->extent.offset + b->extent.len - b->at;
        uint64_t with_data = (data + b->block - 1) / b->block;

        n = n < with_data ? n : with_data;
    } else if (b->sparse) {
        n = n < 1 ? n : 1; /* the hole ends within it */
    }
    n = n < b->room / b->block ? n : b->room / b->block;
    while (done < n * b->block) {
        ssize_t got = pread(b->fd, b->memory + done, n * b->block - done, (off_t)(b->at + done));

        if (got < 0 && errno == EINTR && loop_code() == 0)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA;
        done += (uint64_t)got;
    }
    return (int64_t)n;
}

static void basis_put(const struct basis *b, const uint8_t *block, uint8_t *out)
{
    uint64_t strong = rolling_strong(block, b->block, b->seed), weak;
    struct rolling sums;

    rolling_begin(&sums, block, b->block);
    weak = rolling_weak(&sums);
    out[0] = (uint8_t)(weak >> 32);
    bytes_put_u32(out + 1, (uint32_t)weak);
    bytes_put_u16(out + 5, (uint16_t)(strong >> 32));
    bytes_put_u32(out + 7, (uint32_t)strong);
}

uint64_t basis_tell(struct basis *b, struct record *r, uint8_t *data)
{
    int64_t i, got = basis_skip(b);
    uint64_t done = 0;
    uint32_t n = 0;

    *r = (struct record){.type = RECORD_BLOCKS, .file = b->ask, .size = b->block, .from = b->seed};
    r->offset = b->at;
    while (got >= 0 && n < RECORD_BLOCKS_MAX && b->told < RECORD_LIST_MAX && done < WORK_BYTES) {
        uint64_t at = b->at;
        uint32_t left = RECORD_LIST_MAX - b->told;

        got = basis_skip(b);
        if (got < 0 || (b->at != at && n > 0))
            break; /* the blocks behind a hole need another record */
        if (n == 0)
            r->offset = b->at; /* a hole has been punched behind the one that was passed over */
        got = basis_read(b, left < RECORD_BLOCKS_MAX - n ? left : RECORD_BLOCKS_MAX - n);
        if (got <= 0)
            break;
        for (i = 0; i < got; i++)
            basis_put(b, b->memory + (uint64_t)i * b->block,
                      data + (size_t)n++ * RECORD_BLOCK_BYTES);
        b->told += (uint32_t)got;
        b->at += (uint64_t)got * b->block;
        done += (uint64_t)got * b->block;
    }
    r->len_bytes = n * RECORD_BLOCK_BYTES;
    /* The end of the file, less than a block, is not told, and is sent; so is what cannot be read.
     */
    if (got < 0 || b->size - b->at < b->block || b->told == RECORD_LIST_MAX) {
        r->flags = RECORD_LAST;
        basis_close(b);
    }
    return done + RECORD_HEADER_BYTES;
}
