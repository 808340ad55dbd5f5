// SPDX-License-Identifier: BSD-3-Clause
// The rate law of a path, with trials made by hand (with a link: pathrate_link_test.cc).
#include <gtest/gtest.h>

#include <algorithm>

#include "../base/seed.h"
#include "trials.hh"

extern "C" {
#include "base/rng.h"
}

TEST(Pathrate, FreeWithoutAQueue)
{
    rng r;
    pathrate p = fresh();

    rng_init(&r, test_seed());
    for (int i = 0; i < 10000; i++) {
        uint64_t rate = kGBps / 100 + rng_below(&r, 10 * kGBps);
        trial_result t = steady(rate, rate + rng_below(&r, rate), rng_below(&r, 5 * kMs));

        t.lost = t.runs = rng_below(&r, 3) == 0 ? rng_below(&r, t.packets / 8) : 0;
        t.max_ns = rng_below(&r, kS); // the delay of one packet shows nothing
        ASSERT_FALSE(update(&p, t, rate + rng_below(&r, rate))) << i;
        ASSERT_EQ(p.mode, PATHRATE_FREE) << i;
        ASSERT_EQ(p.ceiling_Bps, PATHRATE_MAX_BPS) << i;
        ASSERT_EQ(pathrate_burst_bytes(&p, rate, kUnit), UINT64_MAX);
    }
}

// A queue is long from twice the target and an eighth of a round trip on, if packets are lost.
TEST(Pathrate, ALongQueueLimits)
{
    double limit = 2 * target_of(1000, (double)kRtt) + (double)kRtt / 8;

    for (double x : {0.97, 1.03}) {
        pathrate p = fresh();

        EXPECT_EQ(update(&p, steady(kGBps, 2 * kGBps, (uint64_t)(x * limit), 1), kGBps), x > 1);
        EXPECT_EQ(p.mode, x > 1 ? PATHRATE_QUEUE : PATHRATE_FREE);
    }
    pathrate p = limited();
    double change = (target_of(1000, (double)kRtt) - 50e6) / 2 / (double)(kSpan + kRtt);

    EXPECT_NEAR((double)p.ceiling_Bps, 1e9 * (1 + change), 1e6) << "half of the excess goes";
    EXPECT_FALSE(p.lossy);
}

// Up to an eighth may be lost behind the queue. More means that packets did not fit into it.
TEST(Pathrate, MuchLossLimits)
{
    trial_result t = steady(kGBps, kGBps, 0);
    uint64_t most = 2;
    pathrate p = fresh();

    while (most + 1 <= 2 + (t.packets + most + 1) / 8)
        most++;

    EXPECT_FALSE(update(&p, steady(kGBps, 2 * kGBps, 0, most), 2 * kGBps));
    EXPECT_EQ(p.mode, PATHRATE_FREE);
    EXPECT_TRUE(update(&p, steady(kGBps, 2 * kGBps, 0, most + 1), 2 * kGBps));
    EXPECT_EQ(p.mode, PATHRATE_QUEUE);
    EXPECT_TRUE(p.lossy);
    EXPECT_LE(p.ceiling_Bps, kGBps) << "the rate of arrival, not of sending";
    EXPECT_GE(p.ceiling_Bps, kGBps / 2);
    update(&p, steady(kGBps, kGBps, 0, most), kGBps);
    EXPECT_FALSE(p.lossy);
}

// The trial that makes losses certain may have met one long run of them. The rate that came is that
// of all trials that were in doubt.
TEST(Pathrate, OneRunOfLossesIsNoRate)
{
    pathrate p = limited();
    trial_result some = steady(kGBps, kGBps, 0, 3000), most = some;

    some.runs = most.runs = 1;
    most.packets /= 10;
    most.bytes /= 10;
    most.lost = 9 * most.packets;
    for (int i = 0; i < 2; i++) {
        update(&p, some, kGBps);
        EXPECT_FALSE(p.lossy);
    }
    update(&p, most, kGBps);
    EXPECT_TRUE(p.lossy);
    double bytes = (double)(2 * some.bytes + most.bytes);
    double span = (double)(2 * some.arrived_ns + most.arrived_ns);

    EXPECT_NEAR((double)p.narrow_Bps, bytes * 1e9 / span, 1e6);
}

