/* SPDX-License-Identifier: BSD-3-Clause */
/* CNTL: golden bytes, flags, limits, spans that wrap, lengths, random round trips. */
#include "support.h"

#include <functional>

namespace
{

const char *golden = "13 7f 04 00 0a0b0c0d 0102030405060708" // header: all flags CNTL can have
                     "1112131415161718"                      // 16 own_key
                     "21222324"                              // 24 seq
                     "25262728"                              // 28 cntl_seen
                     "0000000007735940"                      // 32 rate 125000000
                     "00010000"                              // 40 burst 65536
                     "0203"                                  // 44 reason
                     "80"                                    // 46 occupancy
                     "01"                                    // 47 refused count
                     "00000000ee6b2800"                      // 48 peak 4000000000
                     "3132333435363738"                      // 56 ack
                     "41424344"                              // 64 posted
                     "45464748"                              // 68 close_request
                     "5152535455565758"                      // 72 sent
                     "6162636465666768"                      // 80 backlog
                     "7172737475767778"                      // 88 received
                     "8182838485868788"                      // 96 time
                     "9192939495969798"                      // 104 echo
                     "a1a2a3a4"                              // 112 echo_held
                     "00002328"                              // 116 unit_max 9000
                     "b1b2b3b4"                              // 120 initial_request
                     "0001"                                  // 124 capabilities
                     "0003"                                  // 126 end: silence
                     "c1c2c3c4"                              // 128 ecn_ce
                     "c5c6c7c8"                              // 132 ecn_ect
                     "d1d2d3d4d5d6d7d8"                      // 136 lost
                     "e1e2e3e4e5e6e7e8"                      // 144 cookie
                     "02"                                    // 152 span count
                     "000000"                                // 153 zero
                     "00000bb8"                              // 156 silence_ms 3000
                     "00000000000f4240"                      // 160 hop_rate 1000000
                     "f1f2f3f4"                              // 168 hop_burst
                     "01f4"                                  // 172 hop_expiry 500 ms
                     "0002"                                  // 174 hop_count
                     "0000000700000001 0000000700000004"     // 176 span: request 7, units 1..3
                     "0000000900000000 0000000a00000000"     // 192 span: all of request 9
                     "0000000b 0001 0000";                   // 208 refused: 11, too long

struct wire_cntl view()
{
    struct wire_cntl v = {};

    v.h = {WIRE_CNTL, 0x7f, 4, 0x0a0b0c0d, 0x0102030405060708};
    v.own_key = 0x1112131415161718;
    v.seq = 0x21222324;
    v.cntl_seen = 0x25262728;
    v.rate_Bps = 125000000;
    v.burst_bytes = 65536;
    v.reason = 0x0203;
    v.occupancy = 0x80;
    v.peak_Bps = 4000000000;
    v.ack = 0x3132333435363738;
    v.posted = 0x41424344;
    v.close_request = 0x45464748;
    v.sent = 0x5152535455565758;
    v.backlog_bytes = 0x6162636465666768;
    v.received = 0x7172737475767778;
    v.time_ns = 0x8182838485868788;
    v.echo_ns = 0x9192939495969798;
    v.echo_held_ns = 0xa1a2a3a4;
    v.unit_max = 9000;
    v.initial_request = 0xb1b2b3b4;
    v.capabilities = WIRE_CAP_GO_BACK_N;
    v.end = WIRE_END_SILENCE;
    v.ecn_ce = 0xc1c2c3c4;
    v.ecn_ect = 0xc5c6c7c8;
    v.lost = 0xd1d2d3d4d5d6d7d8;
    v.cookie = 0xe1e2e3e4e5e6e7e8;
    v.silence_ms = 3000;
    v.hop_rate_Bps = 1000000;
    v.hop_burst_bytes = 0xf1f2f3f4;
    v.hop_expiry_ms = 500;
    v.hop_count = 2;
    v.span_count = 2;
    v.spans[0] = {0x700000001, 0x700000004};
    v.spans[1] = {0x900000000, 0xa00000000};
    v.refused_count = 1;
    v.refused[0] = {11, WIRE_REFUSED_TOO_LONG};
    return v;
}

Bytes put(const struct wire_cntl &v)
{
    size_t len = 176 + 16u * v.span_count + 8u * v.refused_count;
    Exact e(Bytes(len, 0xa5));

    EXPECT_EQ(wire_put_cntl(e.data(), &v), len);
    return Bytes(e.data(), e.data() + len);
}

enum wire_verdict parse(const Bytes &b, struct wire_cntl *out)
{
    return wire_parse_cntl(Exact(b).data(), static_cast<uint32_t>(b.size()), out);
}

/* All fields in the order of the bytes, with spans and refused requests up to their counts. */
std::vector<uint64_t> fields(const struct wire_cntl &v)
{
    std::vector<uint64_t> f = {
        v.h.type,          v.h.flags,       v.h.path_id,
        v.h.key,           v.own_key,       v.seq,
        v.cntl_seen,       v.rate_Bps,      v.burst_bytes,
        v.reason,          v.occupancy,     v.refused_count,
        v.peak_Bps,        v.ack,           v.posted,
        v.close_request,   v.sent,          v.backlog_bytes,
        v.received,        v.time_ns,       v.echo_ns,
        v.echo_held_ns,    v.unit_max,      v.initial_request,
        v.capabilities,    v.end,           v.ecn_ce,
        v.ecn_ect,         v.lost,          v.cookie,
        v.span_count,      v.silence_ms,    v.hop_rate_Bps,
        v.hop_burst_bytes, v.hop_expiry_ms, v.hop_count,
    };

    for (int i = 0; i < v.span_count; i++)
        f.insert(f.end(), {v.spans[i].first, v.spans[i].end});
    for (int i = 0; i < v.refused_count; i++)
        f.insert(f.end(), {v.refused[i].request, v.refused[i].reason});
    return f;
}

enum wire_verdict verdict_of(const std::vector<struct wire_span> &spans)
{
    struct wire_cntl v = view(), out;

