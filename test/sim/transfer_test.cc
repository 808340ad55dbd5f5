// SPDX-License-Identifier: BSD-3-Clause
// Whole transfers in virtual time, over a link that loses nothing.
#include <gtest/gtest.h>

#include "../unit/base/seed.h"
#include "pair.hh"
#include "whole_pools.hh"

extern "C" {
#include "base/rng.h"
}

namespace
{

class Transfer : public WholePools
{
};

void transfer(const PairOptions &o, const std::vector<uint64_t> &lens)
{
    Pair p(o);
    p.open();
    for (uint64_t len : lens) {
        p.recv(len);
        p.send(len);
    }
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

// Each end keeps how much delay, rate and latency varied.
TEST_F(Transfer, Spreads)
{
    Pair p({});
    struct host_conn_spread from, to;

    p.open();
    for (int i = 0; i < 5; i++) {
        p.recv(100000);
        p.send(100000);
    }
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    ASSERT_TRUE(host_conn_spread(world_host(p.w, 0), p.conn[0], &from));
    ASSERT_TRUE(host_conn_spread(world_host(p.w, 1), p.conn[1], &to));
    EXPECT_EQ(spread_count(&from.latency_ns), 5u);
    EXPECT_GE(spread_quantile(&from.latency_ns, 50, 100), 20000u); // a round trip at least
    EXPECT_GE(spread_count(&to.increment_ns), 5u * 100000 / 1408);
    EXPECT_GT(spread_count(&to.momentary_Bps), 10u);
    EXPECT_EQ(spread_count(&to.latency_ns), 0u);
    EXPECT_TRUE(p.finish()) << p.state();
}

// Each piece of a sender's time is put down to what it waited for: its application, the peer's, or
// the rate. The three add up to the connection's age.
TEST_F(Transfer, TellsWhatTheSenderWaitedFor)
{
    uint64_t seed = test_seed();
    struct rng r;

    rng_init(&r, seed);
    for (int world = 0; world < 20; world++) {
        uint64_t app_ns = rng_below(&r, 400) * 1000000, peer_ns = rng_below(&r, 400) * 1000000;
        uint64_t bytes = 100000 + rng_below(&r, 10000000);
        struct host_conn_info before, after;
        PairOptions o;

        SCOPED_TRACE("world " + std::to_string(world) + " of SLUICE_SEED=" + std::to_string(seed));
        o.rate_first_Bps = 12500000 + rng_below(&r, 100000000); // there is no control: it stays
        Pair p(o);
        p.open();
        host_conn_refresh(p.a(), p.conn[0], world_now(p.w));
        ASSERT_TRUE(host_conn_info(p.a(), p.conn[0], &before));
        p.wait(app_ns);
        p.send(bytes);
        p.wait(peer_ns);
        p.recv(bytes);
        ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
        host_conn_refresh(p.a(), p.conn[0], world_now(p.w));
        ASSERT_TRUE(host_conn_info(p.a(), p.conn[0], &after));
        double rate_ns = 1e9 * (double)bytes / (double)after.tx_rate_Bps;
        // These bytes need not wait (credit.h, envelope). Headers wait, too, but are no payload.
        double free_bytes = 2.0 * (double)after.tx_burst_bytes + o.mtu;
        double near_ns = 5e5 + 0.02 * rate_ns;
        double least_rate_ns = rate_ns - 1e9 * free_bytes / (double)after.tx_rate_Bps;
        double waited_ns = (double)(after.tx_rate_limited_ns - before.tx_rate_limited_ns);

        EXPECT_NEAR((double)(after.tx_app_limited_ns - before.tx_app_limited_ns), (double)app_ns,
                    near_ns);
        EXPECT_NEAR((double)(after.tx_peer_limited_ns - before.tx_peer_limited_ns), (double)peer_ns,
                    near_ns);
        EXPECT_GE(waited_ns, least_rate_ns - near_ns);
        EXPECT_LE(waited_ns, rate_ns + near_ns);
        EXPECT_TRUE(p.finish()) << p.state();
    }
}

TEST_F(Transfer, OneByte)
{
    transfer({}, {1});
}

TEST_F(Transfer, SizesAroundUnits)
{
    transfer({}, {0, 1, 1407, 1408, 1409, 2816, 100000, 0, 7});
}

TEST_F(Transfer, GoBackN)
{
    PairOptions o;
    o.go_back_n = true;
    transfer(o, {0, 1, 100000, 5});
}

TEST_F(Transfer, Ipv6Vlan)
{
    PairOptions o;
    o.ipv6 = true;
    o.vlan = 42;
    transfer(o, {0, 1, 100000, 5});
}

TEST_F(Transfer, JumboCopied)
{
    PairOptions o;
    o.mtu = 9000;
    o.attach = false;
    transfer(o, {0, 1, 1000000, 5});
}

// The pools have buffers of 9600 bytes: frames of 64 kB lie in seven of them, on both sides.
TEST_F(Transfer, LongestPackets)
{
    for (bool attach : {false, true})
        for (bool ipv6 : {false, true})
            for (enum host_sum sum : {HOST_SUM_SOFTWARE, HOST_SUM_NONE}) {
                SCOPED_TRACE(testing::Message() << attach << ipv6 << sum);
                PairOptions o;
                o.mtu = 65535;
                o.attach = attach;
                o.ipv6 = ipv6;
                o.sum = sum;
                transfer(o, {0, 1, 65407, 65408, 65409, 130816, 1000000, 5});
            }
}

TEST_F(Transfer, LongestPacketsAndALowerMtu)
{
    for (bool higher_first : {false, true}) {
        PairOptions o;
        o.mtu = higher_first ? 65535 : 9000;
        o.mtu_b = higher_first ? 9000 : 65535;
        Pair p(o);
        p.open();
        p.recv(1000000);
        p.recv_back(1000000);
        p.send(1000000);
        p.send_back(1000000);
        ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
        for (uint32_t i = 0; i < 2; i++) {
            struct host_conn_info info = {};
            host_conn_info(world_host(p.w, i), p.conn[i], &info);
            EXPECT_EQ(info.unit_bytes, 8896u) << "host " << i;
        }
        EXPECT_TRUE(p.finish()) << p.state();
    }
}

// The first CNTL says both that the peer takes units half as long and for how many requests it has
// buffers. Units that went out before it are sent again, but only those that have a buffer.
TEST_F(Transfer, ShorterUnitsAreSentOnlyIfTheyHaveABuffer)
{
    PairOptions o;
    o.mtu = 2920; // units of 2816 bytes; of 1408 with the other MTU
    o.mtu_b = 1500;
    Pair p(o);
    p.open();
    for (int i = 0; i < 4; i++)
        p.send(5000);
    p.recv(5000);
    ASSERT_TRUE(p.run([&] { return p.recvs[1][0].done; })) << p.state();
    for (int i = 0; i < 3; i++)
        p.recv(5000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    struct host_conn_info info = {};
    host_conn_info(p.a(), p.conn[0], &info);
    EXPECT_EQ(info.unit_bytes, 1408u);
    EXPECT_TRUE(p.finish()) << p.state();
}

TEST_F(Transfer, NoSum)
{
    PairOptions o;
    o.mtu = 9000;
    o.sum = HOST_SUM_NONE;
    transfer(o, {1000000});
}

TEST_F(Transfer, BothDirections)
{
    Pair p({});
    p.open();
    p.recv_back(50000);
    p.recv(60000);
    p.send(60000);
    p.send_back(50000);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

TEST_F(Transfer, PostedLate)
{
    Pair p({});
    p.open();
    p.send(100000);
    p.send(5);
    EXPECT_FALSE(p.run([&] { return p.all_done() && !p.recvs[1].empty(); }, 100000000));
    p.recv(100000);
    p.recv(5);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

TEST_F(Transfer, Provisional)
{
    Pair p({});
    p.open();
    p.recv(100000);
    p.send(100000, true, 20000);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    ASSERT_GE(p.log.size(), 3u);
    EXPECT_TRUE(p.finish()) << p.state();
}

TEST_F(Transfer, BufferTooShort)
{
    for (bool go_back_n : {false, true})
        for (uint64_t len : {1000ull, 30000ull, 300000ull, 30000000ull}) {
            PairOptions o;
            o.go_back_n = go_back_n;
            Pair p(o);
            p.open();
            p.recv(999);
            p.recv(5);
            p.send(len);
            p.send(5);
            EXPECT_TRUE(p.run([&] { return p.sends[0][1].done && p.recvs[1][1].done; }))
                << p.state();
            EXPECT_EQ(p.sends[0][0].status, -EMSGSIZE) << len;
            EXPECT_EQ(p.recvs[1][0].status, -EMSGSIZE) << len;
            EXPECT_EQ(p.sends[0][1].status, 0) << len;
            EXPECT_EQ(p.recvs[1][1].status, 0) << len;
            EXPECT_TRUE(p.finish()) << p.state();
        }
}

// The reader has more buffers than the writer has requests. The surplus ends with -ENODATA, and all
// requests from before the close are acknowledged.
TEST_F(Transfer, SurplusBuffers)
{
    for (uint64_t len : {0ull, 1000ull, 3000000ull}) {
        PairOptions o;
        o.mtu = 9000;
        o.rate_Bps = 1250000000;
        o.burst_first = 500000;
        o.rate_first_Bps = 12500000000;
        Pair p(o);
        p.open();
        for (int i = 0; i < 8; i++)
            p.recv(len);
        ASSERT_TRUE(p.run([&] { return p.opened[0] == 0; }));
        for (int i = 0; i < 4; i++)
            p.send(len);
        ASSERT_EQ(host_shutdown(p.a(), p.conn[0], 99, world_now(p.w)), 0);
        ASSERT_TRUE(p.run([&] { return p.recvs[1][7].done; })) << p.state();
        ASSERT_EQ(host_shutdown(p.b(), p.conn[1], 99, world_now(p.w)), 0);
        EXPECT_TRUE(p.run([&] { return p.shut[0] == 0 && p.shut[1] == 0; })) << p.state();
        for (int i = 0; i < 8; i++)
            EXPECT_EQ(p.recvs[1][i].status, i < 4 ? 0 : -ENODATA) << i;
        for (int i = 0; i < 4; i++)
            EXPECT_EQ(p.sends[0][i].status, 0) << i;
    }
}

TEST_F(Transfer, ControlGrants)
{
    PairOptions o;
    o.control_ns = 1000000;
    o.capacity_Bps = 10000000;
    Pair p(o);
    p.open();
    p.recv(2000000);
    p.send(2000000);
    uint64_t start = world_now(p.w);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    double rate = 2e6 / (double(world_now(p.w) - start) / 1e9);
    EXPECT_NEAR(rate, 10e6, 0.3e6);
    EXPECT_TRUE(p.finish()) << p.state();
}

} // namespace
