/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A present-day TCP sender, with endless data: selective acknowledgements (RFC 2018), losses found
 * by the time of sending (RACK, RFC 8985, on a path that keeps the order), a retransmission timer
 * (RFC 6298) of 200 ms at least, delivery-rate samples (delivery.h), pacing if the law wants it,
 * and a congestion law (tcp_law.h): CUBIC, BBRv3, Copa. The connection is open from the beginning,
 * and all segments are full.
 *
 *   in flight = nxt - una - sacked - lost <= cwnd when a segment is sent
 *   nxt - una <= window_segments
 *   sacked, lost: of segments una .. nxt; a segment that is sent again is no longer lost
 *
 * Losses are found without a look at all segments in flight. Segments sent once are in the order of
 * their numbers, and all below `judged` have been judged. Repeats are in a list, in the order of
 * time. Runs of segments that came are stepped over.
 *
 * The world polls a node only now and then, so paced segments are sent late. They may catch up by
 * at most 1 ms or 64 kB: the send quantum of draft-ietf-ccwg-bbr-06, section 5.6.3.
 *
 * Segments are counted from 0. Time: cycles of `hz`. Owned by one thread.
 */
#ifndef SLUICE_MODEL_TCP_H
#define SLUICE_MODEL_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/clock.h"
#include "model/delivery.h"
#include "sim/node.h"
#include "sim/segment.h"
#include "model/tcp_law.h"
#include "wire/frame.h"

#define TCP_CWND_FIRST 10u /* segments (RFC 6928) */

/* The sender's state of a segment between una and nxt. */
struct tcp_flight {
    struct delivery_mark mark; /* of its last transmission */
    uint32_t run;              /* if sacked: so many are, from this one on; at least 1 */
    uint32_t before, after;    /* slots of its neighbours in the list, if again and in flight */
    bool sacked, lost, again;
};

struct tcp_config {
    struct frame_route route; /* IPv4 */
    uint64_t hz;
    uint64_t start; /* the first segment is sent then */
    uint16_t mss_bytes;
    /* The receiver's buffer, a power of two, and the sender's state of each segment in it. The
     * memory is the caller's; it need not be clear, and must outlive the tcp. */
    uint32_t window_segments;
    struct tcp_flight *flight;
    enum tcp_law_kind law;
    bool no_hystart; /* CUBIC */
    uint64_t seed;   /* of the law's draws */
    struct rte_mempool *pool;
};

struct tcp_counts {
    uint64_t segments;      /* sent, again or not */
    uint64_t retransmitted; /* of them */
    uint64_t recoveries, timeouts;
    uint64_t no_mbuf; /* segments lost: the pool was empty */
};

struct tcp {
    struct tcp_config cfg;
    struct clock clock;
    struct tcp_law law;
    struct delivery delivery;
    uint64_t una, nxt;
    uint32_t sacked, lost;
    uint64_t lost_from;              /* none below is lost */
    uint64_t judged;                 /* segments sent once: none from here on is lost */
    uint32_t again_head, again_tail; /* slots; of the repeats in flight */
    struct {
        uint64_t sent_ns, segment;
    } newest;                                /* of those that came, the one sent last */
    uint64_t srtt_ns, rttvar_ns, min_rtt_ns; /* srtt 0: none timed */
    double pace_ns;                          /* paced: no segment before this */
    bool cwnd_limited;                       /* since the last acknowledgement */
    uint64_t expires;                        /* of the timer; TIME_NEVER */
    uint32_t backoff;
    enum tcp_state state;
    uint64_t recover; /* all is repaired when una is here */
    struct tcp_counts counts;
};

/* Slots for a path with so many segments under way: the least power of two that leaves room for
 * recovery, which is twice as many, and at least 1024. */
uint32_t tcp_window(uint64_t segments);

void tcp_init(struct tcp *t, const struct tcp_config *cfg);
/* Acknowledgements; takes ownership. */
void tcp_rx(struct tcp *t, struct rte_mbuf **m, uint16_t n, uint64_t now);
uint16_t tcp_tx(struct tcp *t, struct rte_mbuf **m, uint16_t max, uint64_t now);
uint64_t tcp_next(const struct tcp *t, uint64_t now);
struct node tcp_node(struct tcp *t);

#endif