// However bad the trials are, the grant is a packet each round trip, or each 50 ms if that is
// longer.
TEST(Pathrate, NeverBelowAPacketARoundTrip)
{
    for (uint64_t rtt : {kRtt, kMs}) {
        pathrate p = limited();
        trial_result t = steady(kGBps, kGBps, kS);

        t.packets = 8;
        t.bytes = 8 * kUnit;
        t.lost = t.runs = 20;
        t.arrived_ns = t.sent_ns = kS;
        pathrate_update(&p, &t, p.ceiling_Bps, rtt);
        EXPECT_EQ(p.ceiling_Bps, kUnit * kS / std::max(rtt, 50 * kMs));
    }
}

TEST(Pathrate, LongNotNeededIsFree)
{
    pathrate p = limited();
    uint64_t share = p.ceiling_Bps / 4; // the host has no more for us
    int trials = 0;

    for (; trials < 500 && p.mode != PATHRATE_FREE; trials++)
        update(&p, steady(share, share, 0), share);
    EXPECT_EQ(p.mode, PATHRATE_FREE);
    EXPECT_GE(trials, 16) << "not at once";
}

// A sender begins with bursts. The trial that decides may contain only the end of one.
TEST(Pathrate, WhatAlarmedMostIsWhereItBegins)
{
    for (bool more : {false, true}) {
        pathrate p = fresh();
        trial_result much = steady(kGBps, 2 * kGBps, 50 * kMs, 3000);
        trial_result little = steady(kGBps / 80, 2 * kGBps, 50 * kMs, 3000);

        if (more) {
            EXPECT_TRUE(pathrate_alarm(&p, &much, 4 * kGBps, kRtt));
        }
        EXPECT_TRUE(pathrate_alarm(&p, &little, 4 * kGBps, kRtt));
        update(&p, little, 4 * kGBps);
        EXPECT_EQ(p.mode, PATHRATE_QUEUE);
        EXPECT_GT(p.ceiling_Bps, more ? kGBps / 4 : 0);
        EXPECT_LE(p.ceiling_Bps, more ? kGBps : kGBps / 80);
    }
    pathrate p = fresh();
    trial_result much = steady(kGBps, 2 * kGBps, 50 * kMs, 3000), none = steady(kGBps, kGBps, 0);
    trial_result little = steady(kGBps / 80, 2 * kGBps, 50 * kMs, 3000);

    EXPECT_TRUE(pathrate_alarm(&p, &much, 4 * kGBps, kRtt));
    for (int i = 0; i < 64; i++)
        EXPECT_FALSE(pathrate_alarm(&p, &none, 4 * kGBps, kRtt));
    EXPECT_TRUE(pathrate_alarm(&p, &little, 4 * kGBps, kRtt));
    update(&p, little, 4 * kGBps);
    EXPECT_LE(p.ceiling_Bps, kGBps / 80) << "the first alarm was long ago";
}

// That there is no queue after a cut does not show that the losses were chance: a policer has none.
TEST(Pathrate, NoQueueExcusesNoLoss)
{
    pathrate p = limited();
    uint64_t rate = 0;

    for (int i = 0; i < 20; i++) {
        rate = p.ceiling_Bps;
        update(&p, steady(rate, rate, kMs / 4), rate);
    }
    uint64_t before = rate = p.ceiling_Bps;
    trial_result t = steady(rate * 3 / 4, rate, 0);

    t.lost = t.runs = t.packets / 3;
    update(&p, t, rate);
    EXPECT_LT(p.ceiling_Bps, before * 4 / 5);
    rate = p.ceiling_Bps;
    update(&p, steady(rate, rate, 0), rate);
    EXPECT_LT(p.ceiling_Bps, before * 9 / 10);
}

