/* SPDX-License-Identifier: BSD-3-Clause */
/* DATA: golden bytes, the one payload length that each unit may have, limits, random round
 * trips. */
#include "support.h"

namespace
{

/* A request of 20000 bytes in units of 8192: its last unit is number 2, of 3616 bytes. */
const char *golden = "12 e7 01 00 0a0b0c0d 0102030405060708" // header: all flags DATA can have
                     "1112131415161718"                      // 16 packet
                     "2122232425262728"                      // 24 time
                     "31323334"                              // 32 request
                     "00000002"                              // 36 unit
                     "0000000000004e20"                      // 40 request_len
                     "00002000"                              // 48 unit_bytes
                     "41424344";                             // 52 cntl_seen
const uint32_t golden_payload = 20000 - 2 * 8192;

struct wire_data view()
{
    struct wire_data v = {};

    v.h.type = WIRE_DATA;
    v.h.flags = WIRE_SREQ | WIRE_DREQ | WIRE_WCLOSE | WIRE_PACK | WIRE_EARLY | WIRE_REPEAT;
    v.h.path_id = 1;
    v.h.association = 0x0a0b0c0d;
    v.h.key = 0x0102030405060708;
    v.packet = 0x1112131415161718;
    v.time_ns = 0x2122232425262728;
    v.request = 0x31323334;
    v.unit = 2;
    v.request_len = 20000;
    v.unit_bytes = 8192;
    v.cntl_seen = 0x41424344;
    v.payload_len = golden_payload;
    return v;
}

Bytes put(const struct wire_data &v)
{
    Exact e(Bytes(WIRE_DATA_BYTES, 0xa5));

    EXPECT_EQ(wire_put_data(e.data(), &v), 56u);
    return Bytes(e.data(), e.data() + 56);
}

/* Only the header is contiguous. The payload may be elsewhere, and is never read. */
enum wire_verdict parse(const Bytes &b, uint64_t payload_len, struct wire_data *out)
{
    return wire_parse_data(Exact(b).data(), static_cast<uint32_t>(b.size()),
                           static_cast<uint32_t>(b.size() + payload_len), out);
}

void expect_equal(const struct wire_data &a, const struct wire_data &b)
{
    EXPECT_EQ(a.h.type, b.h.type);
    EXPECT_EQ(a.h.flags, b.h.flags);
    EXPECT_EQ(a.h.path_id, b.h.path_id);
    EXPECT_EQ(a.h.association, b.h.association);
    EXPECT_EQ(a.h.key, b.h.key);
    EXPECT_EQ(a.packet, b.packet);
    EXPECT_EQ(a.time_ns, b.time_ns);
    EXPECT_EQ(a.request, b.request);
    EXPECT_EQ(a.unit, b.unit);
    EXPECT_EQ(a.request_len, b.request_len);
    EXPECT_EQ(a.unit_bytes, b.unit_bytes);
    EXPECT_EQ(a.cntl_seen, b.cntl_seen);
    EXPECT_EQ(a.payload_len, b.payload_len);
}

struct wire_data unit_of(uint64_t request_len, uint32_t unit_bytes, uint32_t unit)
{
    struct wire_data v = view();

    v.request_len = request_len;
    v.unit_bytes = unit_bytes;
    v.unit = unit;
    return v;
}

/* The payload length that a unit must have. -1: there is no such unit. */
int64_t unit_len(uint64_t request_len, uint32_t unit_bytes, uint32_t unit)
{
    uint64_t units = wire_units(request_len, unit_bytes);

    if (unit >= units)
        return -1;
    if (unit + 1 < units)
        return unit_bytes;
    return static_cast<int64_t>(request_len - (units - 1) * unit_bytes);
}

} // namespace

TEST(Data, Golden)
{
    struct wire_data out;

    EXPECT_EQ(to_hex(put(view())), to_hex(from_hex(golden)));
    ASSERT_EQ(parse(from_hex(golden), golden_payload, &out), WIRE_OK);
    expect_equal(out, view());
}

/* Only the time differs, and no byte behind the header changes. */
TEST(Data, StampedAnew)
{
    struct wire_data v = view();
    Exact e(put(v));

    wire_stamp_data(e.data(), 0xf1f2f3f4f5f6f7f8);
    v.time_ns = 0xf1f2f3f4f5f6f7f8;
    EXPECT_EQ(Bytes(e.data(), e.data() + WIRE_DATA_BYTES), put(v));
}

TEST(Data, EachFlagAlone)
{
    for (uint8_t flag : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80}) {
        Bytes b = from_hex(golden);
        struct wire_data v = view(), out;
        bool allowed = flag != WIRE_RCLOSE && flag != WIRE_END;

        b[1] = flag;
        v.h.flags = flag;
        EXPECT_EQ(to_hex(put(v)), to_hex(b));
        EXPECT_EQ(parse(b, golden_payload, &out), allowed ? WIRE_OK : WIRE_BAD_FLAGS);
    }
}

TEST(Data, EveryOtherPayloadLength)
{
    struct wire_data out;

    for (uint64_t len = 0; len < 20000; len++) {
        if (len != golden_payload) {
            ASSERT_EQ(parse(from_hex(golden), len, &out), WIRE_BAD_LENGTH) << len;
        }
    }
}

