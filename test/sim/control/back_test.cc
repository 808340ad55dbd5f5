// SPDX-License-Identifier: BSD-3-Clause
// A return path that carries few CNTL in a round trip. News must not queue there until they are
// old.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "../unit/base/draw.hh"
#include "../unit/base/seed.h"
#include "pair.hh"
#include "dumbbell.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, kM = 1e6;
constexpr double kCntlBits = 8 * 250; // a CNTL's frame, and some gaps
constexpr double kThinnest = 500;     // the rate over the slowest return path
constexpr uint32_t kWorlds = 8;       // of 960 worlds, one used 94 %, the others 95 % or more

// A dumbbell on which it takes one to four round trips to send a CNTL.
DumbbellOptions thin(rng *r)
{
    DumbbellOptions o;

    o.rate_bps = draw(r, 5 * kM, 3);
    o.rtt_ns = draw(r, 5 * kMs, 3);
    o.queue_bytes =
        std::fmax(4 * Dumbbell::kFrame, draw(r, 0.5, 3) * o.rate_bps / 8 * o.rtt_ns / kS);
    o.back_bps = std::fmax(kCntlBits * kS / o.rtt_ns / draw(r, 1, 2), o.rate_bps / kThinnest);
    o.seed = rng_below(r, 1000000);
    return o;
}

} // namespace

TEST(ThinBack, NewsDoNotQueue)
{
    const Pools &pools = Pools::get();
    double used_sum = 0, queue_sum = 0, trips_sum = 0;
    rng r;

    rng_init(&r, test_seed());
    for (uint32_t i = 0; i < kWorlds; i++) {
        DumbbellOptions o = thin(&r);
        double trip_ns = o.rtt_ns + kCntlBits * kS / o.back_bps, look_ns = 100 * trip_ns;
        Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});

        s.start(0);
        s.run(100 * trip_ns);
        uint64_t bytes = s.info(0).rx_bytes;
        double queue = s.queue_bytes(look_ns) * 8e9 / o.rate_bps;
        double used = static_cast<double>(s.info(0).rx_bytes - bytes) * 8e9 / look_ns / o.rate_bps;

        used *= Dumbbell::kFrame / Dumbbell::kPayload;
        std::printf("  %4.1f Mbit/s, %5.1f ms, %5.1f kbit/s back: %5.1f %%, queue %4.2f trips\n",
                    o.rate_bps / kM, o.rtt_ns / kMs, o.back_bps / 1e3, 100 * used, queue / trip_ns);
        EXPECT_GE(used, 0.8);
        used_sum += used;
        queue_sum += queue / trip_ns;
        trips_sum += static_cast<double>(s.info(0).rtt_ns) / trip_ns;
    }
    EXPECT_GE(used_sum / kWorlds, 0.97);
    EXPECT_LE(queue_sum / kWorlds, 0.25);
    EXPECT_LE(trips_sum / kWorlds, 3) << "longer than the wait of two CNTL, and the queue";
    EXPECT_TRUE(pools.whole()) << "mbufs leak";
}

// Many packets are under way before the first CNTL has shown how thin the return path is.
TEST(ThinBack, FirstRoundTripHasFewNews)
{
    const Pools &pools = Pools::get();
    rng r;

    rng_init(&r, test_seed());
    for (uint32_t i = 0; i < kWorlds; i++) {
        DumbbellOptions o;

        o.rtt_ns = draw(&r, 20 * kMs, 2);
        o.back_bps = kCntlBits * kS / o.rtt_ns;
        o.rate_bps = kThinnest * o.back_bps;
        o.queue_bytes = draw(&r, 1, 1) * o.rate_bps / 8 * o.rtt_ns / kS;
        o.seed = rng_below(&r, 1000000);
        Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});

        s.start(0);
        s.run(40 * o.rtt_ns);
        double used = static_cast<double>(s.info(0).rx_bytes) * 8e9 / (40 * o.rtt_ns) / o.rate_bps;

        std::printf("  %4.1f Mbit/s, %5.1f ms: %5.1f %% of the first 40 round trips, %.0f CNTL\n",
                    o.rate_bps / kM, o.rtt_ns / kMs, 100 * used,
                    static_cast<double>(s.info(0).cntl_tx));
        EXPECT_GE(used, 0.3);
    }
    EXPECT_TRUE(pools.whole()) << "mbufs leak";
}