TEST(Pathrate, BurstsAreWhatTheSenderNeeds)
{
    const uint64_t unit = 9000, queue = 3 * kMs / 10, grant = kGBps;
    pathrate p = limited();

    EXPECT_EQ(pathrate_burst_bytes(&p, 9000000, unit), unit) << "at least one unit";
    EXPECT_EQ(pathrate_burst_bytes(&p, 2000000, unit), 2000) << "or what a millisecond sends";
    EXPECT_EQ(pathrate_burst_bytes(&p, 1000, unit), unit / 8) << "but no less than that";
    uint64_t eighth = (uint64_t)(1e9 * target_of(1000, (double)kRtt) / 8e9);

    EXPECT_NEAR((double)pathrate_burst_bytes(&p, kGBps, unit), (double)eighth, (double)eighth / 50);
    for (int i = 0; i < 4; i++)
        update(&p, steady(grant / 5 * 4, grant / 5 * 4, queue), grant);
    EXPECT_EQ(pathrate_burst_bytes(&p, 1000, unit), 2 * unit) << "it uses 80 %";
    for (int i = 0; i < 100; i++)
        update(&p, steady(grant / 5 * 4, grant / 5 * 4, queue), grant);
    EXPECT_EQ(pathrate_burst_bytes(&p, 1000, unit), 32 * unit) << "no more than that";
    for (int i = 0; i < 60; i++)
        update(&p, steady(grant, grant, queue), grant);
    EXPECT_EQ(pathrate_burst_bytes(&p, 1000, unit), 32 * unit) << "timely, but not long enough";
    for (int i = 0; i < 30; i++)
        update(&p, steady(grant, grant, queue), grant);
    EXPECT_EQ(pathrate_burst_bytes(&p, 1000, unit), 16 * unit);
    for (int i = 0; i < 4 * 64; i++)
        update(&p, steady(grant, grant, queue), grant);
    EXPECT_EQ(pathrate_burst_bytes(&p, 9000000, unit), unit);
    trial_result half = steady(grant / 2, grant / 2, queue);

    half.paused = true;
    for (int i = 0; i < 100; i++)
        update(&p, half, grant);
    EXPECT_EQ(pathrate_burst_bytes(&p, 9000000, unit), unit) << "it had nothing to send";
    half.paused = false;
    for (int i = 0; i < 100; i++)
        update(&p, half, grant);
    EXPECT_EQ(pathrate_burst_bytes(&p, 1000, unit), 32 * unit) << "it is late all the time";
    trial_result away = half, marked = half;
    pathrate q = limited();

    away.gap_ns = away.sent_ns / 2;
    for (int i = 0; i < 100; i++)
        update(&q, away, grant);
    EXPECT_LE(pathrate_burst_bytes(&q, 1000, unit), unit) << "it was away once";
    marked.marked = 1;
    update(&p, marked, grant);
    EXPECT_LE(pathrate_burst_bytes(&p, 1000, unit), unit) << "the path marks such a burst";
}

// If grants come into force late, each one removes less of a queue that is too long.
TEST(Pathrate, AThinWayBackLengthensATurn)
{
    for (uint64_t late_ns : {0 * kMs, 50 * kMs, 150 * kMs}) {
        trial_result t = steady(kGBps, kGBps, 20 * kMs);
        pathrate p = limited();
        double turn_ns = (double)(kSpan + kRtt + late_ns);
        double excess_ns = 20e6 - target_of(1000, (double)kRtt);

        t.late_ns = late_ns;
        update(&p, t, kGBps);
        EXPECT_NEAR((double)p.ceiling_Bps, 1e9 * (1 - 0.5 * excess_ns / turn_ns), 1e6) << late_ns;
    }
}

