/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small frames kept as bytes, their mbufs given back: with a million packets in flight an mbuf is
 * cold in the cache when its time comes, in several lines, and so is the one that reception gets.
 * Here a frame is a line or two, in the order in which they came, which is about the order in which
 * they are wanted: what is cold is read in sequence. Mbufs stay few and warm.
 *
 * What stands for such a frame is a pointer that is odd: its first line's number, twice, and one.
 * All of a path passes it on as it passes mbufs. An element that reads bytes makes an mbuf of it
 * first.
 *
 * Invariant: used[i] iff some odd pointer names line i or the one before, and needs it.
 */
#ifndef SLUICE_PATH_STORE_H
#define SLUICE_PATH_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#define STORE_LINE   64u
#define STORE_SPARES 512u

struct store {
    uint8_t *lines; /* own: n of STORE_LINE bytes */
    uint8_t *used;  /* own: by line */
    uint32_t n, next;
    uint32_t frame_bytes; /* frames up to this; 0: none are kept so */
    struct rte_mempool *pool;
    uint32_t n_spares;
    struct rte_mbuf *spares[STORE_SPARES]; /* given back and not yet needed */
};

/* A line for each of so many; frame_bytes: the largest that is kept so, 0 or a multiple of
 * STORE_LINE. 0 or -ENOMEM. */
int store_init(struct store *s, uint32_t frames, uint32_t frame_bytes, struct rte_mempool *pool);
void store_fini(struct store *s);

static inline bool store_has(const struct rte_mbuf *m)
{
    return (uintptr_t)m & 1;
}

/* What stands for the frame from here on: the mbuf, if it cannot be kept as bytes. */
struct rte_mbuf *store_put(struct store *s, struct rte_mbuf *m, uint32_t len);
/* An mbuf for what store_has(); NULL if there is none to be had. Its lines are free then. */
struct rte_mbuf *store_take(struct store *s, struct rte_mbuf *kept, uint32_t len);
/* Frees the frame of len bytes, whatever stands for it; NULL is nothing. */
void store_free(struct store *s, struct rte_mbuf *m, uint32_t len);

/* It will be wanted soon. Whatever is there: a wrong address does no harm. */
static inline void store_prefetch(const struct store *s, const struct rte_mbuf *m)
{
    if (store_has(m)) {
        rte_prefetch0(s->lines + ((uintptr_t)m >> 1) * STORE_LINE);
    } else {
        rte_prefetch0(m);
        rte_prefetch0((const uint8_t *)m + RTE_CACHE_LINE_MIN_SIZE);
    }
}

#endif
