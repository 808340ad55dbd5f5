// SPDX-License-Identifier: BSD-3-Clause
// A receiver with a capacity of 1 Gbit/s paces its senders. Payload is within 1 % of the grant in
// any 100 ms. It is never beyond the envelope, which the oracle of every test checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "bytes.hh"
#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kGigabit = 125000000; // bytes/s
constexpr uint64_t kRequest = 16000000;

struct Sent {
    uint64_t at_ns, bytes;
};

class Pacing : public WholePools
{
  protected:
    PairOptions options()
    {
        PairOptions o;

        o.mtu = 9000;
        o.control_ns = kMs;
        o.capacity_Bps = kGigabit;
        o.rate_Bps = 1250000000; // the link carries ten times as much
        o.fate = [this](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *) {
            note(from, m, now);
        };
        return o;
    }

    void note(uint32_t from, const rte_mbuf *m, uint64_t now)
    {
        const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
        struct frame f;
        wire_header h;

        if (from != 0 || frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP ||
            wire_parse_header(p + f.payload_off, f.payload_len, &h) != WIRE_OK ||
            h.type != WIRE_DATA)
            return;
        sent.push_back({now, f.payload_len - WIRE_DATA_BYTES});
    }

    // Least and most payload in any window of w ns that starts with a packet in [from, to - w].
    void windows(uint64_t from, uint64_t to, uint64_t w, uint64_t *least, uint64_t *most)
    {
        uint64_t bytes = 0;
        size_t end = 0;

        *least = ~0ull;
        *most = 0;
        for (size_t i = 0; i < sent.size() && sent[i].at_ns + w <= to; i++) {
            for (; end < sent.size() && sent[end].at_ns < sent[i].at_ns + w; end++)
                bytes += sent[end].bytes;
            if (sent[i].at_ns >= from) {
                *least = std::min(*least, bytes);
                *most = std::max(*most, bytes);
            }
            bytes -= sent[i].bytes;
        }
    }

    std::vector<Sent> sent;
};

TEST_F(Pacing, OneGigabitWithinOnePercent)
{
    Pair p(options());
    uint64_t least, most;

    p.open();
    for (int i = 0; i < 5; i++) {
        p.recv(kRequest);
        p.send(kRequest);
    }
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    uint64_t end = sent.back().at_ns;

    ASSERT_GT(end, 600 * kMs);
    windows(20 * kMs, end, 100 * kMs, &least, &most);
    struct host_conn_info info;
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
    EXPECT_EQ(info.rx_rate_Bps, kGigabit) << "one connection does not get all of it";
    EXPECT_STREQ(host_reason_name(info.rx_reason), "capacity") << "all of it is no probe for more";
    EXPECT_TRUE(p.run(
        [&] {
            struct host_conn_info from, to;

            return host_conn_info(p.a(), p.conn[0], &from) &&
                   host_conn_info(p.b(), p.conn[1], &to) && from.tx_reason == to.rx_reason;
        },
        kMs * 1000))
        << "the sender does not learn the reason";
    EXPECT_GE(least, kGigabit / 10 * 99 / 100);
    EXPECT_LE(most, kGigabit / 10 * 101 / 100);
    windows(20 * kMs, end, 10 * kMs, &least, &most);
    EXPECT_LE(most, kGigabit / 100 + 2 * info.rx_burst_bytes + 9000);
    EXPECT_TRUE(p.finish()) << p.state();
}

// Some packets are lost. Repeats spend credit like all packets, so the envelope holds.
TEST_F(Pacing, RepeatsSpendCredit)
{
    PairOptions o = options();
    uint64_t n = 0;

    o.fate = [&, this](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f) {
        note(from, m, now);
        f->copies = ++n % 100 == 0 ? 0 : 1;
    };
    Pair p(o);
    uint64_t least, most;

    p.open();
    for (int i = 0; i < 3; i++) {
        p.recv(kRequest);
        p.send(kRequest);
    }
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    struct host_conn_info info;
    ASSERT_TRUE(host_conn_info(p.a(), p.conn[0], &info));
    EXPECT_GT(info.tx_repeats, 30u);
    windows(20 * kMs, sent.back().at_ns, 100 * kMs, &least, &most);
    EXPECT_LE(most, kGigabit / 10 * 101 / 100);
    EXPECT_TRUE(p.finish()) << p.state();
}

// A change of capacity in mid-transfer is obeyed within a few control intervals.
TEST_F(Pacing, CapacityIsLowered)
{
    Pair p(options());
    uint64_t least, most;

    p.open();
    for (int i = 0; i < 3; i++) {
        p.recv(kRequest);
        p.send(kRequest);
    }
    ASSERT_FALSE(p.run([&] { return p.all_done(); }, 100 * kMs));
    host_control_set_capacity(world_control(p.w, 1), kGigabit / 4);
    uint64_t change = world_now(p.w);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    windows(change + 5 * kMs, sent.back().at_ns, 100 * kMs, &least, &most);
    EXPECT_GE(least, kGigabit / 40 * 98 / 100);
    EXPECT_LE(most, kGigabit / 40 * 102 / 100);
    EXPECT_TRUE(p.finish()) << p.state();
}