TEST(Pathrate, BlindRaisesOnlyWhoIsLimited)
{
    pathrate p = fresh();
    trial_result t = steady(kGBps, kGBps, 0);

    EXPECT_FALSE(pathrate_blind(&p, &t, kGBps)) << "there is no limit";
    EXPECT_EQ(p.ceiling_Bps, PATHRATE_MAX_BPS);
    p = limited();
    uint64_t rate = p.ceiling_Bps;

    t = steady(rate, rate, 50 * kMs, 100);
    EXPECT_FALSE(pathrate_blind(&p, &t, rate - 1)) << "something else limits";
    EXPECT_EQ(p.ceiling_Bps, rate);
    t = steady(rate / 2, rate / 2, 0);
    EXPECT_FALSE(pathrate_blind(&p, &t, rate)) << "it does not use the grant";
    EXPECT_EQ(p.ceiling_Bps, rate);
    t = steady(rate, rate, 50 * kMs, 100);
    p.rising = true;
    EXPECT_TRUE(pathrate_blind(&p, &t, rate));
    EXPECT_NEAR((double)p.ceiling_Bps, (double)rate * 33 / 32, 2);
    EXPECT_FALSE(p.rising) << "the trial was not judged";
}

TEST(Pathrate, AlarmIsWhatWouldLimit)
{
    rng r;
    int alarms = 0, quiet = 0;

    rng_init(&r, test_seed());
    for (int run = 0; run < 2000; run++) {
        pathrate p = fresh();

        for (int i = 0; i < 10 && p.mode == PATHRATE_FREE; i++) {
            uint64_t rate = kGBps / 100 + rng_below(&r, kGBps), queue = rng_below(&r, 12 * kMs);
            trial_result t = steady(rate, rate + rng_below(&r, rate), queue, rng_below(&r, 3));

            change(&t, queue, rng_below(&r, 2) == 0 ? queue : rng_below(&r, 12 * kMs));
            t.mean_ns += rng_below(&r, 20 * kMs); // jitter
            t.error = (double)rng_below(&r, 1000) / 1000;
            t.noise_ns = (double)rng_below(&r, 10 * kMs);
            t.max_ns = t.mean_ns + kMs;
            if (rng_below(&r, 10) == 0)
                t.lost = t.runs = rng_below(&r, t.packets / 4);
            pathrate asked = p;
            bool alarm = pathrate_alarm(&asked, &t, rate, kRtt);

            ASSERT_EQ(asked.mode, PATHRATE_FREE);
            ASSERT_EQ(asked.ceiling_Bps, PATHRATE_MAX_BPS);
            update(&p, t, rate);
            ASSERT_EQ(p.mode != PATHRATE_FREE, alarm) << "run " << run << " trial " << i;
            (alarm ? alarms : quiet)++;
        }
        trial_result t = too_much();

        if (p.mode != PATHRATE_FREE) {
            ASSERT_FALSE(pathrate_alarm(&p, &t, kGBps, kRtt)) << "it is not FREE";
        }
    }
    EXPECT_GT(alarms, 100);
    EXPECT_GT(quiet, 100);
}

// Packets of an earlier grant that wait, and come at a tenth of their rate, need not be followed by
// packets of the newest grant. Once the grant is below the rate of arrival, the queue drains.
TEST(Pathrate, OverloadLowersAGrantThatIsNotYetInForce)
{
    trial_result t = steady(kGBps / 10, kGBps, 200 * kMs), shorter = t, none = t;
    pathrate p = limited(), unlimited = fresh();
    double packet_ns = 10 * kUnit, turn_ns = (double)(kSpan + kRtt);

    EXPECT_TRUE(pathrate_early(&p, &t, kGBps, kRtt));
    EXPECT_NEAR((double)p.ceiling_Bps, 1e8 * 8 * packet_ns / turn_ns, 1e6) << "8 packets a turn";
    uint64_t lowered = p.ceiling_Bps;

    EXPECT_FALSE(pathrate_early(&p, &t, lowered, kRtt)) << "it waits for that grant";
    EXPECT_EQ(p.ceiling_Bps, lowered);
    EXPECT_FALSE(pathrate_early(&unlimited, &t, kGBps, kRtt));
    EXPECT_EQ(unlimited.mode, PATHRATE_FREE);

    p = limited();
    shorter.min_ns = shorter.mean_ns = (uint64_t)(2 * target_of(10000, (double)kRtt));
    none.sent_ns = none.arrived_ns;
    lowered = p.ceiling_Bps;
    EXPECT_FALSE(pathrate_early(&p, &shorter, kGBps, kRtt)) << "the queue is not long";
    EXPECT_FALSE(pathrate_early(&p, &none, kGBps, kRtt)) << "the queue does not grow";
    p.jitter_ns = 110 * kMs;
    EXPECT_FALSE(pathrate_early(&p, &t, kGBps, kRtt)) << "it may be jitter";
    EXPECT_EQ(p.ceiling_Bps, lowered);
}

