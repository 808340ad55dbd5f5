// SPDX-License-Identifier: BSD-3-Clause
// Shares of a link on a dumbbell: competitors alone, and one flow beside one TCP (CUBIC), with a
// queue of about a bandwidth-delay product.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "pair.hh"
#include "dumbbell.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, M = 1e6;

struct Place {
    double rate_bps, rtt_ns, queue; // queue: in bandwidth-delay products
    bool hystart;
    double settle_s, look_s;
    double poll_spread_ns; // 0: hosts poll all the time
};

// When the TCP begins, and when Sluice begins. The other one is alone until then.
struct Order {
    double tcp_s, sluice_s;
};

class Beside : public testing::TestWithParam<Place>
{
};

struct Shares {
    double sluice, tcp, worst; // of the link; worst: the smaller one in any 10 s
};

Shares share(const Place &p, const Order &order, uint64_t seed)
{
    const Pools &pools = Pools::get();
    DumbbellOptions o;
    Shares out = {0, 0, 1};

    o.rate_bps = p.rate_bps;
    o.rtt_ns = p.rtt_ns;
    o.queue_bytes = p.rate_bps / 8 * p.rtt_ns / kS * p.queue;
    o.competitors = {{order.tcp_s * kS + (double)seed * 7.3 * kMs}};
    o.hystart = p.hystart;
    o.poll_spread_ns = p.poll_spread_ns;
    o.seed = seed;
    Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});
    s.run(order.sluice_s * kS);
    s.start(0);
    s.run(p.settle_s * kS);
    uint64_t sluice = s.info(0).rx_bytes, tcp = s.tcp_bytes(0);
    double link = p.rate_bps / 8 * p.look_s;
    for (double t = 0; t < p.look_s; t += 10) {
        uint64_t a = s.info(0).rx_bytes, b = s.tcp_bytes(0);

        s.run(10 * kS);
        double least = (double)std::min(s.info(0).rx_bytes - a, s.tcp_bytes(0) - b);
        out.worst = std::min(out.worst, least * 8 / p.rate_bps / 10);
    }
    out.sluice = (double)(s.info(0).rx_bytes - sluice) * 1514 / 1408 / link;
    out.tcp = (double)(s.tcp_bytes(0) - tcp) * 1514 / 1460 / link;
    return out;
}

} // namespace

// A competitor that is alone on the link uses the link, whatever its law.
TEST(Dumbbell, CompetitorsOfEachLaw)
{
    const Pools &pools = Pools::get();

    for (uint32_t law = 0; law < TCP_LAWS; law++) {
        DumbbellOptions o;

        o.rate_bps = 300 * M;
        o.rtt_ns = 10 * kMs;
        o.queue_bytes = 375000;
        o.competitors = {{0.1 * kS, static_cast<tcp_law_kind>(law)}};
        Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});
        s.run(0.1 * kS);
        EXPECT_EQ(s.tcp_bytes(0), 0u);
        s.run(2 * kS);
        uint64_t bytes = s.tcp_bytes(0);
        s.run(2 * kS);
        EXPECT_GE((double)(s.tcp_bytes(0) - bytes) * 8 * 1514 / 1460 / 2, 0.9 * o.rate_bps)
            << tcp_law_name((tcp_law_kind)law);
    }
}

TEST_P(Beside, EachGetsAQuarter)
{
    const Place &p = GetParam();

    for (const Order &o : {Order{5, 0}, Order{0, 5}, Order{0, 0.1}})
        for (uint64_t seed = 1; seed <= 2; seed++) {
            Shares s = share(p, o, seed);

            std::printf(
                "  %4.0f Mbit/s %4.0f ms  queue %3.1f  %-7s  polls %3.1f ms  TCP from "
                "%3.1f s, Sluice %3.1f s: Sluice %5.1f %%, TCP %5.1f %%, at worst %5.1f %%: %s\n",
                p.rate_bps / M, p.rtt_ns / kMs, p.queue, p.hystart ? "hystart" : "",
                p.poll_spread_ns / kMs, o.tcp_s, o.sluice_s, 100 * s.sluice, 100 * s.tcp,
                100 * s.worst, std::min(s.sluice, s.tcp) >= 0.25 ? "met" : "MISSED");
            EXPECT_GE(s.sluice, 0.25);
            EXPECT_GE(s.tcp, 0.25);
            EXPECT_GE(s.sluice + s.tcp, 0.9);
        }
}
INSTANTIATE_TEST_SUITE_P(Places, Beside,
                         testing::Values(Place{100 * M, 40 * kMs, 1, true, 15, 60, 0},
                                         Place{100 * M, 40 * kMs, 1, true, 15, 60, 0.2 * kMs}));
// These run for too long, or are known to miss the bar: --gtest_also_run_disabled_tests
INSTANTIATE_TEST_SUITE_P(DISABLED_More, Beside,
                         testing::Values(Place{100 * M, 40 * kMs, 1, false, 15, 60, 0},
                                         Place{10 * M, 40 * kMs, 1, true, 20, 100, 0},
                                         Place{100 * M, 10 * kMs, 1, true, 10, 60, 0},
                                         Place{50 * M, 100 * kMs, 1, true, 30, 100, 0},
                                         Place{400 * M, 20 * kMs, 1, true, 15, 60, 0},
                                         Place{100 * M, 40 * kMs, 2, true, 20, 60, 0},
                                         Place{100 * M, 40 * kMs, 0.5, true, 20, 60, 0}));