    v.span_count = static_cast<uint8_t>(spans.size());
    std::copy(spans.begin(), spans.end(), v.spans);
    return parse(put(v), &out);
}

const uint64_t half = 1ull << 63;

} // namespace

TEST(Cntl, Golden)
{
    struct wire_cntl out;

    EXPECT_EQ(to_hex(put(view())), to_hex(from_hex(golden)));
    ASSERT_EQ(parse(from_hex(golden), &out), WIRE_OK);
    EXPECT_EQ(fields(out), fields(view()));
}

TEST(Cntl, EachFlagAlone)
{
    for (uint8_t flag : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80}) {
        Bytes b = from_hex(golden);
        struct wire_cntl v = view(), out;

        b[1] = flag;
        v.h.flags = flag;
        EXPECT_EQ(to_hex(put(v)), to_hex(b));
        EXPECT_EQ(parse(b, &out), flag != WIRE_REPEAT ? WIRE_OK : WIRE_BAD_FLAGS);
    }
}

TEST(Cntl, EveryTruncationAndMore)
{
    Bytes b = from_hex(golden);
    struct wire_cntl out;

    for (size_t len = 0; len < b.size(); len++)
        EXPECT_EQ(parse(Bytes(b.begin(), b.begin() + static_cast<long>(len)), &out), WIRE_SHORT);
    for (size_t more = 1; more < 100; more++) {
        b.push_back(0);
        EXPECT_EQ(parse(b, &out), WIRE_BAD_LENGTH);
    }
}

TEST(Cntl, Counts)
{
    struct wire_cntl v = view(), out;
    Bytes b;

    v.span_count = 32;
    for (uint64_t i = 0; i < 32; i++)
        v.spans[i] = {10 * i, 10 * i + 9};
    v.refused_count = 8;
    b = put(v);
    ASSERT_EQ(b.size(), static_cast<size_t>(WIRE_CNTL_MAX_BYTES));
    EXPECT_EQ(parse(b, &out), WIRE_OK);
    EXPECT_EQ(fields(out), fields(v));
    b.resize(4096);
    b[152] = 33;
    EXPECT_EQ(parse(b, &out), WIRE_BAD_FIELD);
    b[152] = 255;
    EXPECT_EQ(parse(b, &out), WIRE_BAD_FIELD);
    b[152] = 32;
    b[47] = 9;
    EXPECT_EQ(parse(b, &out), WIRE_BAD_FIELD);
}

TEST(Cntl, NoSpansNothingRefused)
{
    struct wire_cntl v = view(), out;

    v.span_count = v.refused_count = 0;
    EXPECT_EQ(put(v).size(), 176u);
    EXPECT_EQ(parse(put(v), &out), WIRE_OK);
    EXPECT_EQ(fields(out), fields(v));
}

