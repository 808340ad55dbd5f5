/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/histogram.h"

#include "base/check.h"

uint64_t histogram_width(uint32_t bucket)
{
    CHECK(bucket < HISTOGRAM_BUCKETS);
    return bucket < 2 * HISTOGRAM_SUB ? 1 : 1ull << ((bucket >> HISTOGRAM_SUB_BITS) - 1);
}

uint64_t histogram_floor(uint32_t bucket)
{
    CHECK(bucket < HISTOGRAM_BUCKETS);
    if (bucket < HISTOGRAM_SUB)
        return bucket;
    uint32_t shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;

    return ((uint64_t)(bucket & (HISTOGRAM_SUB - 1)) + HISTOGRAM_SUB) << shift;
}

static unsigned __int128 sum_get(const struct histogram *h)
{
    return (unsigned __int128)counter_get(&h->wraps) << 64 | counter_get(&h->sum);
}

void histogram_join(struct histogram *h, const struct histogram *from)
{
    unsigned __int128 sum = sum_get(h) + sum_get(from);
    uint64_t max = counter_get(&from->max), min_inverse = counter_get(&from->min_inverse);

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        counter_add(&h->buckets[i], counter_get(&from->buckets[i]));
    counter_set(&h->wraps, (uint64_t)(sum >> 64));
    counter_set(&h->sum, (uint64_t)sum);
    if (max > h->max)
        counter_set(&h->max, max);
    if (min_inverse > h->min_inverse)
        counter_set(&h->min_inverse, min_inverse);
}

uint64_t histogram_count(const struct histogram *h)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        count += counter_get(&h->buckets[i]);
    return count;
}

uint64_t histogram_min(const struct histogram *h)
{
    uint64_t inverse = counter_get(&h->min_inverse);

    return inverse == 0 ? 0 : ~inverse;
}

uint64_t histogram_quantile(const struct histogram *h, uint64_t parts, uint64_t whole)
{
    uint64_t count = histogram_count(h), seen = 0, rank;

    CHECK(whole > 0 && parts <= whole);
    if (count == 0)
        return 0;
    /* the place of the value sought in ascending order; the smallest value has place 1 */
    rank = (uint64_t)(((unsigned __int128)count * parts + whole - 1) / whole);
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += counter_get(&h->buckets[i]);
        if (seen >= rank && seen > 0) {
            uint64_t v = histogram_floor(i) + (histogram_width(i) - 1) / 2;
            uint64_t min = histogram_min(h), max = counter_get(&h->max);

            return v < min ? min : v > max ? max : v;
        }
    }
    return counter_get(&h->max);
}

uint64_t histogram_mean(const struct histogram *h)
{
    uint64_t count = histogram_count(h);

    return count == 0 ? 0 : (uint64_t)(sum_get(h) / count);
}

double histogram_average(const struct histogram *h)
{
    uint64_t count = histogram_count(h);

    return count == 0 ? 0 : (double)sum_get(h) / (double)count;
}
