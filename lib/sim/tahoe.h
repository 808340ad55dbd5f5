/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A TCP sender of 1993, as hosts of that time had it from 4.3BSD-Tahoe, with data without end or
 * limit_bytes of it. It has slow start and congestion avoidance (Jacobson 1988). It retransmits
 * after a time-out, which is counted in ticks of half a second, or at the third duplicate
 * acknowledgement. Both begin again with a window of one segment; a time-out also goes back to the
 * first byte not acknowledged. No SACK, no fast recovery, no window scale, no time stamps.
 *
 *   nxt - una <= min(cwnd, window_bytes) when a segment is sent;  una <= nxt <= top
 *   ssthresh = max(2 mss, min(cwnd, window_bytes) / 2) at each loss that is seen; then cwnd = mss
 *   cwnd += mss per acknowledgement while cwnd <= ssthresh, else mss * mss / cwnd
 *
 * The connection is open from the beginning. Both hosts' socket buffers are window_bytes, and the
 * receiver (tahoe_receiver) reads at once. Where nothing is lost this is windowed TCP. Time: cycles
 * of `hz`. Owned by one thread.
 */
#ifndef SLUICE_SIM_TAHOE_H
#define SLUICE_SIM_TAHOE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sim/node.h"
#include "wire/frame.h"

struct tahoe_config {
    struct frame_route route; /* IPv4 */
    uint64_t hz;
    uint64_t start;        /* the first segment is sent then */
    uint64_t tick_ns;      /* tick of the timers; 0: 500 ms */
    uint64_t limit_bytes;  /* the connection's data; 0: without end */
    uint32_t window_bytes; /* socket buffers */
    uint16_t mss_bytes;    /* user data of a segment */
    /* The first acknowledgement opens the window to the whole buffer, as the paper's hosts did
     * ([FRAME-RELAY]); else it begins with slow start. */
    bool open_at_once;
    bool no_fast_retransmit; /* duplicate acknowledgements are ignored */
    struct rte_mempool *pool;
};

struct tahoe_counts {
    uint64_t segments;      /* sent, retransmissions included */
    uint64_t retransmitted; /* segments with bytes that were sent before */
    uint64_t timeouts, fast_retransmits;
    uint64_t no_mbuf; /* segments lost: the pool was empty */
};

struct tahoe {
    struct tahoe_config cfg;
    uint64_t una, nxt, top; /* bytes: first not acknowledged; next to send; end of all sent */
    uint32_t cwnd, ssthresh;
    uint32_t duplicates; /* acknowledgements of una in a row */
    bool opened;         /* something was acknowledged */
    bool once;           /* one segment from una goes out whatever the window says */
    uint64_t tick;       /* length of a tick, in cycles */
    uint64_t tick_at;    /* when the next tick is due */
    uint32_t rexmt;      /* ticks until retransmission; 0: not running */
    uint32_t backoff;    /* time-outs in a row */
    uint32_t timing;     /* ticks, plus one, since byte `timed` was sent; 0: none is timed */
    uint64_t timed;
    int32_t srtt, rttvar; /* in eighths and quarters of a tick */
    struct tahoe_counts counts;
};

void tahoe_init(struct tahoe *t, const struct tahoe_config *cfg, uint64_t now);
/* Takes acknowledgements, and owns them. */
void tahoe_rx(struct tahoe *t, struct rte_mbuf **m, uint16_t n, uint64_t now);
uint16_t tahoe_tx(struct tahoe *t, struct rte_mbuf **m, uint16_t max, uint64_t now);
uint64_t tahoe_next(const struct tahoe *t, uint64_t now);
/* Is all of limit_bytes acknowledged? */
bool tahoe_done(const struct tahoe *t);
struct node tahoe_node(struct tahoe *t);

#endif
