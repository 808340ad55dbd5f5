/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation without interrupts: for how long a worker may leave a host alone after it
 * had work. A NIC that moderates waits for more frames before it interrupts (ethtool -C rx-usecs),
 * so that each interrupt serves several. A worker that naps does the same. The nap must not harm
 * the connections that the worker has just served:
 *
 *   sender     nap <= burst / (2 rate)     what is sent late by a nap is half a burst, which the
 *                                          grant allows at once anyway (pace/credit.h)
 *   receiver   nap <= 2 burst / rate       a trial of the path takes two bursts at least, and
 *                                          allows for the time for which nobody looked (trial.h)
 *   both       nap <= RTT / 16             an answer comes later by a sixteenth of a round trip
 *   port       nap <= unseen ring / (4 n)  n frames came in the time `unseen` before they were
 *                                          found, so a quarter of the ring takes that long
 *
 * Limits of connections that were not served since the last nap do not count. They come back into
 * force with the first packet.
 *
 * Alternatives. Linux's "adaptive-rx" and DPDK's l3fwd-power choose the time by the rate of arrival
 * alone, since they do not know what the packets are for. A fixed time that suits a path of 50 ms
 * is ten round trips of a path within a machine.
 *
 * Owned by the worker.
 */
#ifndef SLUICE_CONTROL_MODERATION_H
#define SLUICE_CONTROL_MODERATION_H

#include <stdint.h>

#include "base/clock.h"
#include "base/mul_div.h"

#define MODERATION_RTT_SHARE  16u
#define MODERATION_RING_SHARE 4u

struct moderation {
    uint64_t tsc, ns;  /* limits by connections; TIME_NEVER: none was served */
    uint64_t ring_tsc; /* limit by the port's ring; TIME_NEVER: none */
};

static inline void moderation_init(struct moderation *m)
{
    *m = (struct moderation){TIME_NEVER, TIME_NEVER, TIME_NEVER};
}

/* A sender was served: it sent a unit, or got an answer. rtimer_tsc: burst / rate; 0: no nap. */
static inline void moderation_sends(struct moderation *m, uint64_t rtimer_tsc, uint64_t rtt_tsc)
{
    m->tsc = time_min(m->tsc, time_min(rtimer_tsc / 2, rtt_tsc / MODERATION_RTT_SHARE));
}

/* A receiver got a unit. bursts_ns: 2 burst / rate. */
static inline void moderation_receives(struct moderation *m, uint64_t bursts_ns, uint64_t rtt_ns)
{
    m->ns = time_min(m->ns, time_min(bursts_ns, rtt_ns / MODERATION_RTT_SHARE));
}

/* n > 0 frames, of which the port's ring holds ring_frames, came within unseen_tsc. */
static inline void moderation_arrives(struct moderation *m, uint64_t unseen_tsc, uint32_t n,
                                      uint32_t ring_frames)
{
    uint64_t full_tsc = mul_div(unseen_tsc, ring_frames, n);

    m->ring_tsc = time_min(m->ring_tsc, full_tsc / MODERATION_RING_SHARE);
}

/* The longest nap, in cycles; TIME_NEVER: no connection was served. Then starts anew. */
static inline uint64_t moderation_take(struct moderation *m, const struct clock *clock)
{
    uint64_t tsc = m->tsc;

    if (m->ns != TIME_NEVER)
        tsc = time_min(tsc, clock_cycles(clock, m->ns));
    if (tsc != TIME_NEVER)
        tsc = time_min(tsc, m->ring_tsc);
    moderation_init(m);
    return tsc;
}

#endif
