// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

extern "C" {
#include "control/moderation.h"
}

namespace
{

class Moderation : public ::testing::Test
{
  protected:
    const struct clock clock = {2000000000}; // two cycles are a nanosecond
    struct moderation m;

    Moderation()
    {
        moderation_init(&m);
    }
    uint64_t take()
    {
        return moderation_take(&m, &clock);
    }
};

} // namespace

TEST_F(Moderation, NobodyWasServed)
{
    EXPECT_EQ(take(), TIME_NEVER);
    moderation_arrives(&m, 1000, 1, 512);
    EXPECT_EQ(take(), TIME_NEVER) << "the port's ring alone allows nothing";
}

TEST_F(Moderation, HalfABurstOfASender)
{
    moderation_sends(&m, 1000, 1000000);
    EXPECT_EQ(take(), 500u);
    moderation_sends(&m, 0, 1000000);
    EXPECT_EQ(take(), 0u) << "no burst";
}

TEST_F(Moderation, TwoBurstsOfAReceiver)
{
    moderation_receives(&m, 1000, 1000000);
    EXPECT_EQ(take(), 2000u) << "in cycles";
}

TEST_F(Moderation, ASixteenthOfARoundTrip)
{
    moderation_sends(&m, 1000000, 1600);
    EXPECT_EQ(take(), 100u);
    moderation_receives(&m, 1000000, 1600);
    EXPECT_EQ(take(), 200u);
    moderation_receives(&m, 1000000, 0);
    EXPECT_EQ(take(), 0u) << "none is known";
}

TEST_F(Moderation, TheLeastOfAllThatWereServed)
{
    moderation_sends(&m, 1000, 1000000);
    moderation_sends(&m, 800, 1000000);
    moderation_receives(&m, 300, 1000000);
    EXPECT_EQ(take(), 400u);
    moderation_sends(&m, 1000, 1000000);
    EXPECT_EQ(take(), 500u) << "those before the last nap do not count";
}

TEST_F(Moderation, AQuarterOfTheRing)
{
    moderation_sends(&m, 1000000, 100000000);
    moderation_arrives(&m, 1000, 32, 512); // 8 of its 512 frames in 250 cycles
    EXPECT_EQ(take(), 4000u);
    moderation_sends(&m, 1000000, 100000000);
    moderation_arrives(&m, 10, 32, 512);
    EXPECT_EQ(take(), 40u);
}
