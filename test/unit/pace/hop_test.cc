// SPDX-License-Identifier: BSD-3-Clause
// Limits of routers, against a naive model that keeps the newest limit of every router.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "../base/seed.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "pace/hop.h"
}

namespace
{

struct hop_limit limit(uint32_t source, uint64_t rate_Bps, uint64_t time_ns, uint64_t until_tsc,
                       uint64_t burst_bytes = 0)
{
    return {source, rate_Bps, burst_bytes, time_ns, until_tsc};
}

uint64_t least(const struct hop_limits &l)
{
    uint64_t rate, burst;

    return hop_limits_min(&l, &rate, &burst) ? rate : UINT64_MAX;
}

} // namespace

// The times of two routers are not compared: the router whose clock is behind is heard, too.
TEST(HopLimits, ClocksOfRoutersAreNotCompared)
{
    struct hop_limits l = {};
    struct hop_limit fast = limit(1, 9000, 1000000, 100), slow = limit(2, 4000, 5, 100);

    EXPECT_TRUE(hop_limits_take(&l, &fast));
    EXPECT_TRUE(hop_limits_take(&l, &slow));
    EXPECT_EQ(least(l), 4000u);
    slow.rate_Bps = 7000;
    slow.time_ns = 6;
    EXPECT_TRUE(hop_limits_take(&l, &slow));
    EXPECT_EQ(least(l), 7000u);
    slow.time_ns = 5; // older than the last one of this router
    slow.rate_Bps = 1;
    EXPECT_FALSE(hop_limits_take(&l, &slow));
    EXPECT_EQ(least(l), 7000u);
}

TEST(HopLimits, ATimeInTheFutureShutsNobodyOut)
{
    for (uint64_t far : {UINT64_MAX, (uint64_t)INT64_MAX}) {
        struct hop_limits l = {};
        struct hop_limit forged = limit(1, 9000, far, 100), other = limit(2, 5000, 7, 200),
                         real = limit(1, 3000, 8, 300);

        EXPECT_TRUE(hop_limits_take(&l, &forged));
        EXPECT_TRUE(hop_limits_take(&l, &other)) << far;
        EXPECT_EQ(least(l), 5000u);
        EXPECT_FALSE(hop_limits_expire(&l, 99));
        EXPECT_EQ(hop_limits_next(&l), 100u);
        EXPECT_TRUE(hop_limits_expire(&l, 100));
        EXPECT_TRUE(hop_limits_take(&l, &real)) << "the forged time went when that limit expired";
        EXPECT_EQ(least(l), 3000u);
        EXPECT_TRUE(hop_limits_expire(&l, 300));
        EXPECT_EQ(least(l), UINT64_MAX);
        EXPECT_EQ(hop_limits_next(&l), TIME_NEVER);
    }
}

// Limits that are higher than others may be forgotten. The lowest is right at any time.
TEST(HopLimits, LeastOfManyRouters)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int round = 0; round < 200; round++) {
        struct hop_limits l = {};
        std::map<uint32_t, struct hop_limit> all;
        uint64_t now = 1;

        for (int step = 0; step < 200; step++) {
            uint32_t sources = 2 + (uint32_t)round % 10;
            struct hop_limit x =
                limit(rng_below(&r, 5) == 0 ? HOP_CNTL : (uint32_t)rng_below(&r, sources),
                      1 + rng_below(&r, 1000), now, 1000000);

            // A router that raised its limit could uncover a forgotten one, so limits only fall
            // here.
            auto it = all.find(x.source);
            if (it != all.end())
                x.rate_Bps = std::min(x.rate_Bps, it->second.rate_Bps);
            hop_limits_take(&l, &x);
            all[x.source] = x;
            uint64_t want = UINT64_MAX;
            for (auto &e : all)
                want = std::min(want, e.second.rate_Bps);
            ASSERT_EQ(least(l), want) << "round " << round << ", step " << step;
            now++;
        }
    }
}

TEST(HopLimits, BurstsOfZeroLimitNothing)
{
    struct hop_limits l = {};
    struct hop_limit a = limit(1, 9000, 1, 100, 0), b = limit(2, 8000, 1, 100, 500);
    uint64_t rate, burst;

    hop_limits_take(&l, &a);
    ASSERT_TRUE(hop_limits_min(&l, &rate, &burst));
    EXPECT_EQ(burst, 0u);
    hop_limits_take(&l, &b);
    ASSERT_TRUE(hop_limits_min(&l, &rate, &burst));
    EXPECT_EQ(burst, 500u);
    EXPECT_EQ(rate, 8000u);
}
