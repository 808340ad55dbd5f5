// SPDX-License-Identifier: BSD-3-Clause
// A sender that ignores its grants among senders that keep to them.
#include <gtest/gtest.h>

#include <algorithm>

#include "crowd.hh"
#include "fair.hh"
#include "pair.hh"
#include "whole_pools.hh"

namespace
{
constexpr uint64_t kMs = 1000000;
constexpr uint32_t kHonest = 9;

class Cheat : public WholePools
{
  protected:
    // Rates of the honest senders, in the mean of a second, and what the receiver dropped of
    // others.
    static std::vector<double> honest(double cheat, uint64_t *dropped)
    {
        CrowdOptions o;

        o.senders = kHonest + 1;
        o.service_Bps = 50000000;
        o.silence_ms = 200;
        o.drop_bytes = 64;
        o.cheat = cheat;
        Crowd c(o);

        for (uint32_t i = 0; i < c.size(); i++)
            c.demand(i, UINT64_MAX);
        c.run(2000 * kMs);
        c.rates();
        c.run(1000 * kMs);
        std::vector<double> r = c.rates();

        *dropped = host_counter_named(world_host(c.w, 0), "drop_over_grant");
        r.pop_back();
        return r;
    }
};
} // namespace

// Without a limit on what comes, the cheater would take most of the capacity, and the overruns that
// it causes would lower everybody's grants.
TEST_F(Cheat, TakesLittleFromHonestSenders)
{
    uint64_t none = 1, dropped = 0;
    const std::vector<double> alone = honest(1, &none), beside = honest(10, &dropped);

    EXPECT_EQ(none, 0u) << "packets of honest senders are dropped";
    EXPECT_GT(dropped, 1000u);
    EXPECT_GE(fair_sum(beside), 0.9 * fair_sum(alone));
    for (uint32_t i = 0; i < kHonest; i++)
        EXPECT_GE(beside[i], 0.9 * alone[i]) << i;
}
