/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/tcp_receiver.h"

#include <string.h>

#include "base/check.h"

#define DELAY_NS 40000000u
#define EACH     2u /* segments an acknowledgement */

void tcp_receiver_init(struct tcp_receiver *r, const struct tcp_receiver_config *cfg)
{
    CHECK(cfg->hz > 0);
    *r = (struct tcp_receiver){.cfg = *cfg, .clock = {cfg->hz}, .delayed_until = TIME_NEVER};
    span_set_init(&r->beyond, r->span, TCP_RECEIVER_SPANS);
}

/* Lists the spans of the segments that came last. */
static void spans_tell(const struct tcp_receiver *r, struct segment_spans *out)
{
    out->n = 0;
    for (uint32_t i = 0; i < SEGMENT_SPANS; i++) {
        const struct span *s = span_find(&r->beyond, r->newest[i]);

        if (s == NULL || (out->n > 0 && out->first[out->n - 1] == (uint32_t)s->first))
            continue;
        out->first[out->n] = (uint32_t)s->first;
        out->end[out->n++] = (uint32_t)s->end;
    }
}

static void ack_want(struct tcp_receiver *r)
{
    r->acked = r->received;
    r->delayed_until = TIME_NEVER;
    if (r->acks < TCP_RECEIVER_ACKS)
        r->acks++;
    r->ack[r->acks - 1].received = r->received;
    spans_tell(r, &r->ack[r->acks - 1].spans);
}

/* Puts a segment first; it takes the place of its own span, or of the last one. */
static void newest_set(struct tcp_receiver *r, uint64_t segment)
{
    const struct span *own = span_find(&r->beyond, segment);
    uint32_t i = 0;

    while (i < SEGMENT_SPANS - 1 && span_find(&r->beyond, r->newest[i]) != own)
        i++;
    memmove(r->newest + 1, r->newest, i * sizeof r->newest[0]);
    r->newest[0] = segment;
}

static void segment_take(struct tcp_receiver *r, const struct segment *s, uint64_t now)
{
    uint64_t n = r->received + (uint64_t)(int64_t)(int32_t)(s->number - (uint32_t)r->received);

    if ((int64_t)(n - r->received) < 0 || span_find(&r->beyond, n) != NULL) {
        r->duplicates++;
        ack_want(r);
    } else if (n > r->received) {
        if (span_add(&r->beyond, n, n + 1, 0, 0) == 0) /* else it counts as lost */
            newest_set(r, n);
        ack_want(r);
    } else {
        const struct span *next = span_find(&r->beyond, n + 1);
        uint64_t end = next != NULL ? next->end : n + 1;

        r->data_bytes += (end - n) * s->data_len;
        r->received = end;
        span_remove(&r->beyond, n, end);
        if (!span_set_empty(&r->beyond) || r->received - r->acked >= EACH)
            ack_want(r);
        else
            r->delayed_until = now + clock_cycles(&r->clock, DELAY_NS);
    }
}

void tcp_receiver_rx(struct tcp_receiver *r, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    struct segment s;

    for (uint16_t i = 0; i < n; i++) {
        if (segment_parse(m[i], &s, NULL) && s.data_len > 0)
            segment_take(r, &s, now);
        rte_pktmbuf_free(m[i]);
    }
}

uint16_t tcp_receiver_tx(struct tcp_receiver *r, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint32_t taken = 0;
    uint16_t n = 0;

    if (r->delayed_until <= now)
        ack_want(r);
    for (; n < max && taken < r->acks; taken++) {
        const struct segment_spans *spans = &r->ack[taken].spans;
        struct segment s = {0, (uint32_t)r->ack[taken].received, 0,
                            (uint16_t)segment_spans_bytes(spans)};

        m[n] = segment_build(r->cfg.pool, &r->cfg.route, &s);
        r->no_mbuf += m[n] == NULL;
        if (m[n] != NULL)
            segment_spans_put(m[n++], spans);
    }
    r->acks -= taken;
    memmove(r->ack, r->ack + taken, r->acks * sizeof r->ack[0]);
    return n;
}

uint64_t tcp_receiver_next(const struct tcp_receiver *r, uint64_t now)
{
    return r->acks > 0 ? now : r->delayed_until;
}

static void node_rx(void *self, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    tcp_receiver_rx(self, m, n, now);
}

static uint16_t node_tx(void *self, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    return tcp_receiver_tx(self, m, max, now);
}

static uint64_t node_next(const void *self, uint64_t now)
{
    return tcp_receiver_next(self, now);
}

struct node tcp_receiver_node(struct tcp_receiver *r)
{
    return (struct node){r, r->cfg.route.sport, node_rx, node_tx, node_next};
}
