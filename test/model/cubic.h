/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of a TCP by CUBIC (RFC 9438), in segments:
 *
 *   W(t) = C (t - K)^3 + Wmax     t: seconds since repair was over;  K: W(0) = cwnd
 *   cwnd goes from W(t) to W(t + RTT) in a round trip, or as fast as Reno would, if that is more
 *   a loss: Wmax = cwnd, or cwnd (1 + beta) / 2 if it did not reach the last Wmax; cwnd *= beta
 *
 * with C = 0.4 and beta = 0.7. Slow start ends at ssthresh. With `hystart` it also ends when the
 * round trip has grown by an eighth, but 4 ms at least and 16 ms at most, since a queue begins
 * then. Doubles, no libm. Owned by one thread.
 */
#ifndef SLUICE_MODEL_CUBIC_H
#define SLUICE_MODEL_CUBIC_H

#include <stdbool.h>
#include <stdint.h>

struct cubic {
    double cwnd, ssthresh;
    double w_max, k_s;      /* of the curve */
    double reno, prior;     /* Reno's window; cwnd before the last loss */
    double epoch_s;         /* when the curve began; < 0: not yet */
    bool hystart;           /* slow start ends at longer round trips, too */
    uint64_t round_end;     /* the segment that ends this round trip */
    uint64_t round_rtt_ns;  /* the shortest of it */
    uint64_t min_rtt_ns;    /* of all */
    uint32_t round_samples; /* of it */
};

void cubic_init(struct cubic *c, double cwnd, bool hystart);
/* A round trip was timed; una, nxt: first segment not acknowledged, next to be sent. */
void cubic_rtt(struct cubic *c, uint64_t rtt_ns, uint64_t una, uint64_t nxt);
/* `segments` were acknowledged, outside of recovery. */
void cubic_ack(struct cubic *c, uint32_t segments, double rtt_s, double now_s);
/* Segments were lost: sets ssthresh. The caller sets cwnd until all is repaired. */
void cubic_loss(struct cubic *c);

#endif
