// SPDX-License-Identifier: BSD-3-Clause
// The closed form, against the model that walks every RTIMER. And the envelope over all windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "credit_model.h"

namespace
{
const uint64_t RATE_LOW_BPS = 1000;
const uint64_t RATE_HIGH_BPS = 50000000000;
const uint64_t BURST_HIGH_BYTES = 16 << 20;
const uint64_t STEPS_MAX = 100000; /* refreshes that one run walks */

struct Trial {
    struct rng *r;
    struct credit c;
    CreditModel m;
    uint64_t now;
    uint64_t opened = 0, shut = 0, jumps = 0;

    Trial(struct rng *rng, uint64_t hz, uint64_t rate, uint64_t burst, uint64_t start)
        : r(rng), m(hz, rate, burst, start), now(start)
    {
        credit_init(&c, hz, rate, burst, start);
    }

    uint64_t rate_any() const
    {
        return rng_below(r, 8) == 0 ? 0 : rng_magnitude(r, RATE_LOW_BPS, RATE_HIGH_BPS);
    }

    uint64_t burst_any() const
    {
        return rng_below(r, 8) == 0 ? 0 : rng_magnitude(r, 1, BURST_HIGH_BYTES);
    }

    /* Any time from the next cycle to far beyond many periods, but within the model's reach. */
    void pass_time()
    {
        uint64_t reach = m.hz * 3600 * 4;
        uint64_t delta;

        if (m.runs()) {
            u128 most = (u128)(STEPS_MAX / 10) * m.burst_bytes * m.hz / m.rate_Bps + 1;

            if (most < reach)
                reach = (uint64_t)most;
        }
        switch (rng_below(r, 5)) {
        case 0:
            delta = rng_below(r, 3);
            break;
        case 1: /* at, just before or just after a refresh */
            delta = m.runs() ? m.refresh_at(m.next + rng_below(r, 6)) - now : 0;
            delta += rng_below(r, 3);
            delta -= delta > 0;
            break;
        case 2: { /* when the gate is said to open */
            uint64_t next = credit_next(&c, now);

            delta = next == TIME_NEVER ? 1 : next - now;
            break;
        }
        default:
            delta = rng_magnitude(r, 1, reach);
        }
        now += std::min(delta, reach);
        jumps += now >= c.refresh_tsc && now - c.refresh_tsc > 1000 * (c.period_tsc + 1);
    }

    void change()
    {
        uint64_t rate = rng_below(r, 2) ? m.rate_Bps : rate_any();
        uint64_t burst = rng_below(r, 2) ? m.burst_bytes : burst_any();

        credit_set(&c, m.hz, rate, burst, now);
        m.set(rate, burst, now);
    }

    void compare()
    {
        uint64_t opens;

        m.walk(now);
        ASSERT_EQ(credit_open(&c, now), m.open());
        ASSERT_EQ(c.credit_bytes, m.credit_bytes);
        ASSERT_EQ(c.burst_bytes, m.burst_bytes);
        ASSERT_EQ(c.refresh_tsc, m.runs() ? m.refresh_at(m.next) : TIME_NEVER);
        opens = m.opens(now);
        ASSERT_EQ(credit_next(&c, now), opens);
        if (opens != now && opens != TIME_NEVER) {
            struct credit copy = c;

            ASSERT_FALSE(credit_open(&copy, opens - 1));
            ASSERT_TRUE(credit_open(&copy, opens));
        }
        (m.open() ? opened : shut)++;
    }

    void step()
    {
        pass_time();
        if (rng_below(r, 20) == 0)
            change();
        compare();
        while (!::testing::Test::HasFatalFailure() && m.open() && rng_below(r, 4)) {
            /* The debt is at most 2000 bursts, so that the model can pay it off. */
            uint64_t most = std::min<uint64_t>(65536, 2000 * (m.burst_bytes + 1));
            uint64_t len_bytes = rng_magnitude(r, 1, most);

            credit_take(&c, len_bytes);
            m.take(len_bytes);
            compare();
        }
    }
};
} // namespace

TEST(CreditProperty, MatchesTheWalkedTimer)
{
    struct rng r;
    uint64_t opened = 0, shut = 0, jumps = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < 300; i++) {
        Trial run(&r, rng_hz(&r), 0, 0, rng_u64(&r) >> (1 + rng_below(&r, 40)));

        uint64_t rate = run.rate_any(), burst = run.burst_any();

        credit_set(&run.c, run.m.hz, rate, burst, run.now);
        run.m.set(rate, burst, run.now);
        for (int k = 0; k < 400 && run.m.steps < STEPS_MAX; k++) {
            run.step();
            ASSERT_FALSE(HasFatalFailure())
                << "run " << i << " step " << k << " hz " << run.m.hz << " rate " << run.m.rate_Bps
                << " burst " << run.m.burst_bytes;
        }
        opened += run.opened;
        shut += run.shut;
        jumps += run.jumps;
    }
    EXPECT_GT(opened, 1000u);
    EXPECT_GT(shut, 1000u);
    EXPECT_GT(jumps, 100u) << "late polls over many periods must occur";
}

/*
 * Polls so late that no walk can follow. The refreshes are counted by a division since the start of
 * RTIMER. They are applied one by one until credit is a full burst, which later ones do not change.
 */
