// SPDX-License-Identifier: BSD-3-Clause
// The control core stalls. Workers go on with their grants, and notice the stall.
#include <gtest/gtest.h>

#include <cstring>

#include "pair.hh"
#include "wire/packet.h"

namespace
{

constexpr uint64_t kMs = 1000000;

uint64_t stalls(host *h)
{
    return host_counter_named(h, "control_stalls");
}

PairOptions options()
{
    PairOptions o;

    o.control_ns = kMs;
    o.capacity_Bps = 125000000;
    o.rate_Bps = 1250000000;
    return o;
}

} // namespace

TEST(Stall, DataFlowsOnAndItIsSeen)
{
    PairOptions o = options();
    uint64_t seen = 0, moved = 0, began = 0, longest = 0;
    bool stood = false;
    struct host_conn_info info = {}, before = {};

    o.control_stall = {100 * kMs, 50 * kMs}; // each up to 200 ms, for up to 100 ms
    Pair p(o);
    p.open();
    for (int i = 0; i < 16; i++) {
        p.recv(8000000);
        p.send(8000000);
    }
    p.run([&] { return p.opened[1] == 0; });
    for (int i = 0; i < 950; i++) {
        p.wait(kMs);
        ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
        bool stalled = host_control_stalled(p.b());

        if (stalled && !stood) {
            seen++;
            before = info;
            began = world_now(p.w);
        } else if (stalled) {
            EXPECT_EQ(info.rx_rate_Bps, before.rx_rate_Bps);
            moved = info.rx_bytes - before.rx_bytes;
            longest = std::max(longest, world_now(p.w) - began);
        } else if (stood) {
            EXPECT_GE((double)moved, 0.9 * (double)(world_now(p.w) - began - 2 * kMs) / 8);
        }
        stood = stalled;
    }
    EXPECT_GE(seen, 2u);
    EXPECT_EQ(stalls(p.b()), seen);
    EXPECT_LE(seen, world_counts(p.w)->spells[WORLD_CONTROL_STALL]);
    EXPECT_GT(longest, 16 * kMs);
    EXPECT_EQ(stalls(p.a()), 0u);
    world_calm(p.w);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_FALSE(host_control_stalled(p.b()));
    EXPECT_TRUE(p.finish()) << p.state();
}

// Control that is up to 15 intervals late is not stalled.
TEST(Stall, ShortOnesAreNone)
{
    PairOptions o = options();

    o.control_stall = {20 * kMs, 7 * kMs};
    Pair p(o);
    p.open();
    for (int i = 0; i < 16; i++) {
        p.recv(1000000);
        p.send(1000000);
    }
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_GE(world_counts(p.w)->spells[WORLD_CONTROL_STALL], 2u);
    EXPECT_EQ(stalls(p.b()), 0u);
    world_calm(p.w);
    EXPECT_TRUE(p.finish()) << p.state();
}

// Control stamps its interval, and before it looks at connections, a worker accepts one. The
// connection's time is then ahead of the interval's.
TEST(Stall, BegunAfterTheIntervalWasStampedIsNotIdle)
{
    PairOptions o = options();
    uint64_t first_ns = 0;
    struct host_conn_info info = {};

    o.delay_ns = 30000;
    o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *) {
        if (from == 0 && first_ns == 0 && m->pkt_len >= 42 + WIRE_FIRST_BYTES)
            first_ns = now + o.delay_ns;
    };
    Pair p(o);
    p.wait(10 * kMs + 100000);
    p.open();
    ASSERT_TRUE(p.run([&] { return p.opened[1] == 0; }, kMs / 2));
    ASSERT_GT(first_ns, 10 * kMs);
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
    ASSERT_STREQ(host_reason_name(info.rx_reason), "newcomer");
    host_control(world_control(p.w, 1), world_port_counters(p.w, 1), first_ns - 10);
    p.wait(10000);
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
    EXPECT_STRNE(host_reason_name(info.rx_reason), "idle");
    EXPECT_GT(info.rx_rate_Bps, o.capacity_Bps / 2);
}
