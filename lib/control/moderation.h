/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation without interrupts: for how long a worker may leave hosts alone after it had
 * work. A NIC that moderates waits for more frames before it interrupts (ethtool -C rx-usecs), so
 * that each interrupt serves several. A worker that naps does the same. Each connection that it
 * serves limits the nap:
 *
 *   sender     nap <= burst / (2 rate)     what is sent late by a nap is half a burst, which the
 *                                          grant allows at once anyway (pace/credit.h)
 *   receiver   nap <= 2 burst / rate       a trial of the path takes two bursts at least, and
 *                                          allows for the time for which nobody looked (trial.h)
 *   both       nap <= RTT / 16             an answer comes later by a sixteenth of a round trip
 *
 * A limit lasts for one to two windows after the connection was served. What was quiet for a window
 * of 10 ms is delayed by less than a fortieth of that pause. The port limits the nap, too:
 *
 *   port       nap <= unseen ring / (4 n)  n frames came in the time `unseen` before they were
 *                                          found, so a quarter of the ring takes that long
 *
 * Alternatives. Linux's "adaptive-rx" and DPDK's l3fwd-power choose the time by the rate of arrival
 * alone, since they do not know what the packets are for. A fixed time that suits a path of 50 ms
 * is ten round trips of a path within a machine.
 *
 * Owned by the worker.
 */
#ifndef SLUICE_CONTROL_MODERATION_H
#define SLUICE_CONTROL_MODERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/mul_div.h"

#define MODERATION_WINDOW_NS  10000000ull
#define MODERATION_NAP_NS     (MODERATION_WINDOW_NS / 40) /* no nap is longer */
#define MODERATION_RTT_SHARE  16u
#define MODERATION_RING_SHARE 4u

/* The least of the limits in this window and in the one before; TIME_NEVER: none. */
struct moderation_limit {
    uint64_t now, before;
};

struct moderation {
    struct moderation_limit tsc, ns; /* in cycles, and in ns: both count */
    uint64_t unseen_tsc;           /* in which `frames` came: the fastest arrival since the last */
    uint32_t frames, ring_frames;  /* moderation_take(), at a port of ring_frames; 0: none */
    uint64_t turns_at, window_tsc; /* when the next window begins */
    bool served;                   /* a connection, since the last moderation_take() */
};

/* The nap after what several hosts have served. */
struct moderation_nap {
    uint64_t max_tsc;
    bool served; /* a connection; false: there is no reason for a nap */
};

static inline void moderation_init(struct moderation *m, const struct clock *clock)
{
    m->tsc.now = m->tsc.before = m->ns.now = m->ns.before = TIME_NEVER;
    m->unseen_tsc = 0;
    m->frames = m->ring_frames = 0;
    m->turns_at = 0;
    m->window_tsc = clock_cycles(clock, MODERATION_WINDOW_NS);
    m->served = false;
}

/* A sender was served: it sent a unit, or got an answer. rtimer_tsc: burst / rate; 0: no nap. */
static inline void moderation_sends(struct moderation *m, uint64_t rtimer_tsc, uint64_t rtt_tsc)
{
    uint64_t tsc = time_min(rtimer_tsc / 2, rtt_tsc / MODERATION_RTT_SHARE);

    m->tsc.now = time_min(m->tsc.now, tsc);
    m->served = true;
}

/* A receiver got a unit. bursts_ns: 2 burst / rate. */
static inline void moderation_receives(struct moderation *m, uint64_t bursts_ns, uint64_t rtt_ns)
{
    uint64_t ns = time_min(bursts_ns, rtt_ns / MODERATION_RTT_SHARE);

    m->ns.now = time_min(m->ns.now, ns);
    m->served = true;
}

/* Something was served that no nap may delay. */
static inline void moderation_forbid(struct moderation *m)
{
    m->tsc.now = 0;
}

/* n > 0 frames, of which the port's ring holds ring_frames, came within unseen_tsc. */
static inline void moderation_arrives(struct moderation *m, uint64_t unseen_tsc, uint32_t n,
                                      uint32_t ring_frames)
{
    /* n / unseen_tsc is more than before: division is left to moderation_take() */
    if ((unsigned __int128)n * m->unseen_tsc < (unsigned __int128)m->frames * unseen_tsc)
        return;
    m->unseen_tsc = unseen_tsc;
    m->frames = n;
    m->ring_frames = ring_frames;
}

static inline void moderation_turn(struct moderation_limit *l)
{
    l->before = l->now;
    l->now = TIME_NEVER;
}

/* Applies the limits to a nap that begins now. */
static inline void moderation_take(struct moderation *m, const struct clock *clock, uint64_t now,
                                   struct moderation_nap *nap)
{
    uint64_t ns = time_min(m->ns.now, m->ns.before);

    nap->max_tsc = time_min(nap->max_tsc, time_min(m->tsc.now, m->tsc.before));
    if (m->frames > 0)
        nap->max_tsc = time_min(nap->max_tsc, mul_div(m->unseen_tsc, m->ring_frames, m->frames) /
                                                  MODERATION_RING_SHARE);
    if (ns != TIME_NEVER)
        nap->max_tsc = time_min(nap->max_tsc, clock_cycles(clock, ns));
    nap->served = nap->served || m->served;
    m->served = false;
    m->unseen_tsc = m->frames = 0;
    if (time_before(now, m->turns_at))
        return;
    moderation_turn(&m->tsc);
    moderation_turn(&m->ns);
    m->turns_at = now + m->window_tsc;
}

#endif
