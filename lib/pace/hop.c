/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace/hop.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/seq.h"

/* The slot of this source. If it has none: a free slot. If none is free: the slot with the highest
 * limit, if `limit` is lower; else NULL. */
static struct hop_limit *slot_of(struct hop_limits *l, const struct hop_limit *limit)
{
    struct hop_limit *best = NULL;

    for (uint32_t i = 0; i < HOP_SLOTS; i++) {
        struct hop_limit *s = &l->slot[i];

        if (s->until_tsc != 0 && s->source == limit->source)
            return s;
        if (best == NULL ||
            (best->until_tsc != 0 && (s->until_tsc == 0 || s->rate_Bps > best->rate_Bps)))
            best = s;
    }
    return best->until_tsc == 0 || best->rate_Bps > limit->rate_Bps ? best : NULL;
}

bool hop_limits_take(struct hop_limits *l, const struct hop_limit *limit)
{
    struct hop_limit *s = slot_of(l, limit);

    if (s == NULL)
        return false;
    if (s->until_tsc != 0 && s->source == limit->source && seq64_before(limit->time_ns, s->time_ns))
        return false;
    *s = *limit;
    return true;
}

bool hop_limits_expire(struct hop_limits *l, uint64_t now)
{
    bool any = false;

    for (uint32_t i = 0; i < HOP_SLOTS; i++) {
        struct hop_limit *s = &l->slot[i];

        if (s->until_tsc == 0 || time_before(now, s->until_tsc))
            continue;
        s->until_tsc = 0;
        any = true;
    }
    return any;
}

uint64_t hop_limits_next(const struct hop_limits *l)
{
    uint64_t next = TIME_NEVER;

    for (uint32_t i = 0; i < HOP_SLOTS; i++)
        if (l->slot[i].until_tsc != 0)
            next = time_min(next, l->slot[i].until_tsc);
    return next;
}

bool hop_limits_min(const struct hop_limits *l, uint64_t *rate_Bps, uint64_t *burst_bytes)
{
    bool any = false;

    *burst_bytes = 0;
    for (uint32_t i = 0; i < HOP_SLOTS; i++) {
        const struct hop_limit *s = &l->slot[i];

        if (s->until_tsc == 0)
            continue;
        if (!any || s->rate_Bps < *rate_Bps)
            *rate_Bps = s->rate_Bps;
        if (s->burst_bytes != 0 && (*burst_bytes == 0 || s->burst_bytes < *burst_bytes))
            *burst_bytes = s->burst_bytes;
        any = true;
    }
    return any;
}