// The application of one end allows a rate, drawn at random, and later another one. In each window
// of 10 ms, the sender has sent no more than that, 1 % or a burst of two units, and a packet.
TEST_F(Pacing, AnApplicationsLimitHoldsInEachWindow)
{
    uint64_t seed = test_seed();
    struct rng r;

    rng_init(&r, seed);
    for (int world = 0; world < 12; world++) {
        uint32_t side = world % 2; // that limits: 0 the sender, 1 the receiver
        uint64_t rate[2] = {2500000 + rng_below(&r, 60000000), 2500000 + rng_below(&r, 60000000)};
        uint64_t begun[2] = {0, 0}, least, most, unit;
        struct host_conn_info from, to;
        Pair p(options());

        SCOPED_TRACE("world " + std::to_string(world) + " of SLUICE_SEED=" + std::to_string(seed));
        sent.clear();
        p.open();
        for (int i = 0; i < 4; i++) {
            p.recv(kRequest);
            p.send(kRequest);
        }
        for (int i = 0; i < 2; i++) {
            host *h = side == 0 ? p.a() : p.b();

            ASSERT_EQ(host_limit(h, p.conn[side], side == 0 ? rate[i] : 0, side == 1 ? rate[i] : 0,
                                 world_now(p.w)),
                      0);
            world_wake(p.w, side, world_now(p.w));
            begun[i] = world_now(p.w);
            ASSERT_FALSE(p.run([&] { return p.all_done(); }, 120 * kMs)) << p.state();
            ASSERT_TRUE(host_conn_info(p.a(), p.conn[0], &from));
            ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &to));
            EXPECT_EQ(from.tx_rate_Bps, rate[i]);
            EXPECT_STREQ(host_reason_name(from.tx_reason), "limit");
            EXPECT_EQ(to.rx_rate_Bps == rate[i], side == 1);
            unit = from.unit_bytes;
            windows(begun[i] + 1 * kMs, world_now(p.w), 10 * kMs, &least, &most);
            EXPECT_LE(most, rate[i] / 100 + std::max(rate[i] / 10000, 2 * unit) + unit);
            EXPECT_GE(least + 2 * unit, rate[i] / 100);
        }
        p.close();
    }
}

// The port gets packets a millisecond before they leave. Their credit is spent by then, also where
// the rate changes in between.
TEST_F(Pacing, ALimitThatChangesGivesBackNoCredit)
{
    constexpr uint64_t kRate = kGigabit / 4;
    struct host_conn_info from;
    uint64_t least, most, begun;
    PairOptions o = options();

    o.lead_ns = kMs;
    Pair p(o);
    p.open();
    for (int i = 0; i < 4; i++) {
        p.recv(kRequest);
        p.send(kRequest);
    }
    p.wait(20 * kMs);
    begun = world_now(p.w) + 20 * kMs;
    for (int i = 0; i < 2000; i++) { // each 50 us
        ASSERT_EQ(host_limit(p.a(), p.conn[0], kRate + i % 2 * kRate / 50, 0, world_now(p.w)), 0);
        world_wake(p.w, 0, world_now(p.w));
        p.wait(50000);
    }
    ASSERT_TRUE(host_conn_info(p.a(), p.conn[0], &from));
    windows(begun, world_now(p.w), 10 * kMs, &least, &most);
    EXPECT_GE(least + 4 * from.unit_bytes, kRate / 100);
    EXPECT_LE(most, kRate / 100 * 51 / 50 + 4 * from.unit_bytes);
    p.close();
}

// Control runs only each 50 ms, but a limit of the receiver holds a round trip later.
TEST_F(Pacing, ALimitDoesNotWaitForControl)
{
    PairOptions o = options();
    struct host_conn_info from;

    o.control_ns = 50 * kMs;
    Pair p(o);
    p.open();
    for (int i = 0; i < 2; i++) {
        p.recv(kRequest);
        p.send(kRequest);
    }
    p.wait(10 * kMs);
    for (uint64_t rate : {3000000, 2000000, 4000000}) {
        ASSERT_EQ(host_limit(p.b(), p.conn[1], 0, rate, world_now(p.w)), 0);
        world_wake(p.w, 1, world_now(p.w));
        p.wait(1 * kMs);
        ASSERT_TRUE(host_conn_info(p.a(), p.conn[0], &from));
        EXPECT_EQ(from.tx_rate_Bps, rate);
    }
    p.close();
}

// A limit that is taken away leaves no trace, and a limit above the grant changes nothing.
TEST_F(Pacing, ALimitIsTakenAway)
{
    Pair p(options());
    struct host_conn_info from;

    p.open();
    for (int i = 0; i < 3; i++) {
        p.recv(kRequest);
        p.send(kRequest);
    }
    for (int i = 0; i < 2; i++) {
        ASSERT_EQ(host_limit(p.a(), p.conn[0], i == 0 ? 1000000 : 0, 0, world_now(p.w)), 0);
        ASSERT_EQ(host_limit(p.b(), p.conn[1], 0, i == 0 ? 2000000 : 2 * kGigabit, world_now(p.w)),
                  0);
        world_wake(p.w, 0, world_now(p.w));
        world_wake(p.w, 1, world_now(p.w));
        p.wait(50 * kMs);
        ASSERT_TRUE(host_conn_info(p.a(), p.conn[0], &from));
        EXPECT_EQ(from.tx_rate_Bps, i == 0 ? 1000000 : kGigabit) << "the smaller one counts";
        EXPECT_STREQ(host_reason_name(from.tx_reason), i == 0 ? "limit" : "capacity");
    }
    EXPECT_EQ(host_limit(p.a(), 3, 1, 1, world_now(p.w)), -ENOTCONN);
    p.close();
}

} // namespace
