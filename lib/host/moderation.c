/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation without interrupts: for how long a worker may leave a host alone after it
 * had work. A NIC that moderates waits for more frames before it interrupts (ethtool -C rx-usecs),
 * so that each interrupt serves several. A worker that naps does the same. The nap
 * must not harm the connections that it has just served:
 *
 *   sender     nap <= burst / (2 rate)     what is sent late by a nap is half a burst, which the
 *                                          grant allows at once anyway (pace/credit.h)
 *   receiver   nap <= 2 burst / rate       a trial of the path takes two bursts at least, and
 *                                          allows for the time for which nobody looked (trial.h)
 *   both       nap <= RTT / 16             an answer comes later by a sixteenth of a round trip
 *   port       nap <= unseen ring / (4 n)  where n frames came in the time `unseen` before they
 *                                          were found, so many more fill a quarter of the ring
 *
 * Limits of connections that were not served since the last nap do not count. They come back into
 * force with the first packet.
 *
 * Alternatives. Linux's "adaptive-rx" and DPDK's l3fwd-power choose the time by the rate of
 * arrival alone, since they do not know what the packets are for. A fixed time that suits a path of
 * 50 ms is ten round trips of a path within a machine.
 */
#include "host/host_internal.h"

#define RTT_SHARE  16u
#define RING_SHARE 4u

void moderation_received(struct host *h, const struct conn *c)
{
    uint64_t most_ns = time_min(c->path.bursts_ns, c->rtt_min_ns / RTT_SHARE);

    h->moderation.ns = time_min(h->moderation.ns, most_ns);
}

void moderation_sends(struct host *h, const struct conn *c)
{
    uint64_t most_tsc = time_min(c->pacing.credit.period_tsc / 2, c->rtt.min_tsc / RTT_SHARE);

    if (c->pacing.contract.peak_cost != 0)
        most_tsc = 0; /* a contract sets the time of each packet */
    h->moderation.tsc = time_min(h->moderation.tsc, most_tsc);
}

void moderation_frames(struct host *h)
{
    if (h->cfg.rx_frames == 0 || h->looked_at == 0 || h->taken == 0)
        return;
    uint64_t fills_tsc = mul_div(h->now - h->looked_at, h->cfg.rx_frames, h->taken);

    h->moderation.ring_tsc = time_min(h->moderation.ring_tsc, fills_tsc / RING_SHARE);
}

void moderation_init(struct host *h)
{
    h->moderation.tsc = h->moderation.ns = h->moderation.ring_tsc = TIME_NEVER;
}

uint64_t host_moderation(struct host *h)
{
    uint64_t most_tsc = h->moderation.tsc, most_ns = h->moderation.ns;

    if (most_ns != TIME_NEVER)
        most_tsc = time_min(most_tsc, clock_cycles(&h->clock, most_ns));
    if (most_tsc != TIME_NEVER)
        most_tsc = time_min(most_tsc, h->moderation.ring_tsc);
    moderation_init(h);
    return most_tsc;
}
