// SPDX-License-Identifier: BSD-3-Clause
// The frames of a stream, in order.
#include "support.hh"

#include <map>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
}

namespace
{

stamp read(const Stream &s, const rte_mbuf *m)
{
    stamp_shape shape;
    stamp out = {};

    stamp_shape_init(&shape, &s.flow_plan.route);
    EXPECT_EQ(stamp_get(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &shape, &out,
                        nullptr),
              STAMP_OK);
    return out;
}

} // namespace

TEST(StreamOrder, NumbersAndFlowsTakeTurns)
{
    Stream s("60+1514", 3, 5, 77);

    for (uint32_t k = 0; k < 50; k++) {
        auto m = s.send(1, 1000 + k);
        stamp x = read(s, m[0]);

        EXPECT_EQ(x.number, k);
        EXPECT_EQ(x.flow, k % 3);
        EXPECT_EQ(x.stream, 5);
        EXPECT_EQ(x.window, 77);
        EXPECT_EQ(x.time_ns, 1000u + k);
        EXPECT_EQ(m[0]->pkt_len, k / 6 % 2 == k % 2 ? 60u : 1514u) << k; // shifts after 6 frames
        rte_pktmbuf_free_bulk(m.data(), 1);
    }
}

// Each flow sees each size as often as its weight says, whatever the numbers have in common.
TEST(StreamOrder, EveryFlowSeesTheWholeMix)
{
    for (uint32_t n : {1u, 2u, 5u, 6u, 12u}) {
        Stream s("imix", n);
        std::map<uint32_t, std::map<uint32_t, uint32_t>> seen;
        uint64_t bytes = 0;

        for (uint32_t k = 0; k < 144 * n; k++) {
            uint32_t flow = s.s.next.flow;
            uint64_t len = stream_sent(&s.s, 1);

            bytes += len;
            seen[flow][static_cast<uint32_t>(len)]++;
        }
        EXPECT_EQ(bytes, 12ull * n * s.sizes.bytes_sum);
        for (auto &flow : seen) {
            EXPECT_EQ(flow.second[60], 84u) << n;
            EXPECT_EQ(flow.second[590], 48u) << n;
            EXPECT_EQ(flow.second[1514], 12u) << n;
        }
    }
}

// Frames that the port refuses use up no number.
TEST(StreamOrder, RefusedFramesLeaveNoGap)
{
    rng r;
    Stream s("imix", 7);
    uint64_t next = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        rte_mbuf *m[32];
        uint32_t n = 1 + static_cast<uint32_t>(rng_below(&r, 32));
        uint32_t took = static_cast<uint32_t>(rng_below(&r, n + 1));
        uint64_t bytes = 0;

        ASSERT_EQ(rte_pktmbuf_alloc_bulk(test_pool, m, n), 0);
        for (uint32_t k = 0; k < n; k++)
            stream_mbuf_fill(m[k]);
        stream_put(&s.s, m, n, 0);
        for (uint32_t k = 0; k < took; k++) {
            stamp x = read(s, m[k]);

            ASSERT_EQ(x.number, next);
            ASSERT_EQ(x.flow, next % 7);
            next++;
            bytes += m[k]->pkt_len;
        }
        ASSERT_EQ(stream_sent(&s.s, took), bytes);
        rte_pktmbuf_free_bulk(m, n);
    }
}
