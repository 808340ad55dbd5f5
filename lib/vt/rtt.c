/* SPDX-License-Identifier: BSD-3-Clause */
#include "vt/rtt.h"

void rtt_init(struct rtt *r)
{
    *r = (struct rtt){0};
}

void rtt_bound(struct rtt *r, uint64_t max_tsc)
{
    if (max_tsc == 0)
        max_tsc = 1;
    if (r->samples == RTT_MIN_OF) {
        r->older_min_tsc = r->newest_min_tsc;
        r->samples = 0;
    }
    if (r->samples++ == 0 || max_tsc < r->newest_min_tsc)
        r->newest_min_tsc = max_tsc;
    r->min_tsc = r->older_min_tsc != 0 && r->older_min_tsc < r->newest_min_tsc ? r->older_min_tsc
                                                                               : r->newest_min_tsc;
}

void rtt_sample(struct rtt *r, uint64_t sample_tsc)
{
    if (sample_tsc == 0)
        sample_tsc = 1;
    rtt_bound(r, sample_tsc);
    if (r->srtt_tsc == 0) {
        r->srtt_tsc = sample_tsc;
        r->var_tsc = sample_tsc / 2;
        return;
    }
    int64_t error = (int64_t)(sample_tsc - r->srtt_tsc);
    int64_t spread = (error < 0 ? -error : error) - (int64_t)r->var_tsc;

    r->srtt_tsc = (uint64_t)((int64_t)r->srtt_tsc + error / 8);
    r->var_tsc = (uint64_t)((int64_t)r->var_tsc + spread / 4);
    if (r->srtt_tsc == 0)
        r->srtt_tsc = 1;
}

uint64_t rtt_wait(const struct rtt *r, uint64_t unknown_tsc)
{
    if (r->srtt_tsc == 0)
        return unknown_tsc;
    uint64_t margin = 4 * r->var_tsc;

    if (margin < r->srtt_tsc / 8)
        margin = r->srtt_tsc / 8;
    return r->srtt_tsc + margin;
}