// RFC 8511: a mark takes 0.15 of the grant, whatever the queue is. If the path had no limit yet, it
// takes 0.15 of the rate of arrival.
TEST(Pathrate, AMarkSlowsDownBeforeALoss)
{
    trial_result t = steady(kGBps, kGBps, 0);
    pathrate p = fresh();

    t.marked = 1;
    EXPECT_TRUE(pathrate_alarm(&p, &t, 4 * kGBps, kRtt));
    EXPECT_TRUE(update(&p, t, 4 * kGBps));
    EXPECT_TRUE(p.marked);
    EXPECT_FALSE(p.lossy);
    EXPECT_EQ(p.mode, PATHRATE_QUEUE);
    EXPECT_NEAR((double)p.ceiling_Bps, 0.85 * kGBps, 0.01 * kGBps);
    for (int i = 2; i <= 4; i++) {
        double before = (double)p.ceiling_Bps;
        trial_result again = steady(p.ceiling_Bps, p.ceiling_Bps, 0);

        again.marked = again.packets;
        update(&p, again, p.ceiling_Bps);
        EXPECT_NEAR((double)p.ceiling_Bps, 0.85 * before, 0.01 * before) << i;
    }
    double low = (double)p.ceiling_Bps;

    for (int i = 0; i < 8; i++)
        update(&p, steady(p.ceiling_Bps, p.ceiling_Bps, 0), p.ceiling_Bps);
    EXPECT_GT((double)p.ceiling_Bps, low) << "it rises again without marks";
    EXPECT_FALSE(p.marked);
}

// A slope that may be chance moves the grant little. A sure slope has its full effect.
TEST(Pathrate, ASlopeCountsByHowSureItIs)
{
    double fell[3], *out = fell;

    for (double error : {0.0, 0.2, 20.0}) {
        pathrate p = limited();

        for (int i = 0; i < 40; i++) { // until the queue has its target
            uint64_t rate = p.ceiling_Bps;

            update(&p, steady(rate, rate, p.target_ns), rate);
        }
        uint64_t rate = p.ceiling_Bps;
        trial_result t = steady(rate, rate, p.target_ns);

        change(&t, p.target_ns, p.target_ns + kMs);
        t.error = error;
        update(&p, t, rate);
        *out++ = 1 - (double)p.ceiling_Bps / (double)rate;
    }
    EXPECT_GT(fell[0], 0.05);
    EXPECT_NEAR(fell[1], fell[0] / 2, fell[0] / 8) << "the slope is as large as its error";
    EXPECT_LT(fell[2], 0.001);
}

// New jitter counts at once, and is forgotten slowly. A queue is long only beyond twice the jitter.
// The target does not grow with it, since the jitter of our own queue would add up.
TEST(Pathrate, HowDelaysWaverIsLearntSoonAndForgottenSlowly)
{
    pathrate p = limited();
    uint64_t rate = p.ceiling_Bps;
    trial_result t = steady(rate, rate, 0);

    t.packets *= 4;
    t.bytes *= 4;
    t.arrived_ns *= 4;
    t.sent_ns *= 4;
    update(&p, t, rate);
    uint64_t target_ns = p.target_ns;
    t.noise_ns = 30 * kMs;
    for (int i = 0; i < 4; i++)
        update(&p, t, rate);
    EXPECT_GT(p.jitter_ns, 28 * kMs);
    EXPECT_EQ(p.target_ns, target_ns);
    t.noise_ns = 0;
    update(&p, t, rate);
    EXPECT_GT(p.jitter_ns, 24 * kMs);
    for (int i = 0; i < 60; i++)
        update(&p, t, rate);
    EXPECT_LT(p.jitter_ns, kMs);
}

