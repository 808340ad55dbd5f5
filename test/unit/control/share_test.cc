// SPDX-License-Identifier: BSD-3-Clause
// Max-min fair sharing against water poured in byte by byte, and against sorted demands.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "control/share.h"
}

namespace
{
using u128 = unsigned __int128;
using Demands = std::vector<uint64_t>;

uint64_t level_of(const Demands &d, uint64_t capacity)
{
    return share_level(d.data(), (uint32_t)d.size(), capacity);
}

Demands grants_at(const Demands &d, uint64_t level)
{
    Demands g;

    for (uint64_t x : d)
        g.push_back(std::min(x, level));
    return g;
}

/*
 * One round after the other, everybody who wants more gets one more byte/s, as long as a whole
 * round can be paid. What fairness means, without arithmetic.
 */
Demands pour(const Demands &d, uint64_t capacity)
{
    Demands g(d.size(), 0);

    for (;;) {
        uint64_t thirsty = 0;

        for (size_t i = 0; i < d.size(); i++)
            thirsty += g[i] < d[i];
        if (thirsty == 0 || thirsty > capacity)
            return g;
        capacity -= thirsty;
        for (size_t i = 0; i < d.size(); i++)
            g[i] += g[i] < d[i];
    }
}

/* The level of sorted demands: the smallest is satisfied, or all that remain share equally. */
uint64_t level_sorted(Demands d, uint64_t capacity)
{
    u128 left = capacity;

    std::sort(d.begin(), d.end());
    for (size_t i = 0; i < d.size(); i++) {
        uint64_t equal = (uint64_t)(left / (d.size() - i));

        if (d[i] > equal)
            return equal;
        left -= d[i];
    }
    return UINT64_MAX;
}

u128 sum_of(const Demands &d)
{
    u128 sum = 0;

    for (uint64_t x : d)
        sum += x;
    return sum;
}
} // namespace

TEST(Share, NobodyToShareWithHasNoLimit)
{
    EXPECT_EQ(share_level(nullptr, 0, 0), UINT64_MAX);
    EXPECT_EQ(share_level(nullptr, 0, 1000), UINT64_MAX);
}

TEST(Share, AllDemandsThatFitAreMet)
{
    EXPECT_EQ(level_of({10, 20, 30}, 60), UINT64_MAX);
    EXPECT_EQ(level_of({10, 20, 30}, 59), 29u);
    EXPECT_EQ(level_of({0, 0}, 0), UINT64_MAX);
    EXPECT_EQ(level_of({UINT64_MAX}, UINT64_MAX), UINT64_MAX);
}

TEST(Share, NoCapacityIsNoRate)
{
    EXPECT_EQ(level_of({0, 1}, 0), 0u);
    EXPECT_EQ(level_of({5, UINT64_MAX, 7}, 0), 0u);
}

TEST(Share, WhatTheSmallLeaveGoesToTheLarge)
{
    EXPECT_EQ(level_of({100, 100, 100}, 90), 30u);
    EXPECT_EQ(level_of({10, 100, 100}, 90), 40u);
    EXPECT_EQ(level_of({10, 35, 100}, 90), 45u);
    EXPECT_EQ(level_of({10, 45, 100}, 90), 40u);
}

TEST(Share, DemandsWhoseSumOverflowsAreShared)
{
    EXPECT_EQ(level_of(Demands(7, UINT64_MAX), UINT64_MAX), UINT64_MAX / 7);
    EXPECT_EQ(level_of({UINT64_MAX, UINT64_MAX, 100}, 1000), 450u);
}

TEST(ShareProperty, MatchesWaterPouredByteByByte)
{
    struct rng r;
    int short_of = 0, enough = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        Demands d(1 + rng_below(&r, 12));
        uint64_t most = 1 + rng_below(&r, 60);
        uint64_t capacity = rng_below(&r, 40 * d.size());

        for (uint64_t &x : d)
            x = rng_below(&r, most + 1);
        uint64_t level = level_of(d, capacity);

        ASSERT_EQ(grants_at(d, level), pour(d, capacity)) << "case " << i << " of " << capacity;
        ASSERT_EQ(level == UINT64_MAX, sum_of(d) <= capacity);
        (level == UINT64_MAX ? enough : short_of)++;
    }
    EXPECT_GT(short_of, 1000);
    EXPECT_GT(enough, 1000);
}

TEST(ShareProperty, MatchesSortedDemandsOfEveryMagnitude)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 4000; i++) {
        Demands d(1 + rng_below(&r, rng_below(&r, 2) ? 6 : 700));
        int bits = (int)rng_below(&r, 64);
        uint64_t capacity = rng_u64(&r) >> rng_below(&r, 64);

        for (uint64_t &x : d)
            x = rng_u64(&r) >> rng_below(&r, (uint64_t)bits + 1);
        uint64_t level = level_of(d, capacity);
        u128 given = sum_of(grants_at(d, level));

        ASSERT_EQ(level, level_sorted(d, capacity)) << "case " << i;
        ASSERT_LE(given, capacity);
        if (level == UINT64_MAX) {
            ASSERT_EQ(given, sum_of(d));
        } else { /* rounded down by less than one byte/s each */
            ASSERT_LT((uint64_t)(capacity - given), d.size());
        }
    }
}

/* Who asks for more never gets less, and takes from those above the level only. */
TEST(ShareProperty, AskingForMoreNeverHurtsTheAsker)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        Demands d(2 + rng_below(&r, 8));
        uint64_t capacity = 1 + rng_below(&r, 1000000);

        for (uint64_t &x : d)
            x = rng_below(&r, 500000);
        size_t who = rng_below(&r, d.size());
        Demands before = grants_at(d, level_of(d, capacity));
        uint64_t wanted = d[who];

        d[who] += rng_below(&r, 500000);
        Demands after = grants_at(d, level_of(d, capacity));

        ASSERT_GE(after[who], before[who]);
        for (size_t k = 0; k < d.size(); k++) {
            if (k != who) {
                ASSERT_LE(after[k], before[k]);
            }
            if (before[who] < wanted) { /* was at the level already: nothing changes */
                ASSERT_EQ(after[k], before[k]);
            }
        }
    }
}
