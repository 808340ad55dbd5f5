// SPDX-License-Identifier: BSD-3-Clause
// Paths that drop packets for their size, silently (RFC 8899, section 4.3). Units become smaller
// until they pass, in mid-request, too. A path that carries no DATA at all is named as the cause.
#include <gtest/gtest.h>

#include <algorithm>

extern "C" {
#include "base/rng.h"
}

#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000, kS = CLOCK_NS_PER_S;

class Hole : public WholePools
{
};

struct host_conn_info info_of(Pair &p, uint32_t side)
{
    struct host_conn_info i = {};

    EXPECT_TRUE(host_conn_info(world_host(p.w, side), p.conn[side], &i));
    return i;
}

uint64_t counter_of(Pair &p, uint32_t side, const std::string &name)
{
    return host_counter_named(world_host(p.w, side), name.c_str());
}

// Loses frames longer than `limit`, from a time on, in both directions.
struct Narrow {
    uint32_t limit;
    uint64_t from_ns = 0;

    void operator()(uint32_t, rte_mbuf *m, uint64_t now, world_fate *f) const
    {
        if (m->pkt_len > limit && now >= from_ns)
            f->copies = 0;
    }
};

struct Path {
    uint16_t mtu;
    uint32_t limit;
    bool ipv6, go_back_n;
    uint64_t within_ns = 2 * kS;
};

TEST_F(Hole, SmallerUnitsPassWithinTwoSeconds)
{
    for (const Path &x :
         {Path{1500, 1400, false, false}, Path{9000, 4000, false, false},
          Path{1500, 1400, true, false}, Path{9000, 4000, true, false},
          Path{1500, 1400, false, true}, Path{9000, 1300, false, false},
          Path{1500, 700, false, false}, Path{9000, 1400, false, true},
          Path{65535, 9014, false, false}, Path{65535, 9014, true, true},
          // five halvings
          Path{65535, 1514, true, false, 5 * kS / 2}, Path{40960, 1500, false, true, 5 * kS / 2},
          Path{65535, 700, false, true, 5 * kS / 2}})
        for (uint64_t delay : {50 * kMs / 1000, 10 * kMs}) {
            SCOPED_TRACE(testing::Message() << x.mtu << " " << x.limit << (x.ipv6 ? " IPv6" : "")
                                            << (x.go_back_n ? " go back n" : "") << " " << delay);
            PairOptions o;
            o.mtu = x.mtu;
            o.ipv6 = x.ipv6;
            o.go_back_n = x.go_back_n;
            o.delay_ns = delay;
            o.fate = Narrow{x.limit};
            Pair p(o);
            p.open();
            for (uint64_t len : {300000u, 1u, 20000u}) {
                p.recv(len);
                p.send(len);
            }
            ASSERT_TRUE(p.run([&] { return p.all_done(); }, x.within_ns)) << p.state();
            struct host_conn_info i = info_of(p, 0);
            EXPECT_LE(i.unit_bytes, x.limit - 98);
            EXPECT_GE(i.unit_bytes * 2 + 118, x.limit) << "units are smaller than need be";
            EXPECT_GT(i.dropped_unit_bytes + 118, x.limit);
            EXPECT_GE(counter_of(p, 0, "units_cut"), 1u);
            EXPECT_TRUE(p.finish()) << p.state();
        }
}

// The path becomes narrower when a part of a request has been acknowledged. The acknowledged part
// is not sent again, and memory that a provisional acknowledgement gave back is not read.
TEST_F(Hole, InMidRequest)
{
    for (bool go_back_n : {false, true})
        for (bool provisional : {false, true}) {
            SCOPED_TRACE(testing::Message() << go_back_n << provisional);
            PairOptions o;
            o.go_back_n = go_back_n;
            o.fate = Narrow{1000, 20 * kMs};
            Pair p(o);
            p.open();
            p.recv(5000000);
            p.recv(5000000);
            p.send(5000000, provisional, provisional ? 100000 : 0);
            p.send(5000000);
            p.run([&] { return world_now(p.w) >= 20 * kMs; });
            uint64_t before = info_of(p, 1).rx_bytes;
            ASSERT_GT(before, 1000000u);
            ASSERT_LT(before, 5000000u);
            ASSERT_TRUE(p.run([&] { return p.all_done(); }, 3 * kS)) << p.state();
            EXPECT_EQ(info_of(p, 0).unit_bytes, 704u);
            EXPECT_EQ(info_of(p, 1).rx_bytes, 10000000u) << "bytes are placed twice";
            EXPECT_TRUE(p.finish()) << p.state();
        }
}

