// SPDX-License-Identifier: BSD-3-Clause
// What control measures of a host, interval by interval.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "host.hh"

extern "C" {
#include "base/clock.h"
}

namespace
{
constexpr uint64_t kIntervalNs = 1000000; // host_config_make(): a tick is a nanosecond
constexpr uint64_t kRateBps = 800000000;
constexpr uint64_t kBytes = kRateBps / (CLOCK_NS_PER_S / kIntervalNs); // of an interval

class ControlSample : public testing::Test
{
  protected:
    void TearDown() override
    {
        stop();
    }

    void start(uint8_t workers)
    {
        char err[200] = "";

        for (uint8_t k = 0; k < workers; k++)
            hosts.push_back(host_make(host_config_make(16, k)));
        c = host_control_create(hosts.data(), workers, now, err, sizeof err);
        ASSERT_NE(c, nullptr) << err;
    }

    void stop()
    {
        host_control_destroy(c);
        for (host *h : hosts)
            host_destroy(h);
        c = nullptr;
        hosts.clear();
        port = {};
    }

    // A worker that is busy for a share of the interval. `full`: its bursts. What it receives and
    // sends belongs to connections that are over by the end of the interval.
    void work(size_t worker, double busy, bool full, uint64_t rx_bytes, uint64_t tx_bytes = 0)
    {
        host_work *w = &port.worker[worker];

        w->busy += (uint64_t)(busy * kIntervalNs);
        w->bursts += 20;
        w->full += full ? 20 : 0;
        host_count_bytes(hosts[worker], COUNT_rx_payload_bytes, rx_bytes);
        host_count_bytes(hosts[worker], COUNT_tx_payload_bytes, tx_bytes);
    }

    host_capacity interval(uint64_t dropped)
    {
        host_capacity out = {};

        now += kIntervalNs;
        port.time += kIntervalNs;
        port.imissed += dropped;
        host_control(c, &port, now);
        host_control_capacity(c, &out);
        return out;
    }

    std::vector<host *> hosts;
    struct host_control *c = nullptr;
    struct host_port_counters port = {};
    uint64_t now = kIntervalNs;
};
} // namespace

TEST_F(ControlSample, CountsConnectionsThatEndWithinAnInterval)
{
    host_capacity out = {};

    start(1);
    for (int i = 0; i < 8; i++) {
        work(0, 1, true, kBytes);
        out = interval(1);
    }
    EXPECT_STREQ(out.why, "overrun");
    EXPECT_EQ(out.measured_Bps, kRateBps);
}

// All flows come to one worker. That the others have time does not help.
TEST_F(ControlSample, TheBusiestWorkerLimits)
{
    for (uint8_t workers : {1, 2, 4}) {
        host_capacity out = {};

        start(workers);
        for (int i = 0; i < 8; i++) {
            work(workers - 1, 1, true, kBytes);
            for (size_t k = 0; k + 1 < workers; k++)
                work(k, 0.01, false, 0);
            out = interval(1);
        }
        EXPECT_EQ(out.measured_Bps, kRateBps) << (int)workers << " workers";
        stop();
    }
}

// A worker spends all its time, for it sends what it can. What comes is taken at once, in short
// bursts. That less comes from time to time is no sign of a slow host.
TEST_F(ControlSample, WorkOfSendingIsNoOverload)
{
    host_capacity out = {};

    start(1);
    host_control_set_link(c, 2 * kRateBps);
    for (int i = 0; i < 64; i++) {
        work(0, 1, false, i % 16 < 8 ? kBytes / 4 : kBytes / 100, kBytes);
        out = interval(0);
        EXPECT_STREQ(out.why, "unknown") << "interval " << i;
    }
    EXPECT_EQ(out.overruns, 0u);
}

// What comes over a path is judged only while it cannot have waited for this host.
TEST_F(ControlSample, ABusyHostJudgesPathsUnlessPacketsWait)
{
    start(1);
    for (int i = 0; i < 4; i++) {
        work(0, 0.95, false, kBytes);
        interval(0);
    }
    EXPECT_EQ(hosts[0]->clear_runs, 4u);
    work(0, 0.95, true, kBytes);
    interval(0);
    EXPECT_EQ(hosts[0]->clear_runs, 0u) << "full bursts";
    work(0, 0.5, false, kBytes);
    interval(1);
    EXPECT_EQ(hosts[0]->clear_runs, 0u) << "drops";
}

// One worker is busy with other ports, and receives next to nothing of this one. It does not limit
// the other worker, which has time.
TEST_F(ControlSample, AWorkerOfOtherPortsDoesNotLimit)
{
    host_capacity out = {};

    start(2);
    host_control_set_link(c, 4 * kRateBps);
    for (int i = 0; i < 64; i++) {
        port.worker[0].busy += kIntervalNs;
        port.worker[0].shared = true;
        if (i % 4 == 0)
            work(0, 0, false, 100);
        work(1, 0.3, false, i % 16 < 8 ? kBytes : kBytes / 2);
        out = interval(0);
        EXPECT_STREQ(out.why, "unknown") << "interval " << i;
    }
}

// Packets wait for one worker, while another one, which is busier, takes them at once.
TEST_F(ControlSample, PathsAreJudgedByEachWorkerForItself)
{
    start(2);
    for (int i = 0; i < 4; i++) {
        work(0, 0.99, false, kBytes, kBytes);
        work(1, 0.95, true, kBytes);
        interval(0);
    }
    EXPECT_EQ(hosts[0]->clear_runs, 4u);
    EXPECT_EQ(hosts[1]->clear_runs, 0u);
}

// All packets come to the queue of one worker, which hands them over. Whichever of the two has no
// time left limits the port.
TEST_F(ControlSample, WhatIsHandedOverCountsForBothWorkers)
{
    for (bool finder : {true, false}) {
        host_capacity out = {};

        start(2);
        for (int i = 0; i < 8; i++) {
            work(0, finder ? 1 : 0.4, true, 0);
            port.worker[1].busy += (uint64_t)((finder ? 0.4 : 1) * kIntervalNs);
            host_count_bytes(hosts[1], COUNT_rx_payload_bytes, kBytes);
            out = interval(1);
        }
        EXPECT_EQ(out.measured_Bps, kRateBps) << (finder ? "finds" : "takes");
        stop();
    }
}