// A connection that shares a link with others of its host moves half of the way to its part in a
// trial. It rises by a quarter of its grant at most. If the path has no limit, its part does not
// limit it.
TEST(Pathrate, HalfOfTheWayToItsPart)
{
    pathrate alone = limited(), p = alone;
    uint64_t rate = p.ceiling_Bps;

    update(&alone, steady(rate, rate, p.target_ns), rate);
    double kept = static_cast<double>(alone.ceiling_Bps);
    struct {
        double part, granted;
    } cases[] = {{0.5, 0.75}, {0.9, 0.95}, {1, 1}, {1.2, 1.1}, {1.5, 1.25}, {4, 1.25}};

    for (auto [part, granted] : cases) {
        pathrate q = p;

        q.fair_Bps = static_cast<uint64_t>(part * kept);
        update(&q, steady(rate, rate, p.target_ns), rate);
        EXPECT_NEAR(static_cast<double>(q.ceiling_Bps), granted * kept, 1e-3 * kept) << part;
    }
    pathrate unlimited = fresh();

    unlimited.fair_Bps = kGBps / 10;
    update(&unlimited, steady(kGBps, kGBps, 0), kGBps);
    EXPECT_EQ(unlimited.ceiling_Bps, PATHRATE_MAX_BPS);
}

// Without a queue nobody waits for what a connection would give up: below the rate that its path
// carried when it last showed a queue, its part does not lower its grant, nor raise it.
TEST(Pathrate, WithoutAQueueItKeepsWhatItsPathCarries)
{
    pathrate p = limited();
    uint64_t rate = p.ceiling_Bps, target = p.target_ns;

    p.ceiling_Bps = rate * 3 / 4; // as its part has lowered it
    for (uint64_t queue : {uint64_t(0), target}) {
        for (double carried : {0.5, 4.0}) {
            for (double part : {0.25, 8.0}) {
                trial_result t = steady(p.ceiling_Bps, p.ceiling_Bps, queue);
                pathrate alone = p, q = p;

                q.fair_Bps = static_cast<uint64_t>(part * static_cast<double>(rate));
                q.carried_Bps = static_cast<uint64_t>(carried * static_cast<double>(rate));
                update(&alone, t, p.ceiling_Bps);
                update(&q, t, p.ceiling_Bps);
                double kept = static_cast<double>(alone.ceiling_Bps);
                double toward =
                    part < 1 ? (kept + static_cast<double>(q.fair_Bps)) / 2 : 1.25 * kept;

                EXPECT_EQ(q.keeps, queue == 0 && carried > 1);
                EXPECT_NEAR(static_cast<double>(q.ceiling_Bps), q.keeps ? kept : toward, 2)
                    << queue << " ns, carried " << carried << ", part " << part;
                if (queue > 0) {
                    EXPECT_NEAR(static_cast<double>(q.carried_Bps),
                                0.75 * static_cast<double>(rate), 1e-3 * static_cast<double>(rate));
                }
            }
        }
    }
}

// A sender's clock may step by an hour, or lie. No trial lasts for hours because of that.
TEST(Pathrate, ATrialShowsNoMoreWaveringThanItLasts)
{
    pathrate p = limited();
    uint64_t rate = p.ceiling_Bps;
    trial_result t = steady(rate, rate, 0);

    t.noise_ns = 1e19;
    for (int i = 0; i < 10; i++)
        update(&p, t, rate);
    EXPECT_GT(p.jitter_ns, kSpan / 2);
    EXPECT_LE(p.jitter_ns, kSpan);
}