TEST(Data, EveryTruncation)
{
    Bytes b = from_hex(golden);
    struct wire_data out;

    for (uint32_t head = 0; head < 56; head++) {
        EXPECT_EQ(wire_parse_data(Exact(b.data(), head).data(), head, head, &out), WIRE_SHORT);
        /* A whole packet, but its header is split over segments. */
        EXPECT_EQ(wire_parse_data(Exact(b.data(), head).data(), head, 56 + golden_payload, &out),
                  WIRE_SHORT);
        /* More contiguous bytes than there are: this is not believed. */
        EXPECT_EQ(wire_parse_data(Exact(b.data(), head).data(), 4096, head, &out), WIRE_SHORT);
    }
    EXPECT_EQ(wire_parse_data(Exact(b).data(), 56, 56, &out), WIRE_BAD_LENGTH);
}

TEST(Data, UnitsAndLengths)
{
    struct {
        uint64_t request_len;
        uint32_t unit_bytes, unit;
        uint64_t payload;
        enum wire_verdict expect;
    } cases[] = {
        {0, 64, 0, 0, WIRE_OK}, /* a request of no bytes has one empty unit */
        {0, 64, 0, 1, WIRE_BAD_LENGTH},
        {0, 64, 1, 0, WIRE_BAD_FIELD},
        {1, 64, 0, 1, WIRE_OK},
        {1, 64, 0, 0, WIRE_BAD_LENGTH},
        {1, 64, 0, 64, WIRE_BAD_LENGTH},
        {64, 64, 0, 64, WIRE_OK},
        {64, 64, 1, 0, WIRE_BAD_FIELD},
        {65, 64, 1, 1, WIRE_OK},
        {65, 64, 0, 65, WIRE_BAD_LENGTH},
        {1ull << 32, 64, (1u << 26) - 1, 64, WIRE_OK},
        {1ull << 32, 64, 1u << 26, 64, WIRE_BAD_FIELD},
        {1ull << 32, 64, 0xffffffff, 64, WIRE_BAD_FIELD},
        {(1ull << 32) - 1, 32768, (1u << 17) - 1, 32767, WIRE_OK},
        {(1ull << 32) - 1, 32768, (1u << 17) - 1, 32768, WIRE_BAD_LENGTH},
        {(1ull << 32) - 1, 65471, 65601, 4224, WIRE_OK}, /* the last unit */
        {(1ull << 32) - 1, 65471, 65601, 65471, WIRE_BAD_LENGTH},
        {(1ull << 32) - 1, 65471, 65602, 0, WIRE_BAD_FIELD},
        {(1ull << 32) + 1, 64, 0, 64, WIRE_BAD_FIELD},
        {UINT64_MAX, 64, 0, 64, WIRE_BAD_FIELD},
        {100, 63, 0, 63, WIRE_BAD_FIELD},
        {100, 0, 0, 0, WIRE_BAD_FIELD},
        {100000, 32768, 0, 32768, WIRE_OK},
        {100000, 65471, 0, 65471, WIRE_OK},
        {100000, 65472, 0, 65472, WIRE_BAD_FIELD},
        {100000, 0xffffffff, 0, 100000, WIRE_BAD_FIELD},
    };
    int i = 0;

    for (const auto &c : cases) {
        struct wire_data v = unit_of(c.request_len, c.unit_bytes, c.unit), out;

        EXPECT_EQ(parse(put(v), c.payload, &out), c.expect) << "case " << i;
        i++;
    }
}

TEST(Data, WireUnits)
{
    EXPECT_EQ(wire_units(0, 64), 1u);
    EXPECT_EQ(wire_units(1, 64), 1u);
    EXPECT_EQ(wire_units(64, 64), 1u);
    EXPECT_EQ(wire_units(65, 64), 2u);
    EXPECT_EQ(wire_units(1ull << 32, 64), 1ull << 26);
}

TEST(Data, RandomRoundTrip)
{
    Random r;

    for (int i = 0; i < 50000; i++) {
        struct wire_data v = {}, out;
        int64_t len;

        v.h.type = WIRE_DATA;
        v.h.flags = static_cast<uint8_t>(r.u64() & 0xe7);
        v.h.path_id = static_cast<uint8_t>(r.u64());
        v.h.key = r.spread() | 1;
        v.packet = r.spread();
        v.time_ns = r.spread();
        v.request = static_cast<uint32_t>(r.spread());
        v.request_len = r.below(2) ? r.below((1ull << 32) + 1) : r.below(100000);
        v.unit_bytes = static_cast<uint32_t>(64 + r.below(65471 - 64 + 1));
        v.unit = static_cast<uint32_t>(r.below(wire_units(v.request_len, v.unit_bytes)));
        v.cntl_seen = static_cast<uint32_t>(r.spread());
        len = unit_len(v.request_len, v.unit_bytes, v.unit);
        v.payload_len = static_cast<uint32_t>(len);
        ASSERT_EQ(parse(put(v), v.payload_len, &out), WIRE_OK);
        expect_equal(out, v);
        ASSERT_EQ(parse(put(v), v.payload_len + 1, &out), WIRE_BAD_LENGTH);
    }
}

TEST(Data, RandomUnitsAgainstModel)
{
    Random r;

    for (int i = 0; i < 50000; i++) {
        struct wire_data out;
        uint64_t request_len = r.below(2000);
        uint32_t unit_bytes = static_cast<uint32_t>(64 + r.below(200));
        uint32_t unit = static_cast<uint32_t>(r.below(40));
        uint64_t payload = r.below(300);
        int64_t len = unit_len(request_len, unit_bytes, unit);
        enum wire_verdict expect = len < 0                                 ? WIRE_BAD_FIELD
                                   : static_cast<uint64_t>(len) != payload ? WIRE_BAD_LENGTH
                                                                           : WIRE_OK;

        ASSERT_EQ(parse(put(unit_of(request_len, unit_bytes, unit)), payload, &out), expect);
    }
}
