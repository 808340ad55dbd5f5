/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A coarse histogram, small enough to keep one for each connection: a bucket for each power of two.
 * Bucket 0 counts zeros, bucket k counts values of [2^(k-1), 2^k), and the last one also counts all
 * larger values. Units are the caller's. One writer; readers may look at any time and see a recent
 * state.
 */
#ifndef SLUICE_BASE_SPREAD_H
#define SLUICE_BASE_SPREAD_H

#include <stdint.h>

#include "base/counter.h"
#include "base/mul_div.h"

#define SPREAD_BUCKETS 48u

struct spread {
    uint64_t sum;
    uint64_t n[SPREAD_BUCKETS];
};

static inline void spread_add(struct spread *s, uint64_t v)
{
    uint32_t k = v == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(v);

    counter_add(&s->n[k < SPREAD_BUCKETS ? k : SPREAD_BUCKETS - 1], 1);
    counter_add(&s->sum, v);
}

/* The end of bucket k, which all its values are below; UINT64_MAX for the last bucket. */
static inline uint64_t spread_end(uint32_t k)
{
    return k < SPREAD_BUCKETS - 1 ? 1ull << k : UINT64_MAX;
}

static inline uint64_t spread_count(const struct spread *s)
{
    uint64_t count = 0;

    for (uint32_t k = 0; k < SPREAD_BUCKETS; k++)
        count += s->n[k];
    return count;
}

/* The value that parts/whole of all values do not exceed, rounded up to a power of two; 0 if there
 * are no values. Only for a copy that no thread writes meanwhile. */
static inline uint64_t spread_quantile(const struct spread *s, uint64_t parts, uint64_t whole)
{
    uint64_t all = spread_count(s), count = 0;
    uint64_t wanted = mul_div(all, parts, whole);
    uint32_t k;

    for (k = 0; k < SPREAD_BUCKETS - 1; k++) {
        count += s->n[k];
        if (count > 0 && count >= wanted)
            break;
    }
    return all == 0 || k == 0 ? 0 : 1ull << k;
}

#endif
