// SPDX-License-Identifier: BSD-3-Clause
// Stamped frames: golden bytes, checksums that the general parser accepts, and every wrong bit.
#include "support.h"

#include "../base/seed.h"

extern "C" {
#include "wire/stamp.h"
}

namespace
{

struct Shot {
    frame_route route = {};
    stamp_flow flow = {};
    uint32_t bytes = 60, number = 0;
    uint64_t time_ns = 0;
    uint8_t stream = 0;
    uint16_t window = 0;

    explicit Shot(bool v4 = true, uint16_t vlan = FRAME_VLAN_NONE)
    {
        route.src_mac = mac_of("020000000001");
        route.dst_mac = mac_of("020000000002");
        route.vlan = vlan;
        route.src = addr_of(v4 ? "198.18.0.1" : "fd00::1");
        route.dst = addr_of(v4 ? "198.19.0.1" : "fd01::1");
        bytes = stamp_frame_min(&route);
    }

    // Room behind the frame as in an mbuf, all filler.
    Bytes put() const
    {
        stamp_template t;
        Bytes b(bytes + STAMP_HEAD_MAX);

        stamp_template_init(&t, &route, bytes, stream, window);
        stamp_filler_put(b.data(), 0, static_cast<uint32_t>(b.size()));
        stamp_put(&t, b.data(), &flow, number, time_ns);
        b.resize(bytes);
        return b;
    }

    stamp_verdict get(const Bytes &b, stamp *out, uint32_t *end = nullptr) const
    {
        stamp_shape shape;

        stamp_shape_init(&shape, &route);
        return stamp_get(b.data(), static_cast<uint32_t>(b.size()), static_cast<uint32_t>(b.size()),
                         &shape, out, end);
    }
};

Shot random_shot(rng *r)
{
    Shot s(rng_below(r, 2) == 0, rng_below(r, 2) == 0 ? FRAME_VLAN_NONE : 1 + rng_below(r, 4094));
    uint32_t min = stamp_frame_min(&s.route);

    s.bytes = min + static_cast<uint32_t>(rng_below(r, rng_below(r, 4) ? 40 : 9600 - min + 1));
    s.flow = {static_cast<uint32_t>(rng_u64(r)), static_cast<uint32_t>(rng_u64(r)),
              static_cast<uint32_t>(rng_u64(r)), static_cast<uint16_t>(rng_u64(r)),
              static_cast<uint16_t>(rng_u64(r))};
    s.number = static_cast<uint32_t>(rng_u64(r));
    s.time_ns = rng_u64(r) >> 16;
    s.stream = static_cast<uint8_t>(rng_below(r, STAMP_STREAMS));
    s.window = static_cast<uint16_t>(rng_below(r, STAMP_WINDOWS));
    return s;
}

} // namespace

// Made with Python's struct module and a checksum of its own, from the description in stamp.h.
TEST(Stamp, GoldenBytes)
{
    Shot v4, v6(false, 5);

    v4.stream = 3;
    v4.window = 0x123;
    v4.number = 0x01020304;
    v4.flow = {7, 0xc6120008, 0xc6130001, 49191, 7};
    v4.time_ns = 0x0a0b0c0d0e0f;
    EXPECT_EQ(to_hex(v4.put()), "02000000000202000000000108004500002e000040004011ae90c6120008c613"
                                "0001c0270007001a06b9534c312301020304000000070a0b0c0d0e0f");
    v6.bytes = 97;
    v6.stream = 15;
    v6.window = 0xfff;
    v6.number = 0xfffffffe;
    v6.flow = {0xabcdef, 9, 1, 65535, 9};
    v6.time_ns = 0xffffffffffff;
    EXPECT_EQ(to_hex(v6.put()), "0200000000020200000000018100000586dd6000000000271140fd0000000000"
                                "00000000000000000009fd010000000000000000000000000001ffff00090027"
                                "6b86534cfffffffffffe00abcdefffffffffffff5455565758595a5b5c5d5e5f"
                                "60");
}

