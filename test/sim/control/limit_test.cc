// SPDX-License-Identifier: BSD-3-Clause
// Limits that applications set (host_limit()): what a limit leaves of the receiver's capacity is
// shared among the others, whichever end has set it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bytes.hh"
#include "crowd.hh"
#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kM = 1000000;
constexpr uint64_t kCapacity = 1000 * kM;
constexpr uint32_t kSenders = 4;

class Limit : public WholePools
{
  protected:
    static CrowdOptions options()
    {
        CrowdOptions o;

        o.senders = kSenders;
        o.capacity_Bps = kCapacity;
        return o;
    }

    // Max-min shares of the capacity, with these limits (0: none) as demands: the smallest is
    // served first, and gets no more than an equal part of what is left.
    static std::vector<double> shares(const std::vector<uint64_t> &limits)
    {
        std::vector<double> out(limits.size());
        std::vector<size_t> order(limits.size());
        double left = static_cast<double>(kCapacity);

        for (size_t i = 0; i < order.size(); i++)
            order[i] = i;
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return limits[a] - 1 < limits[b] - 1; });
        for (size_t k = 0; k < order.size(); k++) {
            double part = left / static_cast<double>(order.size() - k);
            uint64_t limit = limits[order[k]];

            out[order[k]] = limit == 0 ? part : std::min(part, static_cast<double>(limit));
            left -= out[order[k]];
        }
        return out;
    }

    /* What is received of connection i: its share, but no less than if the connections that
     * counted[] names as limited had these limits. */
    static void expect(Crowd &c, const std::vector<uint64_t> &limits,
                       const std::vector<uint64_t> &counted)
    {
        std::vector<double> want = shares(limits), least = shares(counted);

        c.run(60 * kMs);
        c.rates();
        c.run(100 * kMs);
        std::vector<double> r = c.rates();

        for (uint32_t i = 0; i < c.size(); i++) {
            double low = std::min(want[i], least[i]) / 1e6, high = want[i] / 1e6;

            EXPECT_GE(r[i] / 1e6, low * 0.97 - 1) << i;
            EXPECT_LE(r[i] / 1e6, high * 1.03 + 1) << i;
        }
    }
};

} // namespace

// Each connection has a limit or none, drawn at random, set by its sender or its receiver. They
// change while all of them send. The receiver does not know of a sender's limit: it counts with
// what comes, or, if that is 7/8 of the grant, with the grant.
TEST_F(Limit, TheRestIsSharedAmongTheOthers)
{
    uint64_t seed = test_seed();
    struct rng r;
    Crowd c(options());
    std::vector<uint64_t> limits(kSenders, 0), counted;

    rng_init(&r, seed);
    for (uint32_t i = 0; i < kSenders; i++)
        c.demand(i, UINT64_MAX);
    expect(c, limits, limits);
    for (int turn = 0; turn < 8; turn++) {
        std::string text;

        limits.assign(kSenders, 0);
        counted = limits;
        for (uint32_t i = 0; i < kSenders; i++) {
            bool sender = rng_below(&r, 2) == 0;

            if (rng_below(&r, 3) != 0)
                limits[i] = (10 + rng_below(&r, 390)) * kM;
            counted[i] = sender ? limits[i] * 8 / 7 : limits[i];
            c.limit_sender(i, sender ? limits[i] : 0);
            c.limit_receiver(i, sender ? 0 : limits[i]);
            text += " " + std::to_string(limits[i] / kM) + (sender ? " sender" : " receiver");
        }
        SCOPED_TRACE("turn " + std::to_string(turn) + " of SLUICE_SEED=" + std::to_string(seed) +
                     ":" + text);
        expect(c, limits, counted);
    }
}

// The receiver says why it grants no more, and an operator's rate does not lift the limit.
TEST_F(Limit, GoesBeforeAnOverride)
{
    Crowd c(options());
    struct host_override t = {};
    const std::vector<uint64_t> limits = {50 * kM, 0, 0, 0};

    for (uint32_t i = 0; i < kSenders; i++)
        c.demand(i, UINT64_MAX);
    c.limit_receiver(0, 50 * kM);
    expect(c, limits, limits);
    EXPECT_STREQ(host_reason_name(c.info(0).rx_reason), "limit");
    EXPECT_EQ(c.info(0).rx_rate_Bps, 50 * kM);
    t.rate_Bps = 400 * kM;
    for (uint32_t k = 0; k < kSenders; k++) {
        struct host_conn_info info;

        ASSERT_TRUE(host_conn_info(world_host(c.w, 0), k, &info));
        if (info.owner == 0) {
            ASSERT_EQ(host_control_override(world_control(c.w, 0), 0, k, &t), 0);
        }
    }
    expect(c, limits, limits);
}
