/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of 64-bit values with a bounded relative error: values below 64 each have a bucket of
 * their own; above, every power of two is cut into 32 buckets, so a bucket is at most 1/32 wide of
 * its lower end. Sum, minimum and maximum are exact. Units are the caller's. One writer; readers
 * may look at any time and see a recent state.
 */
#ifndef SLUICE_BASE_HISTOGRAM_H
#define SLUICE_BASE_HISTOGRAM_H

#include <stdint.h>

#include "base/counter.h"

#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_SUB      (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_BUCKETS  ((64 - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB)

struct histogram {
    uint64_t count, sum, min, max; /* min, max: 0 while count is 0 */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline uint32_t histogram_bucket(uint64_t v)
{
    if (v < HISTOGRAM_SUB)
        return (uint32_t)v;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(v) - HISTOGRAM_SUB_BITS;

    return (shift << HISTOGRAM_SUB_BITS) + (uint32_t)(v >> shift);
}

static inline void histogram_add(struct histogram *h, uint64_t v)
{
    counter_add(&h->buckets[histogram_bucket(v)], 1);
    counter_add(&h->sum, v);
    if (h->count == 0 || v < h->min)
        counter_set(&h->min, v);
    if (v > h->max)
        counter_set(&h->max, v);
    counter_add(&h->count, 1);
}

/* The values of a bucket are [floor, floor + width). */
uint64_t histogram_floor(uint32_t bucket);
uint64_t histogram_width(uint32_t bucket);

/* A value v such that about a share of parts/whole of all values is <= v: the middle of its bucket,
 * never outside min .. max; 0 if there are none. */
uint64_t histogram_quantile(const struct histogram *h, uint64_t parts, uint64_t whole);

/* Rounded down; 0 if there are none. */
uint64_t histogram_mean(const struct histogram *h);

#endif
