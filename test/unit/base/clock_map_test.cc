// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

extern "C" {
#include "base/clock_map.h"
}

TEST(ClockMap, FollowsTheOtherClock)
{
    clock_map m;

    clock_map_start(&m, 1000, 5000000);
    ASSERT_TRUE(clock_map_sample(&m, 1000 + 2300000, 5000000 + 1000000)); // 2.3 GHz, 1 GHz
    EXPECT_EQ(clock_map_at(&m, 1000 + 2300000), 6000000u);
    EXPECT_NEAR((double)clock_map_at(&m, 1000 + 4600000), 7000000, 1);
    EXPECT_NEAR((double)clock_map_at(&m, 1000), 5000000, 1) << "also before the sample";

    ASSERT_TRUE(clock_map_sample(&m, 1000 + 4600000, 6000000 + 1000100)); // the other clock drifts
    EXPECT_EQ(clock_map_at(&m, 1000 + 4600000), 7000100u);
    EXPECT_NEAR((double)clock_map_at(&m, 1000 + 6900000), 8000200, 1);
}

TEST(ClockMap, FasterClocksAndLongTimes)
{
    clock_map m;

    clock_map_start(&m, 0, 1ull << 60);
    ASSERT_TRUE(clock_map_sample(&m, 1000000, (1ull << 60) + 3000000000)); // picoseconds
    EXPECT_EQ(clock_map_at(&m, 2000000), (1ull << 60) + 6000000000);
}

TEST(ClockMap, RefusesClocksThatStandStill)
{
    clock_map m;

    clock_map_start(&m, 100, 100);
    EXPECT_FALSE(clock_map_sample(&m, 200, 100));
    EXPECT_FALSE(clock_map_sample(&m, 100, 200));
    EXPECT_FALSE(clock_map_sample(&m, 200, 50));
    ASSERT_TRUE(clock_map_sample(&m, 200, 200));
    EXPECT_EQ(clock_map_at(&m, 300), 300u);
}
