/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Smoothed round-trip time (RFC 6298, section 2, in integers): srtt += (sample - srtt) / 8,
 * var += (|sample - srtt| - var) / 4. All times in cycles. Written and read by one worker.
 */
#ifndef SLUICE_VT_RTT_H
#define SLUICE_VT_RTT_H

#include <stdint.h>

#define RTT_MIN_OF 64u /* samples; min_tsc forgets a minimum after at most two times as many */

struct rtt {
    uint64_t srtt_tsc; /* 0: no sample yet */
    uint64_t var_tsc;
    uint64_t min_tsc;        /* the shorter of older_min_tsc and newest_min_tsc; 0: none */
    uint64_t older_min_tsc;  /* the shortest of the RTT_MIN_OF samples before the newest; 0: none */
    uint64_t newest_min_tsc; /* the shortest of the newest `samples` samples */
    uint32_t samples;        /* how many newest_min_tsc covers */
};

void rtt_init(struct rtt *r);
void rtt_sample(struct rtt *r, uint64_t sample_tsc);
/* A round trip took at most max_tsc: changes min_tsc only. */
void rtt_bound(struct rtt *r, uint64_t max_tsc);

/* How long to wait for an answer: srtt + max(4 var, srtt / 8); unknown_tsc before the first sample.
 */
uint64_t rtt_wait(const struct rtt *r, uint64_t unknown_tsc);

#endif
