/* SPDX-License-Identifier: BSD-3-Clause */
/* Ones-complement sums and the UDP checksum, against known vectors, DPDK and a naive model. */
#include "support.h"

#include <rte_ip.h>
#include <rte_udp.h>

namespace
{

/* 16 bits at a time, as RFC 1071 words it: the sum's two bytes in memory order. */
uint16_t naive_sum(const uint8_t *p, size_t len)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < len; i++)
        sum += i % 2 == 0 ? p[i] << 8 : p[i];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return rte_cpu_to_be_16(static_cast<uint16_t>(sum));
}

struct frame_route route(bool v4, uint16_t vlan)
{
    struct frame_route r = {};

    r.src_mac = mac_of("020000000001");
    r.dst_mac = mac_of("020000000002");
    r.vlan = vlan;
    r.src = addr_of(v4 ? "10.0.0.1" : "fd00::1");
    r.dst = addr_of(v4 ? "10.0.0.2" : "fd00::12:3456");
    r.sport = 0x1234;
    r.dport = 47800;
    return r;
}

uint16_t dpdk_sum(const Bytes &frame, bool v4, size_t l3)
{
    if (v4) {
        struct rte_ipv4_hdr ip;

        std::memcpy(&ip, &frame[l3], sizeof ip);
        return rte_ipv4_udptcp_cksum(&ip, &frame[l3 + sizeof ip]);
    }
    struct rte_ipv6_hdr ip;

    std::memcpy(&ip, &frame[l3], sizeof ip);
    return rte_ipv6_udptcp_cksum(&ip, &frame[l3 + sizeof ip]);
}

/* Headers for the payload, with the checksum by frame_set_udp_sum(), then the payload. */
Bytes summed_frame(const struct frame_route &r, const Bytes &payload)
{
    uint32_t len = static_cast<uint32_t>(payload.size());
    Exact e(Bytes(frame_header_len(&r), 0xa5));
    uint16_t head = frame_put(e.data(), &r, len);
    Bytes frame;

    frame_set_udp_sum(e.data(), &r, len, frame_sum(payload.data(), len));
    frame.assign(e.data(), e.data() + head);
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
}

uint16_t udp_field(const Bytes &frame, size_t payload_len)
{
    uint16_t field;

    std::memcpy(&field, &frame[frame.size() - payload_len - 2], sizeof field);
    return field;
}

bool sum_ok(const Bytes &frame)
{
    Exact e(frame);
    struct frame f;
    uint32_t len = static_cast<uint32_t>(frame.size());

    EXPECT_EQ(frame_parse(e.data(), len, len, &f), FRAME_UDP);
    return frame_udp_sum_ok(e.data(), &f, frame_sum(e.data() + f.payload_off, f.payload_len));
}

} // namespace

TEST(Sum, Rfc1071Example)
{
    Bytes b = from_hex("0001 f203 f4f5 f6f7");

    EXPECT_EQ(frame_sum_fold(frame_sum(b.data(), 8)), rte_cpu_to_be_16(0xddf2));
}

TEST(Sum, Fold)
{
    EXPECT_EQ(frame_sum_fold(0), 0);
    EXPECT_EQ(frame_sum_fold(0xffff), 0xffff);
    EXPECT_EQ(frame_sum_fold(0x10000), 1);
    EXPECT_EQ(frame_sum_fold(0x1fffe), 0xffff);
    EXPECT_EQ(frame_sum_fold(0xffffffff), 0xffff);
    EXPECT_EQ(frame_sum_fold(0xffffffff00000000), 0xffff);
    EXPECT_EQ(frame_sum_fold(0xfffffffffffffffe), 0xfffe);
    EXPECT_EQ(frame_sum_fold(UINT64_MAX), 0xffff);
}

TEST(Sum, FoldAgainstRemainder)
{
    Random r;

    for (int i = 0; i < 100000; i++) {
        uint64_t x = r.spread();

        ASSERT_EQ(frame_sum_fold(x) % 0xffff, x % 0xffff);
        ASSERT_EQ(frame_sum_fold(x) == 0, x == 0);
    }
}

