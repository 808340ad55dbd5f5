// SPDX-License-Identifier: BSD-3-Clause
// The rate law of a path, with hosts that are away, late, or have little to send.
#include <gtest/gtest.h>

#include <utility>

#include "trials.hh"

namespace
{

// A flow that has found the rate of its path, where there is no queue.
pathrate settled(uint64_t *rate)
{
    pathrate p = limited();

    *rate = p.ceiling_Bps;
    for (int i = 0; i < 8; i++) {
        update(&p, steady(*rate, *rate, p.target_ns), *rate);
        *rate = p.ceiling_Bps;
    }
    return p;
}

} // namespace

// Packets arrived in half of the time. In the other half the receiver was away, so the grant stays.
TEST(PathrateAway, AnAbsenceLowersNothing)
{
    for (bool away : {false, true}) {
        uint64_t rate;
        pathrate p = settled(&rate);
        trial_result t = steady(rate / 2, rate, p.target_ns + kMs / 10);

        t.away_ns = away ? kSpan / 2 : 0;
        update(&p, t, rate);
        if (away)
            EXPECT_GE(p.ceiling_Bps, rate - rate / 32);
        else
            EXPECT_LT(p.ceiling_Bps, rate * 6 / 10);
    }
}

// Packets arrived in half of the time. In the other half the path stood still.
TEST(PathrateAway, AStallOfThePathLowersNothing)
{
    for (bool stalled : {false, true}) {
        for (uint64_t lost : {0, 1}) {
            uint64_t rate;
            pathrate p = settled(&rate);
            trial_result t = steady(rate / 2, rate, p.target_ns + kMs / 10, lost);

            t.stall_ns = stalled ? kSpan / 2 : 0;
            update(&p, t, rate);
            if (stalled && lost == 0)
                EXPECT_GE(p.ceiling_Bps, rate - rate / 32);
            else
                EXPECT_LT(p.ceiling_Bps, rate * 6 / 10) << "what is lost leaves no queue";
        }
    }
}

// The receiver was away while the path stood still: these are not two times.
TEST(PathrateAway, AStallAndAnAbsenceMayBeTheSame)
{
    uint64_t rate;
    pathrate p = settled(&rate);
    trial_result t = steady(rate / 4, rate, p.target_ns + kMs);

    t.stall_ns = t.away_ns = kSpan / 2;
    update(&p, t, rate);
    EXPECT_LT(p.ceiling_Bps, rate * 6 / 10);
}

// A sender that uses little of its grant may meet a queue. That does not show the rate of the path.
TEST(PathrateAway, AnIdleSenderIsNoSlowPath)
{
    uint64_t rate;
    pathrate p = settled(&rate);

    update(&p, steady(rate / 10, rate / 10, p.target_ns + kMs / 10), rate);
    EXPECT_GE(p.ceiling_Bps, rate - rate / 32);
    EXPECT_LE(p.ceiling_Bps, rate);
}

// While no packet waits, the grant rises up to twice the rate of arrival.
TEST(PathrateAway, RisesWithWhatComes)
{
    for (int used : {30, 60}) {
        uint64_t rate;
        pathrate p = settled(&rate);

        for (int i = 0; i < 12; i++)
            update(&p, steady(rate / 100 * used, rate / 100 * used, 0), rate);
        if (used < 50)
            EXPECT_EQ(p.ceiling_Bps, rate);
        else
            EXPECT_NEAR((double)p.ceiling_Bps, (double)rate / 100 * used * 2, (double)rate / 50);
    }
}

// Packets that our port refused have passed the path, so the path did not lose them.
TEST(PathrateAway, WhatOurPortRefusedIsNotLost)
{
    for (bool ours : {false, true}) {
        trial_result t = steady(kGBps, kGBps, 0, 3000); // of 10000

        if (ours) {
            t.runs = 0;
            std::swap(t.lost, t.refused);
        }
        pathrate p = fresh();

        EXPECT_EQ(pathrate_alarm(&p, &t, 2 * kGBps, kRtt), !ours);
        EXPECT_EQ(update(&p, t, 2 * kGBps), !ours);
        EXPECT_EQ(p.mode, ours ? PATHRATE_FREE : PATHRATE_QUEUE);
    }
}

// Pauses do not excuse losses unless our port was full. Beside a TCP, a loss makes us give way.
TEST(PathrateAway, PausesExcuseNoLoss)
{
    uint64_t rate;
    pathrate p = settled(&rate);

    p.mode = PATHRATE_COMPETING;
    p.reference_Bps = rate;
    trial_result t = steady(rate, rate, kRtt, 1);
    t.away_ns = kSpan / 4;
    update(&p, t, rate);
    EXPECT_LE(p.ceiling_Bps, rate * 3 / 4);
}

// The peer tells packet numbers and times. Whatever they are, the rate has bounds.
TEST(PathrateAway, TimesAndNumbersThatLieHaveBounds)
{
    uint64_t rate;
    pathrate p = settled(&rate);
    trial_result t = steady(rate, rate, p.target_ns * 3 / 4);

    t.refused = 1ull << 62;
    t.sent_ns = 1;
    t.away_ns = kSpan / 2;
    EXPECT_FALSE(pathrate_alarm(&p, &t, rate, kRtt)) << "our port refused all of them";
    update(&p, t, rate);
    EXPECT_EQ(p.part_Bps, PATHRATE_MAX_BPS);
    EXPECT_LE(p.ceiling_Bps, PATHRATE_MAX_BPS);
}
