/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one connection's way, path and host together, can carry: the rate measured over all packets
 * that arrived at the moments when loss forced a recomputation (spec "XTP rate control"), probed
 * upward while the grant is used and nothing is lost.
 *
 * Rule, once per interval: losses above 1/64 of the packets -> ceiling = received rate, and no rise
 * for `hold` intervals; otherwise, if at least 3/4 of the grant was used and the hold is over,
 * ceiling += ceiling / 32. A few losses below the threshold are repaired, not obeyed.
 * Integers, rates in bytes/s. Owned by the control lcore.
 */
#ifndef SLUICE_CONTROL_ESTIMATE_H
#define SLUICE_CONTROL_ESTIMATE_H

#include <stdint.h>

#define ESTIMATE_MIN_BPS 125000ull /* 1 Mbit/s: never below */
#define ESTIMATE_MAX_BPS (1ull << 47)

struct estimate {
    uint64_t ceiling_Bps;
    uint64_t throughput_Bps;     /* smoothed over about 8 intervals */
    uint32_t hold;               /* intervals to wait before rising again */
    uint64_t bytes, units, lost; /* since the last judgement of loss */
};

void estimate_init(struct estimate *e, uint64_t ceiling_Bps);

/* One interval's new bytes, units and losses under a grant. rtt_intervals: a round trip, rounded
 * up; the ceiling does not move twice in one. */
void estimate_update(struct estimate *e, uint64_t bytes, uint64_t units, uint64_t lost,
                     uint64_t grant_Bps, uint64_t interval_ns, uint32_t rtt_intervals);

#endif