TEST(Sum, EveryLengthAndAlignment)
{
    Random r;
    Bytes b = r.bytes(400);

    for (size_t off = 0; off < 8; off++) {
        for (uint32_t len = 0; len < 300; len++) {
            Bytes part(b.begin() + static_cast<long>(off),
                       b.begin() + static_cast<long>(off + len));
            Exact e(part);

            ASSERT_EQ(frame_sum_fold(frame_sum(e.data(), len)), naive_sum(&b[off], len));
            ASSERT_EQ(frame_sum_fold(frame_sum(&b[off], len)), naive_sum(&b[off], len));
        }
    }
}

TEST(Sum, LongRunsDoNotOverflow)
{
    Bytes b(1 << 20, 0xff);

    EXPECT_EQ(frame_sum_fold(frame_sum(b.data(), 1 << 20)), 0xffff);
    EXPECT_LT(frame_sum(b.data(), 1 << 20), 1ull << 34);
    b[7] = 0xfe;
    EXPECT_EQ(frame_sum_fold(frame_sum(b.data(), 1 << 20)), naive_sum(b.data(), b.size()));
}

TEST(Sum, GoldenUdp)
{
    Bytes hello = from_hex("68656c6c6f");

    EXPECT_EQ(udp_field(summed_frame(route(true, FRAME_VLAN_NONE), hello), 5),
              rte_cpu_to_be_16(0xdb12));
    EXPECT_EQ(udp_field(summed_frame(route(false, FRAME_VLAN_NONE), hello), 5),
              rte_cpu_to_be_16(0xc0aa));
}

TEST(Sum, AgainstDpdk)
{
    Random r;

    for (bool v4 : {true, false}) {
        for (uint16_t vlan : {FRAME_VLAN_NONE, 7}) {
            size_t l3 = vlan == FRAME_VLAN_NONE ? 14 : 18;

            for (size_t len = 0; len < 260; len++) {
                Bytes payload = r.bytes(len);
                struct frame_route way = route(v4, vlan);

                for (size_t b = v4 ? 12 : 1; b < 16; b++) {
                    way.src.b[b] = static_cast<uint8_t>(r.u64());
                    way.dst.b[b] = static_cast<uint8_t>(r.u64());
                }
                Bytes frame = summed_frame(way, payload);
                uint16_t field = udp_field(frame, len);

                ASSERT_TRUE(sum_ok(frame));
                std::memset(&frame[frame.size() - len - 2], 0, 2);
                ASSERT_EQ(field, dpdk_sum(frame, v4, l3)) << len;
                ASSERT_TRUE(sum_ok(frame)) << "without a checksum";
            }
        }
    }
}

TEST(Sum, PseudoHeaderAgainstDpdk)
{
    struct frame_route r = route(true, FRAME_VLAN_NONE), r6 = route(false, FRAME_VLAN_NONE);
    uint8_t p[128];
    struct rte_ipv4_hdr ip4;
    struct rte_ipv6_hdr ip6;

    frame_put(p, &r, 1000);
    std::memcpy(&ip4, p + 14, sizeof ip4);
    EXPECT_EQ(frame_sum_fold(frame_pseudo_sum(IPPROTO_UDP, &r.src, &r.dst, 1008)),
              rte_ipv4_phdr_cksum(&ip4, 0));
    frame_put(p, &r6, 1000);
    std::memcpy(&ip6, p + 14, sizeof ip6);
    EXPECT_EQ(frame_sum_fold(frame_pseudo_sum(IPPROTO_UDP, &r6.src, &r6.dst, 1008)),
              rte_ipv6_phdr_cksum(&ip6, 0));
}

TEST(Sum, PseudoHeaderForOffload)
{
    for (bool v4 : {true, false}) {
        for (uint16_t vlan : {FRAME_VLAN_NONE, 7}) {
            struct frame_route r = route(v4, vlan);
            Bytes b(frame_header_len(&r)), before;
            uint16_t sum;

            frame_put(b.data(), &r, 1000);
            before = b;
            frame_set_pseudo_sum(b.data(), &r, 1000);
            std::memcpy(&sum, &b[b.size() - 2], 2);
            EXPECT_EQ(sum, frame_sum_fold(frame_pseudo_sum(IPPROTO_UDP, &r.src, &r.dst, 1008)));
            b.resize(b.size() - 2);
            before.resize(b.size());
            EXPECT_EQ(to_hex(b), to_hex(before));
        }
    }
}

