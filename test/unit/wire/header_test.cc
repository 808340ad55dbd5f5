/* SPDX-License-Identifier: BSD-3-Clause */
/* The common header: every version, type and flag; the order of checks; names. */
#include "support.h"

#include <set>

namespace
{

/* The rules of doc/protocol.md, written a second time. */
const unsigned types = 7; /* 1 .. 7 */
const uint8_t may[types + 1] = {0, 0x40, 0xe7, 0x7f};
const uint8_t must[types + 1] = {0, 0x40};

} // namespace

TEST(Header, Golden)
{
    Bytes b = from_hex("12 e7 05 00 00000000 8182838485868788");
    Exact e(b);
    struct wire_header h;

    ASSERT_EQ(wire_parse_header(e.data(), 16, &h), WIRE_OK);
    EXPECT_EQ(h.type, WIRE_DATA);
    EXPECT_EQ(h.flags, 0xe7);
    EXPECT_EQ(h.path_id, 5);
    EXPECT_EQ(h.key, 0x8182838485868788u);
}

TEST(Header, EveryVersionTypeAndFlag)
{
    Bytes b = from_hex("00 00 00 00 00000000 0000000000000001");
    struct wire_header h;

    for (unsigned first = 0; first < 256; first++) {
        for (unsigned flags = 0; flags < 256; flags++) {
            unsigned version = first >> 4, type = first & 15;
            enum wire_verdict expect = WIRE_OK;

            if (version != 1)
                expect = WIRE_BAD_VERSION;
            else if (type < 1 || type > types)
                expect = WIRE_BAD_TYPE;
            else if ((flags & ~may[type]) != 0 || (flags & must[type]) != must[type])
                expect = WIRE_BAD_FLAGS;
            b[0] = static_cast<uint8_t>(first);
            b[1] = static_cast<uint8_t>(flags);
            ASSERT_EQ(wire_parse_header(b.data(), 16, &h), expect) << first << " " << flags;
        }
    }
}

TEST(Header, EveryTruncation)
{
    Bytes b = from_hex("13 00 00 00 00000000 0000000000000001");
    struct wire_header h;

    for (uint32_t len = 0; len < 16; len++)
        EXPECT_EQ(wire_parse_header(Exact(b.data(), len).data(), len, &h), WIRE_SHORT);
}

/* FIRST, DATA and CNTL name an association; the other types cannot be sealed. */
TEST(Header, EveryBitOfTheAssociation)
{
    struct wire_header h;

    for (unsigned type = 1; type <= types; type++) {
        for (unsigned bit = 0; bit < 32; bit++) {
            Bytes b = from_hex("10 00 00 00 00000000 0000000000000001");

            b[0] = static_cast<uint8_t>(0x10 | type);
            b[1] = must[type];
            b[4 + bit / 8] = static_cast<uint8_t>(0x80 >> bit % 8);
            if (type > WIRE_CNTL) {
                ASSERT_EQ(wire_parse_header(b.data(), 16, &h), WIRE_BAD_SECURITY) << type;
                continue;
            }
            ASSERT_EQ(wire_parse_header(b.data(), 16, &h), WIRE_OK) << type;
            ASSERT_EQ(h.association, 0x80000000u >> bit);
        }
    }
}

TEST(Header, KeyZeroIsRefused)
{
    struct wire_header h;

    for (uint8_t type = 1; type <= types; type++) {
        Bytes b = from_hex("10 00 00 00 00000000 0000000000000000");

        b[0] = static_cast<uint8_t>(0x10 | type);
        b[1] = must[type];
        EXPECT_EQ(wire_parse_header(b.data(), 16, &h), WIRE_BAD_FIELD);
        b[8] = 0x80;
        EXPECT_EQ(wire_parse_header(b.data(), 16, &h), WIRE_OK);
    }
}

TEST(Header, ReservedByteIsNotLookedAt)
{
    Bytes b = from_hex("13 00 00 ff 00000000 0000000000000001");
    struct wire_header h;

    EXPECT_EQ(wire_parse_header(b.data(), 16, &h), WIRE_OK);
}

TEST(Header, TypesAreNotMistakenForEachOther)
{
    Bytes b(WIRE_CNTL_MAX_BYTES);
    struct wire_first first;
    struct wire_data data;
    struct wire_cntl cntl;
    struct wire_rcntl rcntl;

    b[15] = 1;
    for (uint8_t type = 1; type <= types; type++) {
        b[0] = static_cast<uint8_t>(0x10 | type);
        b[1] = must[type];
        if (type != WIRE_FIRST) {
            EXPECT_EQ(wire_parse_first(b.data(), WIRE_FIRST_BYTES, &first), WIRE_BAD_TYPE);
        }
        if (type != WIRE_DATA) {
            EXPECT_EQ(wire_parse_data(b.data(), 56, 56, &data), WIRE_BAD_TYPE);
        }
        if (type != WIRE_CNTL) {
            EXPECT_EQ(wire_parse_cntl(b.data(), WIRE_CNTL_BYTES, &cntl), WIRE_BAD_TYPE);
        }
        if (type != WIRE_RCNTL) {
            EXPECT_EQ(wire_parse_rcntl(b.data(), WIRE_RCNTL_BYTES, &rcntl), WIRE_BAD_TYPE);
        }
    }
}

TEST(Header, Names)
{
    std::set<std::string> seen;

    for (int v = 0; v < WIRE_VERDICTS; v++)
        EXPECT_TRUE(seen.insert(wire_verdict_name(static_cast<enum wire_verdict>(v))).second) << v;
    EXPECT_STREQ(wire_verdict_name(WIRE_OK), "ok");
    EXPECT_STREQ(wire_verdict_name(WIRE_BAD_LENGTH), "bad_length");
    EXPECT_STREQ(wire_verdict_name(WIRE_VERDICTS), "unknown");
    seen.clear();
    for (int e = 0; e < WIRE_ENDS; e++)
        EXPECT_TRUE(seen.insert(wire_end_name(static_cast<enum wire_end>(e))).second) << e;
    EXPECT_STREQ(wire_end_name(WIRE_END_NONE), "none");
    EXPECT_STREQ(wire_end_name(WIRE_END_NOBODY), "nobody");
    EXPECT_STREQ(wire_end_name(WIRE_END_SHUTDOWN), "shutdown");
    EXPECT_STREQ(wire_end_name(WIRE_ENDS), "unknown");
}
