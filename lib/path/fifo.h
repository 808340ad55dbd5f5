/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets on their way through a path, and a ring of them: first in, first out.
 *
 * Where many wait, small frames wait as bytes (store.h).
 *
 * Invariant: head - tail = packets in the ring, <= mask + 1; both count without wrapping back.
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
    struct rte_mbuf *m; /* or what stands for it: store.h */
    uint64_t at;        /* cycles: its own time, where it is now */
    uint32_t len;       /* bytes of the frame, as mbufs count: without CRC */
    uint32_t seq;       /* in the order in which packets came into the path, see PATH_SEQ_STEP */
};

/* Field by field: what was just written in parts must not be read as a whole, which waits for the
 * parts to reach the cache. */
static inline void packet_copy(struct path_packet *to, const struct path_packet *from)
{
    struct rte_mbuf *m = from->m;
    uint64_t at = from->at;
    uint32_t len = from->len, seq = from->seq;

    __asm__("" : "+r"(m), "+r"(at)); /* the compiler would join them again */
    to->m = m;
    to->at = at;
    to->len = len;
    to->seq = seq;
}

struct fifo {
    struct path_packet *ring; /* the ring's own */
    uint32_t mask, head, tail;
    struct store *store; /* the path's */
};

/* Room for so many packets. 0 or -ENOMEM. */
int fifo_init(struct fifo *f, uint32_t packets, struct store *store);
/* Frees the packets, too. */
void fifo_fini(struct fifo *f);

static inline uint32_t fifo_count(const struct fifo *f)
{
    return f->head - f->tail;
}

/* So many are wanted so soon that their mbufs stay warm as they are. */
#define FIFO_WARM  4096u
/* What will be wanted is called up this many places ahead. */
#define FIFO_AHEAD 16u

/* What will leave at once; there must be room. */
static inline struct path_packet *fifo_append(struct fifo *f, const struct path_packet *p)
{
    struct path_packet *to = &f->ring[f->head++ & f->mask];

    CHECK(f->head - f->tail <= f->mask + 1);
    packet_copy(to, p);
    return to;
}

/* What may wait; there must be room. */
static inline void fifo_push(struct fifo *f, const struct path_packet *p)
{
    struct path_packet *to = fifo_append(f, p);

    if (!store_has(p->m) && f->head - f->tail > FIFO_WARM && p->len <= f->store->frame_bytes)
        to->m = store_put(f->store, p->m, p->len);
}

/* The oldest; the ring is not empty. */
static inline const struct path_packet *fifo_first(const struct fifo *f)
{
    return &f->ring[f->tail & f->mask];
}

/* Takes the oldest. */
static inline void fifo_take(struct fifo *f, struct path_packet *p)
{
    packet_copy(p, &f->ring[f->tail++ & f->mask]);
}

/* Of many that wait. */
static inline void fifo_pop(struct fifo *f, struct path_packet *p)
{
    const struct path_packet *ahead = &f->ring[(f->tail + FIFO_AHEAD) & f->mask];

    fifo_take(f, p);
    rte_prefetch0(ahead + 24);
    if (f->head - f->tail > FIFO_AHEAD)
        store_prefetch(f->store, ahead->m);
}

#endif
