// SPDX-License-Identifier: BSD-3-Clause
// A receiver with a capacity of 1 Gbit/s paces its senders. Payload is within 1 % of the grant in
// any 100 ms. It is never beyond the envelope, which the oracle of every test checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

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

} // namespace
