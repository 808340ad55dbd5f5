// SPDX-License-Identifier: BSD-3-Clause
// The MACs of INIT and the cookies: golden bytes, every bit, epochs.
#include "support.hh"

extern "C" {
#include "assoc/mac.h"
}

namespace
{

const uint64_t kEpoch = 120 * kSecond;

Bytes cut(const Bytes &b, size_t from, size_t len)
{
    return Bytes(b.begin() + from, b.begin() + from + len);
}

// A responder with a seed and a public key, an INIT that is no Noise message, and its source.
struct Fixture {
    struct drbg random;
    struct mac_secret secret = {};
    Bytes key = Bytes(DH_BYTES), init = Bytes(WIRE_INIT_BYTES);
    struct addr from = address_of("10.0.0.7");
    uint16_t port = 4660;

    Fixture()
    {
        uint8_t seed[DRBG_SEED_BYTES];

        for (unsigned i = 0; i < 32; i++) {
            seed[i] = static_cast<uint8_t>(i);
            key[i] = static_cast<uint8_t>(0x20 + i);
        }
        for (unsigned i = 0; i < WIRE_INIT_BYTES; i++)
            init[i] = static_cast<uint8_t>(7 * i + 3);
        drbg_init(&random, seed);
    }
    void put(const struct mac_cookie &cookie, uint64_t now)
    {
        mac_put(init.data(), key.data(), &cookie, kEpoch, now);
    }
    bool first_right() const
    {
        return mac_first_right(init.data(), key.data());
    }
    bool second_right(uint64_t now)
    {
        return mac_second_right(&secret, &random, init.data(), &from, port, kEpoch, now);
    }
    Bytes cookie(uint64_t now)
    {
        Bytes c(WIRE_COOKIE_BYTES);

        wire_put_cookie(c.data(), 1);
        mac_cookie_put(&secret, &random, key.data(), init.data(), &from, port, kEpoch, now,
                       c.data());
        return c;
    }
    // The cookie that an INIT at this time is answered with.
    struct mac_cookie taken(uint64_t now)
    {
        struct mac_cookie c = {};

        put(c, now);
        EXPECT_TRUE(mac_cookie_take(&c, key.data(), init.data(), cookie(now).data(), now));
        return c;
    }
};

} // namespace

// Computed with hmac, hashlib and cryptography of Python.
TEST(Mac, Golden)
{
    struct mac_cookie none = {}, cookie = {};
    Fixture f;

    f.put(none, kSecond);
    EXPECT_EQ(to_hex(cut(f.init, WIRE_MAC1_OFF, 16)), "9648eb1f37bf569a38f23fe5b49b907b");
    EXPECT_EQ(to_hex(cut(f.init, WIRE_MAC2_OFF, 16)), std::string(32, '0'));
    Bytes packet = f.cookie(kSecond);
    EXPECT_EQ(to_hex(cut(packet, 0, 16)), "17000000000000000000000000000001");
    EXPECT_EQ(to_hex(cut(packet, 16, 48)),
              "9909cea12741d6dd0266b7d500000000d8e8c5434360116400eff24be1b8a07b8c791d5a9331997d0565"
              "b64fa54b2f72");
    ASSERT_TRUE(mac_cookie_take(&cookie, f.key.data(), f.init.data(), packet.data(), kSecond));
    EXPECT_EQ(to_hex(Bytes(cookie.value, cookie.value + 16)), "24fab697ab07237e048b95fec3078a61");
    EXPECT_EQ(cookie.at_ns, kSecond);
    f.put(cookie, kSecond);
    EXPECT_EQ(to_hex(cut(f.init, WIRE_MAC2_OFF, 16)), "1402cd0b7707d96131e2d7e608d026e0");
    EXPECT_TRUE(f.first_right());
    EXPECT_TRUE(f.second_right(kSecond));
}

