/* SPDX-License-Identifier: BSD-3-Clause */
/* FIRST: golden bytes, limits, lengths, random round trips. */
#include "support.h"

namespace
{

Bytes golden()
{
    Bytes b = from_hex("11 40 03 00 0a0b0c0d 0102030405060708" // header: EARLY, path 3, key
                       "11121314"                              // 16 initial_request
                       "00002328"                              // 20 unit_max 9000
                       "bab9"                                  // 24 service 47801
                       "0001"                                  // 26 capabilities: go-back-N
                       "00000004"                              // 28 ahead
                       "0000000007735940"                      // 32 rate_req 125000000
                       "0000000000010000"                      // 40 burst_req 65536
                       "2122232425262728"                      // 48 time
                       "3132333435363738"                      // 56 cookie
                       "00000bb8"                              // 64 silence_ms 3000
                       "41424344");                            // 68 answer_request

    b.resize(192);
    return b;
}

struct wire_first view()
{
    struct wire_first v = {};

    v.h.type = WIRE_FIRST;
    v.h.flags = WIRE_EARLY;
    v.h.path_id = 3;
    v.h.association = 0x0a0b0c0d;
    v.h.key = 0x0102030405060708;
    v.initial_request = 0x11121314;
    v.answer_request = 0x41424344;
    v.unit_max = 9000;
    v.service = 47801;
    v.capabilities = WIRE_CAP_GO_BACK_N;
    v.ahead = 4;
    v.rate_req_Bps = 125000000;
    v.burst_req_bytes = 65536;
    v.time_ns = 0x2122232425262728;
    v.cookie = 0x3132333435363738;
    v.silence_ms = 3000;
    return v;
}

Bytes put(const struct wire_first &v)
{
    Bytes b(WIRE_FIRST_BYTES, 0xa5);
    Exact e(b);

    EXPECT_EQ(wire_put_first(e.data(), &v), 192u);
    return Bytes(e.data(), e.data() + 192);
}

enum wire_verdict parse(const Bytes &b, struct wire_first *out)
{
    return wire_parse_first(Exact(b).data(), static_cast<uint32_t>(b.size()), out);
}

void expect_equal(const struct wire_first &a, const struct wire_first &b)
{
    EXPECT_EQ(a.h.type, b.h.type);
    EXPECT_EQ(a.h.flags, b.h.flags);
    EXPECT_EQ(a.h.path_id, b.h.path_id);
    EXPECT_EQ(a.h.association, b.h.association);
    EXPECT_EQ(a.h.key, b.h.key);
    EXPECT_EQ(a.initial_request, b.initial_request);
    EXPECT_EQ(a.answer_request, b.answer_request);
    EXPECT_EQ(a.unit_max, b.unit_max);
    EXPECT_EQ(a.service, b.service);
    EXPECT_EQ(a.capabilities, b.capabilities);
    EXPECT_EQ(a.ahead, b.ahead);
    EXPECT_EQ(a.rate_req_Bps, b.rate_req_Bps);
    EXPECT_EQ(a.burst_req_bytes, b.burst_req_bytes);
    EXPECT_EQ(a.time_ns, b.time_ns);
    EXPECT_EQ(a.cookie, b.cookie);
    EXPECT_EQ(a.silence_ms, b.silence_ms);
}

} // namespace

TEST(First, GoldenPut)
{
    EXPECT_EQ(to_hex(put(view())), to_hex(golden()));
}

TEST(First, GoldenParse)
{
    struct wire_first out;

    ASSERT_EQ(parse(golden(), &out), WIRE_OK);
    expect_equal(out, view());
}

TEST(First, PutSetsEarly)
{
    struct wire_first v = view();

    v.h.flags = 0;
    EXPECT_EQ(to_hex(put(v)), to_hex(golden()));
}

TEST(First, EveryOtherLength)
{
    struct wire_first out;
    Bytes b = golden();

    for (size_t len = 0; len < 192; len++)
        EXPECT_EQ(parse(Bytes(b.begin(), b.begin() + static_cast<long>(len)), &out), WIRE_SHORT);
    for (size_t len = 193; len < 400; len++) {
        b.resize(len, 0x5a); // padding, whatever it holds
        ASSERT_EQ(parse(b, &out), WIRE_OK);
        expect_equal(out, view());
    }
}

TEST(First, Limits)
{
    struct {
        void (*change)(struct wire_first *);
        enum wire_verdict expect;
    } cases[] = {
        {[](struct wire_first *v) { v->service = 0; }, WIRE_BAD_FIELD},
        {[](struct wire_first *v) { v->service = 65535; }, WIRE_OK},
        {[](struct wire_first *v) { v->unit_max = 63; }, WIRE_BAD_FIELD},
        {[](struct wire_first *v) { v->unit_max = 64; }, WIRE_OK},
        {[](struct wire_first *v) { v->unit_max = 65471; }, WIRE_OK},
        {[](struct wire_first *v) { v->unit_max = 65472; }, WIRE_BAD_FIELD},
        {[](struct wire_first *v) { v->rate_req_Bps = 0; }, WIRE_OK},
        {[](struct wire_first *v) { v->rate_req_Bps = 1ull << 48; }, WIRE_OK},
        {[](struct wire_first *v) { v->rate_req_Bps = (1ull << 48) + 1; }, WIRE_BAD_FIELD},
        {[](struct wire_first *v) { v->burst_req_bytes = 0xffffffff; }, WIRE_OK},
        {[](struct wire_first *v) { v->burst_req_bytes = 0x100000000; }, WIRE_BAD_FIELD},
        {[](struct wire_first *v) { v->h.key = 0; }, WIRE_BAD_FIELD},
    };
    int i = 0;

    for (const auto &c : cases) {
        struct wire_first v = view(), out;

        c.change(&v);
        EXPECT_EQ(parse(put(v), &out), c.expect) << "case " << i;
        i++;
    }
}

TEST(First, RoomIsNotLookedAt)
{
    struct wire_first out;

    for (size_t i = 72; i < 192; i++) {
        Bytes b = golden();

        b[i] = 0xff;
        ASSERT_EQ(parse(b, &out), WIRE_OK);
        expect_equal(out, view());
    }
}

TEST(First, RandomRoundTrip)
{
    Random r;

    for (int i = 0; i < 20000; i++) {
        struct wire_first v = {}, out;

        v.h.type = WIRE_FIRST;
        v.h.flags = WIRE_EARLY;
        v.h.path_id = static_cast<uint8_t>(r.u64());
        v.h.association = static_cast<uint32_t>(r.spread());
        v.h.key = r.spread() | 1;
        v.initial_request = static_cast<uint32_t>(r.spread());
        v.answer_request = static_cast<uint32_t>(r.spread());
        v.unit_max = static_cast<uint32_t>(64 + r.below(65471 - 64 + 1));
        v.service = static_cast<uint16_t>(1 + r.below(65535));
        v.capabilities = static_cast<uint16_t>(r.u64());
        v.ahead = static_cast<uint32_t>(r.spread());
        v.rate_req_Bps = r.below((1ull << 48) + 1);
        v.burst_req_bytes = r.below(1ull << 32);
        v.time_ns = r.spread();
        v.cookie = r.spread();
        v.silence_ms = static_cast<uint32_t>(r.spread());
        ASSERT_EQ(parse(put(v), &out), WIRE_OK);
        expect_equal(out, v);
    }
}
