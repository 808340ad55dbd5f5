// SPDX-License-Identifier: BSD-3-Clause
// A host with an exception port gives some frames to the kernel, keeps others, and answers others.
// It does not answer a frame that it gives to the kernel.
#include <gtest/gtest.h>

#include <cstring>

#include "peer.hh"

namespace
{

struct Station {
    Peer p;
    host *h = nullptr;
    host_config c;

    explicit Station(bool exception = true, uint8_t workers = 1)
    {
        char err[200] = "";

        c = *host_get_config(p.h());
        c.exception = exception;
        c.workers = workers;
        h = host_create(&c, p.now(), err, sizeof err);
        EXPECT_NE(h, nullptr) << err;
    }
    ~Station()
    {
        host_destroy(h);
        EXPECT_TRUE(Pools::get().whole()) << "mbufs leak";
    }
    uint64_t counter(const char *wanted)
    {
        return host_counter_named(h, wanted);
    }
    // Numbers of frames: (given to the kernel, sent).
    std::pair<unsigned, unsigned> give(const std::vector<uint8_t> &f)
    {
        rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().wire), *out[8];

        std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(f.size())), f.data(), f.size());
        host_rx(h, &m, 1, p.now());
        uint16_t given = host_exceptions(h, out, 8);

        for (uint16_t i = 0; i < given; i++) {
            EXPECT_EQ(std::memcmp(rte_pktmbuf_mtod(out[i], void *), f.data(), f.size()), 0)
                << "the frame has changed";
            rte_pktmbuf_free(out[i]);
        }
        uint16_t sent = host_tx(h, out, 8, p.now());

        rte_pktmbuf_free_bulk(out, sent);
        return {given, sent};
    }
    std::vector<uint8_t> udp(const frame_route &r)
    {
        std::vector<uint8_t> f(frame_header_len(&r) + 30u);

        frame_put(f.data(), &r, 30);
        frame_set_udp_sum(f.data(), &r, 30, frame_sum(f.data() + frame_header_len(&r), 30));
        return f;
    }
    std::vector<uint8_t> ask(const addr &target)
    {
        std::vector<uint8_t> f(NEIGH_FRAME_MAX);

        f.resize(neigh_put_request(f.data(), &p.route.src_mac, &p.route.src, &target, c.vlan));
        return f;
    }
};

using Fate = std::pair<unsigned, unsigned>;

TEST(Exception, WhoAsksForOurAddressIsAnsweredHereAndOthersByTheKernel)
{
    Station s;
    addr other = s.c.address[0];

    other.b[15] ^= 0x55;
    EXPECT_EQ(s.give(s.ask(s.c.address[0])), Fate(0, 1));
    EXPECT_EQ(s.give(s.ask(other)), Fate(1, 0));
    EXPECT_EQ(s.counter("rx_exception"), 1u);
    EXPECT_EQ(s.counter("rx_neighbor"), 2u);
}

TEST(Exception, AnswersOfNeighboursGoToTheKernelToo)
{
    Station s;
    std::vector<uint8_t> f(NEIGH_FRAME_MAX);

    f.resize(neigh_put_reply(f.data(), &s.p.route.src_mac, &s.p.route.src, &s.c.mac,
                             &s.c.address[0], s.c.vlan));
    EXPECT_EQ(s.give(f), Fate(1, 0));
}

TEST(Exception, WhatIsNotOurPortsOrAddressesGoesToTheKernel)
{
    Station s;
    frame_route r = s.p.route;

    r.dport = static_cast<uint16_t>(r.dport + 1);
    EXPECT_EQ(s.give(s.udp(r)), Fate(1, 0)) << "another port";
    r = s.p.route;
    r.dst.b[15] ^= 0x55;
    EXPECT_EQ(s.give(s.udp(r)), Fate(1, 0)) << "another address";
    r = s.p.route;
    r.vlan = 77;
    EXPECT_EQ(s.give(s.udp(r)), Fate(1, 0)) << "another VLAN";
    std::vector<uint8_t> f = s.udp(s.p.route);
    f[12] = 0x88;
    f[13] = 0xb5;
    EXPECT_EQ(s.give(f), Fate(1, 0)) << "another protocol";
    f.resize(14);
    EXPECT_EQ(s.give(f), Fate(1, 0)) << "nothing but a header";
    EXPECT_EQ(s.counter("rx_exception"), 5u);
    EXPECT_EQ(s.counter("drop_port") + s.counter("drop_not_ours") + s.counter("drop_vlan") +
                  s.counter("drop_other"),
              0u);
}

TEST(Exception, SluicesOwnAndOtherStationsFramesStayHere)
{
    Station s;
    frame_route r = s.p.route;

    EXPECT_EQ(s.give(s.udp(r)), Fate(0, 0)) << "zeros at our port are a bad Sluice packet";
    EXPECT_EQ(s.counter("drop_wire_version"), 1u);
    r.dport = 22;
    r.dst_mac.addr_bytes[5] ^= 0x55;
    EXPECT_EQ(s.give(s.udp(r)), Fate(0, 0)) << "for another station";
    r = s.p.route;
    r.dport = 22;
    r.src_mac.addr_bytes[0] |= 1;
    EXPECT_EQ(s.give(s.udp(r)), Fate(0, 0)) << "from a group";
    EXPECT_EQ(s.give(std::vector<uint8_t>(9, 0xff)), Fate(0, 0)) << "half a header";
    EXPECT_EQ(s.counter("rx_exception"), 0u);
}

TEST(Exception, WithoutOneTheyAreDroppedForTheirReasons)
{
    Station s(false);
    frame_route r = s.p.route;

    r.dport = 22;
    EXPECT_EQ(s.give(s.udp(r)), Fate(0, 0));
    EXPECT_EQ(s.counter("drop_port"), 1u);
}

TEST(Exception, WhatNobodyTakesOutIsCountedAsDropped)
{
    Station s;
    frame_route r = s.p.route;
    rte_mbuf *m[70];

    r.dport = 22;
    std::vector<uint8_t> f = s.udp(r);

    for (rte_mbuf *&x : m) {
        x = rte_pktmbuf_alloc(Pools::get().wire);
        std::memcpy(rte_pktmbuf_append(x, static_cast<uint16_t>(f.size())), f.data(), f.size());
    }
    host_rx(s.h, m, 70, s.p.now());
    EXPECT_EQ(s.counter("rx_exception"), 64u);
    EXPECT_EQ(s.counter("drop_exception_full"), 6u);
    uint16_t n = host_exceptions(s.h, m, 60);

    EXPECT_EQ(n, 60);
    rte_pktmbuf_free_bulk(m, n); // host_destroy() frees the rest
}

} // namespace
