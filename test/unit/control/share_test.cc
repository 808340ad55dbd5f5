// SPDX-License-Identifier: BSD-3-Clause
// Weighted max-min fair sharing, against water that is poured drop by drop, and against a model
// that finds levels by bisection in floating point.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "control/share.h"
}

namespace
{

using Flows = std::vector<share_flow>;
using Peers = std::vector<share_peer>;

share_flow flow(uint64_t demand, uint16_t weight = 1, uint64_t min = 0,
                uint64_t ceiling = UINT64_MAX, uint32_t peer = SHARE_NO_PEER, uint8_t priority = 0)
{
    share_flow f = {};

    f.demand_Bps = demand;
    f.min_Bps = min;
    f.ceiling_Bps = ceiling;
    f.weight = weight;
    f.peer = peer;
    f.priority = priority;
    return f;
}

void grant(Flows &f, uint64_t capacity, Peers *peers = nullptr)
{
    uint32_t n_peers = peers != nullptr ? (uint32_t)peers->size() : 0;
    std::vector<__int128> storage(share_storage_bytes((uint32_t)f.size()) / 16 + 1);
    struct share *s = share_init(storage.data(), (uint32_t)f.size());
    std::vector<size_t> order(f.size());
    Flows sorted;

    for (size_t i = 0; i < f.size(); i++)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::make_pair(f[a].priority, f[a].peer) < std::make_pair(f[b].priority, f[b].peer);
    });
    for (size_t i : order)
        sorted.push_back(f[i]);
    share_run(s, sorted.data(), (uint32_t)f.size(), n_peers > 0 ? peers->data() : nullptr, n_peers,
              capacity);
    for (size_t i = 0; i < f.size(); i++)
        f[order[i]] = sorted[i];
}

std::vector<uint64_t> grants(const Flows &f)
{
    std::vector<uint64_t> g;

    for (const share_flow &x : f)
        g.push_back(x.grant_Bps);
    return g;
}

uint64_t sum(const Flows &f)
{
    uint64_t all = 0;

    for (const share_flow &x : f)
        all += x.grant_Bps;
    return all;
}

// In each round, every flow that wants more gets one byte/s more, as long as that is enough for a
// whole round. So this is fairness without arithmetic.
std::vector<uint64_t> pour(const Flows &f, uint64_t capacity)
{
    std::vector<uint64_t> g(f.size(), 0);

    for (;;) {
        uint64_t thirsty = 0;

        for (size_t i = 0; i < f.size(); i++)
            thirsty += g[i] < f[i].demand_Bps;
        if (thirsty == 0 || thirsty > capacity)
            return g;
        capacity -= thirsty;
        for (size_t i = 0; i < f.size(); i++)
            g[i] += g[i] < f[i].demand_Bps;
    }
}

// ---- the model -------------------------------------------------------------------------------

struct Range {
    double low, high; // rates
    double weight;
    size_t flow;
};

double at_level(const Range &r, double level)
{
    return std::clamp(r.weight * level, r.low, r.high);
}

// The level at which the sum is the target, or as near to it as possible.
double find_level(const std::vector<Range> &v, double target)
{
    double low = 0, high = 1e18;

    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2, all = 0;

        for (const Range &r : v)
            all += at_level(r, middle);
        (all > target ? high : low) = middle;
    }
    return low;
}

double least(const std::vector<Range> &v)
{
    double all = 0;

    for (const Range &r : v)
        all += r.low;
    return all;
}

void relax(std::vector<Range> &v)
{
    for (Range &r : v) {
        r.high = r.low;
        r.low = 0;
    }
}

