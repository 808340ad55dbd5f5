/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream: the stamped frames of one sender in one window (wire/stamp.h), in order.
 *
 * Frame k has number k and belongs to flow k mod flows; so the n-th frame of a flow has a number
 * that is flows times n higher than its first one. Sizes follow the mix. Where flows and the
 * mix's period have a common divisor, each flow would see only some of the sizes, so the mix
 * shifts by one place whenever both have come around.
 *
 * A number is used up only by a frame that the port has taken, so that whatever is missing at the
 * receiver was lost behind the port. Owned by one sender.
 */
#ifndef SLUICE_TRAFFIC_STREAM_H
#define SLUICE_TRAFFIC_STREAM_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "traffic/mix.h"
#include "wire/stamp.h"

/* Which frame comes next. */
struct stream_cursor {
    uint64_t number;
    uint64_t round_left; /* frames until flows and mix have both come around */
    uint32_t flow, turn; /* places in the flows and in the mix's period */
};

struct stream {
    struct mix mix;
    const struct stamp_flow *flows;
    uint32_t n_flows;
    uint64_t round; /* frames after which flows and mix have both come around */
    struct stream_cursor next;
    struct stamp_template templates[MIX_SIZES_MAX];
};

struct stream_config {
    const struct frame_route *route;
    const struct mix *mix; /* each size at least stamp_frame_min() */
    const struct stamp_flow *flows;
    uint32_t n_flows; /* > 0 */
    uint16_t window;
    uint8_t stream;
};

void stream_init(struct stream *s, const struct stream_config *cfg);

/* Writes the next n frames into mbufs from a pool whose buffers are filler (stream_mbuf_fill()).
 * They count as sent only after stream_sent(). */
void stream_put(const struct stream *s, struct rte_mbuf **m, uint32_t n, uint64_t time_ns);

/* The port took the first n of the frames that were written last. Returns their bytes. */
uint64_t stream_sent(struct stream *s, uint32_t n);

/* Makes the whole buffer of an mbuf filler. */
void stream_mbuf_fill(struct rte_mbuf *m);

#endif
