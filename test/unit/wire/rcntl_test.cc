/* SPDX-License-Identifier: BSD-3-Clause */
/* RCNTL: golden bytes, limits, lengths, random round trips. */
#include "support.h"

namespace
{

const char *golden = "14 00 02 00 00000000 0102030405060708" // header: no flags, path 2, key
                     "0001000000000000"                      // 16 rate 2^48
                     "11121314"                              // 24 burst
                     "03e8"                                  // 28 expiry 1000 ms
                     "0007"                                  // 30 hop
                     "2122232425262728";                     // 32 time
const char *proof = "3132333435363738";                      // 40

struct wire_rcntl view()
{
    struct wire_rcntl v = {};

    v.h.type = WIRE_RCNTL;
    v.h.path_id = 2;
    v.h.key = 0x0102030405060708;
    v.rate_Bps = 1ull << 48;
    v.burst_bytes = 0x11121314;
    v.expiry_ms = 1000;
    v.hop = 7;
    v.time_ns = 0x2122232425262728;
    return v;
}

Bytes put(const struct wire_rcntl &v)
{
    Bytes::size_type len = v.proven ? 48 : 40;
    Exact e(Bytes(len, 0xa5));

    EXPECT_EQ(wire_put_rcntl(e.data(), &v), len);
    return Bytes(e.data(), e.data() + len);
}

enum wire_verdict parse(const Bytes &b, struct wire_rcntl *out)
{
    return wire_parse_rcntl(Exact(b).data(), static_cast<uint32_t>(b.size()), out);
}

void expect_equal(const struct wire_rcntl &a, const struct wire_rcntl &b)
{
    EXPECT_EQ(a.h.type, b.h.type);
    EXPECT_EQ(a.h.flags, b.h.flags);
    EXPECT_EQ(a.h.path_id, b.h.path_id);
    EXPECT_EQ(a.h.key, b.h.key);
    EXPECT_EQ(a.rate_Bps, b.rate_Bps);
    EXPECT_EQ(a.burst_bytes, b.burst_bytes);
    EXPECT_EQ(a.expiry_ms, b.expiry_ms);
    EXPECT_EQ(a.hop, b.hop);
    EXPECT_EQ(a.time_ns, b.time_ns);
    EXPECT_EQ(a.proven, b.proven);
    EXPECT_EQ(a.proof, b.proof);
}

} // namespace

TEST(Rcntl, Golden)
{
    struct wire_rcntl out;

    EXPECT_EQ(to_hex(put(view())), to_hex(from_hex(golden)));
    ASSERT_EQ(parse(from_hex(golden), &out), WIRE_OK);
    expect_equal(out, view());
}

TEST(Rcntl, GoldenWithProof)
{
    struct wire_rcntl v = view(), out;
    std::string bytes = std::string(golden) + proof;

    v.proven = true;
    v.proof = 0x3132333435363738;
    EXPECT_EQ(to_hex(put(v)), to_hex(from_hex(bytes.c_str())));
    ASSERT_EQ(parse(from_hex(bytes.c_str()), &out), WIRE_OK);
    expect_equal(out, v);
}

TEST(Rcntl, EveryOtherLength)
{
    struct wire_rcntl out;
    Bytes b = from_hex(golden);

    for (size_t len = 0; len < 40; len++)
        EXPECT_EQ(parse(Bytes(b.begin(), b.begin() + static_cast<long>(len)), &out), WIRE_SHORT);
    for (size_t len = 41; len < 200; len++) {
        b.resize(len);
        EXPECT_EQ(parse(b, &out), len == 48 ? WIRE_OK : WIRE_BAD_LENGTH);
    }
}

TEST(Rcntl, Limits)
{
    struct wire_rcntl v = view(), out;

    v.rate_Bps++;
    EXPECT_EQ(parse(put(v), &out), WIRE_BAD_FIELD);
    v.rate_Bps = 0;
    EXPECT_EQ(parse(put(v), &out), WIRE_OK);
    v.expiry_ms = 0;
    EXPECT_EQ(parse(put(v), &out), WIRE_BAD_FIELD);
    v.expiry_ms = 1;
    EXPECT_EQ(parse(put(v), &out), WIRE_OK);
    v.h.key = 0;
    EXPECT_EQ(parse(put(v), &out), WIRE_BAD_FIELD);
}

TEST(Rcntl, RandomRoundTrip)
{
    Random r;

    for (int i = 0; i < 20000; i++) {
        struct wire_rcntl v = {}, out;

        v.h.type = WIRE_RCNTL;
        v.h.path_id = static_cast<uint8_t>(r.u64());
        v.h.key = r.spread() | 1;
        v.rate_Bps = r.below((1ull << 48) + 1);
        v.burst_bytes = static_cast<uint32_t>(r.spread());
        v.expiry_ms = static_cast<uint16_t>(1 + r.below(65535));
        v.hop = static_cast<uint16_t>(r.spread());
        v.time_ns = r.spread();
        v.proven = r.below(2) == 0;
        v.proof = v.proven ? r.spread() : 0;
        ASSERT_EQ(parse(put(v), &out), WIRE_OK);
        expect_equal(out, v);
    }
}
