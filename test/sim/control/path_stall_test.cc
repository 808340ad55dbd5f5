// SPDX-License-Identifier: BSD-3-Clause
// A path that stands still now and then, as a virtual switch does that loses its core, or a radio
// link that waits for its turn. What waits meanwhile comes at once afterwards. Nothing is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "../unit/base/draw.hh"
#include "../unit/base/seed.h"
#include "pair.hh"
#include "dumbbell.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, kM = 1e6;
constexpr uint32_t kWorlds = 12;
constexpr double kTurns = 400; // round trips that are looked at

// A table of waits: of so many packets, four wait for 1/4, 2/4, 3/4 and all of the longest stall.
std::string table(uint32_t packets)
{
    std::string name = testing::TempDir() + "path_stall." + std::to_string(packets) + ".dist";
    std::ofstream out(name);

    for (uint32_t i = 0; i < packets; i++)
        out << (i < 4 ? 2048 * (i + 1) : 0) << '\n';
    return name;
}

} // namespace

TEST(PathStall, IsNoSlowLink)
{
    const Pools &pools = Pools::get();
    double sum = 0;
    rng r;

    rng_init(&r, test_seed());
    for (uint32_t i = 0; i < kWorlds; i++) {
        DumbbellOptions o;

        o.rate_bps = draw(&r, 50 * kM, 4);
        o.rtt_ns = draw(&r, 4 * kMs, 3);
        double packets = o.rate_bps / 8 * o.rtt_ns / kS / Dumbbell::kFrame; // of a round trip
        double stall_ns = draw(&r, 0.125, 3) * o.rtt_ns, apart = draw(&r, 2, 2);

        o.queue_bytes = packets * Dumbbell::kFrame;
        o.behind = " delay 0ns " + std::to_string(static_cast<uint64_t>(stall_ns)) +
                   "ns distribution " + table(static_cast<uint32_t>(4 * apart * packets)) +
                   " order";
        o.seed = rng_below(&r, 1000000);
        Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});

        s.start(0);
        s.run(100 * o.rtt_ns + 200 * kMs);
        uint64_t before = s.info(0).rx_bytes;
        s.run(kTurns * o.rtt_ns);
        double bps = static_cast<double>(s.info(0).rx_bytes - before) * 8 / kTurns / o.rtt_ns * kS;
        double used = bps / (o.rate_bps * Dumbbell::kPayload / Dumbbell::kFrame);

        std::printf("  %6.1f Mbit/s, %5.1f ms, up to %5.1f ms of each %6.1f: %5.1f %% used\n",
                    o.rate_bps / kM, o.rtt_ns / kMs, stall_ns / kMs, apart * o.rtt_ns / kMs,
                    100 * used);
        sum += used;
    }
    EXPECT_GE(sum / kWorlds, 0.98);
    EXPECT_TRUE(pools.whole()) << "mbufs leak";
}
