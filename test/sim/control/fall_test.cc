// SPDX-License-Identifier: BSD-3-Clause
// A link that becomes ten times slower. Its queue then takes ten times as long to drain. The sender
// must not go on until packets of its newest grant have come behind that queue.
#include <gtest/gtest.h>

#include <cstdio>

#include "../unit/base/draw.hh"
#include "../unit/base/seed.h"
#include "pair.hh"
#include "dumbbell.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, kM = 1e6;
constexpr uint32_t kWorlds = 12;

DumbbellOptions falling(rng *r)
{
    DumbbellOptions o;

    o.rate_bps = draw(r, 50 * kM, 4);
    o.rtt_ns = draw(r, 10 * kMs, 4);
    o.queue_bytes = draw(r, 0.5, 4) * o.rate_bps / 8 * o.rtt_ns / kS;
    o.later_bps = o.rate_bps / 10;
    o.changes_ns = (100 + draw(r, 1, 4)) * o.rtt_ns + 200 * kMs;
    o.seed = rng_below(r, 1000000);
    return o;
}

} // namespace

TEST(FallOfTheLink, IsAnsweredBeforeTheQueueIsEmpty)
{
    const Pools &pools = Pools::get();
    rng r;

    rng_init(&r, test_seed());
    for (uint32_t i = 0; i < kWorlds; i++) {
        DumbbellOptions o = falling(&r);
        double excess_Bps = (o.rate_bps - o.later_bps) / 8;
        Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});

        s.start(0);
        s.run(o.changes_ns);
        uint64_t dropped = s.link()->dropped_bytes;
        s.run(o.rtt_ns + o.queue_bytes * kS / (o.later_bps / 8));
        double lost = static_cast<double>(s.link()->dropped_bytes - dropped);
        // for how long the sender must have gone on, the queue that it filled included
        double turns = lost > 0 ? (lost + o.queue_bytes) / excess_Bps * kS / o.rtt_ns : 0;

        std::printf(
            "  %6.1f Mbit/s, %5.1f ms, queue of %6.0f kB: %7.0f kB lost, %4.1f round trips\n",
            o.rate_bps / kM, o.rtt_ns / kMs, o.queue_bytes / 1e3, lost / 1e3, turns);
        // one to see it, one to answer it, a trial that began before, and eight packets of another
        EXPECT_LE(turns, 2.5 + 2 * 8 * Dumbbell::kFrame * 8e9 / o.later_bps / o.rtt_ns);
    }
    EXPECT_TRUE(pools.whole()) << "mbufs leak";
}
