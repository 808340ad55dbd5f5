/* SPDX-License-Identifier: BSD-3-Clause */
/* Ethernet, VLAN, IPv4, IPv6, UDP: golden frames, every reason to drop, every truncation. */
#include "support.h"

#include <rte_ip.h>

namespace
{

const char *macs = "020000000002 020000000001";
const char *ipv4 = "45ba0021 0000 4000 4011 2610 0a000001 0a000002"; /* DSCP 46, ECT(0) */
const char *ipv6 = "6ba00000 000d 11 40 fd000000000000000000000000000001"
                   "fd000000000000000000000000123456";
const char *udp = "1234 bab8 000d 0000"; /* for 5 bytes */
const char *hello = "68656c6c6f";

struct golden {
    const char *what, *tags;
    bool v4;
    uint16_t vlan, header_len;
} goldens[] = {
    {"IPv4", "0800", true, FRAME_VLAN_NONE, 42},
    {"IPv4 VLAN", "8100 0ffe 0800", true, 4094, 46},
    {"IPv6", "86dd", false, FRAME_VLAN_NONE, 62},
    {"IPv6 VLAN", "8100 0001 86dd", false, 1, 66},
};

Bytes frame_of(const std::string &l3_and_up, const char *tags = "0800")
{
    return from_hex(std::string(macs) + tags + l3_and_up);
}

Bytes golden_frame(const struct golden &g)
{
    return frame_of(std::string(g.v4 ? ipv4 : ipv6) + udp + hello, g.tags);
}

enum frame_kind parse(const Bytes &b, struct frame *f)
{
    uint32_t len = static_cast<uint32_t>(b.size());

    return frame_parse(Exact(b).data(), len, len, f);
}

enum frame_kind kind_of(const Bytes &b)
{
    struct frame f;
    enum frame_kind kind = parse(b, &f);

    EXPECT_EQ(f.kind, kind);
    return kind;
}

/* An IPv4 frame with a right header checksum, whatever else is wrong. */
Bytes resummed(Bytes b)
{
    size_t header_len = (b[14] & 15) * 4u;
    uint16_t sum;

    b[24] = b[25] = 0;
    sum = static_cast<uint16_t>(~rte_raw_cksum(&b[14], header_len));
    std::memcpy(&b[24], &sum, 2);
    return b;
}

struct frame_route route_of(const struct golden &g)
{
    struct frame_route r = {};

    r.src_mac = mac_of("020000000001");
    r.dst_mac = mac_of("020000000002");
    r.vlan = g.vlan;
    r.src = addr_of(g.v4 ? "10.0.0.1" : "fd00::1");
    r.dst = addr_of(g.v4 ? "10.0.0.2" : "fd00::12:3456");
    r.sport = 0x1234;
    r.dport = 47800;
    r.dscp = 46;
    r.ecn = 2;
    return r;
}

} // namespace

TEST(Frame, GoldenPut)
{
    for (const auto &g : goldens) {
        struct frame_route r = route_of(g);
        Bytes expect = golden_frame(g);
        Exact e(Bytes(g.header_len, 0xa5));

        expect.resize(g.header_len);
        EXPECT_EQ(frame_header_len(&r), g.header_len);
        EXPECT_EQ(frame_put(e.data(), &r, 5), g.header_len);
        EXPECT_EQ(to_hex(Bytes(e.data(), e.data() + g.header_len)), to_hex(expect)) << g.what;
    }
}

TEST(Frame, GoldenParse)
{
    for (const auto &g : goldens) {
        struct frame_route r = route_of(g);
        struct frame f;

        ASSERT_EQ(parse(golden_frame(g), &f), FRAME_UDP) << g.what;
        EXPECT_EQ(f.kind, FRAME_UDP);
        EXPECT_TRUE(rte_is_same_ether_addr(&f.src_mac, &r.src_mac));
        EXPECT_TRUE(rte_is_same_ether_addr(&f.dst_mac, &r.dst_mac));
        EXPECT_EQ(f.vlan, g.vlan);
        EXPECT_EQ(f.ecn, 2);
        EXPECT_EQ(f.hop_limit, 64);
        EXPECT_TRUE(addr_equal(&f.src, &r.src));
        EXPECT_TRUE(addr_equal(&f.dst, &r.dst));
        EXPECT_EQ(f.sport, 0x1234);
        EXPECT_EQ(f.dport, 47800);
        EXPECT_EQ(f.udp_sum, 0);
        EXPECT_EQ(f.l3_off, g.vlan == FRAME_VLAN_NONE ? 14 : 18);
        EXPECT_EQ(f.l4_off, g.header_len - 8);
        EXPECT_EQ(f.payload_off, g.header_len);
        EXPECT_EQ(f.payload_len, 5u);
    }
}

