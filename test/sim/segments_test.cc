// SPDX-License-Identifier: BSD-3-Clause
// Frames that come in pieces, and frames for other workers of the port.
#include <gtest/gtest.h>

#include <cstring>

#include "framed.hh"
#include "peer.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

// Gives the host a frame in two mbufs, split at some byte.
void give(Peer &p, const std::vector<uint8_t> &f, size_t split)
{
    rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().wire);
    rte_mbuf *rest = rte_pktmbuf_alloc(Pools::get().wire);

    split = std::min(split, f.size() - 1);
    std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(split)), f.data(), split);
    std::memcpy(rte_pktmbuf_append(rest, static_cast<uint16_t>(f.size() - split)), f.data() + split,
                f.size() - split);
    ASSERT_EQ(rte_pktmbuf_chain(m, rest), 0);
    host_rx(p.h(), &m, 1, p.now());
    p.run(kMs / 10);
}

TEST(Segments, CntlAndDataAreReadWhereverTheyAreSplit)
{
    for (size_t split : {14, 20, 41, 60, 100, 122, 150, 200, 400}) {
        Peer p;
        uint8_t bytes[WIRE_CNTL_MAX_BYTES];

        p.open_to_host();
        p.post_recv(300, 1);
        wire_cntl v = p.state(WIRE_SREQ);
        uint64_t before = p.counter("rx_cntl");

        give(p, framed(p.route, bytes, wire_put_cntl(bytes, &v)), split);
        EXPECT_EQ(p.counter("rx_cntl"), before + 1) << split;
        wire_data d = {};
        std::vector<uint8_t> unit(WIRE_DATA_BYTES + 300);

        d.h.key = p.host_key;
        d.request = p.initial;
        d.request_len = 300;
        d.unit_bytes = 1000;
        d.time_ns = p.now();
        wire_put_data(unit.data(), &d);
        for (uint32_t i = 0; i < 300; i++)
            unit[WIRE_DATA_BYTES + i] = static_cast<uint8_t>(i * 7);
        give(p, framed(p.route, unit.data(), static_cast<uint32_t>(unit.size())), split);
        ASSERT_NE(p.done(HOST_RECV, 1), nullptr) << split;
        for (uint32_t i = 0; i < 300; i++)
            ASSERT_EQ(p.buffers.back()[i], static_cast<uint8_t>(i * 7)) << split;
        EXPECT_EQ(p.drops(), 0u);
    }
}

// A frame in pieces must be made linear, but its first mbuf has no room for the rest.
TEST(Segments, WhatCannotBeMadeLinearIsDropped)
{
    Peer p;
    std::vector<uint8_t> f(14 + 9000, 0);
    rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().head),
             *rest = rte_pktmbuf_alloc(Pools::get().wire);

    std::memcpy(f.data(), &p.route.dst_mac, 6);
    std::memcpy(rte_pktmbuf_append(m, 20), f.data(), 20);
    std::memset(rte_pktmbuf_append(rest, 9000), 0, 9000);
    ASSERT_EQ(rte_pktmbuf_chain(m, rest), 0);
    host_rx(p.h(), &m, 1, p.now());
    EXPECT_EQ(p.counter("drop_short"), 1u);
}

// A key names its worker. The host hands the packet over to it, as long as there is room.
TEST(Segments, PacketsOfOtherWorkersAreHandedOn)
{
    Peer p;
    host_config c = *host_get_config(p.h());
    char err[200] = "";

    c.workers = 2;
    host *h = host_create(&c, p.now(), err, sizeof err);
    ASSERT_NE(h, nullptr) << err;
    wire_rcntl v = {};
    uint8_t bytes[WIRE_RCNTL_BYTES];

    v.h.key = 1ull << 63 | 5; // two workers: the first bit is the worker
    v.expiry_ms = 1;
    std::vector<uint8_t> f = framed(p.route, bytes, wire_put_rcntl(bytes, &v));
    rte_mbuf *m[70];
    uint8_t worker[70];

    for (int i = 0; i < 70; i++) {
        m[i] = rte_pktmbuf_alloc(Pools::get().wire);
        std::memcpy(rte_pktmbuf_append(m[i], static_cast<uint16_t>(f.size())), f.data(), f.size());
    }
    host_rx(h, m, 70, p.now());
    uint16_t n = host_foreign(h, m, worker, 10);

    ASSERT_EQ(n, 10);
    EXPECT_EQ(worker[0], 1);
    rte_pktmbuf_free_bulk(m, n);
    n = host_foreign(h, m, worker, 70);
    EXPECT_EQ(n, 54); // 64 in all are kept
    rte_pktmbuf_free_bulk(m, n);
    host_destroy(h);
}

} // namespace
