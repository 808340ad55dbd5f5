/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A paced flow in one cache line, for the engines that are written here for comparison.
 *
 * Invariant: due' = due + length / rate after each packet, so lateness does not add up. A flow that
 * is later than that saves up no more than one packet. A flow that ran empty is not due before its
 * next packet comes. Times are in 1/256 cycles since the load's start: at 100 million packets a
 * second, a whole cycle is 4 % of a period.
 */
#ifndef SLUICE_BENCH_PACE_FLOW_H
#define SLUICE_BENCH_PACE_FLOW_H

#include <stdint.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "pace_engine.h"

#define PACE_FRACTION_BITS 8
#define PACE_COST_BITS     24
#define PACE_LEN_SHIFT     48
#define PACE_NONE          UINT32_MAX
#define PACE_RING          4u /* packets a flow can hold */

struct pace_flow {
    uint64_t due;             /* of the first packet */
    uint64_t cost;            /* of a byte, in 2^-24 cycles */
    uint32_t head;            /* packets that left */
    uint32_t tail;            /* packets that came */
    uint64_t ring[PACE_RING]; /* packets' addresses, and lengths in the bits above */
} __rte_cache_aligned;

/* Takes the first packet of a flow that has one; true if the flow has more. now: in flows' time. */
static inline bool pace_flow_take(struct pace_flow *f, uint64_t now, struct rte_mbuf **packet)
{
    uint64_t word = f->ring[f->head++ % PACE_RING];

    *packet = (struct rte_mbuf *)(uintptr_t)(word & ((1ull << PACE_LEN_SHIFT) - 1));
    f->due += (word >> PACE_LEN_SHIFT) * f->cost >> (PACE_COST_BITS - PACE_FRACTION_BITS);
    f->due = RTE_MAX(f->due, now);
    return f->head != f->tail;
}

/* Adds a packet; true if the flow was empty. */
static inline bool pace_flow_give(struct pace_flow *f, struct rte_mbuf *packet)
{
    bool empty = f->head == f->tail;

    f->ring[f->tail++ % PACE_RING] =
        (uint64_t)packet->pkt_len << PACE_LEN_SHIFT | (uintptr_t)packet;
    return empty;
}

/* Zeroed memory, on hugepages if EAL has them. */
static inline void *pace_memory(size_t bytes)
{
    return rte_zmalloc(NULL, bytes, RTE_CACHE_LINE_SIZE);
}

/* All flows of the load, without packets; NULL without memory. */
struct pace_flow *pace_flows_create(const struct pace_load *load);

/*
 * Width of slots for the load: a power of two, as wide as the load asks for. It is less where a
 * flow has several packets in that time, and more where there would be too many slots.
 */
struct pace_slots {
    uint32_t shift; /* of flows' times */
    uint64_t count; /* a power of two, more than the longest period needs */
};

struct pace_slots pace_slots_for(const struct pace_load *load);

#endif
