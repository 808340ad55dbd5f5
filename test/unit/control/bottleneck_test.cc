// SPDX-License-Identifier: BSD-3-Clause
// Which connections share a link, given the rates, waits and losses of each test.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

extern "C" {
#include "control/bottleneck.h"
}

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr double kRtt = 10 * kMs, kAverage = 32 * kRtt;

struct Conn {
    uint64_t rate_Bps, wait_ns;
    uint32_t weight = 1;
    uint64_t lost_ppm = 0;
    bool looked_at = true;
    bool keeps = false;
    bottleneck_flow state = {};
};

class BottleneckRule : public testing::Test
{
  protected:
    // Intervals of a millisecond, for so long.
    void run(double ns)
    {
        for (double t = 0; t < ns; t += kMs) {
            bottleneck_begin(&b, kMs);
            for (Conn &c : conns) {
                bottleneck_sample s = {};

                s.wait_ns = c.wait_ns;
                s.lost_ppm = c.lost_ppm;
                s.rtt_ns = static_cast<uint64_t>(kRtt);
                s.rate_Bps = c.rate_Bps;
                s.unit_bytes = 1400;
                s.weight = c.weight;
                s.keeps = c.keeps;
                if (c.looked_at)
                    bottleneck_look(&b, &c.state, &s);
            }
        }
    }
    uint64_t fair(size_t i)
    {
        return bottleneck_fair(&b, &conns[i].state);
    }

    bottleneck b = {};
    std::vector<Conn> conns;
};

} // namespace

TEST_F(BottleneckRule, PartsAreByWeightAndTheirSumIsThatOfRates)
{
    conns = {{1000000, kMs, 1}, {5000000, kMs, 2}, {3000000, kMs, 3}};
    run(kMs);
    EXPECT_EQ(fair(0), 1500001u);
    EXPECT_EQ(fair(1), 3000001u);
    EXPECT_EQ(fair(2), 4500001u);
    run(10 * kAverage);
    EXPECT_EQ(fair(0), 1500001u) << "one that has less waits as long as the others";
}

TEST_F(BottleneckRule, NobodySharesAlone)
{
    conns = {{1000000, kMs}};
    run(kMs);
    EXPECT_EQ(fair(0), 0u);
    conns.push_back({1000000, kMs, 1, 0, false});
    run(kMs);
    EXPECT_EQ(fair(0), 0u) << "no path limits the other one";
    EXPECT_EQ(fair(1), 0u);
}

// A connection that keeps its rate has no part, and gives none. It is looked at all the same: its
// waits show that the other one has a link of its own.
TEST_F(BottleneckRule, OneThatKeepsItsRateHasNoPart)
{
    conns = {{1000000, kMs}, {5000000, kMs}, {3000000, kMs}};
    conns[1].keeps = true;
    run(kMs);
    EXPECT_EQ(fair(0), 2000001u);
    EXPECT_EQ(fair(1), 0u);
    EXPECT_EQ(fair(2), 2000001u);
    conns[2].keeps = true;
    run(kMs);
    EXPECT_EQ(fair(0), 0u) << "no other has a part";
    conns = {{1000000, 3 * kMs}, {5000000, kMs}};
    conns[1].keeps = true;
    run(2 * kAverage);
    conns[1].keeps = false;
    run(kMs);
    EXPECT_EQ(fair(0), 0u) << "it waits longer than the other one";
}

TEST_F(BottleneckRule, WhoHasLessAndWaitsLongerHasALinkOfItsOwn)
{
    conns = {{1000000, 3 * kMs}, {5000000, kMs}, {5000000, kMs}};
    run(kAverage - 2 * kMs);
    EXPECT_GT(fair(0), 0u) << "no full average yet";
    run(4 * kMs);
    EXPECT_EQ(fair(0), 0u);
    EXPECT_EQ(fair(1), 5000001u);
}

TEST_F(BottleneckRule, WhoHasMoreOrWaitsForLessStays)
{
    conns = {{9000000, 3 * kMs}, {5000000, kMs}, {5000000, kMs}};
    run(10 * kAverage);
    EXPECT_GT(fair(0), 0u) << "it has more, so it is lowered anyway";
    conns = {{1000000, 0}, {5000000, kMs}, {5000000, kMs}};
    run(10 * kAverage);
    EXPECT_GT(fair(0), 0u) << "it may not know all of the queue";
    // At 4 MB/s in all, one packet of each of the others takes 0.7 ms.
    conns = {{1000000, 1690000}, {2000000, 500000}, {2000000, 500000}};
    run(10 * kAverage);
    EXPECT_GT(fair(0), 0u) << "at most twice as long and two packets";
    conns[0].wait_ns = 1720000;
    run(10 * kAverage);
    EXPECT_EQ(fair(0), 0u);
}

TEST_F(BottleneckRule, WhoHasLessAndLosesMoreHasAPolicerOfItsOwn)
{
    conns = {{1000000, 0, 1, 200000}, {5000000, 0, 1, 60000}};
    run(kAverage + 2 * kMs);
    EXPECT_EQ(fair(0), 0u);
    conns = {{1000000, 0, 1, 180000}, {5000000, 0, 1, 60000}};
    run(10 * kAverage);
    EXPECT_GT(fair(0), 0u) << "this may be chance";
    conns = {{5000000, 0, 1, 500000}, {1000000, 0, 1, 0}};
    run(10 * kAverage);
    EXPECT_GT(fair(0), 0u) << "it has more, so it is lowered anyway";
}

// Each trial lasts for an average.
TEST_F(BottleneckRule, WhoLeftIsTriedAgainAndEachTimeLater)
{
    std::vector<double> apart;

    conns = {{1000000, 3 * kMs}, {5000000, kMs}};
    for (int k = 0; k < 10; k++) {
        double n = 0;

        run(kAverage + 2 * kMs);
        for (; fair(0) == 0; n += kMs)
            run(kMs);
        apart.push_back(n / kAverage);
    }
    for (size_t k = 0; k < apart.size(); k++)
        EXPECT_NEAR(apart[k], static_cast<double>(std::min(16 << k, 1024)), 0.1);
}

// After a pause, old values of a connection do not count.
TEST_F(BottleneckRule, WhatIsOldDoesNotCount)
{
    conns = {{1000000, 3 * kMs}, {5000000, kMs}};
    run(kAverage / 2);
    conns[0].looked_at = false;
    run(kAverage + 2 * kMs);
    EXPECT_EQ(fair(0), 0u);
    EXPECT_EQ(fair(1), 0u) << "no other connection shares with it meanwhile";
    conns[0].looked_at = true;
    conns[0].wait_ns = kMs;
    run(2 * kAverage);
    EXPECT_EQ(fair(0), 3000001u);
    conns[0].looked_at = false;
    run(kMs);
    conns[0].looked_at = true;
    run(kMs);
    EXPECT_EQ(fair(0), 3000001u) << "one interval is no pause";
}
