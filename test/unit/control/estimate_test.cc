// SPDX-License-Identifier: BSD-3-Clause
// The estimate against its rule in words, and in a loop with a link that carries so much.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "control/estimate.h"
}

namespace
{
constexpr uint64_t MS = 1000000; /* ns */
constexpr uint64_t UNIT = 1000;  /* bytes */
constexpr uint64_t GBPS = 125000000;
constexpr uint32_t QUIET = 16; /* intervals without a rise after a loss, and two round trips */

struct Interval {
    uint64_t bytes, units, lost, grant_Bps, interval_ns;
    uint32_t rtt_intervals;
};

void update(struct estimate *e, const Interval &i)
{
    estimate_update(e, i.bytes, i.units, i.lost, i.grant_Bps, i.interval_ns, i.rtt_intervals);
}

/* An interval of 1 ms in which so many units arrived and so many were lost. */
Interval ms_of(uint64_t units, uint64_t lost, uint64_t grant_Bps, uint32_t rtt_intervals = 1)
{
    return {units * UNIT, units, lost, grant_Bps, MS, rtt_intervals};
}

/* The rule, interval by interval, in doubles where it smooths. */
struct Model {
    uint64_t ceiling;
    double throughput = 0;
    uint64_t quiet = 0, units = 0, lost = 0;
    int falls = 0, rises = 0;

    explicit Model(uint64_t ceiling_Bps) : ceiling(ceiling_Bps)
    {
    }

    /* True if the ceiling is now to be the throughput. */
    bool step(const Interval &i)
    {
        double rate = (double)i.bytes * 1e9 / (double)i.interval_ns;

        throughput += (rate - throughput) / 8;
        if (quiet > 0) {
            if (--quiet == 0)
                units = lost = 0;
            return false;
        }
        units += i.units;
        lost += i.lost;
        if (units + lost >= 64) {
            bool obeyed = lost > (units + lost) / 64.0;

            units = lost = 0;
            if (obeyed) {
                quiet = QUIET + 2 * (uint64_t)i.rtt_intervals;
                falls++;
                return true;
            }
        }
        if (std::floor(rate) >= 3.0 * (double)(i.grant_Bps / 4) && ceiling < ESTIMATE_MAX_BPS) {
            ceiling += ceiling / 32 + 1;
            rises++;
        }
        return false;
    }
};

/* A link of so much capacity, a sender that fills its grant, and the way there and back. */
struct Loop {
    struct estimate e;
    std::deque<uint64_t> under_way; /* grants that the sender has not heard of yet */
    uint64_t link_Bps, due_Bps = 0; /* due: granted, less than a unit */
    uint64_t delivered = 0, dropped = 0, highest = 0;

    Loop(uint64_t link, uint64_t start_Bps, uint32_t rtt_ms)
        : under_way(rtt_ms, start_Bps), link_Bps(link)
    {
        estimate_init(&e, start_Bps);
    }

    void run(uint32_t intervals)
    {
        delivered = dropped = highest = 0;
        for (uint32_t i = 0; i < intervals; i++) {
            due_Bps += under_way.front();
            uint64_t sent = due_Bps / 1000 / UNIT; /* units in this millisecond */
            uint64_t arrives = std::min(sent, link_Bps / 1000 / UNIT);

            due_Bps -= sent * 1000 * UNIT;
            under_way.pop_front();
            update(&e,
                   ms_of(arrives, sent - arrives, e.ceiling_Bps, (uint32_t)under_way.size() + 1));
            under_way.push_back(e.ceiling_Bps);
            delivered += arrives * UNIT;
            dropped += (sent - arrives) * UNIT;
            highest = std::max(highest, e.ceiling_Bps);
        }
    }
};
} // namespace

TEST(Estimate, StartsAtWhatItIsTold)
{
    struct estimate e;

    estimate_init(&e, 12345678);
    EXPECT_EQ(e.ceiling_Bps, 12345678u);
    EXPECT_EQ(e.throughput_Bps, 0u);
    EXPECT_EQ(e.hold, 0u);
    EXPECT_EQ(e.bytes + e.units + e.lost, 0u);
}

TEST(Estimate, RisesByAThirtysecondWhileTheGrantIsUsed)
{
    struct estimate e;

    estimate_init(&e, 3200);
    update(&e, {3000, 3, 0, 4000, 1000000000, 1}); /* exactly 3/4 */
    EXPECT_EQ(e.ceiling_Bps, 3200u + 101u);
    update(&e, {2999, 3, 0, 4000, 1000000000, 1});
    EXPECT_EQ(e.ceiling_Bps, 3301u) << "less than 3/4 of the grant is no reason to rise";
}

TEST(Estimate, ObeysLossBeyondOneIn64)
{
    struct estimate e;

    estimate_init(&e, 100 * GBPS);
    for (int i = 0; i < 300; i++)
        update(&e, ms_of(126, 0, 200 * GBPS));
    update(&e, ms_of(126, 2, 200 * GBPS));
    EXPECT_EQ(e.ceiling_Bps, 100 * GBPS) << "one in 64 is repaired, not obeyed";
    update(&e, ms_of(125, 3, 200 * GBPS));
    EXPECT_EQ(e.ceiling_Bps, e.throughput_Bps);
    EXPECT_NEAR((double)e.ceiling_Bps, 126e6, 126e3) << "the rate of what arrived";
}

