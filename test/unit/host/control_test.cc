// SPDX-License-Identifier: BSD-3-Clause
// What control measures of a host, interval by interval.
#include <gtest/gtest.h>

#include "host.hh"

extern "C" {
#include "base/clock.h"
}

namespace
{
constexpr uint64_t kIntervalNs = 1000000; // host_config_make(): a tick is a nanosecond
constexpr uint64_t kRateBps = 800000000;

class ControlSample : public testing::Test
{
  protected:
    void SetUp() override
    {
        char err[200] = "";

        h = host_make(16);
        c = host_control_create(&h, 1, now, err, sizeof err);
        ASSERT_NE(c, nullptr) << err;
    }

    void TearDown() override
    {
        host_control_destroy(c);
        host_destroy(h);
    }

    // An interval in which the worker was busy for all of its time, and the port dropped a packet.
    // What came belongs to connections that are over by the end of it.
    void overrun_interval()
    {
        now += kIntervalNs;
        port.time += kIntervalNs;
        port.busy += kIntervalNs;
        port.bursts += 20;
        port.full += 20;
        port.imissed++;
        host_count_bytes(h, COUNT_rx_payload_bytes, kRateBps / (CLOCK_NS_PER_S / kIntervalNs));
        host_control(c, &port, now);
    }

    struct host *h = nullptr;
    struct host_control *c = nullptr;
    struct host_port_counters port = {};
    uint64_t now = kIntervalNs;
};
} // namespace

TEST_F(ControlSample, CountsConnectionsThatEndWithinAnInterval)
{
    struct host_capacity out = {};

    for (int i = 0; i < 8; i++)
        overrun_interval();
    host_control_capacity(c, &out);
    EXPECT_STREQ(out.why, "overrun");
    EXPECT_EQ(out.measured_Bps, kRateBps);
}