TEST(Cntl, Limits)
{
    const uint64_t most = 1ull << 48;
    struct {
        std::function<void(struct wire_cntl *)> change;
        enum wire_verdict expect;
    } cases[] = {
        {[](struct wire_cntl *v) { v->h.key = 0; }, WIRE_BAD_FIELD},
        {[](struct wire_cntl *v) { v->own_key = 0; }, WIRE_BAD_FIELD},
        {[](struct wire_cntl *v) { v->seq = 0; }, WIRE_BAD_FIELD},
        {[](struct wire_cntl *v) { v->seq = 1; }, WIRE_OK},
        {[](struct wire_cntl *v) { v->cntl_seen = 0; }, WIRE_OK},
        {[=](struct wire_cntl *v) { v->rate_Bps = most; }, WIRE_OK},
        {[=](struct wire_cntl *v) { v->rate_Bps = most + 1; }, WIRE_BAD_FIELD},
        {[=](struct wire_cntl *v) { v->peak_Bps = most; }, WIRE_OK},
        {[=](struct wire_cntl *v) { v->peak_Bps = most + 1; }, WIRE_BAD_FIELD},
        {[=](struct wire_cntl *v) { v->hop_rate_Bps = most; }, WIRE_OK},
        {[=](struct wire_cntl *v) { v->hop_rate_Bps = most + 1; }, WIRE_BAD_FIELD},
        {[](struct wire_cntl *v) { v->unit_max = 63; }, WIRE_BAD_FIELD},
        {[](struct wire_cntl *v) { v->unit_max = 64; }, WIRE_OK},
        {[](struct wire_cntl *v) { v->unit_max = 65471; }, WIRE_OK},
        {[](struct wire_cntl *v) { v->unit_max = 65472; }, WIRE_BAD_FIELD},
        {[](struct wire_cntl *v) { v->end = WIRE_ENDS - 1; }, WIRE_OK},
        {[](struct wire_cntl *v) { v->end = WIRE_ENDS; }, WIRE_BAD_FIELD},
        {[](struct wire_cntl *v) { v->end = 65535; }, WIRE_BAD_FIELD},
        {[](struct wire_cntl *v) { v->reason = 65535; }, WIRE_OK},
        {[](struct wire_cntl *v) { v->refused[0].reason = 65535; }, WIRE_OK},
        {[](struct wire_cntl *v) { v->rate_Bps = v->peak_Bps = v->burst_bytes = 0; }, WIRE_OK},
    };
    int i = 0;

    for (const auto &c : cases) {
        struct wire_cntl v = view(), out;

        c.change(&v);
        EXPECT_EQ(parse(put(v), &out), c.expect) << "case " << i;
        i++;
    }
}

TEST(Cntl, ReservedBytesAreNotLookedAt)
{
    struct wire_cntl out;

    for (size_t i : {3, 153, 154, 155, 214, 215}) {
        Bytes b = from_hex(golden);

        b[i] = 0xff;
        EXPECT_EQ(parse(b, &out), WIRE_OK) << i;
        EXPECT_EQ(fields(out), fields(view()));
    }
}

TEST(Cntl, Spans)
{
    EXPECT_EQ(verdict_of({{5, 6}}), WIRE_OK);
    EXPECT_EQ(verdict_of({{5, 5}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{6, 5}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{5, 8}, {8, 9}}), WIRE_OK); /* touching spans need not be merged */
    EXPECT_EQ(verdict_of({{5, 8}, {7, 9}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{5, 8}, {1, 2}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{5, 8}, {5, 8}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{1, 2}, {3, 4}, {3, 4}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{1, 2}, {9, 10}, {4, 5}}), WIRE_BAD_FIELD);
}

TEST(Cntl, SpansWrap)
{
    EXPECT_EQ(verdict_of({{UINT64_MAX, 0}}), WIRE_OK);
    EXPECT_EQ(verdict_of({{UINT64_MAX - 5, 7}}), WIRE_OK);
    EXPECT_EQ(verdict_of({{UINT64_MAX - 5, UINT64_MAX}, {1, 2}}), WIRE_OK);
    EXPECT_EQ(verdict_of({{UINT64_MAX - 5, 1}, {0, 2}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{1, 2}, {UINT64_MAX - 5, UINT64_MAX}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{7, UINT64_MAX - 5}}), WIRE_BAD_FIELD);
}

TEST(Cntl, SpansLieWithinHalfOfAllPositions)
{
    EXPECT_EQ(verdict_of({{0, half - 1}}), WIRE_OK);
    EXPECT_EQ(verdict_of({{0, half}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{0, 1}, {half - 2, half - 1}}), WIRE_OK);
    EXPECT_EQ(verdict_of({{0, 1}, {half - 1, half}}), WIRE_BAD_FIELD);
    /* Each pair is in order, but all together go round the circle and cover the first one again. */
    EXPECT_EQ(verdict_of({{0, 100}, {half + 50, 10}}), WIRE_BAD_FIELD);
    EXPECT_EQ(verdict_of({{0, 100}, {half - 10, half + 10}, {UINT64_MAX, 50}}), WIRE_BAD_FIELD);
}

