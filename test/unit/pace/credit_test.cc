// SPDX-License-Identifier: BSD-3-Clause
// Examples for each sentence of the credit rule, and for what the header promises beyond it.
#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include "base/clock.h"
#include "pace/credit.h"
}

namespace
{
const uint64_t HZ = 1000000000;
const uint64_t T0 = 5000;

/* 1000 B each 1000 cycles. */
struct credit credit_make(uint64_t rate_Bps = HZ, uint64_t burst_bytes = 1000)
{
    struct credit c;

    credit_init(&c, HZ, rate_Bps, burst_bytes, T0);
    return c;
}
} // namespace

TEST(Credit, StartsWithOneBurst)
{
    struct credit c = credit_make();

    EXPECT_EQ(c.credit_bytes, 1000);
    EXPECT_EQ(c.refresh_tsc, T0 + 1000);
    EXPECT_TRUE(credit_open(&c, T0));
    EXPECT_EQ(credit_next(&c, T0), T0);
}

TEST(Credit, OpenWhilePositiveThenRefresh)
{
    struct credit c = credit_make();

    credit_take(&c, 999);
    EXPECT_TRUE(credit_open(&c, T0));
    credit_take(&c, 300); /* one packet may overdraw */
    EXPECT_EQ(c.credit_bytes, -299);
    EXPECT_FALSE(credit_open(&c, T0 + 999));
    EXPECT_EQ(credit_next(&c, T0 + 999), T0 + 1000);
    EXPECT_TRUE(credit_open(&c, T0 + 1000));
    EXPECT_EQ(c.credit_bytes, 701); /* <= 0: plus one burst */
    EXPECT_TRUE(credit_open(&c, T0 + 2000));
    EXPECT_EQ(c.credit_bytes, 1000); /* > 0: one burst, no more */
}

TEST(Credit, ZeroIsShut)
{
    struct credit c = credit_make();

    credit_take(&c, 1000);
    EXPECT_EQ(c.credit_bytes, 0);
    EXPECT_FALSE(credit_open(&c, T0));
    EXPECT_TRUE(credit_open(&c, T0 + 1000));
    EXPECT_EQ(c.credit_bytes, 1000);
}

TEST(Credit, DeepDebtWaitsSeveralPeriods)
{
    struct credit c = credit_make();

    credit_take(&c, 4000); /* -3000; after refreshes -2000, -1000, 0, 1000 */
    EXPECT_EQ(credit_next(&c, T0), T0 + 4000);
    EXPECT_FALSE(credit_open(&c, T0 + 3999));
    EXPECT_EQ(credit_next(&c, T0 + 3999), T0 + 4000);
    EXPECT_TRUE(credit_open(&c, T0 + 4000));
    EXPECT_EQ(c.credit_bytes, 1000);
}

TEST(Credit, IdleOfHoursKeepsThePhase)
{
    struct credit c = credit_make(3 * HZ, 1000); /* a period is 333 1/3 cycles */
    const uint64_t hours = 5 * 3600 * HZ;

    credit_take(&c, 1200);
    EXPECT_TRUE(credit_open(&c, T0 + hours));
    EXPECT_EQ(c.credit_bytes, 1000);
    /* 5 h are a whole number of periods (3 in 1000 cycles), so the next refresh would be at now +
     * 333. But each period was rounded up by 2/3 of 2^-32 cycles. */
    const uint64_t rounded = hours * 3 / 1000 * 2 / 3 >> 32;

    EXPECT_EQ(c.refresh_tsc - (T0 + hours), (333 + rounded) % 333);
    EXPECT_LT(rounded * 10000000000u, hours);
}

TEST(Credit, BurstZeroIsNoLimit)
{
    for (uint64_t rate : {uint64_t(0), uint64_t(1), HZ}) {
        struct credit c = credit_make(rate, 0);

        for (int i = 0; i < 1000; i++) {
            ASSERT_TRUE(credit_open(&c, T0));
            ASSERT_EQ(credit_next(&c, T0), T0);
            credit_take(&c, 65536);
        }
    }
}

TEST(Credit, RateZeroIsShut)
{
    struct credit c = credit_make(0, 1000);

    EXPECT_FALSE(credit_open(&c, T0));
    EXPECT_FALSE(credit_open(&c, T0 + 3600 * HZ));
    EXPECT_EQ(credit_next(&c, T0 + 3600 * HZ), TIME_NEVER);
}

