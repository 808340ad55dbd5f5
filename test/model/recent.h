/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least and the most of the values measured lately, over any window up to RECENT_PARTS - 1
 * spans. Values that came within one span share a part, so a window is longer than asked for by at
 * most one span. Storage is fixed; a query costs RECENT_PARTS comparisons.
 *
 * Invariant: parts are in the order of time; the last one is `newest`. Times: ns, which do not go
 * back. Owned by one thread.
 */
#ifndef SLUICE_MODEL_RECENT_H
#define SLUICE_MODEL_RECENT_H

#include <stdint.h>

#define RECENT_PARTS 24u

struct recent {
    struct {
        uint64_t begun_ns, last_ns; /* of its values */
        uint64_t least, most;
    } part[RECENT_PARTS];
    uint32_t newest, used;
};

static inline void recent_init(struct recent *r)
{
    r->newest = r->used = 0;
}

/* Adds a value. Values that come within span_ns of a part's first value join that part. */
static inline void recent_add(struct recent *r, uint64_t value, uint64_t now_ns, uint64_t span_ns)
{
    if (r->used == 0 || now_ns - r->part[r->newest].begun_ns >= span_ns) {
        r->newest = r->used == 0 ? 0 : (r->newest + 1) % RECENT_PARTS;
        r->used += r->used < RECENT_PARTS;
        r->part[r->newest].begun_ns = now_ns;
        r->part[r->newest].least = UINT64_MAX;
        r->part[r->newest].most = 0;
    }
    r->part[r->newest].last_ns = now_ns;
    if (value < r->part[r->newest].least)
        r->part[r->newest].least = value;
    if (value > r->part[r->newest].most)
        r->part[r->newest].most = value;
}

/* Sets *least and *most of the window that ends now; UINT64_MAX and 0 if it has no values. */
static inline void recent_get(const struct recent *r, uint64_t now_ns, uint64_t window_ns,
                              uint64_t *least, uint64_t *most)
{
    *least = UINT64_MAX;
    *most = 0;
    for (uint32_t i = 0; i < r->used; i++) {
        uint32_t at = (r->newest + RECENT_PARTS - i) % RECENT_PARTS;

        if (r->part[at].last_ns + window_ns < now_ns)
            break;
        if (r->part[at].least < *least)
            *least = r->part[at].least;
        if (r->part[at].most > *most)
            *most = r->part[at].most;
    }
}

#endif
