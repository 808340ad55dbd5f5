// SPDX-License-Identifier: BSD-3-Clause
// The buckets cover all values without a gap. Mean, quantiles and extremes come out of them.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include "base/histogram.h"
}

namespace
{

TEST(Histogram, BucketsCoverAllValuesOnce)
{
    uint64_t next = 0;

    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
        uint64_t floor = histogram_floor(b), width = histogram_width(b);

        ASSERT_EQ(floor, next) << b;
        ASSERT_EQ(histogram_bucket(floor), b);
        ASSERT_EQ(histogram_bucket(floor + width - 1), b);
        if (floor >= 64) {
            ASSERT_LE(width, floor / 32);
        } else {
            ASSERT_EQ(width, 1u);
        }
        next = floor + width;
    }
    EXPECT_EQ(next, 0u); // 2^64
    EXPECT_EQ(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

TEST(Histogram, EmptyOne)
{
    auto h = std::make_unique<struct histogram>();

    EXPECT_EQ(histogram_quantile(h.get(), 1, 2), 0u);
    EXPECT_EQ(histogram_mean(h.get()), 0u);
}

// In cycles, the sum of a path's delays passes 2^64 within hours.
TEST(Histogram, TheMeanOfALargeSum)
{
    auto h = std::make_unique<struct histogram>(), all = std::make_unique<struct histogram>();

    for (int i = 0; i < 3; i++)
        histogram_add_many(h.get(), 1ull << 61, 7);
    EXPECT_EQ(histogram_mean(h.get()), 1ull << 61);
    for (int i = 0; i < 3; i++)
        histogram_join(all.get(), h.get());
    EXPECT_EQ(histogram_mean(all.get()), 1ull << 61);
    EXPECT_EQ(histogram_average(all.get()), 0x1p61);
}

TEST(Histogram, ExactWhereBucketsAreOneWide)
{
    auto h = std::make_unique<struct histogram>();

    for (uint64_t v = 1; v <= 60; v++)
        histogram_add(h.get(), v);
    EXPECT_EQ(histogram_count(h.get()), 60u);
    EXPECT_EQ(histogram_min(h.get()), 1u);
    EXPECT_EQ(h->max, 60u);
    EXPECT_EQ(histogram_mean(h.get()), 30u); // 30.5
    EXPECT_EQ(histogram_quantile(h.get(), 0, 1), 1u);
    EXPECT_EQ(histogram_quantile(h.get(), 1, 60), 1u);
    EXPECT_EQ(histogram_quantile(h.get(), 1, 2), 30u);
    EXPECT_EQ(histogram_quantile(h.get(), 99, 100), 60u);
    EXPECT_EQ(histogram_quantile(h.get(), 1, 1), 60u);
}

TEST(Histogram, QuantilesWithinAThirtySecond)
{
    std::mt19937_64 rng(1);

    for (int shift : {0, 20, 40, 58}) {
        auto h = std::make_unique<struct histogram>();
        std::vector<uint64_t> all;

        for (int i = 0; i < 10000; i++) {
            all.push_back(rng() >> shift >> rng() % 6);
            histogram_add(h.get(), all.back());
        }
        std::sort(all.begin(), all.end());
        for (uint64_t parts : {1, 10, 250, 500, 900, 990, 999, 1000}) {
            uint64_t exact = all[parts * 10 - 1];
            uint64_t got = histogram_quantile(h.get(), parts, 1000);

            EXPECT_LE(got > exact ? got - exact : exact - got, exact / 64 + 1);
        }
        EXPECT_EQ(histogram_min(h.get()), all.front());
        EXPECT_EQ(h->max, all.back());
    }
}

TEST(Histogram, NeverOutsideWhatWasAdded)
{
    auto h = std::make_unique<struct histogram>();

    histogram_add(h.get(), 1000001);
    for (uint64_t parts = 0; parts <= 10; parts++)
        EXPECT_EQ(histogram_quantile(h.get(), parts, 10), 1000001u);
    histogram_add(h.get(), 0);
    EXPECT_EQ(histogram_min(h.get()), 0u);
    EXPECT_EQ(histogram_quantile(h.get(), 1, 10), 0u);
}

TEST(Histogram, JoinedIsAsIfOneHadTakenAll)
{
    auto all = std::make_unique<struct histogram>(), a = std::make_unique<struct histogram>(),
         b = std::make_unique<struct histogram>();

    for (uint64_t v = 7; v < 1u << 20; v = v * 5 / 4) {
        histogram_add(all.get(), v);
        histogram_add(v % 2 ? a.get() : b.get(), v);
    }
    histogram_join(a.get(), b.get());
    EXPECT_EQ(std::memcmp(a.get(), all.get(), sizeof *all), 0);
    *b = {};
    histogram_join(a.get(), b.get()); // an empty one changes nothing
    EXPECT_EQ(std::memcmp(a.get(), all.get(), sizeof *all), 0);
    histogram_join(b.get(), a.get());
    EXPECT_EQ(std::memcmp(b.get(), all.get(), sizeof *all), 0);
}

TEST(Histogram, SharesThatAreNoneAbort)
{
    auto h = std::make_unique<struct histogram>();

    EXPECT_DEATH(histogram_quantile(h.get(), 2, 1), "invariant");
    EXPECT_DEATH(histogram_quantile(h.get(), 0, 0), "invariant");
    EXPECT_DEATH(histogram_floor(HISTOGRAM_BUCKETS), "invariant");
}

} // namespace
