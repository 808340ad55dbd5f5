/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets on their way through a path, and a ring of them: first in, first out.
 *
 * Invariant: head - tail = packets in the ring, <= mask + 1; both count without wrapping back.
 */
#ifndef SLUICE_PATH_FIFO_H
#define SLUICE_PATH_FIFO_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "base/check.h"

struct path_packet {
    struct rte_mbuf *m;
    uint64_t at;  /* cycles: its own time, where it is now */
    uint32_t len; /* bytes of the frame, as mbufs count: without CRC */
};

struct fifo {
    struct path_packet *ring; /* the ring's own */
    uint32_t mask, head, tail;
};

/* Packets that will be wanted are called up this many places ahead. */
#define FIFO_AHEAD 8u

/* 0 or -ENOMEM. */
static inline int fifo_init(struct fifo *f, uint32_t packets)
{
    uint32_t capacity = rte_align32pow2(packets);

    f->ring = (struct path_packet *)rte_malloc("path fifo", capacity * sizeof *f->ring, 64);
    f->mask = capacity - 1;
    f->head = f->tail = 0;
    return f->ring == NULL ? -ENOMEM : 0;
}

static inline uint32_t fifo_count(const struct fifo *f)
{
    return f->head - f->tail;
}

static inline void fifo_push(struct fifo *f, const struct path_packet *p)
{
    CHECK(f->head - f->tail <= f->mask);
    f->ring[f->head++ & f->mask] = *p;
}

/* The oldest; the ring is not empty. */
static inline const struct path_packet *fifo_first(const struct fifo *f)
{
    return &f->ring[f->tail & f->mask];
}

static inline struct path_packet fifo_pop(struct fifo *f)
{
    struct path_packet p = f->ring[f->tail++ & f->mask];

    if (f->head - f->tail > FIFO_AHEAD) {
        const struct rte_mbuf *ahead = f->ring[(f->tail + FIFO_AHEAD) & f->mask].m;

        rte_prefetch0(ahead);
        rte_prefetch0(&ahead->pool);
    }
    return p;
}

static inline void fifo_fini(struct fifo *f)
{
    if (f->ring == NULL)
        return;
    while (fifo_count(f) > 0)
        rte_pktmbuf_free(fifo_pop(f).m);
    rte_free(f->ring);
    f->ring = NULL;
}

#endif
