// SPDX-License-Identifier: BSD-3-Clause
// The rate law of a path beside competitors that do not keep to it, with trials made by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "trials.hh"

TEST(Pathrate, AQueueThatStaysIsSomebodyElses)
{
    EXPECT_EQ(after_stuck(3).mode, PATHRATE_QUEUE) << "it waits for four trials";
    pathrate p = after_stuck(4);

    EXPECT_EQ(p.mode, PATHRATE_COMPETING);
    EXPECT_NEAR((double)p.ceiling_Bps, 0.97e9, 0.01e9) << "the recent rate, not the present one";
    uint64_t rate = p.ceiling_Bps;

    EXPECT_TRUE(update(&p, steady(rate, rate, 50 * kMs), rate));
    ASSERT_EQ(p.mode, PATHRATE_COMPETING) << "while the queue is long";
    // in 10 ms of a round trip of 90 ms: a packet and 1/128 each round trip
    EXPECT_NEAR((double)(p.ceiling_Bps - rate),
                ((double)kUnit / 0.09 + (double)rate / 128) * 10 / 90, 2);
    EXPECT_TRUE(p.rising);
    rate = p.ceiling_Bps;
    trial_result little = steady(rate / 2, rate / 2, 50 * kMs);

    little.paused = true;
    EXPECT_FALSE(update(&p, little, rate)) << "the grant is not used";
    EXPECT_TRUE(update(&p, steady(rate * 2, rate, 50 * kMs, 1), rate));
    EXPECT_FALSE(p.rising);
    EXPECT_NEAR((double)p.ceiling_Bps, 0.7 * (double)rate, 1e-3 * (double)rate)
        << "of the grant, although a burst came";
    rate = p.ceiling_Bps;
    trial_result falls = steady(rate, rate, 30 * kMs);
    change(&falls, 50 * kMs, 30 * kMs);
    update(&p, falls, rate);
    EXPECT_EQ(p.mode, PATHRATE_COMPETING) << "the queue is not short yet";
    rate = p.ceiling_Bps;
    update(&p, steady(rate, rate, kMs / 4), rate);
    EXPECT_EQ(p.mode, PATHRATE_QUEUE) << "the queue is short";
    EXPECT_EQ(p.ceiling_Bps, rate);
}

// Connections of our host with longer round trips keep a longer queue, and follow it more slowly.
TEST(Pathrate, AQueueOfALongerRoundTripIsNoCompetitors)
{
    struct {
        uint64_t rtt_max_ns, queue_ns;
        int trials; // until it is a competitor's, after that of limited(); a turn is 50 ms
    } cases[] = {{0, 2 * kMs, 3},
                 {kRtt, 2 * kMs, 3},
                 {8 * kRtt, 2 * kMs, 200},
                 {8 * kRtt, 6 * kMs, 3 * 320 / 50}};

    for (auto [rtt_max_ns, queue_ns, trials] : cases) {
        pathrate p = limited();
        int i = 0;

        for (p.rtt_max_ns = rtt_max_ns; i < 200 && p.mode == PATHRATE_QUEUE; i++) {
            uint64_t rate = p.ceiling_Bps;

            update(&p, steady(rate, rate, queue_ns), rate);
        }
        EXPECT_EQ(i, trials) << rtt_max_ns << " ns, a queue of " << queue_ns << " ns";
    }
}

// A queue shorter than an eighth of a round trip falls if a fair part of it drains, even if that is
// a small part of a round trip. Flows that yield keep to the law.
TEST(Pathrate, AShortQueueThatFallsIsOurs)
{
    for (double part : {0.0, 0.05, 0.2}) {
        pathrate p = limited();
        double queue = (double)kRtt / 10;

        for (int i = 0; i < 6; i++) {
            uint64_t rate = p.ceiling_Bps;
            trial_result t = steady(rate, rate, (uint64_t)queue);

            // such a part drains in each round trip, and as steadily during the trial
            change(&t, (uint64_t)(queue * (1 + part * (double)kSpan / 2 / (double)kRtt)),
                   (uint64_t)queue);
            update(&p, t, rate);
        }
        EXPECT_EQ(p.mode, part > 0.125 ? PATHRATE_QUEUE : PATHRATE_COMPETING) << part;
    }
}

// A flow that had a competitor finds the queue long again. It yields no more than it would for a
// loss, until it is sure of the competitor. Then it has its old rate again.
TEST(Pathrate, ACompetitorIsRemembered)
{
    pathrate p = after_stuck(4);
    uint64_t rate = p.ceiling_Bps;

    ASSERT_EQ(p.mode, PATHRATE_COMPETING);
    EXPECT_EQ(p.competitor_trials, 0u);
    update(&p, steady(rate, rate, kMs / 4), rate);
    ASSERT_EQ(p.mode, PATHRATE_QUEUE);
    EXPECT_GT(p.competitor_trials, 0u);
    uint64_t had = p.ceiling_Bps, least = had;
    for (int i = 0; i < 4; i++) {
        rate = p.ceiling_Bps;
        least = std::min(least, rate);
        update(&p, steady(rate, rate, 50 * kMs), rate);
    }
    EXPECT_EQ(p.mode, PATHRATE_COMPETING);
    EXPECT_NEAR((double)least, 0.7 * (double)had, 0.01 * (double)had);
    EXPECT_GT(p.ceiling_Bps, had * 19 / 20);
}

