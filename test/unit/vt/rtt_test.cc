// SPDX-License-Identifier: BSD-3-Clause
// The smoothed round trip against RFC 6298 in doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "vt/rtt.h"
}

namespace
{
/* RFC 6298, 2.2 and 2.3, with its alpha and beta. */
struct Model {
    double srtt = 0, var = 0, min = 0, least = 0, before = 1e30;
    unsigned int samples = 0;

    void sample(double r)
    {
        if (samples++ % RTT_MIN_OF == 0) {
            before = samples > 1 ? least : before;
            least = r;
        }
        least = std::min(least, r);
        min = std::min(before, least);
        if (srtt == 0) {
            srtt = r;
            var = r / 2;
            return;
        }
        var = (1 - 0.25) * var + 0.25 * std::fabs(srtt - r);
        srtt = (1 - 0.125) * srtt + 0.125 * r;
    }

    double wait() const
    {
        return srtt + std::max(4 * var, srtt / 8);
    }
};

/*
 * Each step rounds down by less than a cycle, and forgets an eighth of earlier errors. So srtt is
 * off by less than 8 cycles. var takes over that error, rounds, too, and forgets a quarter. So it
 * is off by less than 8 + 4 cycles.
 */
constexpr double SRTT_OFF = 8, VAR_OFF = 12;
} // namespace

TEST(Rtt, KnowsNothingBeforeTheFirstSample)
{
    struct rtt r;

    rtt_init(&r);
    EXPECT_EQ(r.srtt_tsc, 0u);
    EXPECT_EQ(r.min_tsc, 0u);
    EXPECT_EQ(rtt_wait(&r, 12345), 12345u);
    EXPECT_EQ(rtt_wait(&r, 0), 0u);
}

TEST(Rtt, FirstSampleIsTakenWhole)
{
    struct rtt r;

    rtt_init(&r);
    rtt_sample(&r, 1000);
    EXPECT_EQ(r.srtt_tsc, 1000u);
    EXPECT_EQ(r.var_tsc, 500u);
    EXPECT_EQ(r.min_tsc, 1000u);
    EXPECT_EQ(rtt_wait(&r, 12345), 3000u);
}

TEST(Rtt, SecondSampleCountsAnEighthAndItsDeviationAQuarter)
{
    struct rtt r;

    rtt_init(&r);
    rtt_sample(&r, 1000);
    rtt_sample(&r, 1800);
    EXPECT_EQ(r.srtt_tsc, 1100u);
    EXPECT_EQ(r.var_tsc, 575u) << "the deviation from the old srtt";
    rtt_sample(&r, 300);
    EXPECT_EQ(r.srtt_tsc, 1000u);
    EXPECT_EQ(r.var_tsc, 631u);
    EXPECT_EQ(r.min_tsc, 300u);
}

TEST(Rtt, ASampleOfNothingIsACycle)
{
    struct rtt r;

    rtt_init(&r);
    rtt_sample(&r, 0);
    EXPECT_EQ(r.srtt_tsc, 1u);
    EXPECT_EQ(r.min_tsc, 1u);
    for (int i = 0; i < 100; i++)
        rtt_sample(&r, 0);
    EXPECT_GE(r.srtt_tsc, 1u) << "0 would mean that there is no sample";
    EXPECT_EQ(r.min_tsc, 1u);
}

TEST(Rtt, SrttNeverBecomesUnknownAgain)
{
    for (uint64_t first = 1; first < 100; first++) {
        struct rtt r;

        rtt_init(&r);
        rtt_sample(&r, first);
        for (int i = 0; i < 200; i++) {
            rtt_sample(&r, 1);
            ASSERT_GE(r.srtt_tsc, 1u);
            ASSERT_LT(rtt_wait(&r, 1000000), 1000000u);
        }
    }
}

TEST(Rtt, WaitIsAtLeastAnEighthLongerThanTheRoundTrip)
{
    struct rtt r;

    rtt_init(&r);
    for (int i = 0; i < 300; i++)
        rtt_sample(&r, 80000);
    EXPECT_EQ(r.srtt_tsc, 80000u);
    EXPECT_LE(r.var_tsc, 4u);
    EXPECT_EQ(rtt_wait(&r, 1), 90000u);
}

TEST(RttProperty, MatchesRfc6298WithinRounding)
{
    struct rng rng;
    int spread = 0, steady = 0;

    rng_init(&rng, test_seed());
    for (int world = 0; world < 500; world++) {
        struct rtt r;
        Model m;
        uint64_t middle = 1 + (rng_u64(&rng) >> (22 + rng_below(&rng, 40)));
        uint64_t jitter = 1 + (middle >> rng_below(&rng, 12));

        rtt_init(&r);
        for (int k = 0; k < 200; k++) {
            uint64_t sample = middle + rng_below(&rng, jitter);

            if (rng_below(&rng, 40) == 0)
                sample = middle * (1 + rng_below(&rng, 10)) / 3 + 1;
            rtt_sample(&r, sample);
            m.sample((double)sample);
            ASSERT_NEAR((double)r.srtt_tsc, m.srtt, SRTT_OFF) << "world " << world << " at " << k;
            ASSERT_NEAR((double)r.var_tsc, m.var, VAR_OFF) << "world " << world << " at " << k;
            ASSERT_EQ(r.min_tsc, (uint64_t)m.min);
            ASSERT_NEAR((double)rtt_wait(&r, 0), m.wait(), SRTT_OFF + 4 * VAR_OFF);
            (4 * m.var > m.srtt / 8 ? spread : steady)++;
        }
    }
    EXPECT_GT(spread, 1000);
    EXPECT_GT(steady, 1000);
}
