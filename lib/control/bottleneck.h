/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which connections of a host wait in the same queue, and what each should have of the link behind
 * that queue.
 *
 * Each connection finds by itself what its path carries (control/pathrate.h). Where several share a
 * link, its queue says the same to all of them, so nothing in it says which of them has more. But
 * they end at one host, which knows all their rates. For members with rates R and weights w,
 *
 *   fair = w sum(R) / sum(w)
 *
 * and each moves its rate toward that (pathrate.fair_Bps). The sum stays as it was, whatever the
 * round trips are, so the queue does not notice. RFC 8699 couples the flows of one sender in this
 * way.
 *
 * A connection that its path limits is a member until it shows that it waits elsewhere:
 *
 *   rate < 9/10 of the others', and wait > twice theirs and a packet of each,
 *                               or  loss > twice theirs and 1/16
 *
 * wait: the least time that a packet of a trial waited. A link that only this connection uses
 * cannot carry more, so the rise to fair fills a queue of its own, or a policer drops what is more.
 * Of two links that are taken for one, the slower shows itself so. A wait that is only shorter
 * shows nothing: a connection that began when the queue was not empty does not know all of it
 * (control/owd.h). RFC 8382 compares delays, too, but it needs many seconds of them, since it may
 * not move rates.
 *
 * Rates, waits and losses are averages over 32 times the longest round trip among members, since a
 * rate takes several round trips to move, and its queue follows. A connection that was left out is
 * tried again after 16 averages. Each time it waits for twice as many, up to 1024.
 *
 * Rates in bytes a second; doubles inside, and no libm. O(1) for each connection and interval.
 * Owned by the control lcore.
 */
#ifndef SLUICE_CONTROL_BOTTLENECK_H
#define SLUICE_CONTROL_BOTTLENECK_H

#include <stdint.h>

/* What is kept of a connection; all zero at first. */
struct bottleneck_flow {
    double wait_ns, loss, rate_Bps; /* on average; loss: of packets */
    double unit_bytes, weight;
    uint64_t looked_at_ns; /* time_ns, the last time */
    uint64_t since_ns;     /* for how long it has been a member; 0: it is none */
    uint64_t apart_ns;     /* time_ns until which it is left out; 0: it never was */
    uint64_t next_ns;      /* for how long the next time; 0: it never was */
};

struct bottleneck_sample {
    uint64_t wait_ns;    /* the least of its newest trial, */
    uint64_t lost_ppm;   /* and of its packets, those that the path lost */
    uint64_t rtt_ns;     /* 0: not known */
    uint64_t rate_Bps;   /* what its path is thought to carry, and its grant */
    uint64_t unit_bytes; /* of a packet */
    uint32_t weight;     /* at least 1 */
};

/* Sums over members. */
struct bottleneck_sum {
    double members, wait_ns, loss, unit_bytes, rate_Bps, weight;
};

/* All zero at first. */
struct bottleneck {
    uint64_t time_ns, interval_ns;      /* of all intervals; of this one */
    double average_ns;                  /* over which waits and rates are averaged */
    struct bottleneck_sum last, sum;    /* of the interval before; of this one, so far */
    double granted_Bps, longest_rtt_ns; /* of this interval's members, so far: what they are granted
                                           now, in sum */
};

/* An interval of that length begins. */
void bottleneck_begin(struct bottleneck *b, uint64_t interval_ns);

/* For each connection that its path limits, and which uses its grant. */
void bottleneck_look(struct bottleneck *b, struct bottleneck_flow *f,
                     const struct bottleneck_sample *s);

/* When that has been done: what it should have. 0: it shares with nobody. */
uint64_t bottleneck_fair(const struct bottleneck *b, const struct bottleneck_flow *f);

#endif
