// SPDX-License-Identifier: BSD-3-Clause
// Which packets tell something of a path.
#include <gtest/gtest.h>

#include "host.hh"

// A peer's first DATA come before we have sent a CNTL. They were sent under no grant of ours, so no
// trial counts them.
TEST(PathGrantWatch, DataBeforeTheFirstCntlAreOfNoTrial)
{
    host *h = host_make(2);
    conn *c = &h->conns[0];
    struct wire_data d = {};

    counter_set(&c->pub.rx_unit_bytes, 1400);
    counter_set(&c->pub.rx_rate_Bps, 1000000);
    path_grant_start(c);
    for (d.packet = 0; d.packet < 20; d.packet++) {
        h->now += 100000;
        d.payload_len = 1400;
        d.time_ns = h->now;
        path_grant_watch(h, c, &d, false);
    }
    EXPECT_EQ(c->path.mark, 1u);
    EXPECT_FALSE(c->path.trial.open);
    d.cntl_seen = 1;
    path_grant_watch(h, c, &d, false);
    EXPECT_TRUE(c->path.trial.open);
    host_destroy(h);
}
