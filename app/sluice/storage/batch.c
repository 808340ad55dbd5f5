/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that a thread of the storage has under way. See batch.h. */
#include "sluice/storage/batch.h"

#include <errno.h>

#include "base/check.h"
#include "sluice/storage/piece.h"

void batch_start(struct batch *b, struct storage_file *f)
{
    int err;

    b->file = f;
    b->head = b->n = 0;
    if (f->direct_fd >= 0 && !b->tried) {
        b->tried = true;
        b->ring = ring_open(&err);
    }
}

bool batch_room(const struct batch *b)
{
    bool several = b->file->direct_fd >= 0 && b->ring != NULL && !storage_refused(b->file);

    if (b->n == 0)
        return true;
    return several && b->n < RING_DEPTH && b->direct[(b->head + b->n - 1) % RING_DEPTH] > 0;
}

void batch_begin(struct batch *b, struct storage_piece *p)
{
    uint32_t slot = (b->head + b->n) % RING_DEPTH, direct = piece_direct(b->file, p);

    b->pieces[slot] = p;
    b->direct[slot] = direct;
    b->moved[slot] = 0;
    b->in_ring[slot] = false;
    b->n++;
    if (direct == 0 || b->file->err != 0)
        return;
    if (p->write)
        piece_hash(b->file, p);
    if (b->ring == NULL)
        b->moved[slot] = piece_try(p, b->file->direct_fd, 0, direct);
    else
        b->in_ring[slot] = ring_submit(b->ring, slot, b->file, p, direct) == 0;
}

struct storage_piece *batch_end(struct batch *b)
{
    struct storage_piece *p = b->pieces[b->head];
    struct storage_file *f = b->file;
    int64_t moved;

    CHECK(b->n > 0);
    moved = b->in_ring[b->head] ? ring_wait(b->ring, b->head) : b->moved[b->head];
    if (f->err != 0 || __atomic_load_n(&f->cancel, __ATOMIC_RELAXED))
        p->err = -ECANCELED;
    else if (b->direct[b->head] > 0)
        p->err = piece_rest(f, p, moved);
    else
        p->err = piece_move(f, p);
    if (f->err == 0)
        f->err = p->err;
    b->head = (b->head + 1) % RING_DEPTH;
    b->n--;
    return p;
}

void batch_fini(struct batch *b)
{
    ring_close(b->ring);
}
