// SPDX-License-Identifier: BSD-3-Clause
// A host has many senders, with unequal weights and demands. The host becomes half as fast, and
// fast again; then half of the senders pause, and come back. These steps come at several phases of
// the control interval.
//
// Some intervals and a round trip after a step, all must be settled. From then on, in each window,
// every sender is within 5 % of weighted max-min, no packet is dropped, and 95 % of the capacity is
// used. A window is four intervals long, or as long as 40 packets of one sender take.
#include <gtest/gtest.h>

#include <cstdio>
#include <tuple>

#include "crowd.hh"
#include "fair.hh"
#include "pair.hh"

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000000;
constexpr uint64_t kRtt = 100 * kUs;
constexpr uint64_t kAll = UINT64_MAX;
// Intervals until all is settled: after senders come or go; and after the host's own speed changes,
// since control has to measure it while the backlog drains.
constexpr uint32_t kOfSenders = 8, kOfSpeed = 32;

struct Scale {
    uint32_t senders, conns;
    uint64_t service_Bps;
    uint32_t ring;
    uint64_t window_ns; // in which rates are counted
    uint32_t windows;   // as many windows in sequence
    uint64_t interval_ns;
    double packets; // more or fewer in a window by chance
};

class StepWorld : public testing::TestWithParam<std::tuple<Scale, uint32_t>>
{
  protected:
    StepWorld() : scale(std::get<0>(GetParam())), phase(std::get<1>(GetParam()) / 20.), c(options())
    {
        double each = (double)scale.service_Bps / c.size();

        for (uint32_t i = 0; i < c.size(); i++) {
            uint32_t host = 1 + i / scale.conns;
            double weight = host == 1 ? 3 : host <= 6 ? 2 : 1;

            users.push_back({weight, i % 4 == 1 ? each * 0.6 : HUGE_VAL});
            on.push_back(true);
            begin(i);
        }
    }

    CrowdOptions options()
    {
        CrowdOptions o;
        const Scale s = std::get<0>(GetParam());
        double each = (double)s.service_Bps / (s.senders * s.conns);

        o.senders = s.senders;
        o.conns = s.conns;
        o.service_Bps = o.link_Bps = s.service_Bps;
        o.ring = s.ring;
        o.control_ns = s.interval_ns;
        o.piece_ns = s.senders > 2 ? 200 * kUs : 100 * kUs;
        o.depth = s.conns > 2 ? 4 : 8; // frames of these last for a millisecond or more
        /* 4 ms of requests under way, so that a pause shows within a few intervals */
        o.request_bytes = std::max<uint64_t>(1, (uint64_t)(each * 4e-3 / o.depth / 1408)) * 1408;
        o.peers = {{Crowd::address(1), 32, 0, 3, 0, 0, 0, 0},
                   {Crowd::address(1), 29, 0, 2, 0, 0, 0, 0}};
        return o;
    }

    void begin(uint32_t i)
    {
        c.demand(i, users[i].demand == HUGE_VAL ? kAll : (uint64_t)users[i].demand);
    }

    // Each sender's fair share of `capacity`.
    std::vector<double> ideal(double capacity)
    {
        std::vector<FairUser> u = users;

        for (size_t i = 0; i < u.size(); i++)
            u[i].demand = on[i] ? u[i].demand : 0;
        return fair_shares(u, capacity);
    }

    struct Found {
        double error = 0, most = 0, jain = 1, busy = 1;
    };

    // Measures one window, and keeps the worst values so far.
    void look(Found *f)
    {
        c.rates();
        c.busy();
        c.run(scale.window_ns);
        std::vector<double> r = c.rates();
        double busy = c.busy(), by_chance = scale.packets * 1408 * 1e9 / (double)scale.window_ns;
        std::vector<double> want = ideal(fair_sum(r) / busy);

        f->error = std::max(f->error, fair_error(r, want, by_chance));
        f->most = std::max(f->most, fair_error(r, want, 0));
        f->jain = std::min(f->jain, fair_jain(r, want));
        if (fair_sum(want) >= 0.99 * fair_sum(r) / busy) // else all demands are met
            f->busy = std::min(f->busy, busy);
    }

    // Judges a change that must be settled after so many intervals and a round trip.
    void judge(const char *what, uint32_t intervals)
    {
        c.run(intervals * scale.interval_ns + kRtt);
        uint64_t drops = c.overruns();
        Found f;

        for (uint32_t i = 0; i < scale.windows; i++)
            look(&f);
        uint64_t lost = c.overruns() - drops;
        bool met = f.error <= 0.05 && f.jain >= 0.99 && lost == 0 && f.busy >= 0.95;

        std::printf("  %5u  %4.2f   %-12s %8.2f %8.2f %9.4f %8lu %8.1f  %s\n", c.size(), phase,
                    what, 100 * f.error, 100 * f.most, f.jain, lost, 100 * f.busy,
                    met ? "met" : "MISSED");
        EXPECT_LE(f.error, 0.05) << what;
        EXPECT_GE(f.jain, 0.99) << what;
        EXPECT_EQ(lost, 0u) << what;
        EXPECT_GE(f.busy, 0.95) << what;
    }

    const Scale scale;
    const double phase; // of the interval, when a step comes
    std::vector<FairUser> users;
    std::vector<bool> on;
    Crowd c;
};

} // namespace

TEST_P(StepWorld, IsSharedAnew)
{
    std::printf("senders  phase  step          error %%  most %%    Jain    drops   used %%\n");
    c.run(25 * scale.interval_ns);
    judge("start", kOfSenders);
    c.run((uint64_t)((double)scale.interval_ns * phase));
    world_service(c.w, 0, scale.service_Bps / 2);
    judge("half speed", kOfSpeed);
    c.run((uint64_t)((double)scale.interval_ns * phase));
    world_service(c.w, 0, scale.service_Bps);
    judge("full speed", kOfSpeed);
    for (uint32_t i = 0; i < c.size(); i += 2) {
        on[i] = false;
        c.demand(i, 0);
    }
    c.run(4 * scale.interval_ns); // for requests that were under way
    judge("half pause", kOfSenders);
    for (uint32_t i = 0; i < c.size(); i += 2) {
        on[i] = true;
        begin(i);
    }
    judge("all again", kOfSenders);
}
INSTANTIATE_TEST_SUITE_P(
    Senders, StepWorld,
    testing::Combine(testing::Values(Scale{2, 1, 1250000000, 1024, 4 * kMs, 10, kMs, 2},
                                     Scale{16, 1, 1250000000, 1024, 4 * kMs, 10, kMs, 2}),
                     testing::Range(1u, 20u)));
INSTANTIATE_TEST_SUITE_P(Hundreds, StepWorld,
                         testing::Combine(testing::Values(Scale{128, 2, 1250000000, 1024, 12 * kMs,
                                                                10, kMs, 2}),
                                          testing::Values(1, 7, 10, 16, 19)));
INSTANTIATE_TEST_SUITE_P(Thousands, StepWorld,
                         testing::Combine(testing::Values(Scale{128, 32, 12500000000, 4096,
                                                                48 * kMs, 1, 4 * kMs, 3}),
                                          testing::Values(1, 16)));
