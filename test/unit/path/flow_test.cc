// SPDX-License-Identifier: BSD-3-Clause
// match, each, and the join behind them.
#include "support.h"

namespace
{

/* From host a of 10.0.0.0/24 to host b of 10.0.1.0/24. */
struct rte_mbuf *flow_packet(unsigned int a, unsigned int b, uint16_t dport = 2000,
                             uint32_t payload = 58)
{
    struct frame_route r = route_make(("10.0.0." + std::to_string(a)).c_str(),
                                      ("10.0.1." + std::to_string(b)).c_str());

    r.dport = dport;
    return udp_make(r, payload);
}

TEST(Match, WhatFitsNothingGoesOnBehindIt)
{
    Line l("match dst 10.0.1.1 ( delay 5ms ) delay 1ms");

    l.push(0, flow_packet(1, 1));
    l.push(0, flow_packet(1, 2));
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{1000000, 1, 100}, {6000000, 0, 100}}));
    EXPECT_EQ(l.counts(2).in_packets, 2u);
}

} // namespace