TEST(Sum, PayloadSumNeedNotBeFolded)
{
    struct frame_route r = route(true, FRAME_VLAN_NONE);
    uint8_t a[64], b[64];

    frame_put(a, &r, 100);
    frame_put(b, &r, 100);
    frame_set_udp_sum(a, &r, 100, UINT64_MAX - 1);
    frame_set_udp_sum(b, &r, 100, 0xfffe);
    EXPECT_EQ(std::memcmp(a, b, 42), 0);
}

TEST(Sum, ZeroIsSentAsAllOnes)
{
    for (bool v4 : {true, false}) {
        struct frame_route r = route(v4, FRAME_VLAN_NONE);
        Bytes frame = summed_frame(r, {0, 0});
        uint16_t field = udp_field(frame, 2);
        Bytes payload(2);

        /* This payload makes the sum all ones. */
        std::memcpy(payload.data(), &field, 2);
        frame = summed_frame(r, payload);
        EXPECT_EQ(udp_field(frame, 2), 0xffff);
        EXPECT_TRUE(sum_ok(frame));
        EXPECT_EQ(frame[frame.size() - 4], 0xff);
    }
}

TEST(Sum, EveryFlippedBitIsFound)
{
    for (bool v4 : {true, false}) {
        Bytes good = summed_frame(route(v4, FRAME_VLAN_NONE), from_hex("0102030405060708090a0b"));
        size_t ports = good.size() - 11 - 8;

        for (size_t bit = ports * 8; bit < good.size() * 8; bit++) {
            Bytes bad = good;
            struct frame f;
            Exact e(bad);

            flip(bad, bit);
            if (frame_parse(bad.data(), static_cast<uint32_t>(bad.size()),
                            static_cast<uint32_t>(bad.size()), &f) == FRAME_UDP) {
                EXPECT_FALSE(sum_ok(bad)) << bit;
            } else {
                EXPECT_EQ(f.kind, FRAME_BAD_UDP) << bit;
            }
        }
        EXPECT_TRUE(sum_ok(good));
    }
}

/* A router that changes a word of a packet corrects the checksum, which is never 0 but without one.
 */
TEST(Sum, OfChangedBytes)
{
    for (bool v4 : {true, false}) {
        Bytes frame = summed_frame(route(v4, FRAME_VLAN_NONE), from_hex("0102030405060708"));
        uint32_t len = static_cast<uint32_t>(frame.size());
        bool all_ones = false;

        for (uint32_t word = 0; word < 65536; word++) {
            struct frame f;
            uint64_t before, after;

            ASSERT_EQ(frame_parse(frame.data(), len, len, &f), FRAME_UDP);
            before = frame_sum(&frame[f.payload_off + 2], 2);
            frame[f.payload_off + 2] = static_cast<uint8_t>(word >> 8);
            frame[f.payload_off + 3] = static_cast<uint8_t>(word);
            after = frame_sum(&frame[f.payload_off + 2], 2);
            frame_change_udp_sum(frame.data(), &f, before, after);
            ASSERT_TRUE(sum_ok(frame)) << word;
            ASSERT_NE(udp_field(frame, 8), 0) << word;
            all_ones = all_ones || udp_field(frame, 8) == 0xffff;
        }
        EXPECT_TRUE(all_ones);
    }
}

TEST(Sum, ThatWasNotSentIsNotCorrected)
{
    Bytes frame = summed_frame(route(true, FRAME_VLAN_NONE), from_hex("0102030405060708"));
    uint32_t len = static_cast<uint32_t>(frame.size());
    struct frame f;

    std::fill_n(frame.end() - 8 - 2, 2, 0);
    ASSERT_EQ(frame_parse(frame.data(), len, len, &f), FRAME_UDP);
    frame_change_udp_sum(frame.data(), &f, 1, 2);
    EXPECT_EQ(udp_field(frame, 8), 0);
}
