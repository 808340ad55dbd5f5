/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/store.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/stream.h"

/* lines_seek() tries so many places, since frames that leave out of order leave holes behind. */
#define TRIES 8u

int store_init(struct store *s, uint32_t frames, uint32_t frame_bytes, struct rte_mempool *pool)
{
    memset(s, 0, sizeof *s);
    s->pool = pool;
    if (frame_bytes == 0 || rte_pktmbuf_data_room_size(pool) < RTE_PKTMBUF_HEADROOM + frame_bytes)
        return 0;
    s->n = RTE_MAX(frames, 2u);
    s->lines = rte_malloc("path store", (size_t)s->n * STORE_LINE, STORE_LINE);
    s->used = rte_zmalloc("path store", s->n, STORE_LINE);
    if (s->lines == NULL || s->used == NULL) {
        store_fini(s);
        return -ENOMEM;
    }
    s->frame_bytes = frame_bytes;
    return 0;
}

void store_fini(struct store *s)
{
    rte_pktmbuf_free_bulk(s->spares, s->n_spares);
    rte_free(s->lines);
    rte_free(s->used);
    memset(s, 0, sizeof *s);
}

static uint32_t lines_of(uint32_t len)
{
    return len <= STORE_LINE ? 1 : (len + STORE_LINE - 1) / STORE_LINE;
}

/* True if the mbuf holds nothing but a frame's bytes, is like the mbufs that store_take() needs,
 * and has so much room behind the frame that whole lines can be read. */
static inline bool plain(const struct store *s, const struct rte_mbuf *m)
{
    return m->pool == s->pool && m->nb_segs == 1 && m->ol_flags == 0 &&
           rte_mbuf_refcnt_read(m) == 1 && rte_pktmbuf_tailroom(m) >= STORE_LINE;
}

/* The lines are read again only when they would have left the cache anyway, so they bypass it.
 * Frames are short: nothing is prefetched. */
static inline void lines_write(uint8_t *to, const uint8_t *from, uint32_t lines)
{
    for (; lines > 0; lines--, to += STORE_LINE, from += STORE_LINE)
        stream_line(to, from);
}

static inline void lines_mark(struct store *s, uint32_t first, uint32_t lines, uint8_t used)
{
    s->used[first] = used;
    for (uint32_t i = 1; __builtin_expect(i < lines, 0); i++)
        s->used[first + i] = used;
}

/* Calls of this and of spare_new() are rare; inlined, they would cost the usual case registers. */
static __rte_noinline void spare_free(struct rte_mbuf *m)
{
    rte_pktmbuf_free(m);
}

static __rte_noinline struct rte_mbuf *spare_new(struct store *s)
{
    return rte_pktmbuf_alloc(s->pool);
}

/* Returns the first of `lines` adjacent free lines; s->n if there are none near s->next. */
static __rte_noinline uint32_t lines_seek(struct store *s, uint32_t lines)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t first = s->next + lines <= s->n ? s->next : 0, k = 0;

        while (k < lines && !s->used[first + k])
            k++;
        s->next = first + (k == lines ? lines : k + 1);
        if (k == lines)
            return first;
    }
    return s->n;
}

static inline uint32_t lines_find(struct store *s, uint32_t lines)
{
    if (__builtin_expect(lines == 1 && s->next < s->n && !s->used[s->next], 1))
        return s->next++;
    return lines_seek(s, lines);
}

struct rte_mbuf *store_put(struct store *s, struct rte_mbuf *m, uint32_t len)
{
    uint32_t lines = lines_of(len), first;

    if (len > s->frame_bytes || !plain(s, m))
        return m;
    first = lines_find(s, lines);
    if (first == s->n)
        return m;
    lines_mark(s, first, lines, 1);
    lines_write(s->lines + (size_t)first * STORE_LINE, rte_pktmbuf_mtod(m, const uint8_t *), lines);
    if (s->n_spares < STORE_SPARES)
        s->spares[s->n_spares++] = m;
    else
        spare_free(m);
    return (struct rte_mbuf *)((uintptr_t)first << 1 | 1);
}

struct rte_mbuf *store_take(struct store *s, struct rte_mbuf *kept, uint32_t len)
{
    uint32_t first = (uint32_t)((uintptr_t)kept >> 1), lines = lines_of(len);
    const uint8_t *from = s->lines + (size_t)first * STORE_LINE;
    struct rte_mbuf *m;
    uint8_t *to;

    if (__builtin_expect(s->n_spares > 0, 1))
        m = s->spares[--s->n_spares];
    else
        m = spare_new(s);
    lines_mark(s, first, lines, 0);
    if (m == NULL)
        return NULL;
    m->data_off = RTE_PKTMBUF_HEADROOM; /* all other fields are as plain() requires */
    m->pkt_len = len;
    m->data_len = (uint16_t)len;
    to = rte_pktmbuf_mtod(m, uint8_t *);
    memcpy(to, from, STORE_LINE);
    for (uint32_t i = 1; __builtin_expect(i < lines, 0); i++)
        memcpy(to + i * STORE_LINE, from + i * STORE_LINE, STORE_LINE);
    return m;
}

void store_free(struct store *s, struct rte_mbuf *m, uint32_t len)
{
    if (store_has(m))
        lines_mark(s, (uint32_t)((uintptr_t)m >> 1), lines_of(len), 0);
    else
        rte_pktmbuf_free(m);
}
