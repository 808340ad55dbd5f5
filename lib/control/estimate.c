/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/estimate.h"

#include <stdbool.h>

#include "base/clock.h"

#define LOSS_SHARE     64u /* losses beyond 1/64 of the packets are obeyed */
#define JUDGE_UNITS    64u /* and only when at least so many were expected */
#define HOLD_INTERVALS 16u

void estimate_init(struct estimate *e, uint64_t ceiling_Bps)
{
    *e = (struct estimate){.ceiling_Bps = ceiling_Bps};
}

void estimate_update(struct estimate *e, uint64_t bytes, uint64_t units, uint64_t lost,
                     uint64_t grant_Bps, uint64_t interval_ns, uint32_t rtt_intervals)
{
    uint64_t rate = (uint64_t)((unsigned __int128)bytes * CLOCK_NS_PER_S / interval_ns);

    e->throughput_Bps =
        (uint64_t)((int64_t)e->throughput_Bps + ((int64_t)rate - (int64_t)e->throughput_Bps) / 8);
    e->bytes += bytes;
    e->units += units;
    e->lost += lost;
    if (e->hold > 0) {
        e->hold--;
        if (e->hold == 0)
            e->bytes = e->units = e->lost = 0;
        return;
    }
    if (e->units + e->lost >= JUDGE_UNITS) {
        bool lossy = e->lost * LOSS_SHARE > e->units + e->lost;

        e->bytes = e->units = e->lost = 0;
        if (lossy) {
            uint64_t ceiling = e->throughput_Bps;

            e->ceiling_Bps = ceiling > ESTIMATE_MIN_BPS ? ceiling : ESTIMATE_MIN_BPS;
            e->hold = HOLD_INTERVALS + 2 * rtt_intervals;
            return;
        }
    }
    if (rate >= grant_Bps / 4 * 3 && e->ceiling_Bps < ESTIMATE_MAX_BPS)
        e->ceiling_Bps += e->ceiling_Bps / 32 + 1;
}
