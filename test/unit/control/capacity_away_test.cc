// SPDX-License-Identifier: BSD-3-Clause
// A host whose worker loses its core again and again, for random times. Its capacity is the rate at
// which it receives while it has the core.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../base/draw.hh"
#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "control/capacity.h"
}

namespace
{

constexpr double kFrame = 1400;   // user bytes
constexpr double kStep = 1e-6;    // s
constexpr double kControl = 1e-3; // s
constexpr int kBurst = 32;

// One worker with its port, and one sender that uses all of its grant. As in sluiced, a poll and
// its bytes count when it begins, and its time when it ends. The drops of the port are read once in
// look_every intervals. Grants leave only while the worker has its core.
class Host
{
  public:
    Host(double service_Bps, double link_Bps, int ring, int look_every)
        : service_Bps(service_Bps), link_Bps(link_Bps), ring(ring), look_every(look_every)
    {
        capacity_init(&capacity);
    }

    // Runs for so long. away: the worker has no core. silent: the sender sends nothing.
    void run(double seconds, bool away, bool silent)
    {
        for (int steps = (int)(seconds / kStep); steps > 0; steps--) {
            if (!silent)
                arrive();
            if (!away)
                work();
            if ((control_left -= kStep) <= 0)
                control();
        }
    }

    double received = 0, missed = 0; // bytes, packets
    struct capacity capacity;

  private:
    void arrive()
    {
        owed += std::min(rate_Bps, link_Bps) * kStep / kFrame;
        for (; owed >= 1; owed--) {
            if (waiting < ring)
                waiting++;
            else
                missed++;
        }
    }
    void work()
    {
        if (burst > 0) {
            spent += kStep;
            if (spent < burst * kFrame / service_Bps)
                return;
            busy += spent;
            burst = 0;
        }
        rate_Bps = granted_Bps;
        burst = std::min(waiting, kBurst);
        waiting -= burst;
        received += burst * kFrame;
        bursts += burst > 0;
        full += burst == kBurst;
        spent = 0;
    }
    void control()
    {
        capacity_sample s = {};

        control_left += kControl;
        s.interval_ns = (uint64_t)(kControl * 1e9);
        s.rx_bytes = (uint64_t)(received - seen.received);
        if (++looks % look_every == 0) {
            s.overruns = (uint64_t)(missed - seen.missed);
            seen.missed = missed;
        }
        s.busy = (uint64_t)((busy - seen.busy) * 1e9);
        s.time = s.interval_ns;
        s.bursts = bursts - seen.bursts;
        s.full = full - seen.full;
        s.hungry = true;
        seen = {received, seen.missed, busy, bursts, full};
        capacity_update(&capacity, &s);
        granted_Bps = (double)std::min<uint64_t>(capacity_grant(&capacity), CAPACITY_MAX_BPS);
    }

    const double service_Bps, link_Bps;
    const int ring, look_every;
    double rate_Bps = 1e12, granted_Bps = 1e12, owed = 0, busy = 0, spent = 0,
           control_left = kControl;
    int waiting = 0, burst = 0, looks = 0;
    uint64_t bursts = 0, full = 0;
    struct {
        double received, missed, busy;
        uint64_t bursts, full;
    } seen = {};
};

} // namespace

// The host uses nearly all of the time in which it has its core. It loses some to the wait for the
// first packets of a grant, if its ring holds less than an interval of packets.
TEST(CapacityAway, TheRestOfTheTimeIsUsed)
{
    constexpr double kSettling = 0.1, kAll = 0.4; // s with the core
    rng r;

    rng_init(&r, test_seed());
    for (int round = 0; round < 300; round++) {
        double service = draw(&r, 20e6, 6.6), link = service * draw(&r, 1.2, 2.8);
        double away_max = draw(&r, 100e-6, 7.6), there_mean = draw(&r, 500e-6, 5.3);
        int ring = (int)draw(&r, 256, 4);
        Host h(service, link, ring, 1 + (int)rng_below(&r, 10));
        double there = 0, before = 0;

        while (there < kAll) {
            double stays = draw(&r, there_mean / 4, 4);

            if (there >= kSettling && before == 0) {
                before = h.received;
                there = kSettling;
            }
            h.run(stays, false, false);
            there += stays;
            h.run(away_max * std::exp2(-draw(&r, 0.01, 9.3)), true, false);
            if (rng_below(&r, 4) == 0)
                h.run(draw(&r, 100e-6, 7), false, true);
        }
        double share = (h.received - before) / (service * (there - kSettling));
        double ring_s = ring * kFrame / service;

        EXPECT_GE(share, ring_s >= kControl ? 0.92 : 0.75)
            << service << " B/s, link " << link << " B/s, ring " << ring << " packets, away up to "
            << away_max << " s, there " << there_mean << " s";
    }
}