TEST(Cntl, PutChecksCounts)
{
    Bytes b(4096);
    struct wire_cntl v = view();

    v.span_count = 33;
    EXPECT_DEATH(wire_put_cntl(b.data(), &v), "span_count");
    v.span_count = 0;
    v.refused_count = 9;
    EXPECT_DEATH(wire_put_cntl(b.data(), &v), "refused_count");
}

TEST(Cntl, RandomRoundTrip)
{
    const uint64_t rates = (1ull << 48) + 1;
    Random r;

    for (int i = 0; i < 20000; i++) {
        struct wire_cntl v = view(), out;
        uint64_t pos = r.spread();

        for (uint64_t *f : {&v.ack, &v.sent, &v.backlog_bytes, &v.received, &v.time_ns, &v.echo_ns,
                            &v.lost, &v.cookie})
            *f = r.spread();
        for (uint32_t *f :
             {&v.cntl_seen, &v.burst_bytes, &v.posted, &v.close_request, &v.echo_held_ns,
              &v.initial_request, &v.ecn_ce, &v.ecn_ect, &v.silence_ms, &v.hop_burst_bytes})
            *f = static_cast<uint32_t>(r.spread());
        for (uint16_t *f : {&v.reason, &v.capabilities, &v.hop_expiry_ms, &v.hop_count})
            *f = static_cast<uint16_t>(r.spread());
        for (uint64_t *f : {&v.rate_Bps, &v.peak_Bps, &v.hop_rate_Bps})
            *f = r.below(rates);
        v.h = {WIRE_CNTL, static_cast<uint8_t>(r.below(128)), static_cast<uint8_t>(r.u64()),
               static_cast<uint32_t>(r.spread()), r.spread() | 1};
        v.own_key = r.spread() | 1;
        v.seq = static_cast<uint32_t>(r.spread()) | 1;
        v.occupancy = static_cast<uint8_t>(r.u64());
        v.unit_max = static_cast<uint32_t>(64 + r.below(65471 - 64 + 1));
        v.end = static_cast<uint16_t>(r.below(WIRE_ENDS));
        v.span_count = static_cast<uint8_t>(r.below(33));
        for (int s = 0; s < v.span_count; s++) {
            v.spans[s].first = pos + r.below(1ull << 50);
            v.spans[s].end = pos = v.spans[s].first + 1 + r.below(1ull << 50);
        }
        v.refused_count = static_cast<uint8_t>(r.below(9));
        for (int s = 0; s < v.refused_count; s++)
            v.refused[s] = {static_cast<uint32_t>(r.spread()), static_cast<uint16_t>(r.spread())};
        ASSERT_EQ(parse(put(v), &out), WIRE_OK);
        ASSERT_EQ(fields(out), fields(v));
    }
}

/* Limits of several routers on a path: the lowest counts, and each router is counted. */
TEST(Cntl, RoutersOnlyLower)
{
    const struct {
        uint64_t rate, lower_rate, least_rate;
        uint32_t burst, lower_burst, least_burst;
        uint16_t count, counted;
    } cases[] = {
        {0, 5000, 5000, 0, 900, 900, 0, 1},       /* the first router */
        {5000, 4000, 4000, 900, 800, 800, 1, 2},  /* a slower one */
        {5000, 6000, 5000, 900, 1000, 900, 1, 2}, /* a faster one */
        {5000, 5000, 5000, 900, 0, 900, 7, 8},    /* one that does not limit the burst */
        {5000, 1, 1, 0, 0, 0, 65535, 65535},      /* more than can be counted */
    };

    for (const auto &c : cases) {
        struct wire_cntl v = view(), out;

        v.hop_rate_Bps = c.rate;
        v.hop_burst_bytes = c.burst;
        v.hop_expiry_ms = c.count > 0 ? 50 : 0;
        v.hop_count = c.count;
        Bytes b = put(v);
        wire_lower_cntl(b.data(), c.lower_rate, c.lower_burst, 77);
        ASSERT_EQ(parse(b, &out), WIRE_OK);
        EXPECT_EQ(out.hop_rate_Bps, c.least_rate);
        EXPECT_EQ(out.hop_burst_bytes, c.least_burst);
        EXPECT_EQ(out.hop_count, c.counted);
        EXPECT_EQ(out.hop_expiry_ms, 77);
    }
}
