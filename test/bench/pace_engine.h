/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of an engine that paces flows, for pace_compare, and the load that all engines get.
 *
 * A flow may send one frame every frame_bytes / rate seconds, and saves up no more than one. It has
 * PACE_BACKLOG packets, and the harness pushes each one back as soon as it was pulled. The packet
 * itself names its flow, so every engine reads the same line of it.
 */
#ifndef SLUICE_BENCH_PACE_ENGINE_H
#define SLUICE_BENCH_PACE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define PACE_BURST   32u /* packets of a pull, at most */
#define PACE_CLASSES 16u /* rates; flows of one class share theirs */
#define PACE_BACKLOG 2u  /* packets of a flow */

#define PACE_FRAME_BYTES 64u

struct pace_load {
    uint32_t flows;
    uint32_t frame_bytes; /* of every packet */
    uint64_t hz;          /* cycles per second of `now` */
    uint64_t start_tsc;   /* no `now` is before it */
    uint64_t setup_tsc;   /* the first flow starts this long after it */
    uint32_t slot_tsc;    /* wanted width, for engines with slots */
    uint64_t rate_Bps[PACE_CLASSES];
    const uint32_t *in_class;  /* flows of each class */
    const uint8_t *class_of;   /* flow -> class */
    struct rte_mbuf **packets; /* those of flow f begin at PACE_BACKLOG * f */
};

struct pace_engine {
    const char *name;
    bool real_clock; /* it reads the TSC itself: the harness cannot count time for it */
    bool ahead;      /* push() takes a time in the future: a flow's start */
    bool slotted;    /* it has slots, as wide as pace_load's slot_tsc */
    bool unpaced;    /* it does not pace, and has no gaps: a limit for the others */

    /* Returns NULL if memory or limits do not suffice. */
    void *(*create)(const struct pace_load *load);
    void (*destroy)(void *engine);

    /* mark() stores in a packet to which flow it belongs, before a run; flow_of() reads it. */
    void (*mark)(void *engine, struct rte_mbuf *packet, uint32_t flow);
    uint32_t (*flow_of)(const struct rte_mbuf *packet);

    /* Called before a flow's first packets are pushed. NULL: the engine does not need it. */
    void (*start)(void *engine, uint32_t flow, uint64_t now);
    void (*push)(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now);
    /* max: PACE_BURST */
    uint32_t (*pull)(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max);

    /* Memory that the engine touches in steady state, without packets. */
    size_t (*footprint_bytes)(const void *engine);
};

extern const struct pace_engine pace_sched, pace_timer, pace_carousel, pace_eiffel, pace_sluice,
    pace_floor;

/* Packets a second of all flows together. */
double pace_load_pps(const struct pace_load *load);

/* Cycles between two packets of a flow. */
static inline double pace_period_tsc(const struct pace_load *load, uint32_t flow)
{
    return (double)load->frame_bytes * (double)load->hz /
           (double)load->rate_Bps[load->class_of[flow]];
}

/* Stores the flow's number, for engines that ask for no other place. */
static inline void pace_mark(void *engine, struct rte_mbuf *packet, uint32_t flow)
{
    (void)engine;
    packet->hash.usr = flow;
}

static inline uint32_t pace_flow_of(const struct rte_mbuf *packet)
{
    return packet->hash.usr;
}

#endif
