// SPDX-License-Identifier: BSD-3-Clause
// Any station can make a host send echo replies, and answers to ARP and FIRST. No kind of reply
// takes the place of another, and the host does not mirror floods.
#include <gtest/gtest.h>

#include <cstring>

#include "peer.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

class Reply : public WholePools
{
};

std::vector<uint8_t> ping(const Peer &p, uint32_t bytes)
{
    std::vector<uint8_t> f(14 + 20 + bytes);

    frame_put(f.data(), &p.route, bytes - 8);
    f[14 + 9] = 1; // ICMP instead of UDP: the header's checksum changes by 17 - 1
    uint16_t sum = static_cast<uint16_t>((f[24] << 8 | f[25]) + 16);
    f[24] = static_cast<uint8_t>(sum >> 8), f[25] = static_cast<uint8_t>(sum);
    std::memset(f.data() + 34, 0, bytes);
    f[34] = 8;
    uint16_t icmp = static_cast<uint16_t>(~frame_sum_fold(frame_sum(f.data() + 34, bytes)));
    std::memcpy(f.data() + 36, &icmp, 2);
    return f;
}

std::vector<uint8_t> question(const Peer &p)
{
    std::vector<uint8_t> f(NEIGH_FRAME_MAX);

    f.resize(
        neigh_put_request(f.data(), &p.route.src_mac, &p.route.src, &p.route.dst, FRAME_VLAN_NONE));
    return f;
}

// All frames come at once, in one poll.
void flood(Peer &p, const std::vector<uint8_t> &f, int n)
{
    for (int i = 0; i < n; i++) {
        rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().wire);

        ASSERT_NE(m, nullptr);
        std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(f.size())), f.data(), f.size());
        host_rx(p.h(), &m, 1, p.now());
    }
}

size_t heard_kind(const Peer &p, frame_kind kind)
{
    size_t n = 0;

    for (const Heard &x : p.heard)
        n += x.kind == kind;
    return n;
}

TEST_F(Reply, AFloodOfEchoLeavesRoomForArp)
{
    Peer p;

    flood(p, ping(p, 64), 200);
    flood(p, question(p), 1);
    p.run(kMs);
    EXPECT_EQ(heard_kind(p, FRAME_ARP), 1u);
    EXPECT_GT(heard_kind(p, FRAME_ICMP4), 0u);
    EXPECT_GT(p.counter("tx_replies_full"), 0u);
}

// A flood of questions leaves room for a question of the host.
TEST_F(Reply, AFloodOfArpLeavesRoomForQuestions)
{
    Peer p;

    p.opt.answer_arp = false;
    flood(p, question(p), 200);
    p.connect();
    p.run(10000);
    size_t asked = 0;
    for (const Heard &x : p.heard) {
        struct neigh n;

        asked += neigh_parse(x.bytes.data(), static_cast<uint32_t>(x.bytes.size()), &x.frame, &n) ==
                 NEIGH_REQUEST;
    }
    EXPECT_EQ(asked, 1u);
}

// Pings come at 2 Gbit/s for 50 ms. The host answers no more than 12.5 MB/s of them, and a burst.
TEST_F(Reply, AFloodOfEchoIsNotMirrored)
{
    Peer p;

    for (int i = 0; i < 1000; i++) {
        flood(p, ping(p, 1200), 10);
        p.run(kMs / 20);
    }
    size_t bytes = 0;
    for (const Heard &x : p.heard)
        bytes += x.kind == FRAME_ICMP4 ? x.bytes.size() : 0;
    EXPECT_LE(bytes, 12500000u / 20 + 2 * 65536 + 1400);
    EXPECT_GE(bytes, 12500000u / 20 / 2) << "too few are answered";
    EXPECT_GT(p.counter("tx_replies_limited"), 0u);
    p.run(100 * kMs);
    p.heard.clear();
    flood(p, ping(p, 1200), 1);
    p.run(kMs);
    EXPECT_EQ(heard_kind(p, FRAME_ICMP4), 1u) << "a later honest ping is not answered";
}

// The same with FIRST for a service without a listener.
TEST_F(Reply, AFloodOfFirstIsNotMirrored)
{
    Peer p;
    wire_first v = {};
    uint8_t bytes[WIRE_FIRST_BYTES];

    v.service = 99;
    v.unit_max = 1400;
    v.h.flags = WIRE_EARLY;
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < 50; k++) {
            v.h.key = static_cast<uint64_t>(1 + i * 50 + k);
            p.say_bytes(bytes, wire_put_first(bytes, &v));
        }
        p.run(kMs / 20);
    }
    size_t sum = 0;
    for (const Heard &x : p.heard)
        sum += x.type == WIRE_CNTL ? x.bytes.size() : 0;
    EXPECT_LE(sum, 12500000u / 20 + 2 * 65536 + 400);
    EXPECT_GE(sum, 12500000u / 20 / 2);
}

} // namespace
