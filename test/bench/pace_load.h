/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads for pace_compare: shuffled flows of PACE_CLASSES rates, the fastest of them 16 times the
 * slowest, and when each flow starts.
 *
 * Invariant: the starts of a class are spread evenly at random over its period, so the load is
 * steady after the slowest flow's period.
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

/* packets: PACE_BACKLOG for each flow. Ends the program if memory does not suffice. */
void pace_plan_init(struct pace_plan *plan, uint32_t flows, uint32_t slot_tsc,
                    struct rte_mbuf **packets);
void pace_plan_free(struct pace_plan *plan);

/*
 * The load starts now, or in real time when the set-up is done. Rates are whole bytes a second, so
 * it is only about pps; pace_load_pps() is exact.
 */
void pace_load_init(struct pace_load *load, const struct pace_plan *plan, double pps,
                    bool real_time);

/* Cycles; classes are in order of rate, the slowest first. */
double pace_class_period(const struct pace_load *load, uint32_t class);

#endif
