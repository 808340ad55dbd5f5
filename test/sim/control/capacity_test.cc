// SPDX-License-Identifier: BSD-3-Clause
// A host that is slower than its senders finds its capacity, and shares it.
#include <gtest/gtest.h>

#include <algorithm>

#include "crowd.hh"
#include "fair.hh"
#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kAll = UINT64_MAX;
constexpr double kPayload = 1416.0 / 1514; // of a full frame

class CapacityWorld : public WholePools, public testing::WithParamInterface<uint32_t>
{
  protected:
    // Checks that from now on, for a while, no packet is dropped (with a hundred senders, up to
    // 1/1000 of them), and that all of the capacity is used, in equal shares.
    void settled(Crowd &c, uint64_t service_Bps, const char *when)
    {
        uint64_t packets = service_Bps / 1514 * 40 / 1000;
        uint64_t before = c.overruns();

        c.rates();
        c.run(40 * kMs);
        std::vector<double> r = c.rates();
        host_capacity k = c.capacity();

        EXPECT_LE(c.overruns() - before, c.size() <= 16 ? 0 : packets / 1000) << when;
        EXPECT_GE(fair_sum(r), 0.95 * kPayload * (double)service_Bps) << when;
        EXPECT_GE(fair_jain(r), 0.99) << when;
        EXPECT_NEAR((double)k.measured_Bps, kPayload * (double)service_Bps,
                    0.05 * kPayload * (double)service_Bps)
            << when << ": " << k.why;
    }
};

} // namespace

// The host's speed falls to half and rises again. Four intervals later the speed is known and
// shared. A hundred senders get longer: each of them sends only a packet or ten in that time, and
// losses take longer to be found.
TEST_P(CapacityWorld, FollowsTheHost)
{
    CrowdOptions o;

    uint64_t settling = GetParam() <= 16 ? 4 * kMs : 12 * kMs;

    o.senders = GetParam();
    Crowd c(o);

    for (uint32_t i = 0; i < c.size(); i++) {
        c.demand(i, kAll);
        c.run(kMs / 2);
    }
    c.run(50 * kMs);
    settled(c, o.service_Bps, "start");
    world_service(c.w, 0, o.service_Bps / 2);
    c.run(settling);
    settled(c, o.service_Bps / 2, "half");
    world_service(c.w, 0, o.service_Bps);
    c.run(settling);
    settled(c, o.service_Bps, "again");
}
INSTANTIATE_TEST_SUITE_P(Senders, CapacityWorld, testing::Values(2, 16, 100));

// Losses of the path do not lower the host's capacity.
TEST_F(CapacityWorld, PathLossDoesNotLowerIt)
{
    CrowdOptions o;

    Crowd c(o);
    for (uint32_t i = 0; i < c.size(); i++)
        c.demand(i, kAll);
    c.run(50 * kMs);
    uint64_t before = c.capacity().measured_Bps;

    c.lose(0.05);
    c.run(200 * kMs);
    EXPECT_NEAR((double)c.capacity().measured_Bps, (double)before, 0.05 * (double)before)
        << c.capacity().why;
}

// A sender that asks for little gets it. The others share the rest.
TEST_F(CapacityWorld, DemandsAreMetFirst)
{
    CrowdOptions o;

    o.senders = 8;
    Crowd c(o);
    for (uint32_t i = 0; i < 8; i++)
        c.demand(i, i < 4 ? 25000000 * (i + 1) : kAll);
    c.run(100 * kMs);
    c.rates();
    c.busy();
    c.run(100 * kMs);
    std::vector<double> r = c.rates();
    // frames are not full, and there are many CNTL
    double busy = c.busy(), left = fair_sum(r) / busy - 250e6;

    EXPECT_GE(busy, 0.95);

    for (uint32_t i = 0; i < 4; i++)
        EXPECT_NEAR(r[i], 25e6 * (i + 1), 25e6 * (i + 1) * 0.05) << i;
    for (uint32_t i = 4; i < 8; i++)
        EXPECT_NEAR(r[i], left / 4, left / 4 * 0.05) << i;
}

// One of four senders pauses, and comes back.
TEST_F(CapacityWorld, APauseIsOthersGain)
{
    CrowdOptions o;

    o.senders = 4;
    Crowd c(o);
    for (uint32_t i = 0; i < 4; i++)
        c.demand(i, kAll);
    c.run(50 * kMs);
    double all = kPayload * (double)o.service_Bps;
    auto expect = [&](std::vector<double> want, const char *when) {
        c.run(6 * kMs); // 4 ms for requests under way, an interval, and a round trip
        c.rates();
        c.run(20 * kMs);
        std::vector<double> r = c.rates();

        for (size_t i = 0; i < 4; i++)
            EXPECT_NEAR(r[i], all * want[i], all * 0.02) << when << ": " << i;
    };

    expect({0.25, 0.25, 0.25, 0.25}, "before");
    c.demand(3, 0);
    expect({1. / 3, 1. / 3, 1. / 3, 0}, "while it pauses");
    c.demand(3, kAll);
    expect({0.25, 0.25, 0.25, 0.25}, "after");
}

