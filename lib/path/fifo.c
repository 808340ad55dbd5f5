/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/fifo.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "base/check.h"

#define LINE 64u

int fifo_init(struct fifo *f, uint32_t packets, uint32_t compact_bytes, struct rte_mempool *pool)
{
    uint32_t capacity = rte_align32pow2(RTE_MAX(packets, FIFO_AHEAD));

    memset(f, 0, sizeof *f);
    f->mask = capacity - 1;
    f->pool = pool;
    f->ring = rte_malloc("path fifo", capacity * sizeof *f->ring, LINE);
    if (f->ring == NULL)
        return -ENOMEM;
    if (compact_bytes > 0 &&
        rte_pktmbuf_data_room_size(pool) >= RTE_PKTMBUF_HEADROOM + compact_bytes) {
        f->lines = rte_malloc("path fifo", (size_t)capacity * LINE, LINE);
        if (f->lines == NULL)
            return -ENOMEM;
        f->line_mask = capacity - 1;
        f->compact_bytes = compact_bytes;
    }
    return 0;
}

void fifo_fini(struct fifo *f)
{
    while (f->ring != NULL && fifo_count(f) > 0)
        rte_pktmbuf_free(f->ring[f->tail++ & f->mask].m);
    rte_pktmbuf_free_bulk(f->spares, f->n_spares);
    rte_free(f->ring);
    rte_free(f->lines);
    memset(f, 0, sizeof *f);
}

/*
 * Writes past the cache, whole lines: they are wanted when they would have left it anyway, and no
 * line is read before it is written. Reads up to 63 bytes behind the frame, inside its buffer.
 */
static inline void lines_write(uint8_t *to, const uint8_t *from, uint32_t lines)
{
#ifdef __SSE2__
    for (; lines > 0; lines--, to += LINE, from += LINE) {
        const __m128i *f = (const __m128i *)(const void *)from;
        __m128i a = _mm_loadu_si128(f), b = _mm_loadu_si128(f + 1), c = _mm_loadu_si128(f + 2),
                d = _mm_loadu_si128(f + 3);
        __m128i *t = (__m128i *)(void *)to;

        _mm_stream_si128(t, a);
        _mm_stream_si128(t + 1, b);
        _mm_stream_si128(t + 2, c);
        _mm_stream_si128(t + 3, d);
    }
#else
    memcpy(to, from, (size_t)lines * LINE);
#endif
}

/* Nothing of this mbuf but its bytes matters, and it is one like those that will be needed. */
static bool plain(const struct fifo *f, const struct rte_mbuf *m)
{
    return m->pool == f->pool && m->nb_segs == 1 && m->ol_flags == 0 &&
           rte_mbuf_refcnt_read(m) == 1 && rte_pktmbuf_tailroom(m) >= LINE;
}

/* The first line for so many, from `line` on, which may be at the start again. */
static uint32_t line_start(const struct fifo *f, uint32_t line, uint32_t lines)
{
    uint32_t left = f->line_mask + 1 - (line & f->line_mask);

    return left < lines ? line + left : line;
}

/* Keeps the frame as bytes; false if there is no room for them. */
static bool compact(struct fifo *f, struct rte_mbuf *m, uint32_t len)
{
    uint32_t lines = (len + LINE - 1) / LINE, first = line_start(f, f->line_head, lines);

    if (first + lines - f->line_tail > f->line_mask + 1)
        return false;
    lines_write(f->lines + (size_t)(first & f->line_mask) * LINE,
                rte_pktmbuf_mtod(m, const uint8_t *), lines);
    f->line_head = first + lines;
    if (f->n_spares < FIFO_SPARES)
        f->spares[f->n_spares++] = m;
    else
        rte_pktmbuf_free(m);
    return true;
}

void fifo_compact(struct fifo *f, struct path_packet *newest)
{
    if (plain(f, newest->m) && compact(f, newest->m, newest->len))
        newest->m = NULL;
}

/* An mbuf for a frame that leaves. Spares are plain(): only where their data begin may differ. */
static inline struct rte_mbuf *spare(struct fifo *f)
{
    struct rte_mbuf *m;

    if (f->n_spares == 0)
        return rte_pktmbuf_alloc(f->pool);
    m = f->spares[--f->n_spares];
    m->data_off = RTE_PKTMBUF_HEADROOM;
    return m;
}

void fifo_expand(struct fifo *f, struct path_packet *p)
{
    uint32_t lines = (p->len + LINE - 1) / LINE, first = line_start(f, f->line_tail, lines);

    f->line_tail = first + lines;
    rte_prefetch0(f->lines + (size_t)((first + FIFO_AHEAD) & f->line_mask) * LINE);
    p->m = spare(f);
    if (p->m != NULL) {
        p->m->pkt_len = p->len;
        p->m->data_len = (uint16_t)p->len;
        rte_memcpy(rte_pktmbuf_mtod(p->m, void *), f->lines + (size_t)(first & f->line_mask) * LINE,
                   p->len);
    }
}