// mac1 covers what is before it, mac2 also mac1; no bit of them may differ, nor of the key.
TEST(Mac, EveryBit)
{
    Fixture f;

    f.put(f.taken(kSecond), kSecond);
    for (size_t bit = 0; bit < 8 * WIRE_INIT_BYTES; bit++) {
        const uint8_t mask = static_cast<uint8_t>(1 << bit % 8);

        f.init[bit / 8] ^= mask;
        ASSERT_EQ(f.first_right(), bit / 8 >= WIRE_MAC2_OFF) << bit;
        ASSERT_FALSE(f.second_right(kSecond)) << bit;
        f.init[bit / 8] ^= mask;
    }
    for (size_t bit = 0; bit < 8 * DH_BYTES; bit++) {
        flip(f.key, bit);
        ASSERT_FALSE(f.first_right()) << bit;
        flip(f.key, bit);
    }
    EXPECT_TRUE(f.first_right() && f.second_right(kSecond));
}

// A cookie is for one address and port, bit by bit.
TEST(Mac, EveryBitOfTheSource)
{
    Fixture f;

    f.put(f.taken(kSecond), kSecond);
    for (size_t bit = 0; bit < 128; bit++) {
        flip(f.from.b, bit);
        ASSERT_FALSE(f.second_right(kSecond)) << bit;
        flip(f.from.b, bit);
    }
    for (size_t bit = 0; bit < 16; bit++) {
        f.port ^= static_cast<uint16_t>(1 << bit);
        ASSERT_FALSE(f.second_right(kSecond)) << bit;
        f.port ^= static_cast<uint16_t>(1 << bit);
    }
    EXPECT_TRUE(f.second_right(kSecond));
}

// A host that did not see the INIT, or has another public key, cannot make a cookie for it.
TEST(Mac, CookieIsBoundToItsInit)
{
    Fixture f;
    struct mac_cookie none = {}, kept = {{1, 2, 3}, true, 77};

    f.put(none, kSecond);
    Bytes packet = f.cookie(kSecond);
    for (size_t bit = 0; bit < 128; bit++) {
        flip(f.init.data() + WIRE_MAC1_OFF, bit);
        ASSERT_FALSE(mac_cookie_take(&kept, f.key.data(), f.init.data(), packet.data(), kSecond));
        flip(f.init.data() + WIRE_MAC1_OFF, bit);
    }
    f.key[0] ^= 1;
    EXPECT_FALSE(mac_cookie_take(&kept, f.key.data(), f.init.data(), packet.data(), kSecond));
    EXPECT_EQ(kept.value[1], 2);
    EXPECT_EQ(kept.at_ns, 77u) << "the cookie of before stays";
}

// A cookie is good for at least one epoch, and for less than two, whenever in an epoch it was
// handed out, and however often the responder looks at one.
TEST(Mac, Epochs)
{
    for (uint64_t step : {kSecond, 7 * kSecond, 59 * kSecond, kEpoch - 1, kEpoch, kEpoch + 1}) {
        for (uint64_t at = 0; at < 2 * kEpoch; at += 10 * kSecond) {
            Fixture f;
            struct mac_cookie none = {};
            const uint64_t begin = 5 * kSecond, given = begin + at;

            EXPECT_FALSE(f.second_right(begin));
            f.put(none, begin);
            f.cookie(begin); // the first epoch begins
            for (uint64_t now = begin; now < given; now += step)
                f.cookie(now);
            struct mac_cookie c = f.taken(given);
            f.put(c, given);
            for (uint64_t now = given; now < given + 3 * kEpoch; now += step) {
                bool right = f.second_right(now);

                if (now - given < kEpoch) {
                    ASSERT_TRUE(right) << step << " " << at << " " << now - given;
                }
                if (now - given >= 2 * kEpoch) {
                    ASSERT_FALSE(right) << step << " " << at << " " << now - given;
                }
            }
        }
    }
}

// The initiator uses a cookie for one epoch.
TEST(Mac, InitiatorForgets)
{
    Fixture f;
    struct mac_cookie c = f.taken(kSecond);

    f.put(c, kSecond + kEpoch - 1);
    EXPECT_NE(cut(f.init, WIRE_MAC2_OFF, 16), Bytes(16));
    f.put(c, kSecond + kEpoch);
    EXPECT_EQ(cut(f.init, WIRE_MAC2_OFF, 16), Bytes(16));
}

// Also for a clock that begins at 0.
TEST(Mac, TimeZero)
{
    Fixture f;

    f.put(f.taken(0), 0);
    EXPECT_TRUE(f.second_right(0));
}
