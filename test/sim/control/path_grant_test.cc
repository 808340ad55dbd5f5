// SPDX-License-Identifier: BSD-3-Clause
// The grant follows what the path carries, whatever control changes about the connection in the
// meantime.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "pair.hh"

extern "C" {
#include "host/host_internal.h"
}

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kM = 1000000; // bytes/s
constexpr uint64_t kRequest = 4 * kM;

PairOptions options(uint64_t queue_ms, uint64_t delay_ms)
{
    PairOptions o;

    o.control_ns = kMs;
    o.rate_Bps = 12500000;
    o.queue_ns = queue_ms * kMs;
    o.delay_ns = delay_ms * kMs;
    o.capacity_Bps = 100 * kM;
    return o;
}

void exchange(Pair *p, int requests, uint64_t len)
{
    for (int i = 0; i < requests; i++) {
        p->recv(len);
        p->send(len);
    }
}

// A policer in front of the link; it begins when rate_Bps is set.
struct Policer {
    uint64_t rate_Bps = 0; // 0: not there
    uint64_t at_ns = 0, bytes = 0, burst_bytes = 20000;
    uint64_t seen = 0;

    void judge(uint32_t from, const rte_mbuf *m, uint64_t now, world_fate *fate)
    {
        if (from != 0)
            return;
        seen += m->pkt_len;
        if (rate_Bps == 0)
            return;
        bytes = std::min<uint64_t>(burst_bytes, bytes + (now - at_ns) * rate_Bps / CLOCK_NS_PER_S);
        at_ns = now;
        if (bytes < m->pkt_len)
            fate->copies = 0;
        else
            bytes -= m->pkt_len;
    }
};

} // namespace

// In each interval control sets another share, 100 or 7 MB/s, which is faster than a trial of the
// path. The path's limit, 4 MB/s, is found all the same.
TEST(PathGrant, ControlThatChangesItsMindDoesNotHideThePath)
{
    PairOptions o = options(30, 10);
    Policer policer;
    struct host_conn_info info;

    o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *fate) {
        policer.judge(from, m, now, fate);
    };
    Pair p(o);
    p.open();
    exchange(&p, 12, kRequest);
    p.wait(1000 * kMs);
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
    ASSERT_GT(info.rx_rate_Bps, 9 * kM);
    ASSERT_LT(info.rx_rate_Bps, 15 * kM) << "the path limits";
    policer.rate_Bps = 4 * kM;
    for (int i = 0; i < 2000; i++) {
        if (i == 1000)
            policer.seen = 0;
        host_control_set_capacity(world_control(p.w, 1), i % 2 != 0 ? 7 * kM : 100 * kM);
        p.wait(kMs);
    }
    ASSERT_FALSE(p.all_done());
    EXPECT_LT(policer.seen, 7 * kM) << "more in the second second than without changes";
    EXPECT_GT(policer.seen, 3 * kM);
    policer.rate_Bps = 0;
    host_control_set_capacity(world_control(p.w, 1), 100 * kM);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

// A sender that polls seldom needs longer bursts. Losses end those that it had. It gets new ones
// although its rate stays the same, for without them it cannot use more of its rate.
TEST(PathGrant, ASenderThatPollsSeldomGetsItsBurstsBack)
{
    PairOptions o = options(0, 10);
    uint64_t packets = 0, sent = 0;
    bool drops = false;

    o.rate_Bps = 125 * kM;
    o.capacity_Bps = 200 * kM;
    o.poll_spread_ns = 240000;
    o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t, world_fate *fate) {
        if (from != 0)
            return;
        sent += m->pkt_len;
        if (drops && ++packets % 4 == 0)
            fate->copies = 0;
    };
    Pair p(o);
    p.open();
    exchange(&p, 16, 2 * kRequest);
    p.wait(300 * kMs);
    drops = true;
    p.wait(20 * kMs);
    drops = false;
    p.wait(30 * kMs);
    sent = 0;
    p.wait(200 * kMs);
    EXPECT_GT(sent, o.rate_Bps / 5 * 65 / 100) << "in 200 ms";
    ASSERT_FALSE(p.all_done());
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

