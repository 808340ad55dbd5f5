// SPDX-License-Identifier: BSD-3-Clause
// A path that stands still now and then, as a virtual switch does that loses its core, or a radio
// link that waits for its turn. What waits meanwhile comes at once afterwards. Nothing is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "../unit/app/file.h"
#include "../unit/base/draw.hh"
#include "../unit/base/seed.h"
#include "path_use.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, kM = 1e6;
constexpr uint32_t kWorlds = 12;
constexpr double kTableMax = 65536; // of a distribution (path/law.h)

// A table of waits: of so many packets, four wait for 1/4, 2/4, 3/4 and all of the longest stall.
std::string table(double packets)
{
    std::string text;

    for (uint32_t i = 0; i < std::min(packets, kTableMax); i++)
        text += std::to_string(i < 4 ? 2048 * (i + 1) : 0) + '\n';
    return text;
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
        File waits(table(4 * apart * packets));
        o.behind = " delay 0ns " + std::to_string(static_cast<uint64_t>(stall_ns)) +
                   "ns distribution " + waits.path + " order";
        o.seed = rng_below(&r, 1000000);
        double used = path_use(o, o.rate_bps, 400).used;

        std::printf("  %6.1f Mbit/s, %5.1f ms, up to %5.1f ms of each %6.1f: %5.1f %% used\n",
                    o.rate_bps / kM, o.rtt_ns / kMs, stall_ns / kMs, apart * o.rtt_ns / kMs,
                    100 * used);
        sum += used;
    }
    EXPECT_GE(sum / kWorlds, 0.98);
    EXPECT_TRUE(pools.whole()) << "mbufs leak";
}
