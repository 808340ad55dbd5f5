// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

extern "C" {
#include "control/moderation.h"
}

namespace
{

constexpr uint64_t kLong = 1000000000;
constexpr uint64_t kWindow = 2 * MODERATION_WINDOW_NS;

class Moderation : public ::testing::Test
{
  protected:
    const struct clock clock = {2000000000}; // two cycles are a nanosecond
    uint64_t now = 1000;
    struct moderation m;

    Moderation()
    {
        moderation_init(&m, &clock);
        nap_now();
    }
    // The nap, in cycles, at most `most`; 0: none.
    uint64_t nap_now(uint64_t most = kLong)
    {
        struct moderation_nap nap = {most, false};

        moderation_take(&m, &clock, now, &nap);
        return nap.served ? nap.max_tsc : 0;
    }
    // The same, and all limits end.
    uint64_t take(uint64_t most = kLong)
    {
        uint64_t nap = nap_now(most);

        now += 2 * kWindow;
        nap_now();
        now += 2 * kWindow;
        nap_now();
        return nap;
    }
};

} // namespace

TEST_F(Moderation, NobodyWasServed)
{
    EXPECT_EQ(take(), 0u);
    moderation_arrives(&m, 1000, 1, 512);
    EXPECT_EQ(take(), 0u) << "frames alone are no reason";
}

TEST_F(Moderation, HalfABurstOfASender)
{
    moderation_sends(&m, 1000, kLong);
    EXPECT_EQ(take(), 500u);
    moderation_sends(&m, 0, kLong);
    EXPECT_EQ(take(), 0u) << "no burst";
}

TEST_F(Moderation, TwoBurstsOfAReceiver)
{
    moderation_receives(&m, 1000, kLong);
    EXPECT_EQ(take(), 2000u) << "in cycles";
}

TEST_F(Moderation, ASixteenthOfARoundTrip)
{
    moderation_sends(&m, kLong, 1600);
    EXPECT_EQ(take(), 100u);
    moderation_receives(&m, kLong, 1600);
    EXPECT_EQ(take(), 200u);
    moderation_receives(&m, kLong, 0);
    EXPECT_EQ(take(), 0u) << "none is known";
}

TEST_F(Moderation, TheLeastOfAllThatWereServed)
{
    moderation_sends(&m, 1000, kLong);
    moderation_sends(&m, 800, kLong);
    moderation_receives(&m, 300, kLong);
    EXPECT_EQ(take(), 400u);
    moderation_sends(&m, 1000, kLong);
    EXPECT_EQ(take(450), 450u) << "and what is known already";
}

// A connection that is served now and then limits each nap, also of other connections.
TEST_F(Moderation, LimitsLastForAWindow)
{
    moderation_sends(&m, 10, kLong);
    for (uint64_t end = now + kWindow; now < end; now += kWindow / 50) {
        moderation_receives(&m, kLong, 1600000);
        EXPECT_EQ(nap_now(), 5u) << now;
    }
    for (uint64_t end = now + kWindow; now <= end; now += kWindow / 50) {
        moderation_receives(&m, kLong, 1600000);
        nap_now();
    }
    moderation_receives(&m, kLong, 1600000);
    EXPECT_EQ(nap_now(), 200000u) << "after two windows at most";
}

TEST_F(Moderation, WhatNoNapMayDelay)
{
    moderation_receives(&m, kLong, 1600000);
    moderation_forbid(&m);
    EXPECT_EQ(nap_now(), 0u);
    now += kWindow / 2;
    moderation_receives(&m, kLong, 1600000);
    EXPECT_EQ(take(), 0u);
    moderation_receives(&m, kLong, 1600000);
    EXPECT_EQ(take(), 200000u);
}

TEST_F(Moderation, AQuarterOfTheRing)
{
    moderation_sends(&m, 1000000, kLong);
    moderation_arrives(&m, 1000, 32, 512); // a quarter are 128 frames
    EXPECT_EQ(take(), 4000u);
    moderation_sends(&m, 1000000, kLong);
    moderation_arrives(&m, 10, 32, 512);
    EXPECT_EQ(take(), 40u);
}