// A connection that sends in bursts pauses between them, and starts over each time. It must not
// begin with a smaller burst than its path needs.
TEST(PathGrant, WhoWakesKeepsTheBurstOfHisPath)
{
    struct host_conn_info info;
    uint64_t least = UINT64_MAX;
    bool idle = false, woken = false;
    Pair p(options(60, 20));
    p.open();
    exchange(&p, 4, kRequest);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
    uint64_t had = info.rx_burst_bytes;
    ASSERT_GT(had, 2000u);
    ASSERT_LT(info.rx_rate_Bps, 15 * kM) << "the path limits";
    p.wait(500 * kMs);
    p.wait(kMs + kMs / 2 - world_now(p.w) % kMs); // control's next look is late enough to see it
    exchange(&p, 1, kRequest);
    ASSERT_TRUE(p.run([&] {
        host_conn_info(p.b(), p.conn[1], &info);
        least = std::min(least, info.rx_burst_bytes);
        idle = idle || strcmp(host_reason_name(info.rx_reason), "idle") == 0;
        woken = woken || strcmp(host_reason_name(info.rx_reason), "newcomer") == 0;
        return p.all_done();
    })) << p.state();
    EXPECT_TRUE(idle);
    EXPECT_TRUE(woken);
    EXPECT_GT(least, had / 4 * 3);
    EXPECT_TRUE(p.finish()) << p.state();
}

// Beside a competitor that keeps the queue long, each lost packet counts, as it does for a TCP. A
// packet that was sent while the last rise was under way counts, too.
TEST(PathGrant, BesideOthersEachLossIsSeen)
{
    PairOptions o = options(60, 20);
    struct host_conn_info info;
    uint64_t extra_ns = 0;
    bool drop = false;
    int lost = 0, seen = 0;
    constexpr int kLosses = 10;

    o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t, world_fate *fate) {
        if (from != 0)
            return;
        fate->extra_ns[0] = extra_ns;
        if (m->pkt_len < 1000 || !drop)
            return;
        drop = false;
        lost++;
        fate->copies = 0;
    };
    Pair p(o);
    p.open();
    exchange(&p, 4, kRequest);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    exchange(&p, 10, 4 * kRequest);
    extra_ns = 30 * kMs; // and stays so at any rate
    p.wait(1000 * kMs);
    for (int i = 0; i < kLosses; i++) {
        ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
        ASSERT_STREQ(host_reason_name(info.rx_reason), "competing");
        uint64_t before = info.rx_rate_Bps;
        drop = true;
        // each time at another moment between two rises
        p.wait((uint64_t)(300 + i * 7) * kMs);
        ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
        seen += info.rx_rate_Bps < before * 9 / 10;
        p.wait(700 * kMs);
    }
    EXPECT_EQ(lost, kLosses);
    EXPECT_EQ(seen, kLosses);
    ASSERT_FALSE(p.all_done());
    extra_ns = 0;
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

// A connection that its path does not limit sends so many CNTL that their numbers wrap around. The
// path is still watched: it is found when more is sent.
TEST(PathGrant, NumbersOfCntlWrapAround)
{
    PairOptions o = options(10, 5);
    struct host_conn_info before, after;

    Pair p(o);
    p.open();
    for (int i = 0; i < 3; i++) { // at 0.1 MB/s
        exchange(&p, 1, 10000);
        p.wait(100 * kMs);
        p.b()->conns[p.conn[1]].cntl.seq += 0x30000000u;
    }
    exchange(&p, 1, 10000);
    p.wait(100 * kMs);
    exchange(&p, 8, kRequest);
    p.wait(500 * kMs); // the queue overflows at once
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &before));
    EXPECT_LT(before.rx_rate_Bps, 2 * o.rate_Bps);
    p.wait(500 * kMs);
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &after));
    EXPECT_LT(after.rx_lost - before.rx_lost, (after.rx_units - before.rx_units) / 20);
    EXPECT_TRUE(p.run([&] { return p.recvs[1].back().done; })) << p.state();
    EXPECT_EQ(p.recvs[1].back().status, 0);
    p.close(); // the oracle does not see what the queue drops, and takes numbers for wrong
}
