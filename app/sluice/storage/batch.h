/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a thread of the storage has under way of the file that it has taken: one piece, or several
 * with direct I/O by io_uring. Does not lock, and waits for the disk.
 *
 * Pieces are hashed in their order. Those that are written are hashed as they begin, those that are
 * read as they end, so nothing begins behind a piece that goes through the page cache: it is hashed
 * only at its end.
 */
#ifndef SLUICE_COMMAND_BATCH_H
#define SLUICE_COMMAND_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/storage/ring.h"
#include "sluice/storage/storage.h"

struct batch {
    struct storage_file *file;
    struct ring *ring; /* NULL: none, or not needed yet */
    bool tried;        /* to open it */
    uint32_t head, n;  /* the oldest piece, and how many are under way */
    struct storage_piece *pieces[RING_DEPTH];
    uint32_t direct[RING_DEPTH]; /* bytes that go past the page cache */
    int64_t moved[RING_DEPTH];   /* of these, or a negative errno; valid unless in_ring */
    bool in_ring[RING_DEPTH];
};

/* Begins with another file. Nothing is under way. b is zero before the first one. */
void batch_start(struct batch *b, struct storage_file *f);
/* Whether another piece of the file can begin now. */
bool batch_room(const struct batch *b);
/* Begins a piece. */
void batch_begin(struct batch *b, struct storage_piece *p);
/* Completes the oldest piece, of which there must be one, and returns it with its `err`. */
struct storage_piece *batch_end(struct batch *b);
void batch_fini(struct batch *b);

#endif
