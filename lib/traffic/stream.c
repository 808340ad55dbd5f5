/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic/stream.h"

#include "base/check.h"
#include "base/gcd.h"

void stream_init(struct stream *s, const struct stream_config *cfg)
{
    CHECK(cfg->n_flows > 0 && cfg->mix->count > 0);
    s->mix = *cfg->mix;
    s->flows = cfg->flows;
    s->n_flows = cfg->n_flows;
    s->round = (uint64_t)cfg->n_flows / gcd(cfg->n_flows, cfg->mix->count) * cfg->mix->count;
    s->next = (struct stream_cursor){.round_left = s->round};
    for (uint32_t i = 0; i < cfg->mix->sizes; i++)
        stamp_template_init(&s->templates[i], cfg->route, cfg->mix->bytes[i], cfg->stream,
                            cfg->window);
}

static inline void cursor_step(struct stream_cursor *c, const struct stream *s)
{
    c->number++;
    if (++c->flow == s->n_flows)
        c->flow = 0;
    if (++c->turn == s->mix.count)
        c->turn = 0;
    if (--c->round_left == 0) {
        c->round_left = s->round;
        if (++c->turn == s->mix.count)
            c->turn = 0;
    }
}

static inline void mbuf_put(const struct stream *s, const struct stream_cursor *c,
                            struct rte_mbuf *m, uint64_t time_ns)
{
    const struct stamp_template *t = &s->templates[s->mix.order[c->turn]];

    m->data_off = RTE_PKTMBUF_HEADROOM;
    m->ol_flags = 0;
    m->data_len = t->frame_bytes;
    m->pkt_len = t->frame_bytes;
    stamp_put(t, rte_pktmbuf_mtod(m, uint8_t *), &s->flows[c->flow], (uint32_t)c->number, time_ns);
}

void stream_put(const struct stream *s, struct rte_mbuf **m, uint32_t n, uint64_t time_ns)
{
    struct stream_cursor c = s->next;

    for (uint32_t i = 0; i < n; i++) {
        if (i + 4 < n)
            rte_prefetch0((uint8_t *)m[i + 4]->buf_addr + RTE_PKTMBUF_HEADROOM);
        mbuf_put(s, &c, m[i], time_ns);
        cursor_step(&c, s);
    }
}

uint64_t stream_sent(struct stream *s, uint32_t n)
{
    struct stream_cursor c = s->next; /* a copy, which stays in registers */
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < n; i++) {
        bytes += s->mix.bytes[s->mix.order[c.turn]];
        cursor_step(&c, s);
    }
    s->next = c;
    return bytes;
}

void stream_mbuf_fill(struct rte_mbuf *m)
{
    uint8_t *p = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;

    if (m->buf_len > RTE_PKTMBUF_HEADROOM)
        stamp_filler_put(p, 0, (uint32_t)m->buf_len - RTE_PKTMBUF_HEADROOM);
}
