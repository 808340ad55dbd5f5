/* SPDX-License-Identifier: BSD-3-Clause */
/* INIT, RESPONSE, COOKIE and the trailer: golden bytes, every length, reserved bytes, flags. */
#include "support.h"

extern "C" {
#include "wire/assoc.h"
}

namespace
{

/* One of the three packets. */
struct Kind {
    const char *header; // of handshake 0102030405060708
    uint32_t bytes;
    enum wire_type type;
    uint32_t (*put)(uint8_t *p, uint64_t number);
    enum wire_verdict (*parse)(const uint8_t *p, uint32_t len, struct wire_header *h);
};

const Kind kinds[] = {
    {"15 00 00 00 00000000 0102030405060708", 160, WIRE_INIT, wire_put_init, wire_parse_init},
    {"16 00 00 00 00000000 0102030405060708", 80, WIRE_RESPONSE, wire_put_response,
     wire_parse_response},
    {"17 00 00 00 00000000 0102030405060708", 64, WIRE_COOKIE, wire_put_cookie, wire_parse_cookie},
};

/* The packet as it is written: what its parts will fill is 0. */
Bytes golden(const Kind &k)
{
    Bytes b = from_hex(k.header);

    b.resize(k.bytes);
    return b;
}

enum wire_verdict parse(const Kind &k, const Bytes &b, struct wire_header *h)
{
    return k.parse(Exact(b).data(), static_cast<uint32_t>(b.size()), h);
}

} // namespace

TEST(Assoc, Sizes)
{
    EXPECT_EQ(WIRE_INIT_BYTES, 160);
    EXPECT_EQ(WIRE_RESPONSE_BYTES, 80);
    EXPECT_EQ(WIRE_COOKIE_BYTES, 64);
    EXPECT_EQ(WIRE_TRAILER_BYTES, 24);
    EXPECT_EQ(WIRE_MAC1_OFF, 128);
    EXPECT_EQ(WIRE_MAC2_OFF, 144);
    EXPECT_EQ(WIRE_COOKIE_NONCE, 16);
    EXPECT_EQ(WIRE_COOKIE_SEALED, 32);
}

TEST(Assoc, GoldenPackets)
{
    for (const Kind &k : kinds) {
        Exact e(Bytes(k.bytes, 0xa5));
        struct wire_header h = {};

        ASSERT_EQ(k.put(e.data(), 0x0102030405060708), k.bytes);
        EXPECT_EQ(to_hex(Bytes(e.data(), e.data() + k.bytes)), to_hex(golden(k)));
        ASSERT_EQ(parse(k, golden(k), &h), WIRE_OK) << k.header;
        EXPECT_EQ(h.type, k.type);
        EXPECT_EQ(h.key, 0x0102030405060708u);
        EXPECT_EQ(h.flags, 0);
        EXPECT_EQ(h.association, 0u);
        EXPECT_TRUE(wire_is_handshake(h.type));
    }
    for (enum wire_type type : {WIRE_FIRST, WIRE_DATA, WIRE_CNTL, WIRE_RCNTL})
        EXPECT_FALSE(wire_is_handshake(type));
}

TEST(Assoc, EveryLength)
{
    struct wire_header h;

    for (const Kind &k : kinds) {
        for (uint32_t len = 0; len <= 2 * k.bytes; len++) {
            Bytes b = golden(k);

            b.resize(len);
            EXPECT_EQ(parse(k, b, &h), len < k.bytes   ? WIRE_SHORT
                                       : len > k.bytes ? WIRE_BAD_LENGTH
                                                       : WIRE_OK)
                << k.header << " " << len;
        }
    }
}

/* Whatever the parts hold is for lib/assoc to judge, and byte 3 and the zeros behind a nonce are
 * for a later revision. Of the header, only the path id and byte 3 may have any value. */
TEST(Assoc, EveryByteChanged)
{
    struct wire_header h;

    for (const Kind &k : kinds) {
        for (uint32_t at = 0; at < k.bytes; at++) {
            enum wire_verdict expect = WIRE_OK;
            Bytes b = golden(k);

            b[at] ^= 0x80;
            if (at == 0)
                expect = WIRE_BAD_VERSION;
            else if (at == 1)
                expect = WIRE_BAD_FLAGS;
            else if (at >= 4 && at < 8)
                expect = WIRE_BAD_SECURITY;
            EXPECT_EQ(parse(k, b, &h), expect) << k.header << " " << at;
        }
    }
}

TEST(Assoc, TypesAreNotMistakenForEachOther)
{
    struct wire_header h;

    for (const Kind &k : kinds) {
        for (const Kind &other : kinds) {
            Bytes b = golden(other);

            b.resize(k.bytes);
            EXPECT_EQ(parse(k, b, &h), &k == &other ? WIRE_OK : WIRE_BAD_TYPE);
        }
    }
}

TEST(Assoc, NumberZeroIsRefused)
{
    struct wire_header h;

    for (const Kind &k : kinds) {
        Bytes b = golden(k);

        std::memset(b.data() + 8, 0, 8);
        EXPECT_EQ(parse(k, b, &h), WIRE_BAD_FIELD);
    }
}

TEST(Assoc, GoldenOffer)
{
    struct wire_offer v = {0x1112131415161718, 0x21222324, 0x3132}, out;
    const Bytes bytes = from_hex("1112131415161718 21222324 3132 0000");
    Bytes put(WIRE_OFFER_BYTES, 0xa5), reserved = bytes, none = bytes;

    wire_put_offer(put.data(), &v);
    EXPECT_EQ(to_hex(put), to_hex(bytes));
    ASSERT_EQ(wire_parse_offer(Exact(bytes).data(), &out), WIRE_OK);
    EXPECT_EQ(out.time_ns, v.time_ns);
    EXPECT_EQ(out.association, v.association);
    EXPECT_EQ(out.ciphers, v.ciphers);
    reserved[14] = reserved[15] = 0xff;
    EXPECT_EQ(wire_parse_offer(reserved.data(), &out), WIRE_OK);
    std::memset(none.data() + 8, 0, 4);
    EXPECT_EQ(wire_parse_offer(none.data(), &out), WIRE_BAD_FIELD);
}

TEST(Assoc, GoldenChoice)
{
    struct wire_choice v = {0x21222324, 0x3132}, out;
    const Bytes bytes = from_hex("0000000000000000 21222324 3132 0000");
    Bytes put(WIRE_OFFER_BYTES, 0xa5), reserved = bytes, none = bytes;

    wire_put_choice(put.data(), &v);
    EXPECT_EQ(to_hex(put), to_hex(bytes));
    ASSERT_EQ(wire_parse_choice(Exact(bytes).data(), &out), WIRE_OK);
    EXPECT_EQ(out.association, v.association);
    EXPECT_EQ(out.cipher, v.cipher);
    for (int i : {0, 7, 14, 15})
        reserved[i] = 0xff;
    EXPECT_EQ(wire_parse_choice(reserved.data(), &out), WIRE_OK);
    EXPECT_EQ(out.association, v.association);
    std::memset(none.data() + 8, 0, 4);
    EXPECT_EQ(wire_parse_choice(none.data(), &out), WIRE_BAD_FIELD);
}

TEST(Assoc, GoldenTrailer)
{
    const uint64_t number = 0x0102030405060708;
    Bytes put(WIRE_TRAILER_BYTES, 0xa5);

    wire_put_trailer(put.data(), number);
    /* the tag, behind it, is another's to write */
    EXPECT_EQ(to_hex(put), "0102030405060708a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5");
    EXPECT_EQ(wire_parse_trailer(Exact(put).data()), number);
}
