/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Smoothed round-trip time (RFC 6298, section 2, in integers): srtt += (sample - srtt) / 8,
 * var += (|sample - srtt| - var) / 4. All times in cycles. Written and read by one worker.
 */
#ifndef SLUICE_VT_RTT_H
#define SLUICE_VT_RTT_H

#include <stdint.h>

struct rtt {
    uint64_t srtt_tsc; /* 0: no sample yet */
    uint64_t var_tsc;
    uint64_t min_tsc; /* least sample so far; 0: none */
};

void rtt_init(struct rtt *r);
void rtt_sample(struct rtt *r, uint64_t sample_tsc);

/* How long to wait for an answer: srtt + max(4 var, srtt / 8); `unknown` before the first sample.
 */
uint64_t rtt_wait(const struct rtt *r, uint64_t unknown_tsc);

#endif
