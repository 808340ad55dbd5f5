// SPDX-License-Identifier: BSD-3-Clause
// Overrides that an operator sets for single connections while they send (host_control_override()).
#include <gtest/gtest.h>

#include <cerrno>

#include "crowd.hh"
#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kM = 1000000;
constexpr uint64_t kAll = UINT64_MAX;

class Override : public WholePools
{
  protected:
    static CrowdOptions options(uint32_t senders)
    {
        CrowdOptions o;

        o.senders = senders;
        o.capacity_Bps = 1000 * kM;
        return o;
    }

    // The receiver's number of connection i.
    static uint32_t number(Crowd &c, uint32_t i)
    {
        struct host_conn_info info;

        for (uint32_t k = 0; k < host_conn_limit(world_host(c.w, 0)); k++)
            if (host_conn_info(world_host(c.w, 0), k, &info) && info.owner == i)
                return k;
        ADD_FAILURE() << "connection " << i << " is not there";
        return 0;
    }

    static int set(Crowd &c, uint32_t i, const struct host_override &t)
    {
        return host_control_override(world_control(c.w, 0), 0, number(c, i), &t);
    }

    static struct host_override get(Crowd &c, uint32_t i)
    {
        struct host_override t;

        host_control_overrides(world_control(c.w, 0), 0, number(c, i), &t);
        return t;
    }

    static void expect(Crowd &c, const std::vector<double> &want, const char *when)
    {
        c.run(50 * kMs);
        c.rates();
        c.run(100 * kMs);
        std::vector<double> r = c.rates();

        for (size_t i = 0; i < want.size(); i++)
            EXPECT_NEAR(r[i] / 1e6, want[i], want[i] * 0.03 + 1) << when << ": " << i;
    }
};

} // namespace

TEST_F(Override, RatesCeilingsAndWeightsHoldWhileTheyStand)
{
    Crowd c(options(4));
    struct host_override t = {};

    for (uint32_t i = 0; i < 4; i++)
        c.demand(i, kAll);
    expect(c, {250, 250, 250, 250}, "before");
    t.rate_Bps = 400 * kM;
    ASSERT_EQ(set(c, 0, t), 0);
    expect(c, {400, 200, 200, 200}, "a rate");
    EXPECT_EQ(c.info(0).rx_rate_Bps, 400 * kM) << "not the reserved rate";
    t = {};
    t.ceiling_Bps = 60 * kM;
    ASSERT_EQ(set(c, 1, t), 0);
    expect(c, {400, 60, 270, 270}, "a ceiling");
    EXPECT_STREQ(host_reason_name(c.info(1).rx_reason), "ceiling");
    t = {};
    t.weight = 5;
    ASSERT_EQ(set(c, 2, t), 0);
    expect(c, {400, 60, 450, 90}, "a weight");
    EXPECT_EQ(get(c, 2).weight, 5);
    t = {};
    for (uint32_t i = 0; i < 3; i++)
        ASSERT_EQ(set(c, i, t), 0);
    expect(c, {250, 250, 250, 250}, "after");
}

/* An override goes before the limits of the connection's peer. */
TEST_F(Override, GoesBeforeItsPeers)
{
    CrowdOptions o = options(2);

    o.peers = {{Crowd::address(1), 32, 0, 3, 0, 50 * kM, 0, 0}};
    Crowd c(o);
    struct host_override t = {};

    c.demand(0, kAll);
    c.demand(1, kAll);
    expect(c, {50, 950}, "as configured");
    t.ceiling_Bps = 300 * kM;
    ASSERT_EQ(set(c, 0, t), 0);
    expect(c, {300, 700}, "as set");
}

TEST_F(Override, BurstsAreAsSet)
{
    Crowd c(options(2));
    struct host_override t = {};

    c.demand(0, kAll);
    c.demand(1, kAll);
    c.run(20 * kMs);
    t.burst_bytes = 12345;
    ASSERT_EQ(set(c, 0, t), 0);
    c.run(20 * kMs);
    EXPECT_EQ(c.info(0).rx_burst_bytes, 12345u);
    EXPECT_NE(c.info(1).rx_burst_bytes, 12345u);
    t.burst_bytes = 1;
    ASSERT_EQ(set(c, 0, t), 0);
    c.run(20 * kMs);
    EXPECT_EQ(c.info(0).rx_burst_bytes, c.info(0).unit_bytes) << "less than a packet";
    c.rates();
    c.run(20 * kMs);
    EXPECT_GT(c.rates()[0], 0);
}

TEST_F(Override, MoreThanThereIsIsRefused)
{
    Crowd c(options(3));
    struct host_override t = {};

    for (uint32_t i = 0; i < 3; i++)
        c.demand(i, kAll);
    c.run(20 * kMs);
    t.rate_Bps = 1001 * kM;
    EXPECT_EQ(set(c, 0, t), -ENOSPC);
    t.rate_Bps = 600 * kM;
    EXPECT_EQ(set(c, 0, t), 0);
    t.rate_Bps = 401 * kM;
    EXPECT_EQ(set(c, 1, t), -ENOSPC);
    EXPECT_EQ(get(c, 1).rate_Bps, 0u) << "a refused override changes something";
    t.rate_Bps = 400 * kM;
    EXPECT_EQ(set(c, 1, t), 0);
    t.rate_Bps = 500 * kM;
    EXPECT_EQ(set(c, 0, t), 0) << "a lower rate is refused";
    EXPECT_EQ(host_control_override(world_control(c.w, 0), 0, 3, &t), -ENOENT);
    EXPECT_EQ(host_control_override(world_control(c.w, 0), 1, 0, &t), -ENOENT) << "no such worker";
    EXPECT_EQ(host_control_override(world_control(c.w, 0), 0, UINT32_MAX, &t), -ENOENT);
}