// A TCP recovers slowly. If one was seen lately, even a moderately long queue counts as its queue.
TEST(Pathrate, NearACompetitorLessIsLong)
{
    for (bool near : {false, true}) {
        pathrate p = near ? after_stuck(4) : limited();
        uint64_t rate = p.ceiling_Bps;

        for (int i = 0; i < 2; i++)
            update(&p, steady(rate, rate, kMs / 4), rate);
        EXPECT_EQ(p.competitor_trials > 0, near);
        double wanted_ns = target_of((double)kUnit * 1e9 / (double)p.reference_Bps, (double)kRtt);
        for (int i = 0; i < 4; i++)
            update(&p, steady(rate, rate, (uint64_t)(1.75 * wanted_ns)), rate);
        EXPECT_EQ(p.mode, near ? PATHRATE_COMPETING : PATHRATE_QUEUE);
    }
}

// A flow that was taken for a competitor only for a moment may have kept to the law.
TEST(Pathrate, WhoWasThereLongIsRememberedLong)
{
    uint32_t remembered[3], *out = remembered;

    for (int there : {1, 4, 100}) {
        pathrate p = after_stuck(4);

        for (int i = 1; i < there; i++)
            update(&p, steady(p.ceiling_Bps, p.ceiling_Bps, 50 * kMs), p.ceiling_Bps);
        ASSERT_EQ(p.mode, PATHRATE_COMPETING);
        update(&p, steady(p.ceiling_Bps, p.ceiling_Bps, kMs / 4), p.ceiling_Bps);
        ASSERT_EQ(p.mode, PATHRATE_QUEUE);
        *out++ = p.competitor_trials;
    }
    EXPECT_EQ(remembered[0], 32u);
    EXPECT_EQ(remembered[1], 4 * 32u);
    EXPECT_EQ(remembered[2], 512u);
}

// Nothing is lost, and the queue was long before. But no competitor takes nine tenths in a trial.
TEST(Pathrate, BesideOthersAFallOfTheLinkIsAnswered)
{
    pathrate p = after_stuck(4);
    uint64_t rate = p.ceiling_Bps;

    ASSERT_EQ(p.mode, PATHRATE_COMPETING);
    EXPECT_TRUE(update(&p, steady(rate / 10, rate, 60 * kMs), rate));
    EXPECT_EQ(p.mode, PATHRATE_COMPETING);
    EXPECT_NEAR((double)p.ceiling_Bps, (double)rate / 5, (double)rate / 100);
    EXPECT_FALSE(p.rising) << "the next trial waits for that grant";
}

// Where few packets are under way, a trial may take many round trips.
TEST(Pathrate, BesideOthersATrialAddsAnEighthAtMost)
{
    pathrate p = fresh();
    uint64_t rate = kGBps / 125;
    trial_result t = steady(rate, rate, kMs);

    p.mode = PATHRATE_COMPETING;
    p.ceiling_Bps = p.reference_Bps = rate;
    EXPECT_TRUE(pathrate_update(&p, &t, rate, kMs / 100));
    EXPECT_EQ(p.mode, PATHRATE_COMPETING);
    EXPECT_EQ(p.ceiling_Bps, rate + rate / 8);
}

// Without a queue, each rise is twice the last one, unless a competitor has just given way.
TEST(Pathrate, WhatACompetitorLeavesIsNotTakenAtOnce)
{
    for (bool near : {false, true}) {
        pathrate p = near ? after_stuck(4) : limited();
        uint64_t rate = p.ceiling_Bps;

        update(&p, steady(rate, rate, kMs / 4), rate);
        ASSERT_EQ(p.mode, PATHRATE_QUEUE);
        uint64_t before = p.ceiling_Bps;
        for (int i = 0; i < 6; i++) {
            rate = p.ceiling_Bps;
            update(&p, steady(rate, rate, 0), rate);
        }
        double more = (double)p.ceiling_Bps / (double)before;
        EXPECT_GT(more, near ? 1.005 : 1.4);
        EXPECT_LT(more, near ? 1.05 : 100);
    }
}

// For a moment more arrives than was granted, since the competitor has just given way.
TEST(Pathrate, WhatACompetitorLeavesIsNotUsual)
{
    pathrate p = after_stuck(4);
    uint64_t rate = p.ceiling_Bps;

    update(&p, steady(rate, rate, kMs / 4), rate);
    ASSERT_EQ(p.mode, PATHRATE_QUEUE);
    uint64_t had = p.reference_Bps;
    for (int i = 0; i < 20; i++)
        update(&p, steady(rate / 10 * 13, rate / 10 * 13, 0), rate);
    EXPECT_GT(p.competitor_trials, 0u);
    EXPECT_LE(p.reference_Bps, std::max(had, rate));
    EXPECT_GE(p.reference_Bps, had);
}

TEST(Pathrate, ACompetitorIsForgotten)
{
    pathrate p = after_stuck(4);

    for (int i = 0; i < 1000; i++) {
        uint64_t rate = p.ceiling_Bps;

        update(&p, steady(rate, rate, kMs / 4), rate);
    }
    EXPECT_EQ(p.competitor_trials, 0u);
}

// The queue falls as we send less, so it is ours.
TEST(Pathrate, AQueueThatFallsIsOurs)
{
    pathrate p = limited();

    for (uint64_t queue = 45 * kMs; queue > 5 * kMs; queue -= 5 * kMs) {
        trial_result t = steady(kGBps, kGBps / 2, queue);

        change(&t, queue + kSpan / 4, queue);
        t.mean_ns = queue + kSpan / 8;
        update(&p, t, kGBps / 2);
        ASSERT_EQ(p.mode, PATHRATE_QUEUE) << queue;
    }
}