TEST(Stamp, RandomFramesComeBack)
{
    rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        Shot s = random_shot(&r);
        Bytes b = s.put();
        stamp out;
        uint32_t end = 0;

        ASSERT_EQ(s.get(b, &out, &end), STAMP_OK);
        EXPECT_EQ(out.stream, s.stream);
        EXPECT_EQ(out.window, s.window);
        EXPECT_EQ(out.number, s.number);
        EXPECT_EQ(out.flow, s.flow.flow);
        EXPECT_EQ(out.time_ns, s.time_ns);
        EXPECT_EQ(end, s.bytes);
        // the tree's general parser agrees, over all bytes
        frame f;
        ASSERT_EQ(frame_parse(b.data(), s.bytes, s.bytes, &f), FRAME_UDP);
        EXPECT_NE(f.udp_sum, 0);
        EXPECT_TRUE(frame_udp_sum_ok(b.data(), &f, frame_sum(&b[f.payload_off], f.payload_len)));
        EXPECT_EQ(f.sport, s.flow.sport);
        EXPECT_EQ(f.dport, s.flow.dport);
        EXPECT_EQ(f.vlan, s.route.vlan);
        EXPECT_TRUE(
            stamp_filler_ok(&b[f.payload_off + STAMP_BYTES], f.payload_off + STAMP_BYTES, s.bytes));
    }
}

// A checksum of 0 means that there is none, so UDP sends 0xffff instead.
TEST(Stamp, AChecksumIsNever0)
{
    Shot s;
    Bytes b = s.put();

    s.number = static_cast<uint32_t>(b[40] << 8 | b[41]);
    b = s.put();
    EXPECT_EQ(b[40] << 8 | b[41], 0xffff);
    stamp out;
    EXPECT_EQ(s.get(b, &out), STAMP_OK);
    EXPECT_EQ(out.number, s.number);
}

// A receiver that expects another shape reads it too: a device may add or remove a VLAN tag.
TEST(Stamp, AnotherShapeThanExpected)
{
    for (bool v4 : {true, false})
        for (bool tagged : {true, false}) {
            Shot sent(v4, tagged ? 7 : FRAME_VLAN_NONE), expected(v4, tagged ? FRAME_VLAN_NONE : 7);
            stamp out;

            sent.number = 77;
            ASSERT_EQ(expected.get(sent.put(), &out), STAMP_OK);
            EXPECT_EQ(out.number, 77u);
        }
}

// Each single bit from the IP header on shows: in the headers and the stamp by a checksum, in the
// filler when it is read. Only the MAC addresses and the VLAN id are free.
TEST(Stamp, EveryWrongBitShows)
{
    for (bool v4 : {true, false}) {
        Shot s(v4);
        stamp_shape shape;

        s.bytes = 150;
        s.number = 0x1234567;
        s.flow = {3, 0xc6120001, 0xc6130001, 49184, 7};
        s.time_ns = 123456789;
        stamp_shape_init(&shape, &s.route);
        const Bytes good = s.put();
        for (size_t bit = 8 * 14; bit < 8 * good.size(); bit++) {
            Bytes b = good;
            stamp out;
            uint32_t end = 0;

            flip(b, bit);
            stamp_verdict v = s.get(b, &out, &end);
            size_t at = bit / 8;
            // IPv6 has no header checksum: traffic class, flow label and hop limit are free
            if (!v4 && (at == 14 || at == 15 || at == 16 || at == 17 || at == 21)) {
                EXPECT_TRUE(v == STAMP_OK || (at == 14 && bit % 8 >= 4)) << bit;
                continue;
            }
            if (v == STAMP_OK) {
                EXPECT_GE(at, shape.stamp_off + STAMP_BYTES) << bit;
                EXPECT_FALSE(stamp_filler_ok(&b[shape.stamp_off + STAMP_BYTES],
                                             shape.stamp_off + STAMP_BYTES, end));
            } else if (v == STAMP_NONE) { // the magic itself
                EXPECT_TRUE(at == shape.stamp_off || at == shape.stamp_off + 1u) << bit;
            }
        }
    }
}

TEST(Stamp, ShortFramesAreNotRead)
{
    rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        Shot s = random_shot(&r);
        Bytes b = s.put();
        stamp out;

        b.resize(rng_below(&r, b.size()));
        b.shrink_to_fit();
        EXPECT_NE(s.get(b, &out), STAMP_OK);
    }
}

