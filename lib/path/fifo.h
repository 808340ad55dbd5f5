/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet inside a path, and a ring of such packets: first in, first out. In a ring where many
 * packets wait, small frames wait as bytes (store.h).
 *
 * Invariant: head - tail = packets in the ring, <= mask + 1; head and tail only count up.
 */
#ifndef SLUICE_PATH_FIFO_H
#define SLUICE_PATH_FIFO_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "base/check.h"
#include "path/store.h"

struct path_packet {
    struct rte_mbuf *m; /* or an odd pointer that stands for a frame kept as bytes: store.h */
    /* cycles, the packet's own time: when it came to its current element, or will leave it */
    uint64_t at;
    uint32_t len; /* bytes of the frame, as mbufs count: without CRC */
    uint32_t seq; /* order of arrival at the path, see PATH_SEQ_STEP */
};

/* Copies field by field. Fields that were just written one by one must not be read in one wide
 * load, which would stall until those writes reach the cache. */
static inline void packet_copy(struct path_packet *to, const struct path_packet *from)
{
    struct rte_mbuf *m = from->m;
    uint64_t at = from->at;
    uint32_t len = from->len, seq = from->seq;

    __asm__("" : "+r"(m), "+r"(at)); /* else the compiler joins the two loads */
    to->m = m;
    to->at = at;
    to->len = len;
    to->seq = seq;
}

struct fifo {
    struct path_packet *ring; /* owned */
    uint32_t mask, head, tail;
    struct store *store; /* the path's */
};

/* Makes room for `packets` packets. Returns 0 or -ENOMEM. */
int fifo_init(struct fifo *f, uint32_t packets, struct store *store);
/* Also frees the packets in the ring. */
void fifo_fini(struct fifo *f);

static inline uint32_t fifo_count(const struct fifo *f)
{
    return f->head - f->tail;
}

/* While no more packets than this wait, each leaves so soon that its mbuf is still in the cache. */
#define FIFO_WARM  4096u
/* fifo_pop() prefetches the packet that will leave so many pops later. */
#define FIFO_AHEAD 16u

/* Adds a packet as it is, which suits one that leaves at once; there must be room. */
static inline struct path_packet *fifo_append(struct fifo *f, const struct path_packet *p)
{
    struct path_packet *to = &f->ring[f->head++ & f->mask];

    CHECK(f->head - f->tail <= f->mask + 1);
    packet_copy(to, p);
    return to;
}

/* Adds a packet that may wait long, so its frame may be turned into bytes; there must be room. */
static inline void fifo_push(struct fifo *f, const struct path_packet *p)
{
    struct path_packet *to = fifo_append(f, p);

    if (!store_has(p->m) && f->head - f->tail > FIFO_WARM && p->len <= f->store->frame_bytes)
        to->m = store_put(f->store, p->m, p->len);
}

/* The oldest packet; the ring must not be empty. */
static inline const struct path_packet *fifo_first(const struct fifo *f)
{
    return &f->ring[f->tail & f->mask];
}

/* Takes out the oldest packet. */
static inline void fifo_take(struct fifo *f, struct path_packet *p)
{
    packet_copy(p, &f->ring[f->tail++ & f->mask]);
}

/* Takes out the oldest packet of many, and prefetches later ones. */
static inline void fifo_pop(struct fifo *f, struct path_packet *p)
{
    const struct path_packet *ahead = &f->ring[(f->tail + FIFO_AHEAD) & f->mask];

    fifo_take(f, p);
    rte_prefetch0(ahead + 24);
    if (f->head - f->tail > FIFO_AHEAD)
        store_prefetch(f->store, ahead->m);
}

#endif