// A size is cut in the middle of a request to halves of it, whatever the MTU is, down to what every
// path carries.
TEST_F(Hole, EverySizeHasHalves)
{
    for (bool ipv6 : {false, true})
        for (bool go_back_n : {false, true})
            for (uint16_t mtu : {577, 594, 1083, 1105, 1106, 1107, 1281, 1369, 1501, 65535}) {
                uint32_t min = ipv6 ? 1280 : 576;

                if (mtu <= min)
                    continue;
                SCOPED_TRACE(testing::Message() << mtu << " " << ipv6 << go_back_n);
                PairOptions o;
                o.mtu = mtu;
                o.ipv6 = ipv6;
                o.go_back_n = go_back_n;
                o.fate = Narrow{min + 14, 20 * kMs};
                Pair p(o);
                p.open();
                p.recv(5000000);
                p.send(5000000);
                p.run([&] { return world_now(p.w) >= 20 * kMs; });
                ASSERT_LT(info_of(p, 1).rx_bytes, 5000000u);
                ASSERT_TRUE(p.run([&] { return p.all_done(); }, 10 * kS)) << p.state();
                EXPECT_EQ(p.sends[0][0].status, 0);
                EXPECT_EQ(info_of(p, 1).rx_bytes, 5000000u) << "bytes are placed twice";
                EXPECT_TRUE(p.finish()) << p.state();
            }
}

// A policer that passes one short packet at a time drops most of a burst that is counted in units
// as long as those that the receiver itself would send.
TEST_F(Hole, BurstsAreOfTheUnitsThatPass)
{
    constexpr double kRate_Bps = 4e6, kBucket_bytes = 1400;
    double tokens[2] = {kBucket_bytes, kBucket_bytes};
    uint64_t last[2] = {0, 0};
    PairOptions o;
    o.mtu = 65535;
    o.control_ns = kMs;
    o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f) {
        double came = kRate_Bps * double(now - last[from]) / double(kS);

        tokens[from] = std::min(kBucket_bytes, tokens[from] + came);
        last[from] = now;
        f->copies = m->pkt_len <= tokens[from];
        tokens[from] -= f->copies * m->pkt_len;
    };
    Pair p(o);
    p.open();
    p.recv(10000000);
    p.send(10000000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); }, 10 * kS)) << p.state();
    EXPECT_LE(info_of(p, 0).unit_bytes, kBucket_bytes);
    EXPECT_EQ(info_of(p, 1).unit_bytes, 65280u);
    EXPECT_TRUE(p.finish()) << p.state();
}

// A filter drops all DATA, down to sizes that every path carries.
TEST_F(Hole, APathWithoutDataIsNamed)
{
    for (uint64_t len : {0u, 1u, 300000u}) {
        PairOptions o;
        o.fate = [](uint32_t, rte_mbuf *m, uint64_t, world_fate *f) {
            const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

            if (m->pkt_len > 43 && p[12] == 8 && p[13] == 0 && (p[42] & 15) == WIRE_DATA)
                f->copies = 0;
        };
        Pair p(o);
        p.open();
        p.recv(len);
        p.recv(len);
        p.send(len);
        p.send(len);
        ASSERT_TRUE(p.run([&] { return p.sends[0][1].done && p.recvs[1][1].done; }, 10 * kS))
            << p.state();
        for (int i = 0; i < 2; i++) {
            EXPECT_EQ(p.sends[0][i].status, -ECOMM);
            EXPECT_EQ(p.recvs[1][i].status, -ECONNRESET);
        }
        p.close();
        EXPECT_TRUE(p.run([&] { return p.all_free(); }));
    }
}

// Losses that do not depend on size are no black hole, even if they are many, or come in runs.
TEST_F(Hole, LossAtRandomIsNone)
{
    for (uint64_t seed = 0; seed < 20; seed++)
        for (uint64_t len : {1408u, 100000u}) {
            struct rng r;
            uint64_t down_until = 0;
            PairOptions o;

            rng_init(&r, seed);
            o.fate = [&](uint32_t, rte_mbuf *, uint64_t now, world_fate *f) {
                if (now >= down_until && rng_below(&r, 2000) == 0)
                    down_until = now + rng_below(&r, 400 * kMs);
                if (now < down_until || rng_below(&r, 4) == 0)
                    f->copies = 0;
            };
            Pair p(o);
            p.open();
            for (int i = 0; i < 10; i++) {
                p.recv(len);
                p.send(len);
            }
            ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
            EXPECT_EQ(counter_of(p, 0, "units_cut"), 0u) << seed;
            EXPECT_EQ(info_of(p, 0).unit_bytes, 1408u);
        }
}

} // namespace
