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
#define TURN_NS     2000
#define SETTLE      10   /* times the length of an interruption */
#define SPIN_FLOWS  1024 /* at most */

/* Notes the stalls of one loop. */
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

/* Tells which packets are late because something else had the core, not because of the pacer. */
struct settle {
    uint64_t least, packet; /* longest call that is not interrupted: of any, and for each packet */
    uint64_t usual, until, lost_tsc;
    bool late;
};

static void settle_init(struct settle *s, double hz, double top_pps)
{
    *s = (struct settle){.least = (uint64_t)(hz * TURN_NS / 1e9),
                         .packet = (uint64_t)(PACE_CLIP_TURNS * hz / top_pps)};
}

/* Judges a call that lasted from `from` to `to`; pull: it was one, and gave so many packets. */
static void settle_turn(struct settle *s, uint64_t from, uint64_t to, bool pull, uint32_t packets)
{
    uint64_t took = to - from, limit = RTE_MAX(packets * s->packet, PACE_CLIP_TURNS * s->usual);

    if (took > RTE_MAX(limit, s->least)) {
        s->late = true;
        s->until = RTE_MAX(s->until, to + SETTLE * took);
        s->lost_tsc += took;
    } else if (to > s->until || (pull && packets == 0)) {
        s->late = false;
    }
    s->usual += took / 16 - s->usual / 16;
}

/* Notes the releases of one pull. last: each flow's last release; its lowest bit: late. */
static void note(const struct pace_run *r, uint64_t *last, const double *period,
                 struct rte_mbuf **packets, uint32_t n, uint64_t when, bool late,
                 struct pace_gaps *gaps)
{
    double ns_per_cycle = 1e9 / (double)r->load.hz;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t flow = r->engine->flow_of(packets[i]);
        double gap = (double)(when - last[flow]);

        if (last[flow] != 0 && gaps != NULL && (late || (last[flow] & 1) != 0))
            gaps->interrupted++;
        else if (last[flow] != 0 && gaps != NULL)
            histogram_add(&gaps->error_ns,
                          (uint64_t)(fabs(gap - period[r->load.class_of[flow]]) * ns_per_cycle));
        last[flow] = (when & ~1ull) | late;
    }
}

/* gaps: NULL during the warm-up. */
static uint64_t loop(struct pace_run *r, uint64_t *last, const double *period, double seconds,
                     struct settle *settle, struct pace_gaps *gaps)
{
    struct pace_stalls none = {0};
    struct rte_mbuf *packets[PACE_BURST];
    uint64_t begin = rte_rdtsc(), end = begin + (uint64_t)(seconds * (double)r->load.hz);
    uint64_t released = 0, before = begin, after;
    uint32_t n = 0;
    struct watch w;

    watch_init(&w, gaps != NULL ? &gaps->stalls : &none);
    end = RTE_MAX(end, r->start_tsc);
    for (after = begin; before < end || r->started < r->load.flows;) {
        r->now = before = rte_rdtsc();
        settle_turn(settle, after, before, false, n);
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
        settle_turn(settle, before, after, true, n);
        note(r, last, period, packets, n, after, settle->late, gaps);
        if (n > 0)
            r->engine->push(r->state, packets, n, before);
        released += n;
    }
    return released;
}

bool pace_gap_measure(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                      double top_pps, double seconds, struct pace_gaps *gaps)
{
    uint64_t *last = calloc(plan->flows, sizeof *last), begin;
    double period[PACE_CLASSES];
    struct settle settle;
    struct pace_run r;

    memset(gaps, 0, sizeof *gaps);
    if (last == NULL || !pace_run_begin(&r, engine, plan, pps, true)) {
        free(last);
        return false;
    }
    for (uint32_t i = 0; i < PACE_CLASSES; i++)
        period[i] = pace_class_period(&r.load, i);
    settle_init(&settle, (double)r.load.hz, top_pps);
    loop(&r, last, period, WARM_S, &settle, NULL);
    settle.lost_tsc = 0;
    seconds = fmin(fmax(seconds, PERIODS * plan->flows / pps), SECONDS_MAX);
    begin = rte_rdtsc();
    gaps->pps = (double)loop(&r, last, period, seconds, &settle, gaps);
    gaps->seconds = (double)(rte_rdtsc() - begin) / (double)r.load.hz;
    gaps->lost_share = (double)settle.lost_tsc / (double)r.load.hz / gaps->seconds;
    gaps->pps /= gaps->seconds;
    pace_run_end(&r);
    free(last);
    return true;
}

/* Flows that take turns: when the next one is due, and how late each was. The lowest bit of `late`
 * says that something else had the core. */
struct turns {
    uint64_t count, flows, late[SPIN_FLOWS];
    double step_tsc, due_tsc;
};

/* The clock was read at `now`, and before that at `last`. */
static void turns_take(struct turns *t, uint64_t last, uint64_t now, const struct settle *settle,
                       double ns_per_cycle, struct histogram *error_ns)
{
    bool lost = now - last > settle->least;

    for (; t->due_tsc <= (double)now; t->due_tsc += t->step_tsc) {
        uint64_t *before = &t->late[t->count % t->flows];
        uint64_t late = (uint64_t)((double)now - t->due_tsc) & ~1ull;

        if (t->count++ >= t->flows && !lost && (*before & 1) == 0)
            histogram_add(error_ns,
                          (uint64_t)(fabs((double)late - (double)*before) * ns_per_cycle));
        *before = late | lost;
    }
}

void pace_spin_measure(double seconds, uint32_t flows, double pps, struct pace_spin *spin)
{
    struct turns t = {.flows = RTE_MIN(flows, (uint32_t)SPIN_FLOWS)};
    uint64_t now, last, end, lost = 0, longest = 0;
    struct settle settle;
    struct watch w;

    memset(spin, 0, sizeof *spin);
    watch_init(&w, &spin->stalls);
    settle_init(&settle, (double)w.hz, pps);
    t.step_tsc = (double)w.hz * flows / pps / (double)t.flows;
    last = w.begin;
    t.due_tsc = (double)last;
    end = w.begin + (uint64_t)(seconds * (double)w.hz);
    while (last < end) {
        now = rte_rdtsc();
        turns_take(&t, last, now, &settle, 1e9 / (double)w.hz, &spin->error_ns);
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