/* The well-known example header: 4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7. */
TEST(Frame, KnownIpv4Checksum)
{
    struct frame_route r = route_of(goldens[0]);
    uint8_t p[64];

    r.src = addr_of("192.168.0.1");
    r.dst = addr_of("192.168.0.199");
    r.dscp = r.ecn = 0;
    frame_put(p, &r, 0x73 - 28);
    EXPECT_EQ(to_hex(Bytes(p + 14, p + 34)), "45000073000040004011b861c0a80001c0a800c7");
}

TEST(Frame, EveryTruncation)
{
    for (const auto &g : goldens) {
        Bytes b = golden_frame(g);
        uint32_t whole = static_cast<uint32_t>(b.size());
        struct frame f;

        for (uint32_t len = 0; len < whole; len++) {
            EXPECT_EQ(frame_parse(Exact(b.data(), len).data(), len, len, &f), FRAME_SHORT)
                << g.what << len;
            EXPECT_EQ(frame_parse(Exact(b.data(), len).data(), whole, len, &f), FRAME_SHORT);
        }
        /* The same whole frame in segments. The headers must be in the first one. */
        for (uint32_t head = 0; head < whole; head++)
            EXPECT_EQ(frame_parse(Exact(b.data(), head).data(), head, whole, &f),
                      head < g.header_len ? FRAME_SHORT : FRAME_UDP);
    }
}

TEST(Frame, PaddingIsNotPayload)
{
    for (const auto &g : goldens) {
        Bytes b = golden_frame(g);
        struct frame f;

        b.resize(b.size() + 46);
        EXPECT_EQ(parse(b, &f), FRAME_UDP);
        EXPECT_EQ(f.payload_len, 5u);
    }
}

TEST(Frame, OtherProtocols)
{
    std::string up = std::string(ipv4) + udp + hello, up6 = std::string(ipv6) + udp + hello;
    Bytes b;

    EXPECT_EQ(kind_of(frame_of(up, "88cc")), FRAME_OTHER);                     /* LLDP */
    EXPECT_EQ(kind_of(frame_of(up, "0026")), FRAME_OTHER);                     /* 802.3 length */
    EXPECT_EQ(kind_of(frame_of(up, "8100 0001 8100 0002 0800")), FRAME_OTHER); /* two tags */
    EXPECT_EQ(kind_of(frame_of(up, "88a8 0001 0800")), FRAME_OTHER);           /* 802.1ad */
    EXPECT_EQ(kind_of(frame_of("", "8100 0001 88cc")), FRAME_OTHER); /* nothing behind the tag */
    b = frame_of(up);
    b[23] = 6;
    EXPECT_EQ(kind_of(resummed(b)), FRAME_OTHER);
    b.resize(34); /* nothing behind the IP header */
    b[17] = 20;
    EXPECT_EQ(kind_of(resummed(b)), FRAME_OTHER);
    b = from_hex(std::string(macs) + "86dd" + ipv6);
    b[19] = 0;
    b[20] = 59;
    EXPECT_EQ(kind_of(b), FRAME_OTHER);
    for (uint8_t next : {0, 6, 43, 51, 59, 60}) {
        b = frame_of(up6, "86dd");
        b[20] = next;
        EXPECT_EQ(kind_of(b), FRAME_OTHER) << int{next};
    }
}