TEST(Credit, RateAfterZeroStartsTheTimerThen)
{
    struct credit c = credit_make();

    credit_take(&c, 1500);
    credit_set(&c, HZ, 0, 1000, T0 + 500);
    EXPECT_FALSE(credit_open(&c, T0 + 100000));
    EXPECT_EQ(c.credit_bytes, -500); /* does not change */
    credit_set(&c, HZ, HZ, 1000, T0 + 100000);
    EXPECT_FALSE(credit_open(&c, T0 + 100999));
    EXPECT_EQ(credit_next(&c, T0 + 100999), T0 + 101000);
    EXPECT_TRUE(credit_open(&c, T0 + 101000));
    EXPECT_EQ(c.credit_bytes, 500);
}

TEST(Credit, RateAfterZeroKeepsLeftCredit)
{
    struct credit c = credit_make(0, 1000);

    credit_set(&c, HZ, HZ, 1000, T0 + 77);
    EXPECT_TRUE(credit_open(&c, T0 + 77));
    EXPECT_EQ(c.credit_bytes, 1000);
    EXPECT_EQ(c.refresh_tsc, T0 + 1077);
}

TEST(Credit, BurstAfterZeroStartsWithoutCredit)
{
    struct credit c = credit_make(HZ, 0);

    EXPECT_TRUE(credit_open(&c, T0 + 10));
    credit_take(&c, 100000);
    credit_set(&c, HZ, HZ, 1000, T0 + 10);
    EXPECT_FALSE(credit_open(&c, T0 + 1009));
    EXPECT_EQ(credit_next(&c, T0 + 11), T0 + 1010);
    EXPECT_TRUE(credit_open(&c, T0 + 1010));
    EXPECT_EQ(c.credit_bytes, 1000);
}

TEST(Credit, NewValuesCutCreditAndKeepWhatIsEarned)
{
    struct credit c = credit_make();

    credit_set(&c, HZ, HZ, 400, T0 + 900);
    EXPECT_EQ(c.credit_bytes, 400);
    EXPECT_EQ(c.refresh_tsc, T0 + 1200); /* 900 are two of the new bursts and 100 bytes */
    credit_take(&c, 100);
    credit_set(&c, HZ, HZ, 100000, T0 + 950); /* a larger burst adds nothing now */
    EXPECT_EQ(c.credit_bytes, 300);
    EXPECT_EQ(c.refresh_tsc, T0 + 950 + 99850);
    credit_set(&c, HZ, 2 * HZ, 100000, T0 + 1000);
    EXPECT_EQ(c.refresh_tsc, T0 + 1000 + 99800 / 2);
}

/* A router may limit now and then, to a lower rate and a much smaller burst. The sender must not
 * get faster than it would be without the router. */
TEST(Credit, ValuesThatGoToAndFroGainNothing)
{
    struct credit c = credit_make(HZ / 1000, 60000); /* a burst takes 60,000,000 cycles */
    uint64_t sent = 0, end = 2000000000;

    for (uint64_t at = 0; at < end; at += 1000000) {
        bool limited = at / 1000000 % 2;

        credit_set(&c, HZ, limited ? HZ / 1100 : HZ / 1000, limited ? 500 : 60000, T0 + at);
        while (credit_open(&c, T0 + at)) {
            credit_take(&c, 1000);
            sent += 1000;
        }
    }
    EXPECT_LE(sent, end / 1000 + 2 * 60000 + 1000);
    EXPECT_GE(sent, end / 1100 - 2 * 60000);
}

TEST(Credit, RefreshesDueBeforeNewValuesStillCount)
{
    struct credit c = credit_make();

    credit_take(&c, 1600);
    credit_set(&c, HZ, HZ, 2000, T0 + 1500);
    EXPECT_EQ(c.credit_bytes, 400);
    EXPECT_EQ(c.refresh_tsc, T0 + 3000); /* 500 of 2000 are earned */
}

TEST(Credit, UnchangedValuesChangeNothing)
{
    struct credit c = credit_make(7 * HZ / 3, 1000);

    credit_take(&c, 600);
    for (uint64_t now = T0; now < T0 + 5000; now += 61) {
        struct credit same;

        credit_update(&c, now);
        same = c;
        credit_set(&c, HZ, 7 * HZ / 3, 1000, now);
        ASSERT_EQ(memcmp(&c, &same, sizeof(c)), 0);
    }
}

