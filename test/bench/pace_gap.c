/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace_gap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "base/clock.h"

#define PERIODS     2.5 /* of the mean flow */
#define SECONDS_MAX 8.0
#define WARM_S      0.05
#define LOST_NS     1000

/* Watches one loop. */
struct watch {
    uint64_t hz, begin, limit;
    double off_cpu_s; /* until the last stall */
    struct pace_stalls *stalls;
};

static double thread_cpu_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double off_cpu_s(const struct watch *w)
{
    return (double)(rte_rdtsc() - w->begin) / (double)w->hz - thread_cpu_s();
}

static void watch_init(struct watch *w, struct pace_stalls *stalls)
{
    *w = (struct watch){.hz = rte_get_tsc_hz(), .begin = rte_rdtsc(), .stalls = stalls};
    w->limit = w->hz / (CLOCK_NS_PER_S / PACE_STALL_NS);
    w->off_cpu_s = off_cpu_s(w);
}

static void watch_stall(struct watch *w, uint64_t from, uint64_t to, const char *where,
                        uint32_t packets)
{
    double off = off_cpu_s(w);

    if (w->stalls->count < PACE_STALLS)
        w->stalls->first[w->stalls->count] =
            (struct pace_stall){.at_s = (double)(from - w->begin) / (double)w->hz,
                                .length_s = (double)(to - from) / (double)w->hz,
                                .off_cpu_s = off - w->off_cpu_s,
                                .where = where,
                                .packets = packets};
    w->stalls->count++;
    w->off_cpu_s = off;
}

/* Notes the releases of one pull; before `clear` was the last interruption. */
static void note(const struct pace_run *r, uint64_t *last, const double *period,
                 struct rte_mbuf **packets, uint32_t n, uint64_t when, uint64_t clear,
                 struct pace_gaps *gaps)
{
    double ns_per_cycle = 1e9 / (double)r->load.hz;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t flow = r->engine->flow_of(packets[i]);
        double gap = (double)(when - last[flow]);

        if (last[flow] != 0 && gaps != NULL && last[flow] <= clear)
            gaps->interrupted++;
        else if (last[flow] != 0 && gaps != NULL)
            histogram_add(&gaps->error_ns,
                          (uint64_t)(fabs(gap - period[r->load.class_of[flow]]) * ns_per_cycle));
        last[flow] = when;
    }
}

/* gaps: NULL while it warms up. */
static uint64_t loop(struct pace_run *r, uint64_t *last, const double *period, double seconds,
                     struct pace_gaps *gaps)
{
    struct pace_stalls none = {0};
    struct rte_mbuf *packets[PACE_BURST];
    uint64_t begin = rte_rdtsc(), end = begin + (uint64_t)(seconds * (double)r->load.hz);
    const uint64_t long_turn = r->load.hz * PACE_CLIP_US / 1000000;
    uint64_t released = 0, before = begin, after, clear = 0;
    uint32_t n = 0;
    struct watch w;

    watch_init(&w, gaps != NULL ? &gaps->stalls : &none);
    end = RTE_MAX(end, r->start_tsc);
    for (after = begin; before < end || r->started < r->load.flows;) {
        r->now = before = rte_rdtsc();
        if (before - after > long_turn)
            clear = before;
        if (before - after > w.limit) {
            watch_stall(&w, after, before, n > 0 ? "push" : "between", n);
            r->now = before = rte_rdtsc();
        }
        if (r->now >= r->next_start)
            pace_run_feed(r);
        n = r->engine->pull(r->state, before, packets, PACE_BURST);
        after = rte_rdtsc();
        if (after - before > w.limit)
            watch_stall(&w, before, after, "pull", n);
        if (after - before > long_turn)
            clear = after;
        note(r, last, period, packets, n, after, clear, gaps);
        if (n > 0)
            r->engine->push(r->state, packets, n, before);
        released += n;
    }
    return released;
}

bool pace_gap_measure(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                      double seconds, struct pace_gaps *gaps)
{
    uint64_t *last = calloc(plan->flows, sizeof *last), begin;
    double period[PACE_CLASSES];
    struct pace_run r;

    memset(gaps, 0, sizeof *gaps);
    if (last == NULL || !pace_run_begin(&r, engine, plan, pps, true)) {
        free(last);
        return false;
    }
    for (uint32_t i = 0; i < PACE_CLASSES; i++)
        period[i] = pace_class_period(&r.load, i);
    loop(&r, last, period, WARM_S, NULL);
    seconds = fmin(fmax(seconds, PERIODS * plan->flows / pps), SECONDS_MAX);
    begin = rte_rdtsc();
    gaps->pps = (double)loop(&r, last, period, seconds, gaps);
    gaps->seconds = (double)(rte_rdtsc() - begin) / (double)r.load.hz;
    gaps->pps /= gaps->seconds;
    pace_run_end(&r);
    free(last);
    return true;
}

void pace_spin_measure(double seconds, struct pace_spin *spin)
{
    uint64_t now, last, end, lost = 0, longest = 0;
    struct watch w;

    memset(spin, 0, sizeof *spin);
    watch_init(&w, &spin->stalls);
    last = w.begin;
    end = w.begin + (uint64_t)(seconds * (double)w.hz);
    while (last < end) {
        now = rte_rdtsc();
        if (now - last > w.hz / (CLOCK_NS_PER_S / LOST_NS)) {
            lost += now - last;
            longest = RTE_MAX(longest, now - last);
            if (now - last > w.limit) {
                watch_stall(&w, last, now, "spin", 0);
                now = rte_rdtsc();
            }
        }
        last = now;
    }
    spin->seconds = seconds;
    spin->lost_share = (double)lost / (double)(last - w.begin);
    spin->longest_s = (double)longest / (double)w.hz;
}