TEST(Frame, WhatWasNotReadIsZero)
{
    struct frame f;

    std::memset(&f, 0xa5, sizeof f);
    EXPECT_EQ(parse(frame_of("", "88cc"), &f), FRAME_OTHER);
    EXPECT_EQ(f.vlan, FRAME_VLAN_NONE);
    EXPECT_EQ(f.sport | f.dport | f.udp_sum | f.ecn | f.hop_limit, 0);
    EXPECT_EQ(f.l4_off | f.payload_off, 0);
    EXPECT_EQ(f.payload_len, 0u);
    EXPECT_TRUE(addr_is_unset(&f.src) && addr_is_unset(&f.dst));
}

TEST(Frame, VlanPriorityBitsAreNotTheId)
{
    struct frame f;

    EXPECT_EQ(parse(frame_of(std::string(ipv4) + udp + hello, "8100 f005 0800"), &f), FRAME_UDP);
    EXPECT_EQ(f.vlan, 5);
    EXPECT_EQ(parse(frame_of(std::string(ipv4) + udp + hello, "8100 e000 0800"), &f), FRAME_UDP);
    EXPECT_EQ(f.vlan, 0);
}

TEST(Frame, BadIpv4)
{
    Bytes good = frame_of(std::string(ipv4) + udp + hello), b;

    for (uint8_t version_ihl : {0x00, 0x35, 0x55, 0x65, 0x40, 0x44}) {
        b = good;
        b[14] = version_ihl;
        EXPECT_EQ(kind_of(b), FRAME_BAD_IP) << int{version_ihl};
    }
    /* Any single bit of the header: the checksum, or a check before it, finds it. */
    for (size_t bit = 14 * 8; bit < 34 * 8; bit++) {
        b = good;
        flip(b, bit);
        EXPECT_TRUE(kind_of(b) == FRAME_BAD_IP || kind_of(b) == FRAME_SHORT) << bit;
    }
}

TEST(Frame, Ipv4LengthsThatDisagree)
{
    Bytes good = frame_of(std::string(ipv4) + udp + hello), b = good;

    b[17] = 0x22; /* one byte more than there is */
    EXPECT_EQ(kind_of(resummed(b)), FRAME_SHORT);
    b[17] = 0x13; /* ends inside its own header */
    EXPECT_EQ(kind_of(resummed(b)), FRAME_SHORT);
    b[17] = 0x14 + 7; /* ends inside UDP's header */
    EXPECT_EQ(kind_of(resummed(b)), FRAME_SHORT);
    b[17] = 0x20; /* one byte less than UDP's length */
    EXPECT_EQ(kind_of(resummed(b)), FRAME_BAD_UDP);
}

TEST(Frame, Ipv4Options)
{
    std::string options = "47bc0029 0000 4000 4011 0000 0a000001 0a000002 0101010101010100";
    Bytes b = resummed(frame_of(options + udp + hello));
    struct frame f;

    EXPECT_EQ(parse(b, &f), FRAME_UDP);
    EXPECT_EQ(f.l4_off, 14 + 28);
    EXPECT_EQ(f.payload_off, 14 + 28 + 8);
    EXPECT_EQ(f.payload_len, 5u);
    b[40] ^= 1;
    EXPECT_EQ(kind_of(b), FRAME_BAD_IP);
    /* A header length beyond the end of the bytes. */
    b = resummed(frame_of(options + udp + hello));
    for (uint32_t head = 34; head < 42 + 8; head++)
        EXPECT_EQ(frame_parse(Exact(b.data(), head).data(), head, 55, &f), FRAME_SHORT);
}

TEST(Frame, Fragments)
{
    Bytes good = frame_of(std::string(ipv4) + udp + hello), b = good;

    b[20] = 0x20; /* more fragments */
    EXPECT_EQ(kind_of(resummed(b)), FRAME_FRAGMENT);
    b[20] = 0x00;
    b[21] = 0x01; /* not the first fragment */
    EXPECT_EQ(kind_of(resummed(b)), FRAME_FRAGMENT);
    b[21] = 0x00; /* only allowed to be fragmented */
    EXPECT_EQ(kind_of(resummed(b)), FRAME_UDP);
    b = frame_of(std::string(ipv6) + udp + hello, "86dd");
    b[20] = 44;
    EXPECT_EQ(kind_of(b), FRAME_FRAGMENT);
}

