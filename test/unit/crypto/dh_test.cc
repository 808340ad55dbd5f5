/* SPDX-License-Identifier: BSD-3-Clause */
/* X25519 against RFC 7748; the points that share the same secret with everybody. */
#include <gtest/gtest.h>

#include <cerrno>

#include "bytes.hh"

extern "C" {
#include "crypto/dh.h"
}

namespace
{

Bytes shared(const Bytes &private_key, const Bytes &public_key)
{
    Bytes out(DH_BYTES);

    EXPECT_EQ(dh_shared(private_key.data(), public_key.data(), out.data()), 0);
    return out;
}

Bytes public_of(const Bytes &private_key)
{
    Bytes out(DH_BYTES);

    dh_public(private_key.data(), out.data());
    return out;
}

} // namespace

/* RFC 7748, section 5.2. The second point has its highest bit set, which is ignored. */
TEST(Dh, OneStep)
{
    EXPECT_EQ(to_hex(shared(
                  from_hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
                  from_hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"))),
              "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    EXPECT_EQ(to_hex(shared(
                  from_hex("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d"),
                  from_hex("e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493"))),
              "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957");
}

/* RFC 7748, section 5.2: the result is the next private key, and the old one the next point. */
TEST(Dh, Iterated)
{
    Bytes k = from_hex("0900000000000000000000000000000000000000000000000000000000000000"), u = k;

    for (int i = 1; i <= 1000; i++) {
        Bytes next = shared(k, u);

        u = k;
        k = next;
        if (i == 1) {
            EXPECT_EQ(to_hex(k),
                      "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
        }
    }
    EXPECT_EQ(to_hex(k), "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
}

/* RFC 7748, section 6.1. */
TEST(Dh, TwoAgree)
{
    Bytes a = from_hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
    Bytes b = from_hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");

    EXPECT_EQ(to_hex(public_of(a)),
              "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    EXPECT_EQ(to_hex(public_of(b)),
              "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    EXPECT_EQ(to_hex(shared(a, public_of(b))),
              "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    EXPECT_EQ(shared(a, public_of(b)), shared(b, public_of(a)));
}

/* The points of order 1, 2, 4 and 8, in each way that 32 bytes can say them (RFC 7748, section 7):
 * 0, 1, two of order 8, and p - 1, p, p + 1 for the prime p; also with the highest bit set. */
TEST(Dh, PointsOfSmallOrder)
{
    Random r;

    for (const char *point : {"0000000000000000000000000000000000000000000000000000000000000000",
                              "0100000000000000000000000000000000000000000000000000000000000000",
                              "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                              "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                              "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                              "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                              "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
        for (uint8_t high : {0x00, 0x80}) {
            Bytes k = r.bytes(DH_BYTES), u = from_hex(point), out(DH_BYTES);

            u[31] |= high;
            EXPECT_EQ(dh_shared(k.data(), u.data(), out.data()), -EINVAL) << point;
        }
    }
}

/* Any 32 bytes are a private key: the bits that RFC 7748 fixes are fixed when it is used. */
TEST(Dh, AnyPrivateKey)
{
    const Bytes base = from_hex("0900000000000000000000000000000000000000000000000000000000000000");
    Random r;

    for (int i = 0; i < 50; i++) {
        Bytes k = i == 0 ? Bytes(DH_BYTES) : i == 1 ? Bytes(DH_BYTES, 0xff) : r.bytes(DH_BYTES);
        Bytes fixed = k;

        fixed[0] &= 0xf8;
        fixed[31] = static_cast<uint8_t>((fixed[31] & 0x7f) | 0x40);
        EXPECT_EQ(public_of(k), public_of(fixed));
        EXPECT_EQ(public_of(k), shared(k, base));
    }
}
