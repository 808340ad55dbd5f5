/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256, HMAC and HKDF against the vectors of their documents, and outputs over inputs. */
#include <gtest/gtest.h>

#include "bytes.hh"

extern "C" {
#include "crypto/hash.h"
}

namespace
{

std::string two(const std::string &a, const std::string &b)
{
    Bytes out(HASH_BYTES);

    hash_two(a.data(), a.size(), b.empty() ? nullptr : b.data(), b.size(), out.data());
    return to_hex(out);
}

std::string hmac(const Bytes &key, const std::string &data)
{
    Bytes out(HASH_BYTES);

    hash_hmac(key.data(), key.size(), data.data(), data.size(), out.data());
    return to_hex(out);
}

} // namespace

/* The examples of NIST for FIPS 180-4. */
TEST(Hash, Sha256)
{
    const char *abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const std::string alphabet = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    EXPECT_EQ(two("", ""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (size_t cut = 0; cut <= 3; cut++)
        EXPECT_EQ(two(std::string("abc").substr(0, cut), std::string("abc").substr(cut)), abc);
    for (size_t cut = 0; cut <= alphabet.size(); cut++)
        EXPECT_EQ(two(alphabet.substr(0, cut), alphabet.substr(cut)),
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Hash, OutputMayBeTheFirstInput)
{
    Bytes a(HASH_BYTES, 1), b(5, 2), apart(HASH_BYTES);

    hash_two(a.data(), a.size(), b.data(), b.size(), apart.data());
    hash_two(a.data(), a.size(), b.data(), b.size(), a.data());
    EXPECT_EQ(a, apart);
}

/* RFC 4231, test cases 1 to 7. The fifth is about a MAC of 16 bytes. */
TEST(Hash, Hmac)
{
    const Bytes counting = from_hex("0102030405060708090a0b0c0d0e0f10111213141516171819");
    const Bytes longer(131, 0xaa);

    EXPECT_EQ(hmac(Bytes(20, 0x0b), "Hi There"),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(hmac(from_hex("4a656665"), "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(hmac(Bytes(20, 0xaa), std::string(50, '\xdd')),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    EXPECT_EQ(hmac(counting, std::string(50, '\xcd')),
              "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    EXPECT_EQ(hmac(Bytes(20, 0x0c), "Test With Truncation").substr(0, 32),
              "a3b6167473100ee06e0c796c2955552b");
    EXPECT_EQ(hmac(longer, "Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    EXPECT_EQ(hmac(longer, "This is a test using a larger than block-size key and a larger than "
                           "block-size data. The key needs to be hashed before being used by the "
                           "HMAC algorithm."),
              "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Hash, HmacOverItsKey)
{
    Bytes key(HASH_BYTES, 0x0b), apart(HASH_BYTES);

    hash_hmac(key.data(), key.size(), "data", 4, apart.data());
    hash_hmac(key.data(), key.size(), "data", 4, key.data());
    EXPECT_EQ(key, apart);
}

/* RFC 5869, A.3 (no salt, which counts as zeros, and no info): 42 bytes there, 96 here. */
TEST(Hash, Hkdf)
{
    const Bytes salt(HASH_BYTES), input(22, 0x0b);
    Bytes out[3] = {Bytes(HASH_BYTES), Bytes(HASH_BYTES), Bytes(HASH_BYTES)};
    uint8_t *outputs[] = {out[0].data(), out[1].data(), out[2].data()};

    hash_hkdf(salt.data(), input.data(), input.size(), outputs, 3);
    EXPECT_EQ(
        to_hex(out[0]) + to_hex(out[1]).substr(0, 20),
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
    EXPECT_EQ(to_hex(out[1]).substr(20) + to_hex(out[2]),
              "b2fb61057244b36c6ddd287f634795e7d80d5fe26bfc36def6dc129c29271a0eb7ab14bd2ca88259f8a3"
              "a92ac2ec0e3e4fa046a4b90b");
}

TEST(Hash, HkdfOverItsSalt)
{
    for (uint32_t n = 1; n <= 3; n++) {
        Bytes salt(HASH_BYTES, 7), apart[3], over[3];
        uint8_t *outputs[3];

        for (uint32_t i = 0; i < n; i++) {
            apart[i].resize(HASH_BYTES);
            over[i].resize(HASH_BYTES);
            outputs[i] = apart[i].data();
        }
        hash_hkdf(salt.data(), "data", 4, outputs, n);
        for (uint32_t i = 0; i < n; i++)
            outputs[i] = i == 0 ? salt.data() : over[i].data();
        hash_hkdf(salt.data(), "data", 4, outputs, n);
        EXPECT_EQ(salt, apart[0]);
        for (uint32_t i = 1; i < n; i++)
            EXPECT_EQ(over[i], apart[i]);
    }
}

/* As Split() of Noise calls it. */
TEST(Hash, HkdfOfNothing)
{
    const Bytes salt(HASH_BYTES, 7);
    Bytes first(HASH_BYTES), again(HASH_BYTES);
    uint8_t *outputs[] = {first.data()};
    uint8_t *others[] = {again.data()};

    hash_hkdf(salt.data(), nullptr, 0, outputs, 1);
    hash_hkdf(salt.data(), "", 0, others, 1);
    EXPECT_EQ(first, again);
}
