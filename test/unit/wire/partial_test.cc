/* SPDX-License-Identifier: BSD-3-Clause */
/* Partial checksums of UDP and TCP, against whole checksums that DPDK computes. */
#include "support.h"

#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

extern "C" {
#include "wire/partial.h"
}

namespace
{

struct frame_route route(bool v4, uint16_t vlan)
{
    struct frame_route r = {};

    r.src_mac = mac_of("020000000001");
    r.dst_mac = mac_of("020000000002");
    r.vlan = vlan;
    r.src = addr_of(v4 ? "10.0.0.1" : "fd00::1");
    r.dst = addr_of(v4 ? "10.0.0.2" : "fd00::2");
    r.sport = 1234;
    r.dport = 4321;
    return r;
}

uint16_t get16(const Bytes &b, size_t at)
{
    uint16_t v;

    std::memcpy(&v, &b[at], sizeof v);
    return v;
}

void put16(Bytes &b, size_t at, uint16_t v)
{
    std::memcpy(&b[at], &v, sizeof v);
}

/* A frame of either protocol, and the positions of its headers. */
struct Frame {
    Bytes bytes;
    size_t l3, l4, sum;
    bool v4;

    Frame(bool is_v4, bool tcp, uint16_t vlan, size_t payload, uint8_t fill) : v4(is_v4)
    {
        struct frame_route r = route(v4, vlan);
        size_t header = tcp ? 20 : 8, head = frame_header_len(&r);

        /* frame_put() makes UDP's header; TCP's replaces it and the start of the payload */
        bytes.resize(head + header - 8 + payload);
        for (size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<uint8_t>(fill + 7 * i * i);
        frame_put(bytes.data(), &r, static_cast<uint32_t>(bytes.size() - head));
        l4 = head - 8;
        l3 = l4 - (v4 ? 20 : 40);
        sum = l4 + (tcp ? 16 : 6);
        if (tcp) {
            bytes[l4 + 12] = 5 << 4;
            bytes[l3 + (v4 ? 9 : 6)] = IPPROTO_TCP;
            if (v4) {
                put16(bytes, l3 + 10, 0);
                put16(bytes, l3 + 10, (uint16_t)~rte_raw_cksum(&bytes[l3], 20));
            }
        }
        put16(bytes, sum, 0);
    }
    uint16_t whole() const /* the checksum with 0 in its field */
    {
        if (v4) {
            struct rte_ipv4_hdr ip;

            std::memcpy(&ip, &bytes[l3], sizeof ip);
            return rte_ipv4_udptcp_cksum(&ip, &bytes[l4]);
        }
        struct rte_ipv6_hdr ip;

        std::memcpy(&ip, &bytes[l3], sizeof ip);
        return rte_ipv6_udptcp_cksum(&ip, &bytes[l4]);
    }
    uint16_t pseudo() const
    {
        if (v4) {
            struct rte_ipv4_hdr ip;

            std::memcpy(&ip, &bytes[l3], sizeof ip);
            return rte_ipv4_phdr_cksum(&ip, 0);
        }
        struct rte_ipv6_hdr ip;

        std::memcpy(&ip, &bytes[l3], sizeof ip);
        return rte_ipv6_phdr_cksum(&ip, 0);
    }
};

bool find(const Bytes &b, struct partial *s)
{
    return partial_find(b.data(), static_cast<uint32_t>(b.size()), static_cast<uint32_t>(b.size()),
                        s);
}

TEST(Partial, IsFoundAndCompletedWhateverCarriesIt)
{
    for (bool v4 : {false, true})
        for (bool tcp : {false, true})
            for (uint16_t vlan : {static_cast<uint16_t>(FRAME_VLAN_NONE), static_cast<uint16_t>(9)})
                for (size_t payload : {0, 1, 17, 1000, 1401}) {
                    Frame f(v4, tcp, vlan, payload, static_cast<uint8_t>(payload));
                    uint16_t whole = f.whole();
                    struct partial s;

                    EXPECT_FALSE(find(f.bytes, &s)) << "the field has no checksum";
                    put16(f.bytes, f.sum, whole);
                    EXPECT_FALSE(find(f.bytes, &s)) << "the checksum is right";
                    put16(f.bytes, f.sum, f.pseudo());
                    f.bytes.insert(f.bytes.end(), 5, 0xee); /* Ethernet's padding */
                    ASSERT_TRUE(find(f.bytes, &s)) << v4 << tcp << vlan << " " << payload;
                    EXPECT_EQ(s.sum_off, f.sum);
                    partial_complete(f.bytes.data(), &s, frame_sum(&f.bytes[s.off], s.len));
                    EXPECT_EQ(get16(f.bytes, f.sum), whole) << v4 << tcp << vlan << " " << payload;
                    EXPECT_FALSE(find(f.bytes, &s)) << "it is already right";
                }
}

/* The two bytes of payload make the whole checksum equal to that of the pseudo header. */
TEST(Partial, ARightChecksumThatLooksLikeOneStaysAsItIs)
{
    Frame f(true, false, FRAME_VLAN_NONE, 2, 0);
    struct partial s;

    for (uint32_t v = 0; v < 65536; v++) {
        put16(f.bytes, f.sum, 0);
        put16(f.bytes, f.l4 + 8, static_cast<uint16_t>(v));
        if (f.whole() == f.pseudo())
            break;
    }
    ASSERT_EQ(f.whole(), f.pseudo());
    put16(f.bytes, f.sum, f.whole());
    Bytes before = f.bytes;

    ASSERT_TRUE(find(f.bytes, &s));
    partial_complete(f.bytes.data(), &s, frame_sum(&f.bytes[s.off], s.len));
    EXPECT_EQ(f.bytes, before);
}

TEST(Partial, UdpNeverGetsAZero)
{
    Frame f(true, false, FRAME_VLAN_NONE, 2, 0);
    struct partial s;

    for (uint32_t v = 0; v < 65536; v++) { /* all possible sums */
        put16(f.bytes, f.l4 + 8, static_cast<uint16_t>(v));
        put16(f.bytes, f.sum, f.pseudo());
        ASSERT_TRUE(find(f.bytes, &s));
        partial_complete(f.bytes.data(), &s, frame_sum(&f.bytes[s.off], s.len));
        ASSERT_NE(get16(f.bytes, f.sum), 0) << v;
    }
}

TEST(Partial, FragmentsOtherProtocolsAndStumpsHaveNone)
{
    for (bool tcp : {false, true}) {
        Frame f(true, tcp, FRAME_VLAN_NONE, 100, 0);
        struct partial s;

        put16(f.bytes, f.sum, f.pseudo());
        ASSERT_TRUE(find(f.bytes, &s));
        for (uint32_t len = 0; len < f.bytes.size(); len++) {
            Exact stump(Bytes(f.bytes.begin(), f.bytes.begin() + len));

            EXPECT_FALSE(partial_find(stump.data(), len, len, &s)) << len;
        }
        Bytes other = f.bytes, part = f.bytes;

        other[f.l3 + 9] = IPPROTO_SCTP;
        part[f.l3 + 6] |= 0x20; /* more fragments */
        for (Bytes *b : {&other, &part}) {
            put16(*b, f.l3 + 10, 0);
            put16(*b, f.l3 + 10, (uint16_t)~rte_raw_cksum(&(*b)[f.l3], 20));
            EXPECT_FALSE(find(*b, &s));
        }
    }
}

/* The checksum's place must be within the frame, and within its first segment. */
TEST(Partial, WhoseChecksumIsNotThereHasNone)
{
    for (bool v4 : {false, true})
        for (bool tcp : {false, true}) {
            Frame f(v4, tcp, FRAME_VLAN_NONE, 100, 0);
            uint32_t len = static_cast<uint32_t>(f.bytes.size());
            uint32_t end = static_cast<uint32_t>(f.sum + 2);
            struct partial s;

            put16(f.bytes, f.sum, f.pseudo());
            EXPECT_TRUE(partial_find(f.bytes.data(), end, len, &s) || !tcp)
                << "udp: its header is 8";
            EXPECT_FALSE(partial_find(f.bytes.data(), end - 1, len, &s));
        }
    Frame stump(true, true, FRAME_VLAN_NONE, 100, 0);
    struct partial s;

    put16(stump.bytes, stump.l3 + 2, rte_cpu_to_be_16(20 + 19)); /* a TCP header of 19 bytes */
    put16(stump.bytes, stump.l3 + 10, 0);
    put16(stump.bytes, stump.l3 + 10, (uint16_t)~rte_raw_cksum(&stump.bytes[stump.l3], 20));
    put16(stump.bytes, stump.sum, stump.pseudo());
    EXPECT_FALSE(find(stump.bytes, &s));
}

} // namespace
