/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Not a pacer: what is left of one when it costs nothing to know what time it is. As pace_floor.c,
 * but flows take turns as a calendar says, the least that a pacer of any rates needs: each is
 * written into the slot of its next refresh, and slots are read one after the other, each as soon
 * as the core can. A flow is 4 bytes there, behind those that came before, and slots are so few and
 * wide that the lines at their ends stay in a first-level cache; who wants to be exact needs more
 * than this. No time is compared, and nothing can be found, moved or cancelled.
 */
#include <rte_prefetch.h>

#include "pace/pacer.h"
#include "pace_flow.h"

#define SLOTS      128u /* half of them within the slowest flow's period */
#define LINE_FLOWS 16u

/* turns ahead that lines are asked for: of flows, and of packets, whose address is in the flow's */
#define AHEAD_FLOW   (4 * PACE_BURST)
#define AHEAD_PACKET (2 * PACE_BURST)

struct calendar {
    struct pacer_flow *flows;
    uint32_t *turns; /* of all slots, each with room for `most`, and AHEAD_FLOW more */
    uint64_t now;    /* the slot that is read */
    uint32_t taken;  /* of its flows */
    uint32_t shift;  /* from cycles to slots */
    uint32_t most;   /* flows of a slot: an odd number of lines, which are in different sets then */
    uint32_t n;
    uint32_t filled[SLOTS];
};

static void destroy(void *engine)
{
    struct calendar *c = engine;

    if (c == NULL)
        return;
    rte_free(c->flows);
    rte_free(c->turns);
    rte_free(c);
}

static void *create(const struct pace_load *load)
{
    struct calendar *c = pace_memory(sizeof *c);
    double longest_tsc = 0;

    if (c == NULL)
        return NULL;
    for (uint32_t i = 0; i < load->flows; i++)
        longest_tsc = RTE_MAX(longest_tsc, pace_period_tsc(load, i));
    c->n = load->flows;
    c->shift = rte_log2_u64((uint64_t)(longest_tsc * 2 / SLOTS) + 1);
    c->most = (load->flows / 4 / LINE_FLOWS * 2 + 3) * LINE_FLOWS;
    c->flows = pace_memory(load->flows * sizeof *c->flows);
    c->turns = pace_memory(((size_t)SLOTS * c->most + AHEAD_FLOW) * sizeof *c->turns);
    if (c->flows == NULL || c->turns == NULL) {
        destroy(c);
        return NULL;
    }
    c->now = load->start_tsc >> c->shift;
    for (uint32_t i = 0; i < load->flows; i++)
        credit_init(&c->flows[i].credit, load->hz, load->rate_Bps[load->class_of[i]],
                    load->frame_bytes, load->start_tsc);
    return c;
}

/* Into the slot of the flow's refresh, or the first one after it that is not full. */
static inline void append(struct calendar *c, uint32_t flow)
{
    uint64_t at = c->flows[flow].credit.refresh_tsc >> c->shift;
    uint32_t *filled = &c->filled[at % SLOTS];

    while (unlikely(*filled == c->most))
        filled = &c->filled[++at % SLOTS];
    c->turns[at % SLOTS * c->most + (*filled)++] = flow;
}

/* As flows_run_plain() of lib/pace/pacer.c, but that all is due. With few flows, many slots are
 * passed for each: no limit there. */
static uint32_t pull(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max)
{
    struct calendar *c = engine;
    uint32_t n = 0, passed = 0;

    (void)now;
    while (n < max && passed < SLOTS) {
        const uint32_t *turn = &c->turns[c->now % SLOTS * c->most + c->taken];
        struct pacer_flow *flow = &c->flows[*turn];
        uint64_t word = flow->head[0];

        if (unlikely(c->taken == c->filled[c->now % SLOTS])) {
            c->filled[c->now++ % SLOTS] = c->taken = 0;
            passed++;
            continue;
        }
        rte_prefetch0(&c->flows[turn[AHEAD_FLOW]]);
        rte_prefetch0(pacer_word_packet(c->flows[turn[AHEAD_PACKET]].head[0]));
        if (unlikely(word == 0))
            break; /* it had its turn in this pull */
        flow->credit.credit_bytes += (int64_t)(flow->credit.burst_bytes - pacer_word_len(word));
        credit_rtimer(&flow->credit);
        packets[n++] = pacer_word_packet(word);
        flow->head[0] = flow->head[1];
        flow->head[1] = 0;
        append(c, *turn);
        c->taken++;
    }
    return n;
}

static void push(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now)
{
    struct calendar *c = engine;

    (void)now;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = pace_flow_of(packets[i]);
        struct pacer_flow *flow = &c->flows[number];
        uint64_t word = pacer_word(packets[i], packets[i]->pkt_len);

        if (likely(flow->head[0] != 0)) {
            flow->head[1] = word;
            continue;
        }
        flow->head[0] = word;
        if (flow->position == 0) { /* it starts */
            flow->position = 1;
            flow->credit.refresh_tsc = (c->now + 1) << c->shift;
            append(c, number);
        }
    }
}

static size_t footprint_bytes(const void *engine)
{
    const struct calendar *c = engine;

    return c->n * (sizeof *c->flows + sizeof *c->turns);
}

const struct pace_engine pace_calendar = {.name = "calendar",
                                          .unpaced = true,
                                          .create = create,
                                          .destroy = destroy,
                                          .mark = pace_mark,
                                          .flow_of = pace_flow_of,
                                          .push = push,
                                          .pull = pull,
                                          .footprint_bytes = footprint_bytes};
