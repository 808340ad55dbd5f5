/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/tahoe_receiver.h"

#include "base/check.h"
#include "base/clock.h"
#include "sim/segment.h"

#define TICK_NS 200000000u

void tahoe_receiver_init(struct tahoe_receiver *r, const struct tahoe_receiver_config *cfg,
                         uint64_t now)
{
    struct clock clock = {cfg->hz};

    CHECK(cfg->hz > 0 && cfg->mss_bytes > 0 && cfg->window_bytes > 0);
    *r = (struct tahoe_receiver){.cfg = *cfg};
    span_set_init(&r->beyond, r->span, TAHOE_RECEIVER_SPANS);
    r->tick = clock_cycles(&clock, cfg->tick_ns != 0 ? cfg->tick_ns : TICK_NS);
    r->tick_at = now + r->tick;
}

static void ack_want(struct tahoe_receiver *r)
{
    r->acked = r->received;
    r->delayed = false;
    if (r->acks < TAHOE_RECEIVER_ACKS)
        r->acks++;
    r->ack[r->acks - 1] = r->received;
}

static void ticks_run(struct tahoe_receiver *r, uint64_t now)
{
    if (r->tick_at > now)
        return;
    if (r->delayed)
        ack_want(r);
    r->tick_at += ((now - r->tick_at) / r->tick + 1) * r->tick;
}

static void data_read(struct tahoe_receiver *r, uint64_t end, uint64_t now)
{
    uint64_t before = r->received;
    struct span *s = span_find(&r->beyond, end);

    r->received = s != NULL ? s->end : end;
    span_remove(&r->beyond, before, r->received);
    if (r->cfg.read != NULL)
        r->cfg.read(r->cfg.ctx, (uint32_t)(r->received - before), now);
}

static void segment_take(struct tahoe_receiver *r, const struct segment *s, uint64_t now)
{
    uint64_t first = r->received + (uint64_t)(int64_t)(int32_t)(s->number - (uint32_t)r->received);
    uint64_t end = first + s->data_len;

    r->counts.segments++;
    if ((int64_t)(end - r->received) <= 0) {
        r->counts.duplicates++;
        ack_want(r);
    } else if ((int64_t)(first - r->received) > 0) {
        r->counts.out_of_order++;
        span_add(&r->beyond, first, end, 0, 0); /* -ENOSPC: as if it had been lost */
        ack_want(r);
    } else {
        bool gap = !span_set_empty(&r->beyond);

        data_read(r, end, now);
        uint64_t opens = r->received - r->acked;

        if (gap || opens >= 2u * r->cfg.mss_bytes || 2 * opens >= r->cfg.window_bytes)
            ack_want(r);
        else
            r->delayed = true;
    }
}

void tahoe_receiver_rx(struct tahoe_receiver *r, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    struct segment s;

    ticks_run(r, now);
    for (uint16_t i = 0; i < n; i++) {
        if (segment_parse(m[i], &s, NULL) && s.data_len > 0)
            segment_take(r, &s, now);
        rte_pktmbuf_free(m[i]);
    }
}

uint16_t tahoe_receiver_tx(struct tahoe_receiver *r, struct rte_mbuf **m, uint16_t max,
                           uint64_t now)
{
    uint32_t taken = 0;
    uint16_t n = 0;

    ticks_run(r, now);
    for (; n < max && taken < r->acks; taken++) {
        struct segment s = {0, (uint32_t)r->ack[taken], r->cfg.window_bytes, 0};

        m[n] = segment_build(r->cfg.pool, &r->cfg.route, &s);
        r->counts.no_mbuf += m[n] == NULL;
        n += m[n] != NULL;
    }
    r->acks -= taken;
    memmove(r->ack, r->ack + taken, r->acks * sizeof *r->ack);
    r->counts.acks += n;
    return n;
}

uint64_t tahoe_receiver_next(const struct tahoe_receiver *r, uint64_t now)
{
    if (r->acks > 0)
        return now;
    return r->delayed ? r->tick_at : TIME_NEVER;
}

static void node_rx(void *self, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    tahoe_receiver_rx(self, m, n, now);
}

static uint16_t node_tx(void *self, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    return tahoe_receiver_tx(self, m, max, now);
}

static uint64_t node_next(const void *self, uint64_t now)
{
    return tahoe_receiver_next(self, now);
}

struct node tahoe_receiver_node(struct tahoe_receiver *r)
{
    return (struct node){r, r->cfg.route.sport, node_rx, node_tx, node_next};
}
