/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how exactly an engine keeps a flow's period. The error is the absolute difference
 * between the period and the time from one release of the flow to the next, as the caller sees them
 * when pull() returns. All engines run in real time, with the same work between their calls.
 *
 * A call was interrupted by the kernel or the host if it takes more than 2 us, more than
 * PACE_CLIP_TURNS usual calls, and more than PACE_CLIP_TURNS times as long as its packets take at
 * the engine's top. (An engine that is so uneven by itself gains by this.) Packets are late after
 * an interruption until a pull gives nothing, but no longer than ten times the interruption. A gap
 * that begins or ends with a late packet has no error; the number of such gaps is reported, and the
 * lost time.
 */
#ifndef SLUICE_BENCH_PACE_GAP_H
#define SLUICE_BENCH_PACE_GAP_H

#include "base/histogram.h"
#include "pace_run.h"

#define PACE_CLIP_TURNS 8
#define PACE_STALLS     64u     /* so many are kept */
#define PACE_STALL_NS   1000000 /* a call, or the time between two, that takes longer */

struct pace_stall {
    double at_s, length_s;
    double off_cpu_s;  /* part of it in which another thread had the core, says the kernel */
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
    double lost_share;    /* share of the time that interrupted calls took */
    struct pace_stalls stalls;
};

/* Measures for about `seconds`, but long enough for some gaps of most flows. Returns false if the
 * engine does not take the load. top_pps: the engine's highest load. */
bool pace_gap_measure(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                      double top_pps, double seconds, struct pace_gaps *gaps);

/*
 * Measures how much time the kernel and the host take from a loop that only reads the clock. The
 * gap errors are those of flows with one period that take turns evenly. Each packet leaves when the
 * clock is first read after it is due, so no pacer in such a loop could do better here.
 */
struct pace_spin {
    double seconds, lost_share, longest_s; /* lost: in gaps above 1 us */
    struct histogram error_ns;
    struct pace_stalls stalls;
};

void pace_spin_measure(double seconds, uint32_t flows, double pps, struct pace_spin *spin);

#endif
