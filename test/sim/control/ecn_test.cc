// SPDX-License-Identifier: BSD-3-Clause
// Congestion marks (RFC 3168). Routers that mark packets slow a sender down before they drop any.
// Paths that drop packets with ECN, or erase ECN, do no harm.
#include <gtest/gtest.h>

#include <cstring>

#include "pair.hh"

extern "C" {
#include "wire/packet.h"
}

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kRequest = 4000000;
constexpr uint32_t kType = 14 + 20 + 8; // Sluice's first byte behind Ethernet, IPv4 and UDP

bool is_data(const rte_mbuf *m)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

    return m->pkt_len >= kType + WIRE_DATA_BYTES && p[12] == 8 && p[13] == 0 &&
           (p[kType] & 15) == WIRE_DATA;
}

// The two bits of ECN. ecn_set() keeps the checksum of the IPv4 header right.
uint8_t ecn_get(const rte_mbuf *m)
{
    return rte_pktmbuf_mtod(m, const uint8_t *)[15] & 3;
}

void ecn_set(rte_mbuf *m, uint8_t code)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    uint32_t sum = 0;

    p[15] = (uint8_t)((p[15] & ~3) | code);
    p[24] = p[25] = 0;
    for (int i = 14; i < 34; i += 2)
        sum += (uint32_t)p[i] << 8 | p[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16));
    p[24] = (uint8_t)(sum >> 8);
    p[25] = (uint8_t)sum;
}

PairOptions options()
{
    PairOptions o;

    o.control_ns = kMs;
    o.delay_ns = 10 * kMs;
    o.capacity_Bps = 125000000;
    return o;
}

void exchange(Pair *p, int requests)
{
    for (int i = 0; i < requests; i++) {
        p->recv(kRequest);
        p->send(kRequest);
    }
}

// A router with a link of 100 Mbit/s and a long queue. By the rules of RFC 3168, it marks packets
// that will wait for longer than `from_ns`.
struct Router {
    static constexpr uint64_t kRate_Bps = 12500000;
    uint64_t from_ns = 5 * kMs, full_ns = 40 * kMs;
    uint64_t free_at = 0, marked = 0, dropped = 0, longest_ns = 0, bytes = 0;

    void judge(rte_mbuf *m, uint64_t now, world_fate *fate)
    {
        uint64_t wait = free_at > now ? free_at - now : 0;

        longest_ns = std::max(longest_ns, wait);
        if (wait > full_ns) {
            fate->copies = 0;
            dropped++;
            return;
        }
        if (wait > from_ns && ecn_get(m) != FRAME_ECN_NOT) {
            ecn_set(m, FRAME_ECN_CE);
            marked++;
        }
        bytes += m->pkt_len;
        free_at = now + wait + m->pkt_len * CLOCK_NS_PER_S / kRate_Bps;
        fate->extra_ns[0] = free_at - now;
    }
};

} // namespace

TEST(Ecn, DataCarryItAndNothingElse)
{
    PairOptions o = options();
    uint64_t ect = 0, repeats = 0, other = 0;
    int lose = 3;

    o.fate = [&](uint32_t, rte_mbuf *m, uint64_t, world_fate *fate) {
        const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

        if (!is_data(m)) {
            other += p[12] == 8 && p[13] == 0 && ecn_get(m) != FRAME_ECN_NOT;
            return;
        }
        if (p[kType + 1] & WIRE_REPEAT) {
            repeats++;
            EXPECT_EQ(ecn_get(m), FRAME_ECN_NOT);
        } else {
            ect++;
            EXPECT_EQ(ecn_get(m), FRAME_ECN_ECT0);
            fate->copies = ect > 100 && lose > 0 ? 0 : 1;
            lose -= fate->copies == 0;
        }
    };
    Pair p(o);
    p.open();
    exchange(&p, 1);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_GT(ect, 1000u);
    EXPECT_GE(repeats, 3u);
    EXPECT_EQ(other, 0u);
    EXPECT_EQ(host_counter_named(p.a(), "conns_ecn_off"), 0u);
    EXPECT_TRUE(p.finish()) << p.state();
}