TEST(Credit, ClampsAndStillComparesAsUnchanged)
{
    struct credit c = credit_make(UINT64_MAX, UINT64_MAX);
    uint64_t refresh = c.refresh_tsc;

    EXPECT_EQ(c.burst_bytes, CREDIT_BURST_MAX_BYTES);
    credit_set(&c, HZ, UINT64_MAX - 1, UINT64_MAX - 1, T0 + 100);
    EXPECT_EQ(c.refresh_tsc, refresh);
}

/* 2^40 B at 1 B/s and 1 GHz: 1.1 * 10^21 cycles do not fit. The period is as good as never. */
TEST(Credit, PeriodBeyondTheClockIsNever)
{
    struct credit c = credit_make(1, CREDIT_BURST_MAX_BYTES);

    EXPECT_TRUE(credit_open(&c, T0));
    credit_take(&c, UINT32_MAX);
    while (credit_open(&c, T0))
        credit_take(&c, UINT32_MAX);
    EXPECT_FALSE(credit_open(&c, T0 + (1ull << 61)));
    EXPECT_EQ(credit_next(&c, T0 + (1ull << 61)), T0 + (1ull << 62));
    EXPECT_TRUE(credit_open(&c, T0 + (1ull << 62)));
    EXPECT_TRUE(credit_open(&c, T0 + (1ull << 63) - 1));
    EXPECT_EQ(c.refresh_tsc, T0 + (1ull << 63));
}

/* Bursts of one byte at 50 GB/s: 50 refreshes in a cycle. */
TEST(Credit, ManyPeriodsInOneCycle)
{
    struct credit c = credit_make(50 * HZ, 1);

    EXPECT_EQ(c.period_tsc, 0u);
    credit_update(&c, T0);
    EXPECT_EQ(c.refresh_tsc, T0 + 1);
    EXPECT_LE(c.fraction, 50u); /* each period was rounded up */
    credit_take(&c, 1500);      /* 1500 refreshes pay for it; the 50th falls on T0 + 1 */
    EXPECT_EQ(credit_next(&c, T0), T0 + 30);
    EXPECT_FALSE(credit_open(&c, T0 + 29));
    EXPECT_EQ(c.credit_bytes, 1 - 1500 + 50 * 28 + 50);
    EXPECT_TRUE(credit_open(&c, T0 + 30));
}

TEST(Credit, TimeThatStepsBackChangesNothing)
{
    struct credit c = credit_make();
    struct credit same;

    credit_take(&c, 1200);
    credit_update(&c, T0 + 1500);
    same = c;
    credit_update(&c, T0 + 700);
    credit_update(&c, T0 + 1500);
    EXPECT_EQ(memcmp(&c, &same, sizeof(c)), 0);
}

/* This schedule needs nearly all of the envelope's 2 * burst + a packet. */
TEST(Credit, TwoBurstsCanTouch)
{
    struct credit c = credit_make();
    uint64_t sent_bytes = 0;

    for (uint64_t now : {T0 + 1999, T0 + 2000}) {
        while (credit_open(&c, now)) {
            uint64_t len_bytes = c.credit_bytes == 1 ? 300 : 1;

            credit_take(&c, len_bytes);
            sent_bytes += len_bytes;
        }
    }
    EXPECT_EQ(sent_bytes, 1000u - 1 + 300 + 1000 - 299 - 1 + 300);
}

TEST(CreditDeathTest, TakingFromAShutGateIsBroken)
{
    struct credit c = credit_make();

    credit_take(&c, 1000);
    EXPECT_DEATH(credit_take(&c, 1), "broken invariant");
}

/* Grants that change more often than RTIMER fires (16 s here) must not starve the sender. */
TEST(Credit, ChangesDoNotStarve)
{
    const uint64_t hz = 1000000000;
    struct credit c;
    uint64_t sent = 0;

    credit_init(&c, hz, 1000000, 1000000, 0);
    for (uint64_t ms = 0; ms < 20000; ms++) {
        uint64_t now = ms * (hz / 1000);

        credit_set(&c, hz, 1000000 + ms % 2, 1000000, now);
        while (credit_open(&c, now)) {
            credit_take(&c, 1000);
            sent += 1000;
        }
    }
    EXPECT_GE(sent, 19000000u);
    EXPECT_LE(sent, 22001000u);
}
