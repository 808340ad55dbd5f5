/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One periodic rte_timer per flow. rte_timer_manage() puts it back at due + period without another
 * reading of the clock. This is exact, and faster than arming it again.
 *
 * All timers that are due run in one call, so their packets go through a queue. No timer runs until
 * the queue is empty, so each flow is in it once at most.
 */
#include <stdio.h>

#include <rte_lcore.h>
#include <rte_timer.h>

#include "pace_flow.h"

struct timed_flow {
    struct rte_timer timer;
    struct timers *timers;
    uint64_t period_tsc;
    uint32_t head, tail;
    struct rte_mbuf *ring[PACE_RING];
} __rte_cache_aligned;

struct timers {
    uint32_t queued, taken;
    struct rte_mbuf **queue;
    struct timed_flow *flows;
    size_t bytes;
};

static void destroy(void *engine)
{
    struct timers *t = engine;

    if (t == NULL)
        return;
    rte_timer_subsystem_finalize(); /* this frees the list of timers, too */
    rte_free(t->queue);
    rte_free(t->flows);
    rte_free(t);
}

static void *create(const struct pace_load *load)
{
    struct timers *t = pace_memory(sizeof *t);

    if (t == NULL)
        return NULL;
    if (rte_timer_subsystem_init() != 0) {
        rte_free(t);
        return NULL;
    }
    t->queue = pace_memory(load->flows * sizeof(struct rte_mbuf *));
    t->flows = pace_memory(load->flows * sizeof *t->flows);
    if (t->queue == NULL || t->flows == NULL) {
        destroy(t);
        return NULL;
    }
    for (uint32_t i = 0; i < load->flows; i++) {
        rte_timer_init(&t->flows[i].timer);
        t->flows[i].timers = t;
        t->flows[i].period_tsc = (uint64_t)(pace_period_tsc(load, i) + 0.5);
    }
    t->bytes = load->flows * sizeof *t->flows;
    return t;
}

static void release(struct timed_flow *f)
{
    struct timers *t = f->timers;

    if (f->head != f->tail)
        t->queue[t->queued++] = f->ring[f->head++ % PACE_RING];
}

static void on_period(struct rte_timer *timer, void *flow)
{
    (void)timer;
    release(flow);
}

static void on_start(struct rte_timer *timer, void *flow)
{
    struct timed_flow *f = flow;

    release(f);
    rte_timer_reset(timer, f->period_tsc, PERIODICAL, rte_lcore_id(), on_period, f);
}

static uint32_t pull(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max)
{
    struct timers *t = engine;
    uint32_t n;

    (void)now;
    if (t->taken == t->queued) {
        t->taken = t->queued = 0;
        rte_timer_manage();
    }
    n = RTE_MIN(t->queued - t->taken, max);
    for (uint32_t i = 0; i < n; i++)
        packets[i] = t->queue[t->taken + i];
    t->taken += n;
    return n;
}

/* A flow's first packets start its timer. It never stops, since the packets come back at once. */
static void push(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now)
{
    struct timers *t = engine;

    for (uint32_t i = 0; i < n; i++) {
        struct timed_flow *f = &t->flows[pace_flow_of(packets[i])];

        f->ring[f->tail++ % PACE_RING] = packets[i];
        if (f->tail == 1) {
            uint64_t tsc = rte_get_timer_cycles();

            rte_timer_reset(&f->timer, now > tsc ? now - tsc : 0, SINGLE, rte_lcore_id(), on_start,
                            f);
        }
    }
}

static size_t footprint_bytes(const void *engine)
{
    const struct timers *t = engine;

    return t->bytes;
}

const struct pace_engine pace_timer = {.name = "rte_timer",
                                       .real_clock = true,
                                       .ahead = true,
                                       .create = create,
                                       .destroy = destroy,
                                       .mark = pace_mark,
                                       .flow_of = pace_flow_of,
                                       .push = push,
                                       .pull = pull,
                                       .footprint_bytes = footprint_bytes};