// Weights, minimums, ceilings and priorities of peers, for connections and in sum.
TEST_F(CapacityWorld, PeersCountAsConfigured)
{
    constexpr uint64_t kM = 1000000;
    CrowdOptions o;

    o.senders = 6;
    o.capacity_Bps = 1000 * kM;
    /* 1 and 2: weight 3; 3: a ceiling; 4: a minimum; 5: the rest of the others; 6: none of these */
    o.peers = {{Crowd::address(1), 32, 0, 3, 0, 0, 0, 600 * kM},
               {Crowd::address(2), 32, 0, 3, 0, 0, 0, 0},
               {Crowd::address(3), 32, 0, 1, 0, 50 * kM, 0, 0},
               {Crowd::address(4), 32, 0, 1, 200 * kM, 0, 0, 0},
               {Crowd::address(5), 32, 3, 1, 20 * kM, 0, 0, 0}};
    Crowd c(o);
    for (uint32_t i = 0; i < 6; i++)
        c.demand(i, kAll);
    c.run(50 * kMs);
    c.rates();
    c.run(100 * kMs);
    std::vector<double> r = c.rates();
    const double level = (1000 - 50 - 200 - 20) / 7.;
    const double want[] = {3 * level, 3 * level, 50, 200, 20, level};

    for (size_t i = 0; i < 6; i++)
        EXPECT_NEAR(r[i] / 1e6, want[i], want[i] * 0.03 + 1) << i;
    EXPECT_STREQ(host_reason_name(c.info(2).rx_reason), "ceiling");
    EXPECT_STREQ(host_reason_name(c.info(3).rx_reason), "minimum");
    EXPECT_STREQ(host_reason_name(c.info(5).rx_reason), "capacity");
}

// A connection of a later priority gets what earlier ones leave. So does one that was idle.
TEST_F(CapacityWorld, ALaterPriorityGetsWhatIsLeft)
{
    constexpr uint64_t kM = 1000000;
    CrowdOptions o;

    o.capacity_Bps = 1000 * kM;
    o.peers = {{Crowd::address(2), 32, 3, 1, 0, 0, 0, 0}};
    Crowd c(o);
    for (uint64_t first : {kAll, 200 * kM, kAll}) {
        const double want = first == kAll ? 1000 : 200;

        c.demand(0, first);
        c.demand(1, kAll);
        c.run(50 * kMs);
        c.rates();
        c.run(100 * kMs);
        std::vector<double> r = c.rates();

        EXPECT_NEAR(r[0] / 1e6, want, want * 0.03);
        EXPECT_NEAR(r[1] / 1e6, 1000 - want, 35);
        EXPECT_LE((r[0] + r[1]) / 1e6, 1010);
    }
}

// Connections that use little are granted more than they use, but no more than their peer's ceiling
// in sum.
TEST_F(CapacityWorld, ACeilingInSumBindsConnectionsThatUseLittle)
{
    constexpr uint64_t kM = 1000000;
    CrowdOptions o;

    o.conns = 2;
    o.senders = 1;
    o.capacity_Bps = 1000 * kM;
    o.peers = {{Crowd::address(1), 32, 0, 1, 0, 0, 0, 100 * kM}};
    Crowd c(o);
    for (uint32_t i = 0; i < 2; i++)
        c.demand(i, 20 * kM);
    c.run(100 * kMs);
    for (int i = 0; i < 20; i++) {
        c.run(kMs);
        EXPECT_LE((double)(c.info(0).rx_rate_Bps + c.info(1).rx_rate_Bps) / 1e6, 101);
    }
    c.rates();
    c.run(100 * kMs);
    for (double rate : c.rates())
        EXPECT_NEAR(rate / 1e6, 20, 1);
}

// The share of each of many connections is a packet in 110 ms. They have no more between packets.
TEST_F(CapacityWorld, ManyConnectionsShareALittle)
{
    constexpr uint64_t kM = 1000000;
    CrowdOptions o;

    o.senders = 50;
    o.conns = 20;
    o.capacity_Bps = 25 * kM / 2;
    o.request_bytes = 65536;
    o.depth = 2;
    o.service_Bps = 0;
    o.ring = 0;
    o.silence_ms = 20000;
    Crowd c(o);
    for (uint32_t i = 0; i < c.size(); i++)
        c.demand(i, kAll);
    c.run(1000 * kMs);
    c.rates();
    c.run(1000 * kMs);
    double sum = 0;
    for (double rate : c.rates())
        sum += rate;
    EXPECT_LE(sum, 1.02 * (double)o.capacity_Bps);
    EXPECT_GE(sum, 0.9 * (double)o.capacity_Bps);
}