std::vector<double> model(const Flows &f, const Peers &peers, double capacity)
{
    std::vector<double> rates(f.size(), 0), had(peers.size(), 0);

    for (int priority = 0; priority < (int)SHARE_PRIORITIES; priority++) {
        std::vector<std::vector<Range>> groups(peers.size() + 1);
        std::vector<Range> all;
        double later = 0;

        for (size_t i = 0; i < f.size(); i++) {
            double high =
                (double)std::min({f[i].demand_Bps, f[i].ceiling_Bps, (uint64_t)SHARE_RATE_MAX_BPS});
            Range r = {std::min((double)f[i].min_Bps, high), high,
                       (double)std::max<uint16_t>(f[i].weight, 1), i};

            if (f[i].priority == priority)
                groups[f[i].peer == SHARE_NO_PEER ? peers.size() : f[i].peer].push_back(r);
            else if (f[i].priority > priority)
                later += r.low;
        }
        for (size_t p = 0; p < groups.size(); p++) {
            std::vector<Range> &g = groups[p];

            if (p < peers.size()) {
                double ceiling = std::max(0.0, (double)peers[p].ceiling_Bps - had[p]);
                double min = std::max(0.0, (double)peers[p].min_Bps - had[p]);

                if (least(g) > ceiling)
                    relax(g);
                double level = find_level(g, ceiling);
                for (Range &r : g)
                    r.high = at_level(r, level);
                level = find_level(g, min);
                for (Range &r : g)
                    r.low = at_level(r, level);
            }
            all.insert(all.end(), g.begin(), g.end());
        }
        double here = std::max(0.0, capacity - later);

        if (least(all) > here)
            relax(all);
        double level = find_level(all, here);

        for (const Range &r : all) {
            rates[r.flow] = at_level(r, level);
            capacity -= rates[r.flow];
            if (f[r.flow].peer != SHARE_NO_PEER)
                had[f[r.flow].peer] += rates[r.flow];
        }
    }
    return rates;
}

} // namespace

TEST(Share, NobodyOrNothing)
{
    Flows none, one = {flow(100)}, idle = {flow(0), flow(0)};

    grant(none, 100);
    grant(one, 0);
    EXPECT_EQ(one[0].grant_Bps, 0u);
    grant(one, 1000);
    EXPECT_EQ(one[0].grant_Bps, 100u);
    EXPECT_EQ(one[0].bound, SHARE_DEMAND);
    grant(idle, 1000);
    EXPECT_EQ(sum(idle), 0u);
}

TEST(Share, PouredWater)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 300; i++) {
        Flows f;
        uint64_t capacity = rng_below(&r, 3000);

        for (uint64_t k = 1 + rng_below(&r, 30); k > 0; k--)
            f.push_back(flow(rng_below(&r, 200)));
        grant(f, capacity);
        ASSERT_EQ(grants(f), pour(f, capacity)) << "capacity " << capacity;
    }
}

TEST(Share, WeightsMinimumsAndCeilings)
{
    Flows f = {flow(UINT64_MAX, 1), flow(UINT64_MAX, 3), flow(10), flow(UINT64_MAX, 1, 500),
               flow(UINT64_MAX, 9, 0, 90)};

    grant(f, 1000);
    EXPECT_EQ(grants(f), (std::vector<uint64_t>{100, 300, 10, 500, 90}));
    EXPECT_EQ(f[0].bound, SHARE_LEVEL);
    EXPECT_EQ(f[2].bound, SHARE_DEMAND);
    EXPECT_EQ(f[3].bound, SHARE_MINIMUM);
    EXPECT_EQ(f[4].bound, SHARE_CEILING);
}

TEST(Share, WhatIsReservedButNotUsedIsShared)
{
    Flows f = {flow(100, 1, 600), flow(UINT64_MAX), flow(UINT64_MAX)};

    grant(f, 1000);
    EXPECT_EQ(grants(f), (std::vector<uint64_t>{100, 450, 450}));
}

TEST(Share, MinimumsBeyondTheCapacityAreShared)
{
    Flows f = {flow(UINT64_MAX, 1, 100), flow(UINT64_MAX, 1, 800), flow(UINT64_MAX, 1, 900)};

    grant(f, 1000);
    EXPECT_EQ(grants(f), (std::vector<uint64_t>{100, 450, 450}));
}

