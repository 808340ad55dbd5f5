/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads for pace_compare: flows of PACE_CLASSES rates that span 16 times, shuffled, and when each
 * of them starts.
 *
 * Invariant: the starts of a class are spread evenly at random over its period, so from the slowest
 * flow's period on the load is steady.
 */
#ifndef SLUICE_BENCH_PACE_LOAD_H
#define SLUICE_BENCH_PACE_LOAD_H

#include "pace_engine.h"

#define PACE_SPAN 16.0 /* fastest rate over slowest */

struct pace_start {
    uint32_t flow;
    float when; /* in periods of the slowest class, ascending */
};

struct pace_plan {
    uint32_t flows, slot_tsc;
    uint32_t in_class[PACE_CLASSES];
    uint8_t *class_of;
    struct pace_start *starts; /* of all flows */
    struct rte_mbuf **packets;
};

/* packets: PACE_BACKLOG for each flow. Ends the program where memory does not suffice. */
void pace_plan_init(struct pace_plan *plan, uint32_t flows, uint32_t slot_tsc,
                    struct rte_mbuf **packets);
void pace_plan_free(struct pace_plan *plan);

/*
 * Starts now, or, to run in real time, when the set-up is done. Rates are whole bytes a second, so
 * it is about pps; pace_load_pps() tells exactly.
 */
void pace_load_init(struct pace_load *load, const struct pace_plan *plan, double pps,
                    bool real_time);

/* Cycles; classes are in order of rate, the slowest first. */
double pace_class_period(const struct pace_load *load, uint32_t class);

#endif
