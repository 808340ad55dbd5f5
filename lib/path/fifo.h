/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets on their way through a path, and a ring of them: first in, first out.
 *
 * A ring may keep small frames as bytes, in the order in which they will be wanted, and give their
 * mbufs back: with a million packets in flight an mbuf is cold in the cache when its time comes,
 * and so is the one that reception gets; this way both stay warm, and what is cold is read in
 * sequence, which the hardware sees coming.
 *
 * Invariant: head - tail = packets in the ring, <= mask + 1; both count without wrapping back. A
 * packet whose m is NULL has its bytes in lines, in the same order.
 */
#ifndef SLUICE_PATH_FIFO_H
#define SLUICE_PATH_FIFO_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "base/check.h"

struct path_packet {
    struct rte_mbuf *m;
    uint64_t at;  /* cycles: its own time, where it is now */
    uint32_t len; /* bytes of the frame, as mbufs count: without CRC */
    uint32_t seq; /* in the order in which packets came into the path */
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

#define FIFO_SPARES 128u

struct fifo {
    struct path_packet *ring; /* the ring's own */
    uint32_t mask, head, tail;
    /* frames kept as bytes, each in whole lines that do not wrap */
    uint32_t compact_bytes; /* frames up to this; 0: none */
    uint32_t line_mask, line_head, line_tail;
    uint8_t *lines; /* own */
    /* mbufs of theirs, for those that leave */
    struct rte_mempool *pool;
    uint32_t n_spares;
    struct rte_mbuf *spares[FIFO_SPARES];
};

/* Room for so many packets. 0 or -ENOMEM. */
int fifo_init(struct fifo *f, uint32_t packets, uint32_t compact_bytes, struct rte_mempool *pool);
/* Frees the packets, too. */
void fifo_fini(struct fifo *f);

static inline uint32_t fifo_count(const struct fifo *f)
{
    return f->head - f->tail;
}

/* So many are wanted so soon that their mbufs stay warm as they are. */
#define FIFO_WARM  128u
/* What will be wanted is called up this many places ahead. */
#define FIFO_AHEAD 12u

/* Keeps the newest packet, which is there as an mbuf, as bytes, if that can be. */
void fifo_compact(struct fifo *f, struct path_packet *newest);
/* Makes an mbuf of the oldest, which has just left as bytes; its m stays NULL if there is none. */
void fifo_expand(struct fifo *f, struct path_packet *p);

/* There must be room. */
static inline void fifo_push(struct fifo *f, const struct path_packet *p)
{
    struct path_packet *to = &f->ring[f->head++ & f->mask];

    CHECK(f->head - f->tail <= f->mask + 1);
    packet_copy(to, p);
    if (p->len <= f->compact_bytes && f->head - f->tail > FIFO_WARM)
        fifo_compact(f, to);
}

/* The oldest; the ring is not empty. Its m may be NULL. */
static inline const struct path_packet *fifo_first(const struct fifo *f)
{
    return &f->ring[f->tail & f->mask];
}

/* Takes the oldest. Its m is NULL if the pool was empty: the packet is lost. */
static inline void fifo_pop(struct fifo *f, struct path_packet *p)
{
    const struct path_packet *ahead = &f->ring[(f->tail + FIFO_AHEAD) & f->mask];

    packet_copy(p, &f->ring[f->tail++ & f->mask]);
    rte_prefetch0(ahead + 4);
    if (p->m == NULL) {
        fifo_expand(f, p);
        return;
    }
    /* whatever is there: a wrong address does no harm */
    rte_prefetch0(ahead->m);
    rte_prefetch0((const uint8_t *)ahead->m + RTE_CACHE_LINE_MIN_SIZE);
}

#endif