TEST(Share, PeersHaveLimitsInSum)
{
    Peers p = {{0, 200, 0}, {600, UINT64_MAX, 0}, {0, UINT64_MAX, 0}};
    Flows f = {flow(UINT64_MAX, 1, 0, UINT64_MAX, 0), flow(UINT64_MAX, 3, 0, UINT64_MAX, 0),
               flow(UINT64_MAX, 1, 0, UINT64_MAX, 1), flow(UINT64_MAX, 1, 0, UINT64_MAX, 2),
               flow(UINT64_MAX)};

    grant(f, 1000, &p);
    EXPECT_EQ(grants(f), (std::vector<uint64_t>{50, 150, 600, 100, 100}));
    EXPECT_EQ(f[0].bound, SHARE_PEER);
    EXPECT_EQ(f[2].bound, SHARE_MINIMUM);
    EXPECT_EQ(p[0].grant_Bps, 200u);
    EXPECT_EQ(p[1].grant_Bps, 600u);
}

TEST(Share, PrioritiesGoFirstButForMinimums)
{
    Flows f = {flow(400, 1, 0, UINT64_MAX, SHARE_NO_PEER, 1),
               flow(500, 1, 0, UINT64_MAX, SHARE_NO_PEER, 0),
               flow(UINT64_MAX, 1, 150, UINT64_MAX, SHARE_NO_PEER, 7)};

    grant(f, 1000);
    EXPECT_EQ(grants(f), (std::vector<uint64_t>{350, 500, 150}));
}

// Rates from bytes to terabits, with any rules. The shares are the model's, except for rounding.
TEST(ShareProperty, AsTheModelSays)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int round = 0; round < 400; round++) {
        uint64_t n = 1 + rng_below(&r, round % 10 == 0 ? 500 : 40), n_peers = rng_below(&r, 6);
        auto rate = [&] { return rng_u64(&r) >> (16 + rng_below(&r, 48)); };
        Peers peers;
        Flows f;
        uint64_t rounding = n;

        for (uint64_t i = 0; i < n_peers; i++)
            peers.push_back(
                {rng_below(&r, 2) ? rate() >> 4 : 0, rng_below(&r, 2) ? rate() : UINT64_MAX, 0});
        for (uint64_t i = 0; i < n; i++) {
            f.push_back(flow(
                rng_below(&r, 3) ? rate() : UINT64_MAX,
                (uint16_t)(rng_below(&r, 2) ? 1 : 1 + rng_below(&r, 65535)),
                rng_below(&r, 4) ? 0 : rate() >> 6, rng_below(&r, 3) ? UINT64_MAX : rate(),
                n_peers > 0 && rng_below(&r, 2) ? (uint32_t)rng_below(&r, n_peers) : SHARE_NO_PEER,
                (uint8_t)(rng_below(&r, 3) ? 0 : rng_below(&r, SHARE_PRIORITIES))));
            rounding += f.back().weight / 64 + 1;
        }
        uint64_t capacity = rate();
        std::vector<double> want = model(f, peers, (double)capacity);

        grant(f, capacity, &peers);
        EXPECT_LE(sum(f), capacity + n / 4096 + (capacity >> 24) + 1);
        for (size_t i = 0; i < n; i++)
            ASSERT_NEAR((double)f[i].grant_Bps, want[i],
                        (double)rounding * f[i].weight + want[i] * 0x1p-23)
                << "flow " << i << " of " << n << ", round " << round;
    }
}

// The order of flows makes no difference, except for the last byte.
TEST(ShareProperty, OrderDecidesNothing)
{
    struct rng r;
    Flows f;

    rng_init(&r, test_seed());
    for (int i = 0; i < 1000; i++)
        f.push_back(flow(rng_u64(&r) >> (16 + rng_below(&r, 40)), (uint16_t)(1 + i % 7)));
    Flows g(f.rbegin(), f.rend());

    grant(f, 1ull << 40);
    grant(g, 1ull << 40);
    std::reverse(g.begin(), g.end());
    for (size_t i = 0; i < f.size(); i++)
        EXPECT_NEAR((double)f[i].grant_Bps, (double)g[i].grant_Bps, 1) << i;
    EXPECT_GE(sum(f), (1ull << 40) - 2000);
}
