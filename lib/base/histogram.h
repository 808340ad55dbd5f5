/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of 64-bit values with a bounded relative error. Each value below 64 has a bucket of
 * its own. Above, every power of two is cut into 32 buckets, so the width of a bucket is at most
 * 1/32 of its lower end. Sum, minimum and maximum are exact. Units are the caller's. One writer;
 * readers may look at any time and see a recent state.
 */
#ifndef SLUICE_BASE_HISTOGRAM_H
#define SLUICE_BASE_HISTOGRAM_H

#include <stdint.h>

#include "base/counter.h"

#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_SUB      (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_BUCKETS  ((64 - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB)

struct histogram {
    uint64_t sum, wraps; /* modulo 2^64, and how often that was reached: in cycles, within hours */
    uint64_t max;
    uint64_t min_inverse; /* UINT64_MAX - min, so that zeroed memory is an empty histogram */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline uint32_t histogram_bucket(uint64_t v)
{
    if (v < HISTOGRAM_SUB)
        return (uint32_t)v;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(v) - HISTOGRAM_SUB_BITS;

    return (shift << HISTOGRAM_SUB_BITS) + (uint32_t)(v >> shift);
}

/* Adds a value n times, n > 0. */
static inline void histogram_add_many(struct histogram *h, uint64_t v, uint64_t n)
{
    unsigned __int128 sum = (unsigned __int128)v * n + h->sum;

    counter_add(&h->buckets[histogram_bucket(v)], n);
    counter_set(&h->sum, (uint64_t)sum);
    if (sum >> 64 != 0)
        counter_add(&h->wraps, (uint64_t)(sum >> 64));
    if (~v > h->min_inverse)
        counter_set(&h->min_inverse, ~v);
    if (v > h->max)
        counter_set(&h->max, v);
}

static inline void histogram_add(struct histogram *h, uint64_t v)
{
    histogram_add_many(h, v, 1);
}

/* Adds all values of `from`, which another thread may be writing. */
void histogram_join(struct histogram *h, const struct histogram *from);

/* The values of a bucket are [floor, floor + width). */
uint64_t histogram_floor(uint32_t bucket);
uint64_t histogram_width(uint32_t bucket);

/* A value v such that about parts/whole of all values are <= v: the middle of a bucket, but never
 * outside min .. max; 0 if there are no values. */
uint64_t histogram_quantile(const struct histogram *h, uint64_t parts, uint64_t whole);

uint64_t histogram_count(const struct histogram *h);
uint64_t histogram_min(const struct histogram *h); /* 0 if there are no values */

/* The mean; 0 if there are no values. The second is rounded down. */
double histogram_average(const struct histogram *h);
uint64_t histogram_mean(const struct histogram *h);

#endif
