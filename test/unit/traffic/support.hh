// SPDX-License-Identifier: BSD-3-Clause
// Streams of stamped frames for tests.
#ifndef SLUICE_TEST_TRAFFIC_SUPPORT_HH
#define SLUICE_TEST_TRAFFIC_SUPPORT_HH

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" {
#include <rte_mbuf.h>

#include "traffic/flows.h"
#include "traffic/mix.h"
#include "traffic/stream.h"
}

extern rte_mempool *test_pool;

inline mix mix_of(const std::string &text)
{
    mix m;
    char err[200] = "";

    EXPECT_EQ(mix_parse(&m, text.c_str(), err, sizeof err), 0) << err;
    return m;
}

inline flows flows_of(uint32_t count)
{
    flows f = {};

    f.route.vlan = FRAME_VLAN_NONE;
    f.route.sport = 1000;
    f.route.dport = 7;
    addr_parse("198.18.0.1", &f.route.src);
    addr_parse("198.19.0.1", &f.route.dst);
    f.span[FLOWS_SPORT] = 1000;
    f.span[FLOWS_DPORT] = 1;
    f.span[FLOWS_SRC] = 256;
    f.span[FLOWS_DST] = 1;
    f.count = count;
    return f;
}

// A stream with flows and sizes of its own.
struct Stream {
    flows flow_plan;
    mix sizes;
    std::vector<stamp_flow> list;
    stream s = {};

    Stream(const std::string &size, uint32_t count, uint8_t id = 0, uint16_t window = 1,
           uint16_t vlan = FRAME_VLAN_NONE)
        : flow_plan(flows_of(count)), sizes(mix_of(size)), list(count)
    {
        stream_config cfg = {};

        flow_plan.route.vlan = vlan;
        cfg.route = &flow_plan.route;
        cfg.mix = &sizes;
        cfg.n_flows = flows_list(&flow_plan, 0, 1, list.data());
        cfg.flows = list.data();
        cfg.window = window;
        cfg.stream = id;
        stream_init(&s, &cfg);
    }

    // The next n frames, all of which the port takes. The caller frees them.
    std::vector<rte_mbuf *> send(uint32_t n, uint64_t time_ns = 0)
    {
        std::vector<rte_mbuf *> m(n);

        EXPECT_EQ(rte_pktmbuf_alloc_bulk(test_pool, m.data(), n), 0);
        for (rte_mbuf *one : m)
            stream_mbuf_fill(one);
        stream_put(&s, m.data(), n, time_ns);
        stream_sent(&s, n);
        return m;
    }
};

#endif
