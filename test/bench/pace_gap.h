/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How exactly an engine keeps a flow's period: the absolute difference between it and the time from
 * one release of the flow to the next, both as the caller sees them when pull() returns. In real
 * time, for all engines, with the same work between their calls.
 *
 * A call that takes more than 2 us, PACE_CLIP_TURNS usual ones, and as many times what its packets
 * take at the engine's top, was interrupted by the kernel or the host (or an engine is that uneven,
 * to its advantage). A gap is not counted if it begins or ends with a packet that came out after
 * that, until a pull gave nothing, but for ten times as long at most; how many there were is, and
 * the time that was lost.
 */
#ifndef SLUICE_BENCH_PACE_GAP_H
#define SLUICE_BENCH_PACE_GAP_H

#include "base/histogram.h"
#include "pace_run.h"

#define PACE_CLIP_TURNS 8
#define PACE_STALLS     64u     /* that are kept */
#define PACE_STALL_NS   1000000 /* from one pull to the next */

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
    double lost_share;    /* of the time, in turns that were interrupted */
    struct pace_stalls stalls;
};

/* For about `seconds`, but as long as most flows need for some gaps; false if it takes no load.
 * top_pps: the most that the engine can. */
bool pace_gap_measure(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                      double top_pps, double seconds, struct pace_gaps *gaps);

/*
 * A loop that does nothing else than read the clock: what the kernel and the host take. Gap errors
 * are those of flows with one period, in even turns, each of whose packets leaves when the clock is
 * read first after it is due: the best that a pacer in such a loop could do here.
 */
struct pace_spin {
    double seconds, lost_share, longest_s; /* lost: in gaps above 1 us */
    struct histogram error_ns;
    struct pace_stalls stalls;
};

void pace_spin_measure(double seconds, uint32_t flows, double pps, struct pace_spin *spin);

#endif
