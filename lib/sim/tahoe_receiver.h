/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiver of a 1993 TCP (tahoe), whose application reads all at once. It acknowledges when
 * reading has opened the window by two segments or by half of the socket buffer, else with the next
 * tick of 200 ms. Segments that are out of order or came before are acknowledged at once.
 *
 *   received = first byte that has not come;  acked <= received
 *
 * Time: cycles of `hz`. Owned by one thread.
 */
#ifndef SLUICE_SIM_TAHOE_RECEIVER_H
#define SLUICE_SIM_TAHOE_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/span.h"
#include "sim/node.h"
#include "wire/frame.h"

#define TAHOE_RECEIVER_SPANS 256u /* spans of bytes beyond a gap; more are not kept */
#define TAHOE_RECEIVER_ACKS  64u  /* that wait to be sent; if more, the newest replaces the last */

struct tahoe_receiver_config {
    struct frame_route route; /* of acknowledgements; IPv4 */
    uint64_t hz;
    uint64_t tick_ns;      /* 0: 200 ms */
    uint32_t window_bytes; /* the socket buffer */
    uint16_t mss_bytes;
    struct rte_mempool *pool;
    /* Called when the application has read so many bytes; may be NULL. */
    void (*read)(void *ctx, uint32_t len_bytes, uint64_t now);
    void *ctx;
};

struct tahoe_receiver {
    struct tahoe_receiver_config cfg;
    uint64_t received, acked;
    struct span_set beyond; /* spans that came out of order */
    struct span span[TAHOE_RECEIVER_SPANS];
    uint64_t tick, tick_at;
    bool delayed; /* an acknowledgement waits for the tick */
    uint64_t ack[TAHOE_RECEIVER_ACKS];
    uint32_t acks;
    struct {
        uint64_t segments, out_of_order, duplicates, acks;
        uint64_t no_mbuf; /* acknowledgements not sent: the pool was empty */
    } counts;
};

void tahoe_receiver_init(struct tahoe_receiver *r, const struct tahoe_receiver_config *cfg,
                         uint64_t now);
void tahoe_receiver_rx(struct tahoe_receiver *r, struct rte_mbuf **m, uint16_t n, uint64_t now);
uint16_t tahoe_receiver_tx(struct tahoe_receiver *r, struct rte_mbuf **m, uint16_t max,
                           uint64_t now);
uint64_t tahoe_receiver_next(const struct tahoe_receiver *r, uint64_t now);
struct node tahoe_receiver_node(struct tahoe_receiver *r);

#endif