TEST(Stamp, StrangersHaveNone)
{
    Shot s;
    stamp out;
    Bytes b = s.put();

    b[42] = 'X'; // the magic
    EXPECT_EQ(s.get(b, &out), STAMP_NONE);
    std::fill(b.begin(), b.end(), 0xff);
    EXPECT_EQ(s.get(b, &out), STAMP_NONE);
}

TEST(Stamp, FillerSumsAreThoseOfItsBytes)
{
    Bytes all(1400);

    stamp_filler_put(all.data(), 0, 1400);
    for (uint32_t from = 0; from < 600; from += 2)
        for (uint32_t to = from; to < 1400; to += 7) {
            uint64_t sum = 0;

            for (uint32_t i = from; i < to; i++)
                sum += i % 2 == 0 ? all[i] * 256u : all[i];
            ASSERT_EQ(stamp_filler_sum(from, to), sum) << from << ".." << to;
        }
}

TEST(Stamp, ReflectionSwapsAddressesAndKeepsChecksums)
{
    rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        Shot s = random_shot(&r);
        Bytes b = s.put(), there = b;
        frame before, after;
        uint32_t len = s.bytes;
        stamp out;

        ASSERT_TRUE(stamp_reflect(b.data(), len, len));
        ASSERT_EQ(frame_parse(there.data(), len, len, &before), FRAME_UDP);
        ASSERT_EQ(frame_parse(b.data(), len, len, &after), FRAME_UDP);
        EXPECT_TRUE(addr_equal(&before.src, &after.dst) && addr_equal(&before.dst, &after.src));
        EXPECT_EQ(std::memcmp(&before.src_mac, &after.dst_mac, 6), 0);
        EXPECT_EQ(std::memcmp(&before.dst_mac, &after.src_mac, 6), 0);
        EXPECT_EQ(before.sport, after.dport);
        EXPECT_EQ(before.dport, after.sport);
        EXPECT_EQ(s.get(b, &out), STAMP_OK);
        EXPECT_EQ(out.number, s.number);
        ASSERT_TRUE(stamp_reflect(b.data(), len, len));
        EXPECT_EQ(b, there);
    }
}

TEST(Stamp, ReflectionRefusesGroupsAndStrangers)
{
    Shot s;
    Bytes b = s.put(), kept;

    b[0] |= 1; // a group
    kept = b;
    EXPECT_FALSE(stamp_reflect(b.data(), 60, 60));
    EXPECT_EQ(b, kept);
    b = s.put();
    b[12] = 0x88; // an Ethertype of its own
    kept = b;
    EXPECT_FALSE(stamp_reflect(b.data(), 60, 60));
    EXPECT_EQ(b, kept);
    EXPECT_FALSE(stamp_reflect(b.data(), 10, 10));
}

// A length of UDP that leaves no room for a stamp, or goes beyond the frame, makes it a corrupt
// one, although the IP header says the same, and there is no checksum.
TEST(Stamp, LengthsThatCannotBe)
{
    Shot s(false);
    const Bytes good = s.put();
    const uint16_t right = static_cast<uint16_t>(good.size() - 54);
    stamp_shape shape;
    stamp out;

    stamp_shape_init(&shape, &s.route);
    for (uint16_t len : {uint16_t(0), uint16_t(8), uint16_t(8 + STAMP_BYTES - 1), right,
                         uint16_t(right + 1), uint16_t(65535)}) {
        Bytes b = good;

        for (uint32_t at : {shape.ip_off + 4u, shape.udp_off + 4u}) {
            b[at] = static_cast<uint8_t>(len >> 8);
            b[at + 1] = static_cast<uint8_t>(len);
        }
        b[shape.udp_off + 6u] = b[shape.udp_off + 7u] = 0;
        EXPECT_EQ(s.get(b, &out), len == right ? STAMP_OK : STAMP_CORRUPT) << len;
    }
    // No more is read than the frame has, whatever the caller says of its first segment.
    EXPECT_EQ(stamp_get(good.data(), UINT32_MAX, static_cast<uint32_t>(good.size()), &shape, &out,
                        nullptr),
              STAMP_OK);
}
