/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP frames beyond the MTU are cut into the frames that a sender without offloads would send. */
#include "support.h"

#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_tcp.h>

extern "C" {
#include "wire/segment.h"
}

namespace
{

constexpr uint8_t kFin = 0x01, kPush = 0x08, kAck = 0x10, kCwr = 0x80;
constexpr size_t kTcp = 32; /* with timestamps */

template <class T> T get(const Bytes &b, size_t at)
{
    T v;

    std::memcpy(&v, &b[at], sizeof v);
    return v;
}

template <class T> void put(Bytes &b, size_t at, const T &v)
{
    std::memcpy(&b[at], &v, sizeof v);
}

/* A large frame as Linux's TCP hands it to a device. */
struct Large {
    Bytes bytes, payload;
    size_t l3, l4;
    bool v4;

    Large(bool is_v4, uint16_t vlan, size_t len) : v4(is_v4)
    {
        struct frame_route r = {};

        r.src_mac = mac_of("020000000001");
        r.dst_mac = mac_of("020000000002");
        r.vlan = vlan;
        r.src = addr_of(v4 ? "10.0.0.1" : "fd00::1");
        r.dst = addr_of(v4 ? "10.0.0.2" : "fd00::2");
        size_t head = frame_header_len(&r);

        bytes.resize(head - 8 + kTcp + len);
        for (size_t i = 0; i < len; i++)
            payload.push_back(static_cast<uint8_t>(i * i >> 5));
        frame_put(bytes.data(), &r, static_cast<uint32_t>(bytes.size() - head));
        l4 = head - 8;
        l3 = l4 - (v4 ? 20 : 40);
        bytes[l3 + (v4 ? 9 : 6)] = IPPROTO_TCP;
        if (v4) {
            put(bytes, l3 + 4, rte_cpu_to_be_16(0xfffe)); /* the identification is about to wrap */
            put(bytes, l3 + 10, uint16_t(0));
            put(bytes, l3 + 10, (uint16_t)~rte_raw_cksum(&bytes[l3], 20));
        }
        struct rte_tcp_hdr tcp = {};

        tcp.sent_seq = rte_cpu_to_be_32(0xffffff00); /* so is the sequence number */
        tcp.data_off = kTcp / 4 << 4;
        tcp.tcp_flags = kFin | kPush | kAck | kCwr;
        put(bytes, l4, tcp);
        std::memcpy(&bytes[l4 + sizeof tcp], "0123456789ab", 12); /* options */
        std::copy(payload.begin(), payload.end(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(l4 + kTcp));
    }
    bool find(uint32_t mtu, struct segments *s) const
    {
        return segments_find(bytes.data(), static_cast<uint32_t>(bytes.size()), mtu, s);
    }
};

void check(const Large &f, const struct segments &s, uint32_t mtu)
{
    Bytes got;

    for (uint32_t i = 0; i < s.count; i++) {
        Exact room(Bytes(s.header_len + s.mss));
        uint32_t len = segment_put(f.bytes.data(), &s, i, room.data());
        Bytes b(room.data(), room.data() + len), zeroed = b;
        auto tcp = get<struct rte_tcp_hdr>(b, f.l4);
        bool first = i == 0, last = i + 1 == s.count;

        put(zeroed, f.l4 + offsetof(struct rte_tcp_hdr, cksum), uint16_t(0));
        ASSERT_LE(len - f.l3, mtu);
        EXPECT_TRUE(last || len - f.l3 == mtu) << "each is as large as possible";
        EXPECT_EQ(Bytes(b.begin(), b.begin() + 14), Bytes(f.bytes.begin(), f.bytes.begin() + 14));
        EXPECT_EQ(rte_be_to_cpu_32(tcp.sent_seq), 0xffffff00u + i * s.mss);
        EXPECT_EQ(tcp.tcp_flags, kAck | (first ? kCwr : 0) | (last ? kFin | kPush : 0));
        EXPECT_EQ(std::memcmp(&b[f.l4 + 20], "0123456789ab", 12), 0);
        if (f.v4) {
            auto ip = get<struct rte_ipv4_hdr>(b, f.l3);

            EXPECT_EQ(rte_be_to_cpu_16(ip.total_length), len - f.l3);
            EXPECT_EQ(rte_be_to_cpu_16(ip.packet_id), static_cast<uint16_t>(0xfffe + i));
            EXPECT_EQ(rte_raw_cksum(&b[f.l3], 20), 0xffff);
            EXPECT_EQ(tcp.cksum, rte_ipv4_udptcp_cksum(&ip, &zeroed[f.l4]));
        } else {
            auto ip = get<struct rte_ipv6_hdr>(b, f.l3);

            EXPECT_EQ(rte_be_to_cpu_16(ip.payload_len), len - f.l4);
            EXPECT_EQ(tcp.cksum, rte_ipv6_udptcp_cksum(&ip, &zeroed[f.l4]));
        }
        got.insert(got.end(), b.begin() + static_cast<std::ptrdiff_t>(f.l4 + kTcp), b.end());
    }
    EXPECT_EQ(got, f.payload);
}

TEST(Segment, EachHasItsOwnHeadersAndAllOfThePayloadIsThereOnce)
{
    for (bool v4 : {false, true})
        for (uint16_t vlan : {static_cast<uint16_t>(FRAME_VLAN_NONE), static_cast<uint16_t>(9)})
            for (size_t len : {1500, 2896, 2897, 5000, 65160})
                for (uint32_t mtu : {576u, 1280u, 1500u}) {
                    Large f(v4, vlan, len);
                    struct segments s;

                    ASSERT_TRUE(f.find(mtu, &s)) << len;
                    check(f, s, mtu);
                }
}

TEST(Segment, WhatFitsOrIsNotWholeStaysAsItIs)
{
    struct segments s;
    Large fits(true, FRAME_VLAN_NONE, 1500 - 20 - kTcp),
        more(true, FRAME_VLAN_NONE, 1500 - 19 - kTcp);

    EXPECT_FALSE(fits.find(1500, &s));
    EXPECT_TRUE(more.find(1500, &s));
    EXPECT_EQ(s.count, 2u);
    for (uint32_t len = 0; len < more.bytes.size(); len++) {
        Exact stump(Bytes(more.bytes.begin(), more.bytes.begin() + len));

        EXPECT_FALSE(segments_find(stump.data(), len, 1500, &s)) << len;
    }
    more.bytes[more.l4 + 12] = 4 << 4; /* a TCP header of 16 bytes */
    EXPECT_FALSE(more.find(1500, &s));
    more.bytes[more.l4 + 12] = kTcp / 4 << 4;
    EXPECT_FALSE(more.find(20 + kTcp, &s)) << "there is no room for payload";
}

TEST(Segment, OtherProtocolsPaddingAndStumpsStayAsTheyAre)
{
    struct segments s;
    Large good(false, FRAME_VLAN_NONE, 3000);

    ASSERT_TRUE(good.find(1500, &s));
    for (uint8_t protocol : {IPPROTO_UDP, IPPROTO_SCTP}) {
        Large other = good;

        other.bytes[other.l3 + 6] = protocol;
        EXPECT_FALSE(other.find(1500, &s)) << static_cast<int>(protocol);
    }
    Large padded(false, FRAME_VLAN_NONE, 1000);
    padded.bytes.resize(2000);
    EXPECT_FALSE(padded.find(1500, &s)) << "the packet is shorter than its frame";
    /* a TCP header that is longer than what is there, and a packet shorter than a TCP header */
    Large header(false, FRAME_VLAN_NONE, 20);
    header.bytes[header.l4 + 12] = 15 << 4;
    EXPECT_TRUE(Large(false, FRAME_VLAN_NONE, 20).find(40 + kTcp + 1, &s));
    EXPECT_FALSE(header.find(40 + kTcp + 1, &s));
    Large stump(false, FRAME_VLAN_NONE, 0);
    put(stump.bytes, stump.l3 + 4, rte_cpu_to_be_16(19));
    EXPECT_FALSE(stump.find(40, &s));
}

} // namespace