TEST(Estimate, JudgesOnlyWhenEnoughWasExpected)
{
    struct estimate e;

    estimate_init(&e, 100 * GBPS);
    update(&e, ms_of(0, 63, 200 * GBPS));
    EXPECT_EQ(e.ceiling_Bps, 100 * GBPS);
    update(&e, ms_of(1, 0, 200 * GBPS));
    EXPECT_LT(e.ceiling_Bps, 100 * GBPS) << "losses of earlier intervals count";
}

TEST(Estimate, NeverFallsBelowTheLeast)
{
    struct estimate e;

    estimate_init(&e, GBPS);
    update(&e, ms_of(0, 1000, GBPS));
    EXPECT_EQ(e.ceiling_Bps, ESTIMATE_MIN_BPS);
}

TEST(Estimate, StandsStillWhileItHolds)
{
    for (uint32_t rtt : {0u, 1u, 7u, 300u}) {
        struct estimate e;

        estimate_init(&e, 100 * GBPS);
        update(&e, ms_of(64, 64, GBPS, rtt));
        uint64_t fallen = e.ceiling_Bps;

        for (uint32_t i = 0; i < QUIET + 2 * rtt; i++) { /* neither down nor up */
            update(&e, ms_of(1000, i % 2 ? 1000 : 0, 0, rtt));
            ASSERT_EQ(e.ceiling_Bps, fallen) << "interval " << i << " after the fall";
        }
        update(&e, ms_of(1000, 0, 0, rtt));
        EXPECT_GT(e.ceiling_Bps, fallen) << "what was lost meanwhile is forgiven";
    }
}

TEST(Estimate, EndsAtTheMost)
{
    struct estimate e;

    estimate_init(&e, 1);
    for (int i = 0; i < 3000; i++)
        update(&e, ms_of(0, 0, 0));
    EXPECT_GE(e.ceiling_Bps, ESTIMATE_MAX_BPS);
    EXPECT_LE(e.ceiling_Bps, ESTIMATE_MAX_BPS + ESTIMATE_MAX_BPS / 32 + 1);
}

TEST(EstimateProperty, FollowsTheRuleIntervalByInterval)
{
    struct rng r;
    int falls = 0, rises = 0;

    rng_init(&r, test_seed());
    for (int world = 0; world < 300; world++) {
        struct estimate e;
        uint64_t start = (1 + rng_u64(&r)) >> (18 + rng_below(&r, 40));
        Model m(start);
        uint64_t busy = 1 + rng_below(&r, 200), lossy = rng_below(&r, 3);

        estimate_init(&e, start);
        for (int k = 0; k < 400; k++) {
            Interval i = ms_of(rng_below(&r, busy), 0, 0, (uint32_t)rng_below(&r, 6));

            i.interval_ns = MS / 2 + rng_below(&r, 2 * MS);
            i.lost = rng_below(&r, 8) < lossy ? rng_below(&r, 1 + i.units / 20) : 0;
            i.grant_Bps = rng_below(&r, 2) ? e.ceiling_Bps : rng_below(&r, 2 * busy * UNIT * 1000);
            uint64_t before = e.ceiling_Bps;

            update(&e, i);
            if (m.step(i)) {
                m.ceiling = std::max(e.throughput_Bps, (uint64_t)ESTIMATE_MIN_BPS);
            }
            ASSERT_EQ(e.ceiling_Bps, m.ceiling) << "world " << world << " interval " << k;
            ASSERT_NEAR((double)e.throughput_Bps, m.throughput, 16.0);
            ASSERT_EQ(e.hold, m.quiet);
            if (e.ceiling_Bps < before) {
                ASSERT_GT(e.hold, 0u) << "only a loss lowers";
            }
        }
        falls += m.falls;
        rises += m.rises;
    }
    EXPECT_GT(falls, 100);
    EXPECT_GT(rises, 1000);
}

/* The loop closed: whatever the start, it finds the link, fills it, and loses little. */
TEST(EstimateProperty, FindsWhatALinkCarries)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 60; i++) {
        uint64_t link = 50 * 1000 * UNIT + rng_below(&r, 2000 * 1000 * UNIT);
        uint64_t start = rng_below(&r, 2) ? 100 * GBPS : ESTIMATE_MIN_BPS * 10;
        uint32_t rtt_ms = 1 + (uint32_t)rng_below(&r, 20);
        Loop loop(link, start, rtt_ms);

        loop.run(4000);
        loop.run(4000);
        SCOPED_TRACE("link " + std::to_string(link) + " rtt " + std::to_string(rtt_ms));
        EXPECT_GT(loop.delivered, link * 4 / 100 * 95) << "4 seconds: the link is used";
        EXPECT_LT(loop.dropped, loop.delivered / 10);
        EXPECT_LT(loop.highest, link / 2 * 3);
    }
}

TEST(EstimateProperty, FollowsALinkThatShrinks)
{
    Loop loop(1000 * 1000 * UNIT, 100 * GBPS, 5);

    loop.run(4000);
    loop.link_Bps /= 10;
    loop.run(200);
    EXPECT_LT(loop.e.ceiling_Bps, loop.link_Bps * 2);
    loop.run(4000);
    EXPECT_GT(loop.delivered, loop.link_Bps * 4 / 100 * 95);
    EXPECT_LT(loop.dropped, loop.delivered / 20);
}
