/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copa as a law of the TCP sender (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion
 * Control for the Internet", NSDI 2018; the paper's sections are in brackets), in segments.
 *
 * Model [1, 2.1]: a flow that weighs delay by delta is at its best rate when
 *
 *   rate = 1 / (delta * dq),   dq = RTTstanding - RTTmin
 *
 * where RTTstanding is the shortest round trip of the last srtt / 2, and RTTmin that of the last
 * 10 s. So each flow keeps about 1 / delta segments in the queue, whatever its round trip.
 *
 *   each segment acknowledged   cwnd += v / (delta cwnd)  while cwnd / RTTstanding <= that rate,
 *                               cwnd -= v / (delta cwnd)  while it is above
 *   each round trip             v doubles if cwnd has kept its direction for three of them
 *   a change of direction       v = 1
 *   pacing                      2 cwnd / RTTstanding
 *
 *   state         until
 *   slow start    the rate is above the best one; cwnd doubles in each round trip
 *   default       the queue was not nearly empty for five round trips: others fill it [2.2]
 *   competitive   it was nearly empty: dq <= 0.1 (RTTmax - RTTmin), RTTmax over four round trips
 *
 * delta is 0.5 by default. In competitive mode 1 / delta moves like the window of NewReno: one more
 * in each round trip, half at a loss, but at least 2, the default. Losses have no other effect.
 *
 * The paper leaves some points open. Here v is 1 again as soon as the rate crosses the target, not
 * at the end of that round trip. The implementation mvfst, which is in use, does the same: a window
 * that went on at its speed in the other direction would swing between nothing and too much,
 * measured here as 60 % of a link. cwnd is 2 at least. v <= delta cwnd, so a round trip changes
 * cwnd by no more than cwnd. cwnd does not grow while less than half of it is in use. A time-out
 * begins again with slow start.
 */
#ifndef SLUICE_MODEL_COPA_H
#define SLUICE_MODEL_COPA_H

#include <stdbool.h>
#include <stdint.h>

#include "model/recent.h"

struct copa {
    bool slow_start, competitive;
    double inverse;                       /* 1 / delta, segments */
    double velocity;                      /* v */
    bool up;                              /* the direction of cwnd in the last round trip */
    uint32_t same;                        /* round trips in sequence with this direction */
    double cwnd_then;                     /* at the beginning of this round trip */
    uint64_t round_end;                   /* the segment that ends it */
    bool lost_in_round;                   /* 1 / delta has been halved in it */
    uint64_t srtt_ns;                     /* 0: none timed */
    struct recent standing, lately, ever; /* round trips: srtt / 2, 4 srtt, 10 s */
    uint64_t standing_ns, min_ns;         /* RTTstanding, RTTmin */
    uint64_t empty_at_ns;                 /* when the queue was last nearly empty */
};

struct tcp_law_ops;
extern const struct tcp_law_ops copa_law;

#endif
