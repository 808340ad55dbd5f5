// SPDX-License-Identifier: BSD-3-Clause
// UDP checksums that hosts leave to devices which do not exist: virtio between two virtual machines
// on one computer, and vhost. Tests what a port reports of a checksum, and how a host takes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "pair.hh"

extern "C" {
#include "wire/partial.h"
}

namespace
{

constexpr uint64_t kSecond = CLOCK_NS_PER_S;

enum class Field { RIGHT, WRONG, PARTIAL, NONE };

struct Packet {
    uint8_t *p;
    struct frame f;
    bool data; // it is DATA of Sluice

    explicit Packet(rte_mbuf *m) : p(rte_pktmbuf_mtod(m, uint8_t *))
    {
        wire_header h;

        data = frame_parse(p, m->data_len, m->pkt_len, &f) == FRAME_UDP &&
               wire_parse_header(p + f.payload_off, f.payload_len, &h) == WIRE_OK &&
               h.type == WIRE_DATA;
    }
    void set(Field field)
    {
        frame_route r = {f.src_mac, f.dst_mac, f.vlan, f.src, f.dst, f.sport, f.dport, 0, 0};

        if (field == Field::NONE)
            std::memset(p + f.payload_off - 2, 0, 2);
        else if (field == Field::PARTIAL)
            frame_set_pseudo_sum(p, &r, f.payload_len);
        else
            frame_set_udp_sum(p, &r, f.payload_len, frame_sum(p + f.payload_off, f.payload_len));
        if (field == Field::WRONG)
            p[f.payload_off - 1] ^= 0x10;
    }
};

struct Outcome {
    bool arrived; // a whole request of three packets
    uint64_t sum, no_sum;
};

// Sends a request to a port that reports `flags` for DATA with a checksum like `field`.
Outcome deliver(host_sum sum, bool unsummed, uint64_t flags, Field field)
{
    PairOptions o;

    o.sum = sum;
    o.unsummed = unsummed;
    o.port = [=](uint32_t to, rte_mbuf *m) {
        Packet packet(m);

        if (to == 0 || !packet.data) { // the port reports the rest as good
            m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
            return;
        }
        packet.set(field);
        m->ol_flags = flags;
    };
    Pair p(o);

    p.open();
    p.recv(3000);
    p.send(3000);
    bool arrived = p.run([&] { return p.all_done(); }, kSecond);

    return {arrived, host_counter_named(p.b(), "drop_sum"),
            host_counter_named(p.b(), "drop_no_sum")};
}

// NONE means "the L4 checksum is not correct in the packet data, but the integrity of the L4 data
// is verified" (rte_mbuf_core.h).
TEST(Sum, WhatAPortSaysOfAChecksum)
{
    constexpr uint64_t kNone = RTE_MBUF_F_RX_L4_CKSUM_NONE, kBad = RTE_MBUF_F_RX_L4_CKSUM_BAD,
                       kGood = RTE_MBUF_F_RX_L4_CKSUM_GOOD, kUnknown = 0;
    const struct {
        uint64_t flags;
        Field field;
        bool taken;
        const char *why;
    } rows[] = {
        {kGood, Field::RIGHT, true, "right"},
        {kGood, Field::PARTIAL, true, "virtio's DATA_VALID"},
        {kBad, Field::RIGHT, false, "the port knows better"},
        {kBad, Field::PARTIAL, false, "bad"},
        {kUnknown, Field::RIGHT, true, "computed here"},
        {kUnknown, Field::WRONG, false, "computed here"},
        {kUnknown, Field::PARTIAL, false, "nobody vouches for the data"},
        {kNone, Field::RIGHT, true, "computed here"},
        {kNone, Field::WRONG, false, "a driver that says NONE of what it did not check"},
        {kNone, Field::PARTIAL, true, "virtio's NEEDS_CSUM"},
    };

    for (const auto &row : rows) {
        Outcome got = deliver(HOST_SUM_OFFLOAD, false, row.flags, row.field);

        EXPECT_EQ(got.arrived, row.taken)
            << row.why << ", flags " << row.flags << ", field " << static_cast<int>(row.field);
        EXPECT_EQ(got.sum > 0, !row.taken) << row.why;
        EXPECT_EQ(got.no_sum, 0u);
    }
}

TEST(Sum, OnlyAPortOnMemoryOfThisMachineTakesWhatHasNone)
{
    for (host_sum sum : {HOST_SUM_SOFTWARE, HOST_SUM_OFFLOAD}) {
        for (Field field : {Field::NONE, Field::PARTIAL}) {
            Outcome far = deliver(sum, false, 0, field), near = deliver(sum, true, 0, field);

            EXPECT_FALSE(far.arrived);
            EXPECT_GT(field == Field::NONE ? far.no_sum : far.sum, 0u);
            EXPECT_TRUE(near.arrived) << "field " << static_cast<int>(field);
            EXPECT_EQ(near.no_sum + near.sum, 0u);
        }
        Outcome wrong = deliver(sum, true, 0, Field::WRONG);

        EXPECT_FALSE(wrong.arrived) << "a wrong checksum is accepted there";
        EXPECT_GT(wrong.sum, 0u);
    }
}

// Two virtual machines on one computer. The sender's virtio marks a frame that has the flag
// RTE_MBUF_F_TX_UDP_CKSUM with NEEDS_CSUM, and hands it over as it is (virtqueue_xmit_offload()).
// The receiver's virtio reports NONE for that, and nothing for other frames (virtio_rx_offload()).
TEST(Sum, VirtualMachinesOfOneHost)
{
    for (bool ipv6 : {false, true}) {
        PairOptions o;
        uint64_t partial = 0;

        o.sum = HOST_SUM_OFFLOAD;
        o.ipv6 = ipv6;
        o.port = [&](uint32_t, rte_mbuf *m) {
            struct partial s;
            bool found = partial_find(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, m->pkt_len, &s);

            partial += found;
            m->ol_flags = found ? RTE_MBUF_F_RX_L4_CKSUM_NONE : 0;
        };
        Pair p(o);

        p.open();
        for (int i = 0; i < 12; i++) {
            p.recv(100000);
            p.send(100000);
            p.recv_back(5000);
            p.send_back(5000);
        }
        EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
        EXPECT_GT(partial, 800u) << "DATA are not left to the device";
        for (host *h : {p.a(), p.b()})
            EXPECT_EQ(host_counter_named(h, "drop_sum") + host_counter_named(h, "drop_no_sum"), 0u);
        EXPECT_TRUE(p.finish());
    }
}

// DATA that wait for room in the port get a new time when they leave, and their checksums are
// right.
TEST(Sum, DataThatWaitedAreStampedAndSummedAnew)
{
    for (bool ipv6 : {false, true}) {
        PairOptions o;
        uint64_t data = 0, oldest = 0;

        o.ipv6 = ipv6;
        o.tx_refused = {2 * kSecond / 1000, 2 * kSecond / 1000};
        o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *) {
            Packet packet(m);
            wire_data d;

            if (from != 0 || !packet.data)
                return;
            ASSERT_EQ(wire_parse_data(packet.p + packet.f.payload_off, packet.f.payload_len,
                                      packet.f.payload_len, &d),
                      WIRE_OK);
            data++;
            oldest = std::max(oldest, now - d.time_ns);
        };
        Pair p(o);

        p.open();
        for (int i = 0; i < 12; i++) {
            p.recv(1000000);
            p.send(1000000);
        }
        // not all_done(): the oracle would judge pacing by when frames leave the port
        EXPECT_TRUE(p.run([&] {
            struct host_conn_info info = {};

            return host_conn_info(p.b(), p.conn[1], &info) && info.rx_bytes == 12 * 1000000;
        })) << p.state();
        EXPECT_GT(world_counts(p.w)->refused, 100u);
        EXPECT_GT(data, 8000u);
        EXPECT_LT(oldest, 10 * o.poll_ns);
        EXPECT_EQ(host_counter_named(p.b(), "drop_sum"), 0u);
        world_calm(p.w);
    }
}

