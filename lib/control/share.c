/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/share.h"

uint64_t share_level(const uint64_t *demand_Bps, uint32_t n, uint64_t capacity_Bps)
{
    uint64_t level = 0;

    if (n == 0)
        return UINT64_MAX;
    for (;;) {
        uint64_t below = 0; /* sum of demands that the level satisfies */
        uint32_t above = 0; /* how many want more */

        for (uint32_t i = 0; i < n; i++) {
            if (demand_Bps[i] <= level)
                below += demand_Bps[i];
            else
                above++;
        }
        if (above == 0)
            return UINT64_MAX;
        uint64_t next = (capacity_Bps - below) / above;

        /* the level only rises, since whoever it satisfies leaves more for the others */
        if (next <= level)
            return level;
        level = next;
    }
}
