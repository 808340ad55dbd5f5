/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/segment.h"

#include "base/bytes.h"

struct rte_mbuf *segment_build(struct rte_mempool *pool, const struct frame_route *route,
                               const struct segment *s)
{
    uint32_t payload = SEGMENT_HEADER_BYTES + s->data_len;
    uint16_t head = frame_header_len(route);
    struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

    if (m == NULL)
        return NULL;
    uint8_t *p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(head + payload));

    if (p == NULL) {
        rte_pktmbuf_free(m);
        return NULL;
    }
    frame_put(p, route, payload);
    bytes_put_u32(p + head, s->number);
    bytes_put_u32(p + head + 4, s->answer);
    bytes_put_u32(p + head + 8, s->size);
    memset(p + head + SEGMENT_HEADER_BYTES, 0, s->data_len);
    return m;
}

bool segment_parse(const struct rte_mbuf *m, struct segment *s, struct frame *f)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    struct frame own;

    f = f != NULL ? f : &own;
    if (frame_parse(p, m->data_len, m->pkt_len, f) != FRAME_UDP ||
        f->payload_len < SEGMENT_HEADER_BYTES || m->nb_segs != 1)
        return false;
    p += f->payload_off;
    *s = (struct segment){bytes_get_u32(p), bytes_get_u32(p + 4), bytes_get_u32(p + 8),
                          (uint16_t)(f->payload_len - SEGMENT_HEADER_BYTES)};
    return true;
}

void segment_spans_put(struct rte_mbuf *m, const struct segment_spans *spans)
{
    uint8_t *p = rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len - segment_spans_bytes(spans));

    for (uint32_t i = 0; i < spans->n; i++) {
        bytes_put_u32(p + 8 * i, spans->first[i]);
        bytes_put_u32(p + 8 * i + 4, spans->end[i]);
    }
}

bool segment_spans_get(const struct rte_mbuf *m, struct segment_spans *spans)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    struct segment s;
    struct frame f;

    if (!segment_parse(m, &s, &f) || s.data_len > 8 * SEGMENT_SPANS || s.data_len % 8 != 0)
        return false;
    p += f.payload_off + SEGMENT_HEADER_BYTES;
    spans->n = s.data_len / 8u;
    for (uint32_t i = 0; i < spans->n; i++) {
        spans->first[i] = bytes_get_u32(p + 8 * i);
        spans->end[i] = bytes_get_u32(p + 8 * i + 4);
    }
    return true;
}
