/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds which connections of a host wait in the same queue, and what share each should have of the
 * link behind that queue.
 *
 * Each connection finds by itself what its path carries (control/pathrate.h). Connections that
 * share a link all see the same queue, so the queue does not show which of them has more. But they
 * end at one host, which knows all their rates. For members with rates R and weights w,
 *
 *   fair = w sum(R) / sum(w)
 *
 * and each connection moves its rate toward its fair rate (fair_Bps, control/pathrate.h). The sum
 * of the rates does not change, whatever the round trips are, so the queue does not notice. RFC
 * 8699 couples the flows of one sender in this way.
 *
 * A connection is a member if its path limits it, until it shows that it waits elsewhere:
 *
 *   rate < 9/10 w sum(R) / sum(w), where the sums are over the other members; and either
 *       wait > twice the others' average + the time of one packet of each at the sum of their rates
 *   or  loss > twice the others' average + 1/16
 *
 * A member that sees no queue keeps its rate, while that is below the rate at which its path last
 * showed a queue (`keeps`, control/pathrate.h): without a queue, nobody waits for what it would
 * give up. Only the other members share, and only they count in `fair`.
 *
 * The wait of a connection is the shortest wait of any packet of a trial. If a member has a slower
 * link of its own, its rise to `fair` fills that link's queue, or a policer drops the excess. So of
 * two links that were taken for one, the slower shows itself. A shorter wait shows nothing: a
 * connection that began while the queue was not empty does not know all of the queue
 * (control/owd.h). RFC 8382 compares delays, too, but it must not change rates, so it needs many
 * seconds of samples.
 *
 * Rates, waits and losses are averaged over a span of 32 times the longest round trip among
 * members: a rate takes several round trips to move, and the queue follows it. A connection that
 * was left out is tried again after 16 spans. Each further time it is left out for twice as long,
 * up to 1024 spans.
 *
 * Rates are in bytes a second, computed in double without libm. O(1) for each connection and
 * interval. Owned by the control lcore.
 */
#ifndef SLUICE_CONTROL_BOTTLENECK_H
#define SLUICE_CONTROL_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

/* State of one connection; all zero at first. */
struct bottleneck_flow {
    double wait_ns, loss, rate_Bps; /* averages; `loss`: share of packets that are lost */
    double unit_bytes, weight;
    uint64_t looked_at_ns; /* `time_ns` at the last bottleneck_look() */
    uint64_t since_ns;     /* how long it has been a member; 0: it is not one */
    uint64_t apart_ns;     /* it is left out until `time_ns` is this; 0: it never was */
    uint64_t next_ns;      /* how long it is left out the next time; 0: it never was */
    bool keeps;            /* it keeps its rate, as of the last bottleneck_look() */
};

struct bottleneck_sample {
    uint64_t wait_ns;    /* shortest wait of a packet of the connection's newest trial */
    uint64_t lost_ppm;   /* packets that the path lost in the newest trial, of a million */
    uint64_t rtt_ns;     /* 0: unknown */
    uint64_t rate_Bps;   /* what the connection's path seems to carry; also its grant */
    uint64_t unit_bytes; /* user bytes of a packet */
    uint32_t weight;     /* at least 1 */
    bool keeps;          /* the connection does not share, but keeps its rate (pathrate.h) */
};

/* Sums over members. */
struct bottleneck_sum {
    double members, wait_ns, loss, unit_bytes, rate_Bps, weight;
};

/* All zero at first. */
struct bottleneck {
    uint64_t time_ns, interval_ns;   /* sum of all intervals; length of the present one */
    double average_ns;               /* time over which waits, losses and rates are averaged */
    struct bottleneck_sum last, sum; /* of the previous interval; of this one, so far */
    double longest_rtt_ns;           /* of this interval's members so far */
    struct bottleneck_sum sharing;   /* of those with `keeps` false, so far */
    double granted_Bps;              /* sum of the present grants of these */
};

/* Begins an interval of this length. */
void bottleneck_begin(struct bottleneck *b, uint64_t interval_ns);

/* Called once an interval for each connection that uses its grant and is limited by its path. */
void bottleneck_look(struct bottleneck *b, struct bottleneck_flow *f,
                     const struct bottleneck_sample *s);

/* The connection's fair rate, valid once bottleneck_look() was called for all connections in this
 * interval; 0: it shares with nobody. */
uint64_t bottleneck_fair(const struct bottleneck *b, const struct bottleneck_flow *f);

#endif
