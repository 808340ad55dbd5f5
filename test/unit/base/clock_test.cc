// SPDX-License-Identifier: BSD-3-Clause
// Conversion between cycles and ns: within one cycle both ways, no overflow, wrap-safe compare.
#include <gtest/gtest.h>

#include "seed.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
}

TEST(Clock, KnownValues)
{
    struct clock c = {2500000000ull};

    EXPECT_EQ(clock_cycles(&c, 1000), 2500u);
    EXPECT_EQ(clock_ns(&c, 2500), 1000u);
    EXPECT_EQ(clock_cycles(&c, 3600 * CLOCK_NS_PER_S), 3600 * 2500000000ull);
    EXPECT_EQ(clock_ns(&c, 3), 1u); /* 1.2 ns */
}

TEST(Clock, RoundTripWithinOneCycle)
{
    struct rng r;
    const uint64_t hz[] = {1000000, 24000000, 1000000000, 2999999999, 4000000007};

    rng_init(&r, test_seed());
    for (int i = 0; i < 200000; i++) {
        struct clock c = {hz[rng_below(&r, 5)]};
        uint64_t ns = rng_u64(&r) >> (3 + rng_below(&r, 61));
        uint64_t back = clock_ns(&c, clock_cycles(&c, ns));
        uint64_t cycle_ns = CLOCK_NS_PER_S / c.hz + 1;

        ASSERT_LE(back, ns) << "hz " << c.hz;
        ASSERT_LE(ns - back, cycle_ns) << "hz " << c.hz << " ns " << ns;
    }
}

TEST(Clock, BeforeIsWrapSafe)
{
    EXPECT_TRUE(time_before(1, 2));
    EXPECT_FALSE(time_before(2, 2));
    EXPECT_FALSE(time_before(3, 2));
    EXPECT_TRUE(time_before(1ull << 63, TIME_NEVER));
    EXPECT_FALSE(time_before(TIME_NEVER, 100));
    EXPECT_FALSE(time_before(TIME_NEVER, TIME_NEVER));
    EXPECT_EQ(time_min(7, TIME_NEVER), 7u);
    EXPECT_EQ(time_min(TIME_NEVER, 7), 7u);
}

TEST(Clock, SteadyGoesOnWhereTheCounterStepsBack)
{
    uint64_t ahead = 0, last = 0;

    EXPECT_EQ(clock_steady(&ahead, &last, ahead, 1000), 1000u);
    EXPECT_EQ(clock_steady(&ahead, &last, ahead, 1500), 1500u);
    EXPECT_EQ(clock_steady(&ahead, &last, ahead, 20), 1500u);
    EXPECT_EQ(clock_steady(&ahead, &last, ahead, 70), 1550u) << "the pace stays";
    EXPECT_EQ(clock_steady(&ahead, &last, ahead, 10000), 11480u) << "a step forward counts as time";
    EXPECT_EQ(clock_steady(&ahead, &last, ahead, 9999), 11480u);
}

TEST(Clock, SteadyAgreesBetweenThreads)
{
    uint64_t ahead = 0, a = 0, b = 0;

    clock_steady(&ahead, &a, ahead, 5000);
    clock_steady(&ahead, &b, ahead, 5003);
    uint64_t then = ahead; /* read by b before the counter steps back */
    EXPECT_EQ(clock_steady(&ahead, &a, ahead, 10), 5000u);
    EXPECT_EQ(clock_steady(&ahead, &b, then, 11), 5003u) << "that step is not added twice";
    EXPECT_EQ(clock_steady(&ahead, &a, ahead, 20), clock_steady(&ahead, &b, ahead, 20));
    EXPECT_LT(ahead, 5010u);
}
