/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random early detection (Floyd and Jacobson 1993; the options are named as in tc-red). The average
 * queue is kept in bytes. While the average is between min and max, a packet is dropped or marked
 * with a probability that grows with the average, up to `probability` at max. The probability also
 * grows with the number of packets since the last drop, so that drops come at even distances.
 * Beyond max every packet is dropped.
 */
#ifndef SLUICE_PATH_RED_H
#define SLUICE_PATH_RED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "path/spec.h"

#define RED_FRACTION 20u /* fractional bits of `average` */

struct red_params {
    uint64_t min_bytes, max_bytes;
    uint64_t probability; /* at max_bytes, in 1 / 2^64 */
    uint64_t avpkt_bytes; /* size of the packets that an idle link would send */
    uint32_t shift;       /* weight of the newest queue length: 2^-shift */
    bool ecn;
};

struct red {
    uint64_t average; /* average queue length: bytes << RED_FRACTION */
    uint64_t since;   /* packets since the last one dropped or marked, while above min */
    /* when the queue became empty; later, if `average` already counts a part of the idle time */
    uint64_t idle_at;
};

enum red_verdict { RED_PASS, RED_EARLY, RED_FULL };

/* Reads the options after "red". 0, or an error kept in s. */
int red_parse(struct spec *s, struct red_params *p);

/* Decides on a packet that finds queued_bytes waiting. rate_Bps: of the link; idle: the link has
 * nothing to send. */
enum red_verdict red_arrive(struct red *r, const struct red_params *p, uint64_t queued_bytes,
                            bool idle, uint64_t rate_Bps, const struct clock *clock, uint64_t now,
                            struct rng *rng);

#endif
