/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A TCP sender of today, with data without end: CUBIC (cubic.h), selective acknowledgements (RFC
 * 2018), losses found by the time of sending (RACK, RFC 8985, on a path that keeps the order),
 * proportional rate reduction (RFC 6937), and a retransmission timer (RFC 6298) of 200 ms at least.
 * The connection is open from the beginning; all segments are whole.
 *
 *   in flight = nxt - una - sacked - lost <= cwnd when a segment is sent
 *   sacked, lost: of segments una .. nxt; one that is sent again is not lost any more
 *
 * Segments are counted from 0. Time: cycles of `hz`. Owned by one thread.
 */
#ifndef SLUICE_SIM_TCP_H
#define SLUICE_SIM_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/clock.h"
#include "sim/cubic.h"
#include "sim/node.h"
#include "sim/segment.h"
#include "wire/frame.h"

#define TCP_WINDOW 16384u /* segments */

struct tcp_config {
    struct frame_route route; /* IPv4 */
    uint64_t hz;
    uint64_t start; /* the first segment is sent then */
    uint16_t mss_bytes;
    uint32_t window_segments; /* the receiver's buffer; 0: TCP_WINDOW */
    bool no_hystart;
    struct rte_mempool *pool;
};

struct tcp_flight {
    uint64_t sent_ns;
    bool sacked, lost, again;
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
    struct cubic law;
    uint64_t una, nxt;
    struct tcp_flight flight[TCP_WINDOW]; /* of segment n: n % TCP_WINDOW */
    uint32_t sacked, lost;
    uint64_t lost_from; /* none below is lost */
    struct {
        uint64_t sent_ns, segment;
    } newest;                                  /* of those that came, the one sent last */
    uint64_t srtt_ns, rttvar_ns, least_rtt_ns; /* srtt 0: none timed */
    uint64_t expires;                          /* of the timer; TIME_NEVER */
    uint32_t backoff;
    enum { TCP_OPEN, TCP_RECOVERY, TCP_TIMED_OUT } state;
    uint64_t recover; /* una there: all is repaired */
    struct {
        uint64_t delivered, sent, in_flight;
    } reduction;
    struct tcp_counts counts;
};

void tcp_init(struct tcp *t, const struct tcp_config *cfg);
/* Acknowledgements; takes ownership. */
void tcp_rx(struct tcp *t, struct rte_mbuf **m, uint16_t n, uint64_t now);
uint16_t tcp_tx(struct tcp *t, struct rte_mbuf **m, uint16_t max, uint64_t now);
uint64_t tcp_next(const struct tcp *t, uint64_t now);
struct node tcp_node(struct tcp *t);

#endif
