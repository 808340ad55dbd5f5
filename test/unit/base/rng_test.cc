// SPDX-License-Identifier: BSD-3-Clause
// The generator against its published reference values, and the uniformity of rng_below().
#include <gtest/gtest.h>

#include <vector>

#include "seed.h"

extern "C" {
#include "base/rng.h"
}

TEST(Rng, SeedingIsSplitmix64)
{
    struct rng r;

    rng_init(&r, 0);
    EXPECT_EQ(r.s[0], 0xe220a8397b1dcdafull);
    EXPECT_EQ(r.s[1], 0x6e789e6aa1b965f4ull);
    EXPECT_EQ(r.s[2], 0x06c45d188009454full);
    EXPECT_EQ(r.s[3], 0xf88bb8a8724c81ecull);

    rng_init(&r, 1234567);
    EXPECT_EQ(r.s[0], 6457827717110365317ull);
    EXPECT_EQ(r.s[1], 3203168211198807973ull);
    EXPECT_EQ(r.s[2], 9817491932198370423ull);
    EXPECT_EQ(r.s[3], 4593380528125082431ull);
}

TEST(Rng, StepIsXoshiro256StarStar)
{
    struct rng r = {{1, 2, 3, 4}};
    const uint64_t expect[] = {11520,
                               0,
                               1509978240,
                               1215971899390074240,
                               1216172134540287360,
                               607988272756665600,
                               16172922978634559625ull,
                               8476171486693032832ull};

    for (uint64_t value : expect)
        EXPECT_EQ(rng_u64(&r), value);
}

TEST(Rng, SameSeedSameNumbers)
{
    struct rng a, b, other;
    int same = 0;

    rng_init(&a, 99);
    rng_init(&b, 99);
    rng_init(&other, 100);
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rng_u64(&a);

        ASSERT_EQ(x, rng_u64(&b));
        same += x == rng_u64(&other);
    }
    EXPECT_EQ(same, 0);
}

TEST(Rng, BelowStaysBelow)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 200000; i++) {
        uint64_t bound = (rng_u64(&r) >> rng_below(&r, 64)) | 1;

        ASSERT_LT(rng_below(&r, bound), bound);
        ASSERT_EQ(rng_below(&r, 1), 0u);
    }
}

/* Chi-square over 10 cells: for 9 degrees of freedom, 60 is exceeded once in 10^8 runs. */
TEST(Rng, BelowIsUniform)
{
    struct rng r;
    std::vector<int> hits(10);
    const int draws = 1000000;
    double chi2 = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < draws; i++)
        hits[rng_below(&r, 10)]++;
    for (int h : hits)
        chi2 += (h - draws / 10.0) * (h - draws / 10.0) / (draws / 10.0);
    EXPECT_LT(chi2, 60);
}

/* With bound = 3 * 2^62, scaling without a redraw would give multiples of 3 twice as often. */
TEST(Rng, BelowHasNoBiasAtHugeBounds)
{
    struct rng r;
    const uint64_t bound = 3ull << 62;
    const int draws = 300000;
    int multiples = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < draws; i++)
        multiples += rng_below(&r, bound) % 3 == 0;
    EXPECT_NEAR(multiples, draws / 3.0, 2000); /* 7.7 standard deviations */
}

/* The vector of Aumasson and Bernstein's reference for the eight bytes 0 to 7. */
TEST(Secret, IsSipHash)
{
    struct secret s;

    secret_init(&s, 0x0706050403020100, 0x0f0e0d0c0b0a0908);
    s.count = 0x0706050403020100;
    EXPECT_EQ(secret_u64(&s), 0x93f5f5799a932462u);
    EXPECT_EQ(s.count, 0x0706050403020101u);
    const uint64_t words[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    EXPECT_EQ(secret_hash(&s, words, 1), 0x93f5f5799a932462u);
    EXPECT_EQ(secret_hash(&s, words, 2), 0x3f2acc7f57c29bdbu);
}

TEST(RngDeathTest, BelowZeroIsBroken)
{
    struct rng r;

    rng_init(&r, 1);
    EXPECT_DEATH(rng_below(&r, 0), "broken invariant: bound > 0");
}