// A driver may complete a checksum, and note that in the mbuf, before it finds no room for the
// frame.
TEST(Sum, WhatAPortCompletedBeforeItRefusedStaysRight)
{
    for (host_sum sum : {HOST_SUM_OFFLOAD, HOST_SUM_SOFTWARE, HOST_SUM_NONE}) {
        PairOptions o;
        rte_mbuf *data = nullptr;

        o.config = [&](uint32_t, host_config *h) { h->tx_sum = h->rx_sum = sum; };
        o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t, world_fate *) {
            if (data == nullptr && from == 0 && Packet(m).data)
                data = rte_pktmbuf_copy(m, Pools::get().wire, 0, UINT32_MAX);
        };
        Pair p(o);

        p.open();
        p.recv(1000);
        p.send(1000);
        EXPECT_TRUE(p.run([&] { return data != nullptr; })) << p.state();
        ASSERT_NE(data, nullptr);
        for (Field field : {Field::RIGHT, Field::PARTIAL, Field::NONE}) {
            uint64_t now = world_now(p.w) + kSecond * (1 + (uint64_t)field);

            data->ol_flags = field == Field::PARTIAL ? RTE_MBUF_F_TX_UDP_CKSUM : 0;
            Packet(data).set(field);
            host_stamp(p.a(), &data, 1, now);
            Packet after(data);
            uint8_t *payload = after.p + after.f.payload_off;
            wire_data d;

            ASSERT_EQ(wire_parse_data(payload, after.f.payload_len, after.f.payload_len, &d),
                      WIRE_OK);
            EXPECT_EQ(d.time_ns, now);
            EXPECT_EQ(after.f.udp_sum == 0, field == Field::NONE);
            EXPECT_EQ(frame_udp_sum_partial(&after.f), field == Field::PARTIAL);
            EXPECT_TRUE(
                field == Field::PARTIAL ||
                frame_udp_sum_ok(after.p, &after.f, frame_sum(payload, after.f.payload_len)));
        }
        rte_pktmbuf_free(data);
        world_calm(p.w);
    }
}

} // namespace
