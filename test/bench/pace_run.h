/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine under load: what it releases it gets back at once, on one lcore.
 *
 * The clock goes forward by what each turn (a pull, and a push of what it gave) took by the TSC,
 * whether it released anything or not. Only what the kernel says that another thread had the core
 * does not count, and for no engine: it is left out of the clock of those that are told the time,
 * and nothing is asked for that time of those that read the TSC themselves. The kernel is asked
 * after a turn above PACE_LONG_US, and what asking takes does not count either. A turn that is long
 * by itself counts in full.
 */
#ifndef SLUICE_BENCH_PACE_RUN_H
#define SLUICE_BENCH_PACE_RUN_H

#include "pace_load.h"

#define PACE_LONG_US 10

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
    uint64_t long_tsc;              /* of the turns above PACE_LONG_US, away_tsc left out */
    uint64_t away_tsc;              /* that another thread had the core */
    uint64_t look_tsc, look_cpu_ns; /* when the kernel was asked last, and what it said */
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
    double long_share;       /* of the time, in turns above PACE_LONG_US */
    double away_share;       /* that was left out, of all the time */
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