TEST(CreditProperty, IdleOfHoursAndYears)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        uint64_t hz = rng_hz(&r);
        uint64_t rate = rng_magnitude(&r, RATE_LOW_BPS, RATE_HIGH_BPS);
        uint64_t burst = rng_magnitude(&r, 1, BURST_HIGH_BYTES);
        uint64_t start = rng_u64(&r) >> 2;
        uint64_t now = start;
        u128 period = (((u128)burst * hz << 32) + rate - 1) / rate; /* 2^-32 cycles */
        u128 count = 0;
        int64_t credit = (int64_t)burst;
        struct credit c;

        credit_init(&c, hz, rate, burst, start);
        for (int k = 0; k < 5; k++) {
            /* The number of refreshes n with floor(n * period) <= now - start. */
            now += rng_magnitude(&r, 1, 10 * 365 * 86400 * hz / (k + 1));
            u128 total = (((u128)(now - start + 1) << 32) - 1) / period;
            for (; count < total && credit < (int64_t)burst; count++)
                credit = credit <= 0 ? credit + (int64_t)burst : (int64_t)burst;
            count = total;
            credit_update(&c, now);
            ASSERT_EQ(c.credit_bytes, credit)
                << "hz " << hz << " rate " << rate << " burst " << burst;
            ASSERT_EQ(c.refresh_tsc, start + (uint64_t)((count + 1) * period >> 32))
                << "hz " << hz << " rate " << rate << " burst " << burst;
            ASSERT_EQ(c.fraction, (uint32_t)((count + 1) * period));
            if (credit_open(&c, now)) {
                uint64_t len_bytes = 1 + rng_below(&r, 9000);

                credit_take(&c, len_bytes);
                credit -= (int64_t)len_bytes;
            }
        }
    }
}

/*
 * The envelope over all pairs (i, j) of a recorded schedule. The bytes sent in the window from send
 * i to send j, including both, are <= rate * W + 2 * burst + one packet. All terms are integers
 * times hz. With sums S and times t this is S[j] * hz - rate * t[j] - (S[i-1] * hz - rate * t[i])
 * <= limit. The smallest subtrahend so far stands for all i.
 */
TEST(CreditProperty, EnvelopeHoldsInEveryWindow)
{
    struct rng r;
    uint64_t tight = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < 400; i++) {
        uint64_t hz = rng_hz(&r);
        uint64_t rate = rng_magnitude(&r, RATE_LOW_BPS, RATE_HIGH_BPS);
        uint64_t burst = rng_magnitude(&r, 1, BURST_HIGH_BYTES);
        uint64_t packet_bytes = rng_magnitude(&r, 1, 65536);
        uint64_t late_of_8 = rng_below(&r, 9);
        uint64_t now = 1000;
        __int128 smallest = 0, sent_hz = 0, most = 0;
        __int128 limit = (__int128)(2 * burst + packet_bytes) * hz + rate;
        struct credit c;

        credit_init(&c, hz, rate, burst, now);
        smallest = -(__int128)rate * now;
        for (int k = 0; k < 3000; k++) {
            uint64_t len_bytes;

            now = std::max(now, credit_next(&c, now));
            if (rng_below(&r, 8) < late_of_8) {
                if (rng_below(&r, 2)) /* the worst time is just before a refresh */
                    now = std::max(now, c.refresh_tsc - 1);
                else
                    now += rng_below(&r, 2 * c.period_tsc + 2);
            }
            if (!credit_open(&c, now))
                continue;
            smallest = std::min(smallest, sent_hz - (__int128)rate * now);
            len_bytes = rng_below(&r, 4) ? packet_bytes : 1 + rng_below(&r, packet_bytes);
            credit_take(&c, len_bytes);
            sent_hz += (__int128)len_bytes * hz;
            most = std::max(most, sent_hz - (__int128)rate * now - smallest);
            ASSERT_LE(most, limit) << "hz " << hz << " rate " << rate << " burst " << burst
                                   << " packet " << packet_bytes << " send " << k;
        }
        tight += most > limit - (__int128)burst * hz;
    }
    EXPECT_GT(tight, 10u)
        << "some schedule must exceed an envelope of one burst, otherwise nothing is shown";
}

/* credit_skip() and the refresh that it leaves have the effect of one credit_update(). */
TEST(CreditProperty, SkippingLeavesOneRefresh)
{
    struct rng r;
    uint64_t skipped = 0, many = 0;

    rng_init(&r, test_seed());
    for (int run = 0; run < 200000; run++) {
        uint64_t hz = rng_magnitude(&r, 1000000, 1ull << 38);
        uint64_t rate = rng_magnitude(&r, RATE_LOW_BPS, RATE_HIGH_BPS);
        uint64_t burst = rng_magnitude(&r, 1, 100000), now = rng_u64(&r) >> 8;
        struct credit c, left, whole;
        uint64_t late;

        credit_init(&c, hz, rate, burst, now);
        c.credit_bytes -= (int64_t)rng_below(&r, 4 * burst); /* as after packets */
        c.fraction = (uint32_t)rng_u64(&r);
        now = c.refresh_tsc + rng_below(&r, 8) * c.period_tsc; /* at a refresh, or not */
        now += rng_below(&r, 3) == 0 ? rng_below(&r, c.period_tsc + 1) : rng_below(&r, 4);
        late = now - c.refresh_tsc;
        left = whole = c;
        credit_update(&whole, now);
        if (!credit_skip(&left, now)) {
            ASSERT_EQ(memcmp(&left, &c, sizeof c), 0) << "nothing is done";
            continue;
        }
        ASSERT_LE(left.refresh_tsc, now);
        credit_update_once(&left);
        ASSERT_GT(left.refresh_tsc, now) << "run " << run;
        ASSERT_EQ(left.refresh_tsc, whole.refresh_tsc);
        ASSERT_EQ(left.fraction, whole.fraction);
        ASSERT_EQ(left.credit_bytes, whole.credit_bytes) << "run " << run << " late " << late;
        skipped++;
        many += late > 2 * c.period_tsc;
    }
    EXPECT_GT(skipped, 50000u);
    EXPECT_GT(many, 10000u);
}
