// SPDX-License-Identifier: BSD-3-Clause
// Thresholds and the share of a connection.
#include <gtest/gtest.h>

#include "host.hh"

extern "C" {
#include "control/occupancy.h"
}

// A connection of a later priority may have no share for a while. When it gets one, the next packet
// must not be long in coming: only packets raise the rate again.
TEST(OccupancyGrant, AShareOfZeroDoesNotStopAConnection)
{
    constexpr uint64_t kUnit = 1400, kPerSecond = 20;
    host_config cfg = host_config_make(2);
    char err[200];

    cfg.occupancy = HOST_OCCUPANCY_DELAY;
    ASSERT_EQ(
        occupancy_law_parse("1ms,4ms/1e-6/1.0005,1.005", true, &cfg.occupancy_law, err, sizeof err),
        0)
        << err;
    host *h = host_make(cfg);
    conn *c = &h->conns[0];

    counter_set(&c->pub.rx_unit_bytes, kUnit);
    counter_set(&c->pub.share_Bps, 100000000);
    occupancy_grant_start(h, c);
    for (uint64_t share_Bps : {UINT64_C(0), UINT64_C(1), UINT64_C(100000000)}) {
        counter_set(&c->pub.share_Bps, share_Bps);
        h->now += 1000000;
        occupancy_grant_watch(h, c, 0);
        EXPECT_GE(c->occupancy.pace_Bps, kUnit * kPerSecond * 99 / 100) << share_Bps;
    }
    host_destroy(h);
}
