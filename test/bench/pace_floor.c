/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Not a pacer: the rest of lib/pace's pacer if the choice of the next flow cost nothing. Flows take
 * turns in an order that was made beforehand, each as soon as the core can, whatever their rates.
 * Their lines and packets are prefetched well ahead. A packet still costs the flow's credit and its
 * line, the packet's line and the harness. No pacer with a line for each flow can avoid these
 * costs.
 */
#include <rte_prefetch.h>

#include "base/rng.h"
#include "pace/pacer.h"
#include "pace_flow.h"

/* turns to prefetch ahead: lines of flows, then packets, whose addresses are in those lines */
#define AHEAD_FLOW   (4 * PACE_BURST)
#define AHEAD_PACKET (2 * PACE_BURST)

struct floor {
    struct pacer_flow *flows;
    uint32_t *order; /* of turns; its begin follows its end, so a look ahead never wraps */
    uint32_t n, next;
};

static void destroy(void *engine)
{
    struct floor *f = engine;

    if (f == NULL)
        return;
    rte_free(f->flows);
    rte_free(f->order);
    rte_free(f);
}

static void order_make(struct floor *f, uint32_t length)
{
    struct rng rng;

    rng_init(&rng, f->n);
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t other = (uint32_t)rng_below(&rng, i + 1);

        f->order[i] = f->order[other];
        f->order[other] = i;
    }
    for (uint32_t i = f->n; i < length; i++)
        f->order[i] = f->order[i - f->n];
}

static void *create(const struct pace_load *load)
{
    struct floor *f = pace_memory(sizeof *f);
    uint32_t length = load->flows + AHEAD_FLOW + PACE_BURST;

    if (f == NULL)
        return NULL;
    f->n = load->flows;
    f->flows = pace_memory(load->flows * sizeof *f->flows);
    f->order = pace_memory(length * sizeof *f->order);
    if (f->flows == NULL || f->order == NULL) {
        destroy(f);
        return NULL;
    }
    order_make(f, length);
    for (uint32_t i = 0; i < load->flows; i++)
        credit_init(&f->flows[i].credit, load->hz, load->rate_Bps[load->class_of[i]],
                    load->frame_bytes, load->start_tsc);
    return f;
}

/* Like flows_run_plain() of lib/pace/pacer.c, but all flows are due and none goes into a wheel. */
static uint32_t pull(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max)
{
    struct floor *f = engine;
    const uint32_t *due = f->order + f->next;
    uint32_t n = 0;

    (void)now;
    for (uint32_t i = 0; i < max; i++) {
        struct pacer_flow *flow = &f->flows[due[i]];
        struct credit *c = &flow->credit;
        uint64_t word = flow->head[0];

        rte_prefetch0(&f->flows[due[i + AHEAD_FLOW]]);
        rte_prefetch0(pacer_word_packet(f->flows[due[i + AHEAD_PACKET]].head[0]));
        if (word == 0)
            continue;
        c->credit_bytes += (int64_t)(c->burst_bytes - pacer_word_len(word));
        credit_rtimer(c);
        packets[n++] = pacer_word_packet(word);
        flow->head[0] = flow->head[1];
        flow->head[1] = 0;
    }
    f->next = (f->next + max) % f->n;
    return n;
}

static void push(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now)
{
    struct floor *f = engine;

    (void)now;
    for (uint32_t i = 0; i < n; i++) {
        struct pacer_flow *flow = &f->flows[pace_flow_of(packets[i])];

        flow->head[flow->head[0] != 0] = pacer_word(packets[i], packets[i]->pkt_len);
    }
}

static size_t footprint_bytes(const void *engine)
{
    const struct floor *f = engine;

    return f->n * (sizeof *f->flows + sizeof *f->order);
}

const struct pace_engine pace_floor = {.name = "floor",
                                       .unpaced = true,
                                       .create = create,
                                       .destroy = destroy,
                                       .mark = pace_mark,
                                       .flow_of = pace_flow_of,
                                       .push = push,
                                       .pull = pull,
                                       .footprint_bytes = footprint_bytes};
