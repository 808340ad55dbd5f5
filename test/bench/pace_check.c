/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>

#define RATE_ERROR    0.01
#define PACKETS_ERROR 2.0 /* for the ends of a count, and packets that a late pull holds back */
#define DRAIN_PERIODS 4   /* of the slowest flow; and DRAIN_S, for interruptions */
#define DRAIN_S       0.02
#define CLIP_US       20 /* a turn counts for this long at most */

struct check {
    struct pace_run run;
    uint32_t *count;  /* flow -> packets it released */
    uint8_t *outside; /* packet -> it was released and not given back */
    uint32_t lost_order, doubled;
};

/* A packet's place in the load, found by its flow and its address; UINT32_MAX if it has none. */
static uint32_t place(const struct check *c, const struct rte_mbuf *packet, uint32_t flow)
{
    uint32_t first = flow * PACE_BACKLOG, i = 0;

    while (i < PACE_BACKLOG && c->run.load.packets[first + i] != packet)
        i++;
    return i < PACE_BACKLOG ? first + i : UINT32_MAX;
}

/* Takes released packets. Those of a flow take turns, so the count tells which one is next. */
static void take(struct check *c, struct rte_mbuf **packets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t flow = c->run.engine->flow_of(packets[i]);
        uint32_t at = place(c, packets[i], flow);

        if (at == UINT32_MAX || c->outside[at]) {
            c->doubled++;
            continue;
        }
        if (at % PACE_BACKLOG != c->count[flow] % PACE_BACKLOG)
            c->lost_order++;
        c->outside[at] = 1;
        c->count[flow]++;
    }
}

static void give(struct check *c, struct rte_mbuf **packets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        c->outside[place(c, packets[i], c->run.engine->flow_of(packets[i]))] = 0;
    c->run.engine->push(c->run.state, packets, n, c->run.now);
}

/* Hides interruptions from engines that take the time as a parameter. */
static void clock_advance(struct check *c, uint64_t *last)
{
    struct pace_run *r = &c->run;
    uint64_t now = rte_rdtsc(), cost = now - *last;

    *last = now;
    if (r->engine->real_clock)
        r->now = now;
    else
        r->now += RTE_MIN(cost, r->load.hz / 1000000 * CLIP_US);
}

/* back: released packets are given back to the engine. */
static void loop(struct check *c, uint64_t until, bool back)
{
    struct rte_mbuf *packets[PACE_BURST];
    struct pace_run *r = &c->run;
    uint64_t last = rte_rdtsc();
    uint32_t n;

    while (r->now < until || r->started < r->load.flows) {
        if (r->now >= r->next_start)
            pace_run_feed(r);
        n = r->engine->pull(r->state, r->now, packets, PACE_BURST);
        take(c, packets, n);
        if (back && n > 0 && c->doubled == 0)
            give(c, packets, n);
        clock_advance(c, &last);
    }
}

static uint32_t rates_wrong(const struct check *c, const uint32_t *before, double elapsed_tsc)
{
    uint32_t wrong = 0;
    double worst = 0;

    for (uint32_t i = 0; i < c->run.load.flows; i++) {
        double want = elapsed_tsc / pace_period_tsc(&c->run.load, i);
        double error = fabs(c->count[i] - before[i] - want);

        wrong += error > PACKETS_ERROR + RATE_ERROR * want;
        worst = fmax(worst, error / want);
    }
    if (wrong > 0)
        fprintf(stderr, "%s: %u flows have another rate; the worst by %.1f %%\n",
                c->run.engine->name, wrong, 100 * worst);
    return wrong;
}

static bool check_run(struct check *c, uint32_t *before, double seconds)
{
    const struct pace_load *load = &c->run.load;
    uint32_t packets = load->flows * PACE_BACKLOG, inside = 0, wrong;
    uint64_t begin;

    loop(c, c->run.start_tsc + (uint64_t)pace_class_period(load, 0), true);
    for (uint32_t i = 0; i < load->flows; i++)
        before[i] = c->count[i];
    begin = c->run.now;
    loop(c, begin + (uint64_t)(seconds * (double)load->hz), true);
    wrong = rates_wrong(c, before, (double)(c->run.now - begin));
    loop(c,
         c->run.now +
             (uint64_t)(DRAIN_PERIODS * pace_class_period(load, 0) + DRAIN_S * (double)load->hz),
         false);
    for (uint32_t i = 0; i < packets; i++)
        inside += !c->outside[i];
    if (inside + c->doubled + c->lost_order > 0)
        fprintf(stderr, "%s: %u packets did not come back, %u did twice, %u out of order\n",
                c->run.engine->name, inside, c->doubled, c->lost_order);
    return wrong + inside + c->doubled + c->lost_order == 0;
}

bool pace_check(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                double seconds)
{
    struct check c = {.count = calloc(plan->flows, sizeof *c.count),
                      .outside = calloc(plan->flows, PACE_BACKLOG)};
    uint32_t *before = calloc(plan->flows, sizeof *before);
    bool good = false;

    if (c.count != NULL && c.outside != NULL && before != NULL &&
        pace_run_begin(&c.run, engine, plan, pps, false)) {
        good = check_run(&c, before, seconds);
        pace_run_end(&c.run);
    }
    free(c.count);
    free(c.outside);
    free(before);
    return good;
}
