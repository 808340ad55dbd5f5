// SPDX-License-Identifier: BSD-3-Clause
// How many packets the host can take back to back. This is found only where losses are regular, the
// host's own, and at a low rate.
#include <gtest/gtest.h>

#include <random>

#include "../base/seed.h"

extern "C" {
#include "control/burst.h"
}

namespace
{

constexpr uint64_t MS = 1000000; // ns
constexpr uint64_t UNIT = 1000;  // bytes

struct Host {
    struct burst b;
    struct burst_sample s = {};
    uint64_t changes = 0;

    Host()
    {
        burst_init(&b);
        s.own = true;
        s.time_ns = MS;
        s.could_Bps = 4000000; // 4 packets a ms
    }

    // A millisecond with so many packets, in which so many runs begin.
    bool step(uint64_t packets, uint64_t runs = 0)
    {
        s.packets = packets;
        s.runs = runs;
        s.time_ns += MS;
        s.host_bytes += packets * UNIT;
        bool changed = burst_update(&b, &s);

        changes += changed;
        return changed;
    }

    // Receives so many packets, one a millisecond, and then a run begins.
    bool lose_after(uint64_t packets)
    {
        for (uint64_t i = 1; i < packets; i++)
            step(1);
        return step(1, 1);
    }
};

} // namespace

TEST(Burst, RegularRunsAreBelieved)
{
    Host h;

    h.lose_after(7); // the first run: the packets before it are unknown
    for (uint32_t i = 1; i < BURST_RUNS; i++)
        EXPECT_FALSE(h.lose_after(i % 2 != 0 ? 38 : 42)) << i;
    EXPECT_EQ(burst_bound(&h.b, 70 * UNIT, UNIT), 70 * UNIT) << "not known yet";
    EXPECT_TRUE(h.lose_after(40));
    EXPECT_NEAR((double)h.b.found_packets, 40, 1);
    EXPECT_EQ(h.b.limit_packets, h.b.found_packets - h.b.found_packets / 8);
    EXPECT_EQ(burst_bound(&h.b, 70 * UNIT, UNIT), h.b.limit_packets * UNIT);
    EXPECT_EQ(burst_bound(&h.b, 10 * UNIT, UNIT), 10 * UNIT) << "a burst that fits is not cut";
}

// The buffers are still full, so losses soon after a run belong to that run.
TEST(Burst, TheRestOfABurstIsTheSameRun)
{
    Host h;

    for (uint32_t i = 0; i <= BURST_RUNS + 1; i++) {
        h.lose_after(40);
        h.lose_after(6);
        h.lose_after(6);
    }
    EXPECT_EQ(h.changes, 1u);
    EXPECT_EQ(h.b.found_packets, 40u);
}

TEST(Burst, WhoseLossesTheyAre)
{
    Host h;

    h.s.own = false;
    for (uint32_t i = 0; i < 10 * BURST_RUNS; i++)
        h.lose_after(40);
    EXPECT_EQ(h.changes, 0u);
}

// At a rate near the host's capacity, the rate is too large, not the burst.
TEST(Burst, OnlyAtALowRate)
{
    Host h;

    h.s.could_Bps = 1250000;
    for (uint32_t i = 0; i < 10 * BURST_RUNS; i++)
        h.lose_after(40);
    EXPECT_EQ(h.changes, 0u);
    h.s.could_Bps = 1500000;
    for (uint32_t i = 0; i < 2 * BURST_RUNS; i++)
        h.lose_after(40);
    EXPECT_GE(h.changes, 1u);
}

// Random losses hardly ever have eight similar gaps in a row.
TEST(Burst, RandomLossesAreNoPattern)
{
    std::mt19937_64 random(test_seed());
    std::geometric_distribution<uint64_t> gap(1 / 40.);
    int found = 0;

    for (int world = 0; world < 1000; world++) {
        Host h;

        for (uint32_t i = 0; i < 2 * BURST_RUNS; i++)
            h.lose_after(1 + gap(random));
        found += h.changes > 0;
    }
    EXPECT_LE(found, 20);
}

TEST(Burst, RisesWhileNothingIsLost)
{
    Host h;

    for (uint32_t i = 0; i <= BURST_RUNS; i++)
        h.lose_after(40);
    ASSERT_EQ(h.b.limit_packets, 35u);
    for (int i = 0; i < 10000; i++)
        EXPECT_FALSE(h.step(1)) << "smaller bursts show nothing";
    h.s.bounded = true;
    for (int i = 1; i < 35 * 16; i++)
        EXPECT_FALSE(h.step(1));
    EXPECT_TRUE(h.step(1));
    EXPECT_EQ(h.b.limit_packets, 35u + 35 / 16 + 1);
}

// The limit was too high again: it goes back, and rises after twice as many bursts.
TEST(Burst, FallsBackAndWaitsLonger)
{
    Host h;
    uint64_t waits[2];

    for (uint32_t i = 0; i <= BURST_RUNS; i++)
        h.lose_after(40);
    h.s.bounded = true;
    for (uint64_t &wait : waits) {
        while (!h.step(1))
            ;
        uint64_t before = h.b.limit_packets;

        for (uint32_t i = 0; i <= BURST_RUNS && h.b.limit_packets == before; i++)
            h.lose_after(i % 2 != 0 ? 37 : 200); // irregular, as just above the true limit
        EXPECT_EQ(h.b.limit_packets, before - before / 8);
        uint64_t limit = h.b.limit_packets;

        for (wait = 1; !h.step(1); wait++)
            ;
        wait /= limit;
    }
    EXPECT_EQ(waits[0], 32u);
    EXPECT_EQ(waits[1], 64u);
}

// A limit of a few packets is lowered, too, down to one.
TEST(Burst, AShortLimitFalls)
{
    Host h;

    for (uint32_t i = 0; i <= BURST_RUNS; i++)
        h.lose_after(8);
    h.s.bounded = true;
    for (uint64_t limit = h.b.limit_packets; limit > 1; limit--) {
        EXPECT_EQ(h.b.limit_packets, limit);
        for (uint32_t i = 0; i <= BURST_RUNS && h.b.limit_packets == limit; i++)
            h.lose_after(limit);
    }
    EXPECT_EQ(h.b.limit_packets, 1u);
}

// The limit stays if losses are rare. They are only repaired.
TEST(Burst, SeldomLossesLeaveTheLimit)
{
    Host h;

    for (uint32_t i = 0; i <= BURST_RUNS; i++)
        h.lose_after(40);
    h.s.bounded = true;
    for (uint32_t i = 0; i < 100; i++)
        h.lose_after(h.b.limit_packets * 17);
    EXPECT_GE(h.b.limit_packets, 35u);
}
