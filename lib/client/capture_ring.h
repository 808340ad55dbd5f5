/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring in client memory, into which the worker of one port queue copies frames for `sluice
 * capture`, and from which the client takes them. No DPDK here.
 *
 * What the ring holds are Enhanced Packet Blocks of pcapng [PCAPNG], as they stand in a file. So
 * the client copies whole blocks, and looks only at their length and time. No block wraps around:
 * where one does not fit before the ring's end, a block of type CAPTURE_PAD, or less than
 * CAPTURE_BLOCK_MIN bytes, fills the rest.
 *
 * tail and head count bytes since the beginning; position = count modulo the ring's size.
 *
 *   0 <= tail - head <= size
 *
 * The worker writes blocks, then tail. It keeps its own copy of tail, and counts a frame that has
 * no room as dropped: it never waits for the client, and writes nowhere else, whatever the client
 * writes to head. The client may have more rights than the daemon, as root has: it keeps its own
 * copy of head, and checks tail and the lengths of blocks, each of which it reads once.
 */
#ifndef SLUICE_CLIENT_CAPTURE_RING_H
#define SLUICE_CLIENT_CAPTURE_RING_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "client/protocol.h"

#define CAPTURE_PACKET    6u /* type of an Enhanced Packet Block */
#define CAPTURE_PAD       0u
#define CAPTURE_BLOCK_MIN 12u             /* bytes: type, length, length */
#define CAPTURE_SNAP_MAX  65536u          /* bytes of a frame */
#define CAPTURE_BLOCK_MAX (65536u + 256u) /* bytes: CAPTURE_SNAP_MAX and all around it */
#define CAPTURE_RING_MIN  (4u * 65536u)   /* bytes, with its head */
#define CAPTURE_RING_MAX  (1ull << 32)    /* bytes, with its head */

/* The beginning of a ring; its data follow. */
struct capture_ring {
    PROTOCOL_ALIGNED uint64_t tail; /* written by the worker */
    uint64_t dropped;               /* written by the worker: frames that had no room */
    PROTOCOL_ALIGNED uint64_t head; /* written by the client */
};

static_assert(sizeof(struct capture_ring) == 2 * PROTOCOL_LINE, "layout");

/* An Enhanced Packet Block, up to the frame. The words have the byte order of the machine. */
struct capture_block {
    uint32_t type, len_bytes;
    uint32_t interface;
    uint32_t time_high, time_low; /* ns since 1970 */
    uint32_t captured_bytes, frame_bytes;
};

static_assert(sizeof(struct capture_block) == 28, "layout");

/* The client's end of a ring. */
struct capture_reader {
    struct capture_ring *ring;
    const uint8_t *data;
    uint64_t size_bytes, at_bytes; /* of the data; at: head modulo size */
    uint64_t dropped;              /* frames that had no room, as last seen */
    uint64_t head, tail;           /* tail: as last seen */
    uint32_t block_bytes;          /* of the block that capture_reader_next() returned */
    bool broken;                   /* the ring does not hold blocks: nothing more is taken */
};

static inline uint64_t capture_block_time_ns(const struct capture_block *b)
{
    return (uint64_t)b->time_high << 32 | b->time_low;
}

static inline void capture_reader_init(struct capture_reader *r, void *ring, uint64_t ring_bytes)
{
    memset(r, 0, sizeof *r);
    r->ring = (struct capture_ring *)ring;
    r->data = (const uint8_t *)ring + sizeof(struct capture_ring);
    r->size_bytes = ring_bytes - sizeof(struct capture_ring);
}

/* Sees what has been written by now. */
static inline void capture_reader_look(struct capture_reader *r)
{
    r->tail = __atomic_load_n(&r->ring->tail, __ATOMIC_ACQUIRE);
    r->dropped = __atomic_load_n(&r->ring->dropped, __ATOMIC_RELAXED);
}

static inline void capture_reader_skip(struct capture_reader *r, uint64_t bytes)
{
    r->head += bytes;
    r->at_bytes += bytes;
    if (r->at_bytes == r->size_bytes)
        r->at_bytes = 0;
}

/* The length of the block at b, if it can be one and ends within max_bytes; 0: it cannot. */
static inline uint32_t capture_block_bytes(const struct capture_block *b, uint64_t max_bytes)
{
    uint32_t len = __atomic_load_n(&b->len_bytes, __ATOMIC_RELAXED);

    return len >= sizeof *b + sizeof len && len % 4 == 0 && len <= CAPTURE_BLOCK_MAX &&
                   len <= max_bytes
               ? len
               : 0;
}

/* The next block of those that were seen; NULL: there is none, or the reader is broken. All of the
 * block_bytes are in the ring, but the daemon may change what they say. */
static inline const struct capture_block *capture_reader_next(struct capture_reader *r)
{
    while (!r->broken && r->head != r->tail) {
        uint64_t left = r->size_bytes - r->at_bytes, seen = r->tail - r->head;
        const struct capture_block *b = (const struct capture_block *)(r->data + r->at_bytes);

        if (left >= CAPTURE_BLOCK_MIN &&
            __atomic_load_n(&b->type, __ATOMIC_RELAXED) != CAPTURE_PAD) {
            r->block_bytes = capture_block_bytes(b, left < seen ? left : seen);
            r->broken = r->block_bytes == 0 || seen > r->size_bytes;
            return r->broken ? NULL : b;
        }
        r->broken = left > seen || seen > r->size_bytes;
        if (!r->broken)
            capture_reader_skip(r, left);
    }
    return NULL;
}

/* The block that capture_reader_next() returned is taken; its place may be used again once
 * capture_reader_give() was called. */
static inline void capture_reader_take(struct capture_reader *r)
{
    capture_reader_skip(r, r->block_bytes);
}

static inline void capture_reader_give(struct capture_reader *r)
{
    __atomic_store_n(&r->ring->head, r->head, __ATOMIC_RELEASE);
}

#endif
