/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiver of a present-day TCP (tcp.h), whose application reads all data at once. It
 * acknowledges each second segment, or a single one after 40 ms. While a segment is missing, it
 * acknowledges at once, with three spans of the segments that came beyond, the newest first (RFC
 * 2018).
 *
 *   received: first segment that has not come
 *
 * Time: cycles of `hz`. Owned by one thread.
 */
#ifndef SLUICE_MODEL_TCP_RECEIVER_H
#define SLUICE_MODEL_TCP_RECEIVER_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "base/clock.h"
#include "base/span.h"
#include "sim/node.h"
#include "sim/segment.h"
#include "wire/frame.h"

#define TCP_RECEIVER_SPANS 4096u /* beyond a gap; more are not kept */
#define TCP_RECEIVER_ACKS  256u  /* that wait to be sent; a newer one replaces the last */

struct tcp_receiver_config {
    struct frame_route route; /* of acknowledgements; IPv4 */
    uint64_t hz;
    struct rte_mempool *pool;
};

struct tcp_receiver {
    struct tcp_receiver_config cfg;
    struct clock clock;
    uint64_t received, acked;
    struct span_set beyond;
    struct span span[TCP_RECEIVER_SPANS];
    uint64_t newest[SEGMENT_SPANS]; /* segments beyond a gap that came last, in different spans */
    uint64_t delayed_until;         /* TIME_NEVER: no acknowledgement waits */
    struct {
        uint64_t received;
        struct segment_spans spans;
    } ack[TCP_RECEIVER_ACKS];
    uint32_t acks;
    uint64_t data_bytes; /* read in order */
    uint64_t duplicates; /* segments that had come before */
    uint64_t no_mbuf;    /* acknowledgements not sent: the pool was empty */
};

void tcp_receiver_init(struct tcp_receiver *r, const struct tcp_receiver_config *cfg);
void tcp_receiver_rx(struct tcp_receiver *r, struct rte_mbuf **m, uint16_t n, uint64_t now);
uint16_t tcp_receiver_tx(struct tcp_receiver *r, struct rte_mbuf **m, uint16_t max, uint64_t now);
uint64_t tcp_receiver_next(const struct tcp_receiver *r, uint64_t now);
struct node tcp_receiver_node(struct tcp_receiver *r);

#endif
