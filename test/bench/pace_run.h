/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs an engine under load, on one lcore: it gets back at once each packet that it releases.
 *
 * A turn is a pull, and a push of the packets that it gave. The clock goes forward by the time that
 * each turn took by the TSC, whether it released packets or not. Only the time in which another
 * thread had the core, as the kernel says, does not count, for any engine. An engine that takes the
 * time as a parameter does not see it; an engine that reads the TSC itself need not release packets
 * for it. The kernel is asked after a turn above PACE_LONG_US, and the question's own time does not
 * count either. A turn that is long by itself counts in full.
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
    uint64_t away_tsc;              /* in which another thread had the core */
    uint64_t look_tsc, look_cpu_ns; /* the last question to the kernel, and its answer */
};

/*
 * False if the engine does not take the load; else pace_run_end() ends the run. real_time: every
 * engine runs in real time.
 */
bool pace_run_begin(struct pace_run *r, const struct pace_engine *engine,
                    const struct pace_plan *plan, double pps, bool real_time);
void pace_run_end(struct pace_run *r);

/* Runs until that time; returns the number of packets released. */
uint64_t pace_run_until(struct pace_run *r, uint64_t until);

/* Starts flows whose time has come, a few at a time. */
void pace_run_feed(struct pace_run *r);

/* Runs until all flows have started, and `seconds` more. */
void pace_run_warm(struct pace_run *r, double seconds);

struct pace_top {
    double offered_pps, pps; /* of the highest load that kept its schedule */
    double schedule;         /* share of the scheduled packets that were released */
    double long_share;       /* share of the time in turns above PACE_LONG_US */
    double away_share;       /* share of all the time that was left out */
    size_t footprint_bytes;
};

/*
 * Measures one load, for about `seconds`. It takes two periods of the slowest flow at least, but
 * 2 s at most: by then each flow has come down as many levels of a wheel as packets of its rate do.
 */
bool pace_run_measure(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                      double seconds, struct pace_top *top);

/*
 * Finds the highest load of which at least PACE_SCHEDULE is released, to 3 %, from a guess. False
 * if the engine takes none.
 */
#define PACE_SCHEDULE 0.98
bool pace_run_search(const struct pace_engine *engine, const struct pace_plan *plan,
                     double guess_pps, double seconds, struct pace_top *top);

#endif
