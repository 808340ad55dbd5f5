/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace_run.h"

#include <time.h>

#include <rte_cycles.h>

#define FEED_FLOWS   16 /* at a time */
#define SEARCH_STEPS 12
#define SEARCH_CLOSE 1.03 /* ends the search: lowest load that fails over highest that passes */
#define PERIODS      2.0  /* of the slowest flow */
#define SECONDS_MAX  2.0
#define WARM_S_MAX   1.0

static uint64_t start_of(const struct pace_run *r, uint32_t i)
{
    if (i == r->load.flows)
        return UINT64_MAX;
    return r->start_tsc +
           (uint64_t)((double)r->plan->starts[i].when * pace_class_period(&r->load, 0));
}

static void start(struct pace_run *r, uint64_t now)
{
    uint32_t flow = r->plan->starts[r->started].flow;

    if (r->engine->start != NULL)
        r->engine->start(r->state, flow, now);
    r->engine->push(r->state, &r->load.packets[(size_t)flow * PACE_BACKLOG], PACE_BACKLOG, now);
    r->started++;
    r->next_start = start_of(r, r->started);
}

void pace_run_feed(struct pace_run *r)
{
    for (uint32_t n = 0; n < FEED_FLOWS && r->next_start <= r->now; n++)
        start(r, r->now);
}

bool pace_run_begin(struct pace_run *r, const struct pace_engine *engine,
                    const struct pace_plan *plan, double pps, bool real_time)
{
    *r = (struct pace_run){.engine = engine, .plan = plan};
    pace_load_init(&r->load, plan, pps, real_time || engine->real_clock);
    r->state = engine->create(&r->load);
    if (r->state == NULL)
        return false;
    for (uint32_t i = 0; i < plan->flows; i++)
        for (uint32_t k = 0; k < PACE_BACKLOG; k++)
            engine->mark(r->state, plan->packets[(size_t)i * PACE_BACKLOG + k], i);
    r->now = r->start_tsc = r->load.start_tsc + r->load.setup_tsc;
    r->next_start = start_of(r, 0);
    if (engine->ahead)
        while (r->started < plan->flows)
            start(r, r->next_start);
    return true;
}

void pace_run_end(struct pace_run *r)
{
    r->engine->destroy(r->state);
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time that another thread had of a turn that took `cost`; all of it at most. */
static uint64_t away(struct pace_run *r, uint64_t now, uint64_t cost)
{
    uint64_t cpu_ns = thread_cpu_ns(), wall = now - r->look_tsc;
    double mine = (double)(cpu_ns - r->look_cpu_ns) * 1e-9 * (double)r->load.hz;
    double lost = (double)wall - mine;

    r->look_tsc = now;
    r->look_cpu_ns = cpu_ns;
    return lost <= 0 ? 0 : RTE_MIN((uint64_t)lost, cost);
}

uint64_t pace_run_until(struct pace_run *r, uint64_t until)
{
    uint32_t (*pull)(void *, uint64_t, struct rte_mbuf **, uint32_t) = r->engine->pull;
    void (*push)(void *, struct rte_mbuf **, uint32_t, uint64_t) = r->engine->push;
    const uint64_t usual = r->load.hz * PACE_LONG_US / 1000000;
    bool real_clock = r->engine->real_clock;
    struct rte_mbuf *packets[PACE_BURST];
    uint64_t released = 0, last = rte_rdtsc(), now, cost, lost;
    uint32_t n;

    if (real_clock)
        r->now = last;
    r->look_tsc = last;
    r->look_cpu_ns = thread_cpu_ns();
    do {
        if (r->now >= r->next_start)
            pace_run_feed(r);
        n = pull(r->state, r->now, packets, PACE_BURST);
        if (n > 0)
            push(r->state, packets, n, r->now);
        released += n;
        r->turns++;
        now = rte_rdtsc();
        cost = now - last;
        last = now;
        if (unlikely(cost > usual)) {
            lost = away(r, now, cost);
            cost -= lost;
            r->long_tsc += cost > usual ? cost : 0;
            last = rte_rdtsc();
            r->away_tsc += lost + last - now;
            now = last;
        }
        r->now = real_clock ? now : r->now + cost;
    } while (r->now < until);
    return released;
}

void pace_run_warm(struct pace_run *r, double seconds)
{
    while (r->started < r->load.flows)
        pace_run_until(r, r->next_start);
    pace_run_until(r, r->now + (uint64_t)(seconds * (double)r->load.hz));
}

bool pace_run_measure(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                      double seconds, struct pace_top *top)
{
    double period_s, elapsed_s, away_s;
    uint64_t begin, released;
    struct pace_run r;

    if (!pace_run_begin(&r, engine, plan, pps, false))
        return false;
    period_s = pace_class_period(&r.load, 0) / (double)r.load.hz;
    seconds = RTE_MIN(RTE_MAX(seconds, PERIODS * period_s), SECONDS_MAX);
    /* at first caches are cold and flows late; after this, most flows have had a turn */
    pace_run_warm(&r, RTE_MAX(seconds / 4, RTE_MIN(PERIODS * period_s, WARM_S_MAX)));
    r.long_tsc = r.away_tsc = 0;
    begin = r.now;
    released = pace_run_until(&r, begin + (uint64_t)(seconds * (double)r.load.hz));
    elapsed_s = (double)(r.now - begin) / (double)r.load.hz;
    away_s = (double)r.away_tsc / (double)r.load.hz;
    if (engine->real_clock)
        elapsed_s -= away_s;
    top->offered_pps = pace_load_pps(&r.load);
    top->schedule = (double)released / elapsed_s / top->offered_pps;
    top->pps = RTE_MIN(top->schedule, 1.0) * top->offered_pps;
    top->long_share = (double)r.long_tsc / (double)r.load.hz / elapsed_s;
    top->away_share = away_s / (elapsed_s + away_s);
    top->footprint_bytes = engine->footprint_bytes(r.state);
    pace_run_end(&r);
    return true;
}

bool pace_run_search(const struct pace_engine *engine, const struct pace_plan *plan,
                     double guess_pps, double seconds, struct pace_top *top)
{
    double low = 0, high = 0, pps = guess_pps, grow = 1.04, shrink = 0.98;
    struct pace_top tried;

    *top = (struct pace_top){0};
    for (int i = 0; i < SEARCH_STEPS && (low == 0 || high == 0 || high / low > SEARCH_CLOSE); i++) {
        if (!pace_run_measure(engine, plan, pps, seconds, &tried))
            return false;
        if (tried.schedule >= PACE_SCHEDULE) {
            low = pps;
            if (tried.pps > top->pps)
                *top = tried;
            pps = high == 0 ? pps * grow : (low + high) / 2;
            grow *= grow;
        } else {
            high = pps;
            /* an overloaded engine releases about as much as it can sustain */
            pps = low > 0 ? (low + high) / 2
                          : RTE_MIN(tried.pps / (PACE_SCHEDULE + 0.005), pps * shrink);
            shrink *= shrink;
        }
    }
    return top->pps > 0;
}
