/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine under load: what it releases it gets back at once, on one lcore.
 *
 * The clock goes forward by what each turn (a pull, and a push of what it gave) took by the TSC,
 * whether it released anything or not. A turn of more than PACE_CLIP_TURNS usual ones, and 2 us, or
 * of more than PACE_CLIP_US, was interrupted by the kernel or the host: it counts as that much, and
 * the rest is added up apart. Engines that read the clock themselves run in real time instead.
 */
#ifndef SLUICE_BENCH_PACE_RUN_H
#define SLUICE_BENCH_PACE_RUN_H

#include "pace_load.h"

#define PACE_CLIP_US    20
#define PACE_CLIP_TURNS 8

struct pace_run {
    const struct pace_engine *engine;
    const struct pace_plan *plan;
    struct pace_load load;
    void *state;
    uint64_t now;
    uint64_t start_tsc;  /* of the first flow */
    uint64_t next_start; /* of the first flow that has not started */
    uint32_t started;
    uint64_t turns;
    uint64_t turn_tsc;             /* a usual one */
    uint64_t clipped, clipped_tsc; /* turns, and what they lost */
};

/* False if the engine does not take the load. Else pace_run_end() it. real_time: for any engine. */
bool pace_run_begin(struct pace_run *r, const struct pace_engine *engine,
                    const struct pace_plan *plan, double pps, bool real_time);
void pace_run_end(struct pace_run *r);

/* Runs until then; returns the number of packets released. */
uint64_t pace_run_until(struct pace_run *r, uint64_t until);

/* Starts flows whose time has come, a few at a time. */
void pace_run_feed(struct pace_run *r);

/* Until all flows have started and `seconds` more. */
void pace_run_warm(struct pace_run *r, double seconds);

struct pace_top {
    double offered_pps, pps; /* of the highest load that kept its schedule */
    double schedule;         /* share of the scheduled packets that were released */
    uint64_t clipped;
    double clipped_share; /* of the time */
    size_t footprint_bytes;
};

/* One load; for about `seconds`, but, up to 2 s, two of the slowest flow's periods at least: each
 * has come down all the way that packets of its rate do. */
bool pace_run_measure(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                      double seconds, struct pace_top *top);

/*
 * The highest load of which at least PACE_SCHEDULE was released, found from a guess to 3 %. False
 * if the engine takes none.
 */
#define PACE_SCHEDULE 0.98
bool pace_run_search(const struct pace_engine *engine, const struct pace_plan *plan,
                     double guess_pps, double seconds, struct pace_top *top);

#endif
