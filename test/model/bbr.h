/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BBRv3 as a law of the TCP sender, after draft-ietf-ccwg-bbr-06 (the draft's sections are in
 * brackets), in segments instead of bytes.
 *
 * Model of the path [2.8]:
 *
 *   max_bw   the highest delivery rate of this probing cycle and the one before [5.5.2]
 *   min_rtt  the shortest round trip of the last 10 s [5.5.7]
 *   bdp      bw * min_rtt, where bw = min(max_bw, bw_short)
 *   long     inflight_longterm: the most in flight that lost no more than 2 % [5.5.10.2]
 *   short    bw_shortterm, inflight_shortterm: delivered lately in spite of losses, as measured
 *            outside of probes; forgotten at the next probe [5.5.10.3]
 *   extra    acknowledged beyond bw in one go, the most in the last 10 round trips [5.5.9]
 *
 * Rate and window of the sender [5.6]:
 *
 *   pacing = gain * bw * 0.99,   cwnd = min(gain * bdp + extra, the caps of the state)
 *
 *   state    pacing  cwnd   caps            until
 *   STARTUP   2.77   2                      three rounds without 25 % more rate, or heavy loss
 *   DRAIN     0.5    2      long, short     in flight <= bdp, or three rounds
 *   DOWN      0.9    2      long, short     in flight <= bdp and 0.85 long
 *   CRUISE    1      2      0.85 long, short   2 to 3 s, or as many round trips as bdp has
 *                                           segments, at most 63
 *   REFILL    1      2      long            one round
 *   UP        1.25   2.25   long            the rate grows no more, or losses pass 2 %
 *   PROBE_RTT 1      0.5    0.85 long, short   200 ms and a round; from any state, 5 s after the
 *                                           shortest round trip was last seen
 *
 * A round is packet-timed: from a segment's transmission to its acknowledgement [5.5.1].
 *
 * Not modelled: ECN; restart from idle, since the sender always has data; the undoing of false
 * losses, since the path keeps the order; and segmentation offload. So the quantum is one segment,
 * and the offload budget is below the smallest window of four. Random waits are drawn from a seed.
 */
#ifndef SLUICE_MODEL_BBR_H
#define SLUICE_MODEL_BBR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

#define BBR_EXTRA_ROUNDS 10u

enum bbr_state {
    BBR_STARTUP,
    BBR_DRAIN,
    BBR_DOWN,
    BBR_CRUISE,
    BBR_REFILL,
    BBR_UP,
    BBR_PROBE_RTT,
    BBR_STATES
};

/* The phase of probing that acknowledgements tell of [2.14]. */
enum bbr_acks {
    BBR_ACKS_INIT,
    BBR_ACKS_REFILLING,
    BBR_ACKS_STARTING,
    BBR_ACKS_FEEDBACK,
    BBR_ACKS_STOPPING
};

/* Rates: segments a second. Volumes: segments. A value without a bound is BBR_UNBOUND. */
#define BBR_UNBOUND 1e18

struct bbr {
    enum bbr_state state;
    enum bbr_acks acks;
    struct rng rng;

    double max_bw, bw, bw_of_cycle[2]; /* of this cycle, of the one before */
    double bdp, long_inflight, short_inflight, short_bw;
    double latest_bw, latest_inflight; /* the highest of this round */
    uint64_t min_rtt_ns, min_rtt_at_ns;
    uint64_t probe_rtt_min_ns, probe_rtt_min_at_ns; /* of the last 5 s */
    bool probe_rtt_expired;

    uint64_t rounds, round_end; /* `delivered` that ends this one */
    bool round_start;
    uint64_t loss_round_end;
    bool loss_round_start, loss_in_round;
    uint32_t loss_ranges;  /* ranges of lost segments in this loss round */
    uint64_t loss_segment; /* the last one lost */

    bool full_bw_reached, full_bw_now;
    double full_bw;
    uint32_t full_bw_rounds;

    bool probe_sample;   /* acknowledgements are of segments that probed */
    bool probe_too_high; /* the last probe lost too much */
    bool probe_cautious; /* the last probe ended early */
    uint64_t cycle_at_ns, probe_wait_ns;
    uint32_t rounds_since_up, up_rounds;
    double up_acked, up_acked_each;
    uint64_t drain_round;
    uint64_t probe_rtt_end_ns; /* 0: not yet known */
    bool probe_rtt_round;

    double extra[BBR_EXTRA_ROUNDS], extra_delivered; /* of round n: n % BBR_EXTRA_ROUNDS */
    uint64_t extra_at_ns;

    bool limited, limited_before; /* cwnd was full: in this round, in the one before */
    bool recovering;
    double prior_cwnd;
    double cwnd_first;
    bool timed;
};

struct tcp_law_ops;
extern const struct tcp_law_ops bbr_law;

const char *bbr_state_name(enum bbr_state state);

#endif
