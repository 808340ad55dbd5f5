/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How exactly an engine keeps a flow's period: the absolute difference between it and the time from
 * one release of the flow to the next, both as the caller sees them when pull() returns. In real
 * time, for all engines, with the same work between their calls. A gap in which one turn took more
 * than PACE_CLIP_US is not counted: the kernel or the host had the core (or an engine is that slow,
 * to its advantage); how many there were is.
 */
#ifndef SLUICE_BENCH_PACE_GAP_H
#define SLUICE_BENCH_PACE_GAP_H

#include "base/histogram.h"
#include "pace_run.h"

#define PACE_STALLS   64u     /* that are kept */
#define PACE_STALL_NS 1000000 /* from one pull to the next */

struct pace_stall {
    double at_s, length_s;
    double off_cpu_s;  /* of it, as the kernel counts: another thread had the core */
    const char *where; /* the call that did not return, or "between" */
    uint32_t packets;  /* that the pull gave */
};

struct pace_stalls {
    uint32_t count;
    struct pace_stall first[PACE_STALLS];
};

struct pace_gaps {
    double seconds, pps;
    struct histogram error_ns;
    uint64_t interrupted; /* gaps that do not count */
    struct pace_stalls stalls;
};

/* For about `seconds`, but as long as most flows need for some gaps; false if it takes no load. */
bool pace_gap_measure(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                      double seconds, struct pace_gaps *gaps);

/* A loop that does nothing else than read the clock: what the kernel and the host take. */
struct pace_spin {
    double seconds, lost_share, longest_s; /* lost: in gaps above 1 us */
    struct pace_stalls stalls;
};

void pace_spin_measure(double seconds, struct pace_spin *spin);

#endif
