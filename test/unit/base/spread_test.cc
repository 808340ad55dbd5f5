// SPDX-License-Identifier: BSD-3-Clause
// Coarse histograms: their buckets, and their quantiles compared with sorted values.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "seed.h"

extern "C" {
#include "base/rng.h"
#include "base/spread.h"
}

TEST(Spread, Buckets)
{
    struct spread s = {};

    for (uint64_t v : {0ull, 1ull, 2ull, 3ull, 4ull, 1ull << 45, 1ull << 46, 1ull << 47, ~0ull})
        spread_add(&s, v);
    EXPECT_EQ(s.n[0], 1u);
    EXPECT_EQ(s.n[1], 1u);
    EXPECT_EQ(s.n[2], 2u);
    EXPECT_EQ(s.n[3], 1u);
    EXPECT_EQ(s.n[46], 1u);
    EXPECT_EQ(s.n[47], 3u);
    EXPECT_EQ(spread_count(&s), 9u);
    EXPECT_EQ(spread_end(0), 1u);
    EXPECT_EQ(spread_end(3), 8u);
    EXPECT_EQ(spread_end(47), UINT64_MAX);
}

TEST(Spread, Nothing)
{
    struct spread s = {};

    EXPECT_EQ(spread_count(&s), 0u);
    EXPECT_EQ(spread_quantile(&s, 50, 100), 0u);
    spread_add(&s, 0);
    EXPECT_EQ(spread_quantile(&s, 99, 100), 0u);
}

// A quantile is at least the value of that rank, and at most twice as large.
TEST(Spread, Quantiles)
{
    rng r;

    rng_init(&r, test_seed());
    for (int run = 0; run < 200; run++) {
        struct spread s = {};
        std::vector<uint64_t> values(1 + rng_below(&r, 1000));
        uint64_t sum = 0;

        for (uint64_t &v : values) {
            v = rng_u64(&r) >> (18 + rng_below(&r, 40));
            sum += v;
            spread_add(&s, v);
        }
        std::sort(values.begin(), values.end());
        EXPECT_EQ(s.sum, sum);
        for (uint64_t parts : {1, 50, 90, 99, 100}) {
            uint64_t rank = std::max<uint64_t>(1, values.size() * parts / 100);
            uint64_t v = values[rank - 1], q = spread_quantile(&s, parts, 100);

            ASSERT_GE(q, v) << "run " << run;
            ASSERT_LE(q, 2 * v) << "run " << run;
        }
    }
}
