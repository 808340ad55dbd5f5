// SPDX-License-Identifier: BSD-3-Clause
// A path that loses packets at any rate: radio, a satellite, a bad cable.
#include <gtest/gtest.h>

#include <cstdio>

#include "../unit/base/draw.hh"
#include "../unit/base/seed.h"
#include "path_use.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, kM = 1e6;
constexpr uint32_t kWorlds = 6;

DumbbellOptions lossy(rng *r)
{
    DumbbellOptions o;

    o.rate_bps = draw(r, 10 * kM, 5);
    o.rtt_ns = draw(r, 40, 4) * Dumbbell::kFrame * 8 * kS / o.rate_bps; // packets under way
    o.queue_bytes = draw(r, 0.25, 3) * o.rate_bps / 8 * o.rtt_ns / kS;
    o.loss = draw(r, 0.02, 3.7);
    o.loss_run = draw(r, 1.25, 3);
    o.seed = rng_below(r, 1000000);
    return o;
}

} // namespace

// Losses that do not depend on the rate slow no sender down, whether one packet is lost at a time
// or ten.
TEST(LossyPath, IsUsed)
{
    const Pools &pools = Pools::get();
    double sum = 0;
    uint32_t low = 0;
    rng r;

    rng_init(&r, test_seed());
    for (uint32_t i = 0; i < kWorlds; i++) {
        DumbbellOptions o = lossy(&r);
        double used = path_use(o, o.rate_bps, 200).used;

        std::printf("  %5.1f Mbit/s, %6.2f ms, %4.1f %% lost in runs of %4.1f: %5.1f %%\n",
                    o.rate_bps / kM, o.rtt_ns / kMs, 100 * o.loss, o.loss_run, 100 * used);
        EXPECT_GE(used, 0.65 * (1 - o.loss));
        low += used < 0.75 * (1 - o.loss);
        sum += used / (1 - o.loss);
    }
    EXPECT_LE(low, 1u) << "of 720 one used 72 %, the others 80 % or more";
    EXPECT_GE(sum / kWorlds, 0.88) << "of 120 one was 91 %, the others 95 % or more";
    EXPECT_TRUE(pools.whole()) << "mbufs leak";
}

// A policer, or a queue of four packets, drops what is too much and shows no queue. A sender that
// takes its own drops for the path's sends ever more.
TEST(LossyPath, WhatIsTooMuchIsNotThePaths)
{
    const Pools &pools = Pools::get();
    double sum = 0;
    rng r;

    rng_init(&r, test_seed());
    for (uint32_t i = 0; i < 2 * kWorlds; i++) {
        bool policed = i % 2 == 0;
        DumbbellOptions o = lossy(&r);
        double rate_bps = o.rate_bps;

        o.loss = o.loss_run = 0;
        if (policed) {
            o.access = {{rate_bps, 0, true}};
            o.rate_bps *= 4;
        } else {
            o.queue_bytes = 4 * Dumbbell::kFrame;
        }
        PathUse seen = path_use(o, rate_bps, 400);

        std::printf("  %5.1f Mbit/s, %6.2f ms, %-7s: %5.1f %% used, %4.1f %% of it dropped\n",
                    rate_bps / kM, o.rtt_ns / kMs, policed ? "policed" : "queue", 100 * seen.used,
                    100 * seen.lost);
        EXPECT_GE(seen.used, 0.9);
        sum += seen.lost;
    }
    EXPECT_LE(sum / (2 * kWorlds), 0.25) << "of 240 the mean is 13 %";
    EXPECT_TRUE(pools.whole()) << "mbufs leak";
}
