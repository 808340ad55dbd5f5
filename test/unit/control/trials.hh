// SPDX-License-Identifier: BSD-3-Clause
// Trials of a path made by hand, and the states of the law that they lead to.
#ifndef SLUICE_TEST_UNIT_CONTROL_TRIALS_HH
#define SLUICE_TEST_UNIT_CONTROL_TRIALS_HH

#include <cmath>
#include <cstdint>

#include "delays.hh"

constexpr uint64_t kMs = 1000000, kS = 1000000000;
constexpr uint64_t kRtt = 40 * kMs, kSpan = 10 * kMs, kGBps = 1000000000;
constexpr uint64_t kUnit = 1000;

// A trial of 10 ms, sent and arrived at these rates, in a queue that does not change.
inline trial_result steady(uint64_t arrived_Bps, uint64_t sent_Bps, uint64_t queue_ns,
                           uint64_t lost = 0)
{
    trial_result t = {};

    t.packets = arrived_Bps / (kS / kSpan) / kUnit;
    t.bytes = t.packets * kUnit;
    t.lost = t.runs = lost;
    t.arrived_ns = kSpan;
    t.sent_ns = (uint64_t)((double)(t.packets + lost) * kUnit * 1e9 / (double)sent_Bps);
    t.min_ns = t.mean_ns = t.max_ns = queue_ns;
    return t;
}

inline pathrate fresh()
{
    pathrate p;

    pathrate_init(&p);
    return p;
}

inline bool update(pathrate *p, const trial_result &t, uint64_t grant)
{
    return pathrate_update(p, &t, grant, kRtt);
}

// The target that pathrate.h defines.
inline double target_of(double packet_ns, double rtt_ns)
{
    return packet_ns / 2 + rtt_ns / 12 * std::pow(10 * packet_ns / rtt_ns, 0.25);
}

// A trial that ends FREE: the delay is 50 ms, packets came at half the rate at which they were
// sent, and one was lost.
inline trial_result too_much()
{
    return steady(kGBps, 2 * kGBps, 50 * kMs, 1);
}

inline pathrate limited()
{
    pathrate p = fresh();

    update(&p, too_much(), kGBps);
    return p;
}

// The state after so many trials, too_much() included, that all met a queue of 50 ms. Each one is
// sent at the ceiling, which the trial before has lowered, and the queue does not get shorter. So a
// competitor fills it.
inline pathrate after_stuck(int trials)
{
    pathrate p = limited();

    for (int i = 1; i < trials; i++) {
        uint64_t rate = p.ceiling_Bps;

        update(&p, steady(rate, rate, 50 * kMs), rate);
    }
    return p;
}

#endif
