/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What pace_compare asks of an engine that paces flows, and the load it gives to all of them.
 *
 * A flow may send one frame every frame_bytes / rate seconds, and saves up no more than that one.
 * Each has `backlog` packets, which the harness pushes back as soon as they were pulled; the flow
 * of a packet is found in the packet, so every engine reads the same line of it.
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
    uint64_t setup_tsc;   /* the first flow starts so much later */
    uint32_t slot_tsc;    /* how exact engines with slots should be, if they can */
    uint64_t rate_Bps[PACE_CLASSES];
    const uint32_t *in_class;  /* flows of each class */
    const uint8_t *class_of;   /* flow -> class */
    struct rte_mbuf **packets; /* flow f has packets[PACE_BACKLOG * f] and the following */
};

struct pace_engine {
    const char *name;
    bool real_clock; /* it reads the TSC itself, so time cannot be counted for it */
    bool ahead;      /* push() takes a time to come: a flow's start */
    bool slotted;    /* pace_load's slot_tsc is for it to heed */
    bool unpaced;    /* it releases what it can, for a limit of what others could: no gaps */

    /* NULL, with a word to stderr, where memory or limits are in the way. */
    void *(*create)(const struct pace_load *load);
    void (*destroy)(void *engine);

    /* Set-up: what flow a packet belongs to; and that again, from the packet. */
    void (*mark)(void *engine, struct rte_mbuf *packet, uint32_t flow);
    uint32_t (*flow_of)(const struct rte_mbuf *packet);

    /* A flow's first packets are about to be pushed. NULL: no need to know. */
    void (*start)(void *engine, uint32_t flow, uint64_t now);
    void (*push)(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now);
    /* max: PACE_BURST */
    uint32_t (*pull)(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max);

    /* What it touches in steady state besides packets. */
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

/* Engines keep the flow's number here where nothing else is asked of them. */
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