TEST(Frame, BadIpv6)
{
    Bytes good = frame_of(std::string(ipv6) + udp + hello, "86dd"), b;

    for (uint8_t version : {0x0b, 0x4b, 0x5b, 0x7b}) {
        b = good;
        b[14] = version;
        EXPECT_EQ(kind_of(b), FRAME_BAD_IP);
    }
    /* An IPv6 packet must not look like an IPv4 one: ::ffff:a.b.c.d on the wire. */
    for (size_t at : {22, 38}) {
        Bytes mapped = from_hex("00000000000000000000ffff0a000001");

        b = good;
        std::copy(mapped.begin(), mapped.end(), b.begin() + static_cast<long>(at));
        EXPECT_EQ(kind_of(b), FRAME_BAD_IP);
    }
}

TEST(Frame, Ipv6LengthsThatDisagree)
{
    Bytes good = frame_of(std::string(ipv6) + udp + hello, "86dd"), b = good;

    b[19] = 14; /* one byte more than there is */
    EXPECT_EQ(kind_of(b), FRAME_SHORT);
    b[19] = 12; /* one byte less than UDP's length */
    EXPECT_EQ(kind_of(b), FRAME_BAD_UDP);
    b[19] = 7; /* ends inside UDP's header */
    EXPECT_EQ(kind_of(b), FRAME_SHORT);
    b[19] = 0;
    EXPECT_EQ(kind_of(b), FRAME_SHORT);
    b[18] = 0xff;
    b[19] = 0xff;
    EXPECT_EQ(kind_of(b), FRAME_SHORT);
}

TEST(Frame, UdpLengthMustAgree)
{
    for (const auto &g : goldens) {
        for (unsigned len = 0; len < 0x20; len++) {
            Bytes b = golden_frame(g);

            b[g.header_len - 3u] = static_cast<uint8_t>(len);
            EXPECT_EQ(kind_of(b), len == 13 ? FRAME_UDP : FRAME_BAD_UDP) << g.what << len;
        }
    }
}

TEST(Frame, EmptyPayload)
{
    for (const auto &g : goldens) {
        struct frame_route r = route_of(g);
        Bytes b(g.header_len);
        struct frame f;

        frame_put(b.data(), &r, 0);
        EXPECT_EQ(parse(b, &f), FRAME_UDP);
        EXPECT_EQ(f.payload_len, 0u);
        EXPECT_EQ(f.payload_off, b.size());
    }
}

TEST(Frame, Arp)
{
    Bytes good =
        frame_of("0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002", "0806");
    struct frame f;
    Bytes b;

    ASSERT_EQ(parse(good, &f), FRAME_ARP);
    EXPECT_EQ(f.l3_off, 14);
    for (uint32_t len = 14; len < good.size(); len++)
        EXPECT_EQ(frame_parse(Exact(good.data(), len).data(), len, len, &f), FRAME_SHORT);
    for (size_t at : {15, 17, 18, 19}) { /* hardware, protocol, their lengths */
        b = good;
        b[at]++;
        EXPECT_EQ(kind_of(b), FRAME_OTHER) << at;
    }
    b = frame_of("0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002",
                 "8100 0005 0806");
    ASSERT_EQ(parse(b, &f), FRAME_ARP);
    EXPECT_EQ(f.l3_off, 18);
    EXPECT_EQ(f.vlan, 5);
}

TEST(Frame, Icmp)
{
    Bytes b = resummed(frame_of("4500001c 0000 4000 4001 0000 0a000001 0a000002 0800f7ff00000000"));
    struct frame f;

    ASSERT_EQ(parse(b, &f), FRAME_ICMP4);
    EXPECT_EQ(f.l4_off, 34);
    EXPECT_EQ(f.payload_len, 8u);
    for (uint32_t head = 34; head < 42; head++)
        EXPECT_EQ(frame_parse(Exact(b.data(), head).data(), head, 42, &f), FRAME_SHORT);
    b[17] = 0x1b;
    EXPECT_EQ(kind_of(resummed(b)), FRAME_SHORT);
    b = frame_of("60000000 0004 3a ff fd000000000000000000000000000001"
                 "fd000000000000000000000000123456 80000000",
                 "86dd");
    ASSERT_EQ(parse(b, &f), FRAME_ICMP6);
    EXPECT_EQ(f.l4_off, 54);
    EXPECT_EQ(f.payload_len, 4u);
    EXPECT_EQ(f.hop_limit, 255);
    b[19] = 3;
    EXPECT_EQ(kind_of(b), FRAME_SHORT);
}

