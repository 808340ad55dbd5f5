/* SPDX-License-Identifier: BSD-3-Clause */
/* Random bytes: golden ones, every length, and a state that shows nothing of what was drawn. */
#include <gtest/gtest.h>

#include "bytes.hh"

extern "C" {
#include "crypto/drbg.h"
#include "crypto/hash.h"
}

namespace
{

Bytes draw(struct drbg *d, size_t len)
{
    Exact e(Bytes(len, 0xa5));

    drbg_bytes(d, e.data(), len);
    return Bytes(e.data(), e.data() + len);
}

struct drbg counting_seed()
{
    uint8_t seed[DRBG_SEED_BYTES];
    struct drbg d;

    for (unsigned i = 0; i < sizeof seed; i++)
        seed[i] = static_cast<uint8_t>(i);
    drbg_init(&d, seed);
    return d;
}

} // namespace

/* Computed with hmac and hashlib of Python. */
TEST(Drbg, Golden)
{
    struct drbg d = counting_seed();

    EXPECT_EQ(
        to_hex(draw(&d, 70)),
        "3b345d4e3f7a9922d8942f7c4f9c46a36307684beb1c02f98dba9327be8e1617be563a677f0334d6c3b6b698"
        "db0ba3baa59ee0f41841cc64677e64e16c27ddfb9bc14433322a");
    EXPECT_EQ(to_hex(draw(&d, 5)), "19bbf32866");
    EXPECT_EQ(to_hex(Bytes(d.key, d.key + sizeof d.key)),
              "1fcf48e3b3797b40ad2eadffa6c57a426d46db0dbed05be8cb4c7ef6655b9792");
}

TEST(Drbg, EveryLength)
{
    struct drbg begin = counting_seed(), d = begin;
    const Bytes whole = draw(&d, 200);

    for (size_t len = 0; len <= 200; len++) {
        struct drbg other = begin;

        EXPECT_EQ(draw(&other, len), Bytes(whole.begin(), whole.begin() + len)) << len;
        EXPECT_EQ(std::memcmp(other.key, d.key, sizeof d.key), 0) << len;
    }
}

/* From the state follow keys, computed in the way that outputs are. None of them is an earlier key
 * or output. */
TEST(Drbg, TheStateDoesNotLeadBack)
{
    struct drbg d = counting_seed();
    std::vector<Bytes> before;

    for (int i = 0; i < 4; i++) {
        before.push_back(Bytes(d.key, d.key + sizeof d.key));
        before.push_back(draw(&d, HASH_BYTES));
    }
    for (const Bytes &b : before)
        EXPECT_NE(std::memcmp(b.data(), d.key, sizeof d.key), 0);
    for (uint64_t i = 0; i < 1000; i++) {
        Bytes out(HASH_BYTES);

        hash_hmac(d.key, sizeof d.key, &i, sizeof i, out.data());
        for (const Bytes &b : before)
            ASSERT_NE(b, out);
    }
}

TEST(Drbg, NothingComesTwice)
{
    struct drbg d = counting_seed();
    std::vector<Bytes> all;

    for (int i = 0; i < 2000; i++)
        all.push_back(draw(&d, 8));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}
