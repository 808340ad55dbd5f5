// SPDX-License-Identifier: BSD-3-Clause
// Shares of connections of one host that have a link in common, or seem to. Links, round trips and
// queues are drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "../unit/base/draw.hh"
#include "../unit/base/seed.h"
#include "fair.hh"
#include "pair.hh"
#include "dumbbell.hh"
#include "whole_pools.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, kM = 1e6;
constexpr double kSettle = 200, kLook = 150; // in longest round trips
constexpr uint32_t kWorlds = 12;

double longest_ns(const DumbbellOptions &o)
{
    double most = 0;

    for (const DumbbellAccess &a : o.access)
        most = std::max(most, a.rtt_ns);
    return std::max(o.rtt_ns + most, 5 * kMs);
}

// Each sender's rate in the end, in bits of full frames a second.
std::vector<double> rates(const DumbbellOptions &o)
{
    const Pools &pools = Pools::get();
    Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});
    std::vector<double> had;

    for (uint32_t i = 0; i < o.senders; i++) {
        s.start(i);
        s.run(2 * longest_ns(o)); // so that they are accepted in this order
    }
    s.run(kSettle * longest_ns(o));
    for (uint32_t i = 0; i < o.senders; i++)
        had.push_back(static_cast<double>(s.info(i).rx_bytes));
    s.run(kLook * longest_ns(o));
    for (uint32_t i = 0; i < o.senders; i++)
        had[i] = (static_cast<double>(s.info(i).rx_bytes) - had[i]) * 8e9 /
                 (kLook * longest_ns(o)) * Dumbbell::kFrame / Dumbbell::kPayload;
    return had;
}

double sum_of(const std::vector<double> &had)
{
    return std::accumulate(had.begin(), had.end(), 0.0);
}

DumbbellOptions dumbbell(rng *r)
{
    DumbbellOptions o;

    o.rate_bps = draw(r, 20 * kM, 3);
    o.rtt_ns = draw(r, 2 * kMs, 3);
    o.queue_bytes = std::max(8 * Dumbbell::kFrame, draw(r, 1, 2) * o.rate_bps / 8 * o.rtt_ns / kS);
    o.seed = rng_below(r, 1000000);
    return o;
}

class Bottleneck : public WholePools
{
  protected:
    void SetUp() override
    {
        rng_init(&r, test_seed());
    }
    rng r;
};

} // namespace

TEST_F(Bottleneck, IsSharedWhateverTheRoundTrips)
{
    double index = 0, used = 0;

    for (uint32_t k = 0; k < kWorlds; k++) {
        DumbbellOptions o = dumbbell(&r);

        o.senders = 2 + static_cast<uint32_t>(rng_below(&r, 5));
        for (uint32_t i = 0; i < o.senders; i++)
            o.access.push_back({0, i == 0 ? 0 : i == 1 ? 9 * o.rtt_ns : draw(&r, 3, 3) * o.rtt_ns});
        std::vector<double> had = rates(o);

        std::printf("  %5.1f Mbit/s, %4.1f to %5.1f ms, %u senders: %5.1f %%, Jain %.3f\n",
                    o.rate_bps / kM, o.rtt_ns / kMs, longest_ns(o) / kMs, o.senders,
                    100 * sum_of(had) / o.rate_bps, fair_jain(had));
        index += fair_jain(had) / kWorlds;
        used += sum_of(had) / o.rate_bps / kWorlds;
    }
    EXPECT_GE(index, 0.95);
    EXPECT_GE(used, 0.95);
}

// Each connection has a link of its own. No two of these links are taken for one.
TEST_F(Bottleneck, IsNotSeenWhereEachHasItsOwn)
{
    double used = 0, least = 1;

    for (uint32_t k = 0; k < kWorlds; k++) {
        DumbbellOptions o = dumbbell(&r);

        o.senders = 2 + static_cast<uint32_t>(rng_below(&r, 3));
        for (uint32_t i = 0; i < o.senders; i++)
            o.access.push_back({draw(&r, 4 * kM, 6), draw(&r, 1, 3) * o.rtt_ns});
        o.rate_bps = 1000 * kM;
        o.queue_bytes = o.rate_bps / 8 * o.rtt_ns / kS;
        std::vector<double> had = rates(o);

        for (uint32_t i = 0; i < o.senders; i++) {
            double part = had[i] / o.access[i].rate_bps;

            std::printf("  %s%.1f Mbit/s: %.1f %%%s", i == 0 ? "" : ", ", o.access[i].rate_bps / kM,
                        100 * part, i + 1 < o.senders ? "" : "\n");
            used += part / o.senders / kWorlds;
            least = std::min(least, part);
        }
    }
    EXPECT_GE(used, 0.95);
    EXPECT_GE(least, 0.85);
}

// A policer shows no queue. The rate of one connection behind it must not hold back another
// connection.
TEST_F(Bottleneck, IsNoPolicerOfAnother)
{
    double used = 0, own = 0;

    for (uint32_t k = 0; k < kWorlds; k++) {
        DumbbellOptions o = dumbbell(&r);

        o.senders = 2;
        o.access = {{draw(&r, 1 * kM, 2), o.rtt_ns, true}, {o.rate_bps, o.rtt_ns}};
        o.rate_bps = 1000 * kM;
        std::vector<double> had = rates(o);

        std::printf("  %4.1f Mbit/s policed: %5.1f %%; %5.1f Mbit/s beside it: %5.1f %%\n",
                    o.access[0].rate_bps / kM, 100 * had[0] / o.access[0].rate_bps,
                    o.access[1].rate_bps / kM, 100 * had[1] / o.access[1].rate_bps);
        own += had[0] / o.access[0].rate_bps / kWorlds;
        used += had[1] / o.access[1].rate_bps / kWorlds;
    }
    EXPECT_GE(own, 0.8);
    EXPECT_GE(used, 0.95);
}

// One connection has less than its part because of a link of its own. It uses all of that link, and
// the others share the rest.
TEST_F(Bottleneck, LeavesOutWhoIsLimitedElsewhere)
{
    double index = 0, used = 0, own = 0;

    for (uint32_t k = 0; k < kWorlds; k++) {
        DumbbellOptions o = dumbbell(&r);
        double narrow = o.rate_bps * draw(&r, 0.14, 1.4);

        o.senders = 3;
        o.access = {{narrow, o.rtt_ns}, {0, draw(&r, 1, 2) * o.rtt_ns}, {0, o.rtt_ns}};
        std::vector<double> had = rates(o), others(had.begin() + 1, had.end());

        std::printf("  %5.1f Mbit/s, one has %4.1f: it uses %5.1f %%, all %5.1f %%, Jain %.3f\n",
                    o.rate_bps / kM, narrow / kM, 100 * had[0] / narrow,
                    100 * sum_of(had) / o.rate_bps, fair_jain(others));
        index += fair_jain(others) / kWorlds;
        used += sum_of(had) / o.rate_bps / kWorlds;
        own += had[0] / narrow / kWorlds;
    }
    EXPECT_GE(index, 0.95);
    EXPECT_GE(used, 0.95);
    EXPECT_GE(own, 0.8);
}