TEST(Frame, PutRefusesWhatIpCannotCarry)
{
    struct frame_route r = route_of(goldens[0]);
    uint8_t p[64];

    EXPECT_EQ(frame_put(p, &r, 65507), 42);
    EXPECT_DEATH(frame_put(p, &r, 65508), "payload_len");
    r.src = addr_of("fd00::1"); // IPv6's length does not count its header
    r.dst = addr_of("fd00::2");
    EXPECT_EQ(frame_put(p, &r, 65527), 62);
    EXPECT_DEATH(frame_put(p, &r, 65528), "payload_len");
}

TEST(Frame, TheLongestPackets)
{
    const struct {
        uint32_t payload;
        uint8_t length[2]; // in the IP header: IPv4's counts that header, IPv6's does not
    } longest[] = {{65507, {0xff, 0xff}}, {65527, {0xff, 0xff}}};

    for (const auto &g : goldens) {
        struct frame_route r = route_of(g);
        const auto &most = longest[g.v4 ? 0 : 1];
        uint32_t l3 = g.vlan == FRAME_VLAN_NONE ? 14 : 18;
        uint8_t p[80];
        struct frame f;
        uint32_t head = frame_put(p, &r, most.payload);

        EXPECT_EQ(std::memcmp(p + l3 + (g.v4 ? 2 : 4), most.length, 2), 0) << g.what;
        ASSERT_EQ(frame_parse(p, head, head + most.payload, &f), FRAME_UDP) << g.what;
        EXPECT_EQ(f.payload_len, most.payload) << g.what;
        EXPECT_EQ(frame_parse(p, head, head + most.payload - 1, &f), FRAME_SHORT) << g.what;
        /* the checksum of a datagram so long, split behind the headers */
        Bytes payload(most.payload, 0xff);

        frame_set_udp_sum(p, &r, most.payload, frame_sum(payload.data(), most.payload));
        ASSERT_EQ(frame_parse(p, head, head + most.payload, &f), FRAME_UDP) << g.what;
        EXPECT_TRUE(frame_udp_sum_ok(p, &f, frame_sum(payload.data(), most.payload))) << g.what;
        payload[most.payload - 1] = 0xfe;
        EXPECT_FALSE(frame_udp_sum_ok(p, &f, frame_sum(payload.data(), most.payload))) << g.what;
    }
}

TEST(Frame, RandomRoundTrip)
{
    Random r;

    for (int i = 0; i < 20000; i++) {
        struct frame_route v = route_of(goldens[r.below(4)]);
        uint32_t payload = static_cast<uint32_t>(r.below(16000)), head;
        uint8_t p[80];
        struct frame f;

        for (int b = addr_is_v4(&v.src) ? 12 : 1; b < 16; b++) {
            v.src.b[b] = static_cast<uint8_t>(r.u64());
            v.dst.b[b] = static_cast<uint8_t>(r.u64());
        }
        if (v.vlan != FRAME_VLAN_NONE)
            v.vlan = static_cast<uint16_t>(r.below(4096));
        v.sport = static_cast<uint16_t>(r.u64());
        v.dport = static_cast<uint16_t>(r.u64());
        v.dscp = static_cast<uint8_t>(r.below(64));
        v.ecn = static_cast<uint8_t>(r.below(4));
        head = frame_put(p + 1, &v, payload);
        ASSERT_EQ(frame_parse(p + 1, head, head + payload, &f), FRAME_UDP);
        ASSERT_EQ(f.vlan, v.vlan);
        ASSERT_EQ(f.ecn, v.ecn);
        ASSERT_TRUE(addr_equal(&f.src, &v.src) && addr_equal(&f.dst, &v.dst));
        ASSERT_TRUE(f.sport == v.sport && f.dport == v.dport);
        ASSERT_TRUE(f.payload_off == head && f.payload_len == payload);
    }
}
