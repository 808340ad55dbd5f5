/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps small waiting frames as bytes and gives their mbufs back. With a million packets in flight,
 * an mbuf is no longer in the cache when its packet leaves, and several cache lines of it must be
 * read from memory. The same holds for the mbuf that reception gets next. A frame kept as bytes
 * takes a line or two. Frames lie in the order in which they came, which is about the order in
 * which they leave, so lines are read from memory in sequence. The mbufs in use stay few, and in
 * the cache.
 *
 * An odd pointer stands for a kept frame: twice the number of its first line, plus one. A path
 * passes these pointers on like mbufs. An element that reads a frame's bytes turns the pointer into
 * an mbuf first.
 *
 * Invariant: used[i] iff line i belongs to the frame of some odd pointer.
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
    uint8_t *lines; /* owned: n lines of STORE_LINE bytes */
    uint8_t *used;  /* owned: 1 for each line that belongs to a frame */
    uint32_t n, next;
    uint32_t frame_bytes; /* largest frame kept as bytes; 0: none is */
    struct rte_mempool *pool;
    uint32_t n_spares;
    struct rte_mbuf *spares[STORE_SPARES]; /* mbufs given back, to be used again */
};

/* Allocates one line for each of `frames` frames. frame_bytes: the largest frame kept as bytes, 0
 * or a multiple of STORE_LINE. Returns 0 or -ENOMEM. */
int store_init(struct store *s, uint32_t frames, uint32_t frame_bytes, struct rte_mempool *pool);
void store_fini(struct store *s);

static inline bool store_has(const struct rte_mbuf *m)
{
    return (uintptr_t)m & 1;
}

/* Keeps the frame as bytes and returns its odd pointer; returns m itself if it cannot be kept. */
struct rte_mbuf *store_put(struct store *s, struct rte_mbuf *m, uint32_t len);
/* Turns a kept frame back into an mbuf and frees its lines. NULL if no mbuf is available: the frame
 * is lost. */
struct rte_mbuf *store_take(struct store *s, struct rte_mbuf *kept, uint32_t len);
/* Frees the frame of len bytes, kept or an mbuf; NULL is ignored. */
void store_free(struct store *s, struct rte_mbuf *m, uint32_t len);

/* Prefetches a frame that is wanted soon. A wrong address does no harm. */
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
