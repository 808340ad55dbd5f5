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

/* Equal times: what was in the path goes first, flow by flow; polls between do not matter. */
TEST(Join, EqualTimesWhateverThePolls)
{
    const char *spec = "match dst 10.0.1.1 ( ) or dst 10.0.1.2 ( delay 2ms ) else ( delay 1ms )";
    Line polled(spec), lazy(spec);

    for (Line *l : {&polled, &lazy}) {
        const struct {
            uint64_t at;
            unsigned int dst;
        } arrivals[] = {{0, 2}, {1000000, 3}, {2000000, 1}, {2000000, 2}, {2000000, 1}};

        for (auto a : arrivals) {
            struct rte_mbuf *m = flow_packet(1, a.dst);
            mbuf_id(m) = l->pushed++;
            if (l == &polled)
                l->poll(a.at);
            path_push(l->p, &m, 1, a.at);
            if (l == &polled)
                l->poll(a.at);
        }
        l->poll(9000000);
    }
    std::vector<uint32_t> order;
    for (const Out &o : polled.out)
        order.push_back(o.id);
    EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 4, 3}));
    order.clear();
    for (const Out &o : lazy.out)
        order.push_back(o.id);
    EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 4, 3}));
}

} // namespace