// The router marks packets that wait longer than they would behind a flow that is alone, or already
// before that.
class EcnRouter : public testing::TestWithParam<uint64_t>
{
};

TEST_P(EcnRouter, MarksSlowDownBeforeAnythingIsLost)
{
    PairOptions o = options();
    struct host_conn_info info;
    Router r;
    bool why = false;

    r.from_ns = GetParam();

    o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *fate) {
        if (from == 0)
            r.judge(m, now, fate);
    };
    Pair p(o);
    p.open();
    exchange(&p, 16);
    auto look = [&] {
        host_conn_info(p.b(), p.conn[1], &info);
        why = why || strcmp(host_reason_name(info.rx_reason), "ecn") == 0;
    };
    // leaves out the first round trips, in which nothing is known yet
    p.run([&] { return look(), false; }, 1000 * kMs);
    r.dropped = r.longest_ns = r.bytes = 0;
    uint64_t from = world_now(p.w);
    ASSERT_TRUE(p.run([&] {
        look();
        return world_now(p.w) - from >= 3000 * kMs || p.all_done();
    }));
    double used = (double)r.bytes * 1e9 / (double)(world_now(p.w) - from) / Router::kRate_Bps;

    EXPECT_FALSE(p.all_done());
    EXPECT_GT(r.marked, 0u);
    EXPECT_EQ(r.dropped, 0u);
    EXPECT_LT(r.longest_ns, r.full_ns / 2);
    // a threshold of 1/40 of a round trip leaves no queue for the time after a cut
    EXPECT_GT(used, r.from_ns < 2 * kMs ? 0.8 : 0.9);
    EXPECT_TRUE(why) << "ecn is never the reason of the grant";
    EXPECT_GT(info.rx_ce, 0u);
    EXPECT_EQ(host_counter_named(p.b(), "rx_ce"), info.rx_ce);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

INSTANTIATE_TEST_SUITE_P(Thresholds, EcnRouter, testing::Values(kMs / 2, 2 * kMs, 5 * kMs));

// A path marks every packet at any rate. The sender slows down, and all data arrive.
TEST(Ecn, APathThatMarksAllStopsNobody)
{
    PairOptions o = options();

    o.fate = [&](uint32_t, rte_mbuf *m, uint64_t, world_fate *) {
        if (is_data(m) && ecn_get(m) != FRAME_ECN_NOT)
            ecn_set(m, FRAME_ECN_CE);
    };
    Pair p(o);
    p.open();
    p.recv(200000);
    p.send(200000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); }, 120 * CLOCK_NS_PER_S)) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

TEST(Ecn, APathThatErasesItIsUsedWithout)
{
    PairOptions o = options();
    uint64_t late = 0, units = 0;

    o.fate = [&](uint32_t, rte_mbuf *m, uint64_t, world_fate *) {
        if (!is_data(m))
            return;
        units++;
        late += units > 200 && ecn_get(m) != FRAME_ECN_NOT;
        ecn_set(m, FRAME_ECN_NOT);
    };
    Pair p(o);
    p.open();
    exchange(&p, 1);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_EQ(host_counter_named(p.a(), "conns_ecn_off"), 1u);
    EXPECT_GT(units, 1000u);
    EXPECT_EQ(late, 0u);
    EXPECT_TRUE(p.finish()) << p.state();
}

TEST(Ecn, APathThatDropsItIsUsedWithout)
{
    PairOptions o = options();
    uint64_t dropped = 0;

    o.fate = [&](uint32_t, rte_mbuf *m, uint64_t, world_fate *fate) {
        if (!is_data(m) || ecn_get(m) == FRAME_ECN_NOT)
            return;
        fate->copies = 0;
        dropped++;
    };
    Pair p(o);
    p.open();
    exchange(&p, 1);
    ASSERT_TRUE(p.run([&] { return p.all_done(); }, 10 * CLOCK_NS_PER_S)) << p.state();
    EXPECT_EQ(host_counter_named(p.a(), "conns_ecn_off"), 1u);
    EXPECT_GE(dropped, 1u);
    EXPECT_LT(dropped, 500u);
    EXPECT_TRUE(p.finish()) << p.state();
}
