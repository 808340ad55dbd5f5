/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Smoothed round-trip time (RFC 6298, section 2, in integers): srtt += (sample - srtt) / 8,
 * var += (|sample - srtt| - var) / 4. All times in cycles. Written and read by one worker.
 */
#ifndef SLUICE_VT_RTT_H
#define SLUICE_VT_RTT_H

#include <stdint.h>

#define RTT_MIN_OF 64u /* a path that became longer is forgotten after two times so many */

struct rtt {
    uint64_t srtt_tsc; /* 0: no sample yet */
    uint64_t var_tsc;
    uint64_t min_tsc;        /* the shortest lately, of the two below; 0: none */
    uint64_t older_min_tsc;  /* the shortest of RTT_MIN_OF samples before; 0: none */
    uint64_t newest_min_tsc; /* the shortest of those since */
    uint32_t samples;        /* and how many they are */
};

void rtt_init(struct rtt *r);
void rtt_sample(struct rtt *r, uint64_t sample_tsc);
/* A round trip took at most so long: only the shortest counts. */
void rtt_bound(struct rtt *r, uint64_t max_tsc);

/* How long to wait for an answer: srtt + max(4 var, srtt / 8); `unknown` before the first sample.
 */
uint64_t rtt_wait(const struct rtt *r, uint64_t unknown_tsc);

#endif
