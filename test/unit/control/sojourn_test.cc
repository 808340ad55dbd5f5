// SPDX-License-Identifier: BSD-3-Clause
// How long packets waited on their path, with hosts that are away from it now and then.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "control/sojourn.h"
}

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000 * kUs;
constexpr uint64_t kBytes = 1000, kRateBps = 1000000000; // a packet takes 1 us

struct Path {
    sojourn s;
    std::vector<sojourn_burst> bursts;
    uint64_t number = 0;

    Path()
    {
        sojourn_init(&s);
    }

    // bound_ns: how long a packet waited by its stamp.
    void add(uint64_t sent_ns, uint64_t bound_ns, uint64_t unseen_ns = 0)
    {
        sojourn_packet p = {number++, kBytes, kRateBps, sent_ns, bound_ns, unseen_ns};
        sojourn_burst b;

        if (sojourn_add(&s, &p, &b))
            bursts.push_back(b);
        EXPECT_LE(sojourn_ns(&s), bound_ns);
    }

    double max_ns() const
    {
        double max = 0;

        for (const sojourn_burst &b : bursts)
            max = std::max(max, b.max_ns);
        return max;
    }
};

} // namespace

// Both hosts are prompt: each wait is what the stamp tells.
TEST(Sojourn, PromptHosts)
{
    rng r;
    Path p;
    std::vector<uint64_t> waits;

    rng_init(&r, test_seed());
    for (uint64_t i = 0; i < 1000; i++) {
        waits.push_back(rng_below(&r, kMs));
        p.add(i * kUs, waits.back());
        EXPECT_EQ(sojourn_ns(&p.s), waits.back());
    }
    ASSERT_EQ(p.bursts.size(), waits.size() - 1) << "the last one is not judged yet";
    for (size_t i = 0; i < p.bursts.size(); i++) {
        EXPECT_EQ(p.bursts[i].min_ns, (double)waits[i]);
        EXPECT_EQ(p.bursts[i].max_ns, (double)waits[i]);
    }
}

// Packets wait in the receiver's port while it is away, and while it empties its port after that.
TEST(Sojourn, TheReceiversAbsenceIsNoQueue)
{
    Path p;
    uint64_t sent = 0;

    for (; sent < 100; sent++)
        p.add(sent * kUs, 0, kUs);
    uint64_t last = sent * kUs, now = last + 20 * kMs; // it comes back, and reads 32 in 100 us
    for (; sent < 1000; sent++) {
        now += sent % 32 == 0 ? 100 * kUs : 0;
        p.add(sent * kUs, now - sent * kUs, now - last);
    }
    EXPECT_EQ(p.max_ns(), 0);
}

// Pauses may be long and many: none is usual.
TEST(Sojourn, NorAreManyAbsences)
{
    rng r;
    Path p;
    uint64_t sent = 0, now = 0;

    rng_init(&r, test_seed());
    for (int look = 0; look < 1000; look++) {
        uint64_t last = now;

        now += 1 + rng_below(&r, rng_below(&r, 3) == 0 ? 20 * kMs : 20 * kUs);
        for (int i = 0; i < 256 && sent < now; i++, sent += kUs)
            p.add(sent, now - sent, now - last);
        sent = std::max(sent, now);
    }
    EXPECT_EQ(p.max_ns(), 0);
}

// The sender lost its core between stamping a burst and sending it. Its next stamp tells.
TEST(Sojourn, ALateBurstIsNoQueue)
{
    Path p;

    for (uint64_t i = 0; i < 100; i++)
        p.add(i * kUs, 0);
    for (uint64_t i = 0; i < 21; i++)
        p.add(100 * kUs, 4 * kMs);
    EXPECT_EQ(sojourn_ns(&p.s), 4 * kMs) << "it is not known yet that the sender was late";
    for (uint64_t i = 0; i < 100; i++)
        p.add(100 * kUs + 4 * kMs + i * kUs, 0);
    // the burst itself takes 21 us
    EXPECT_EQ(p.max_ns(), 21.0 * kUs);
}

// Packets that were lost took their time, too, so the stamp behind them is not late.
TEST(Sojourn, LossesAreNoLateness)
{
    Path p;

    for (uint64_t i = 0; i < 100; i++)
        p.add(i * kUs, 0);
    p.add(100 * kUs, 4 * kMs);
    p.number += 4000;
    p.add(100 * kUs + 4001 * kUs, 4 * kMs);
    EXPECT_EQ(p.bursts.back().min_ns, 4.0 * kMs);
}

// A queue of one length, and hosts that are away at random. The estimate never exceeds it. It finds
// it as soon as both hosts are there.
TEST(Sojourn, AQueueIsFoundAndNeverExceeded)
{
    uint64_t seed = test_seed();
    rng r;

    rng_init(&r, seed);
    for (int run = 0; run < 200; run++) {
        uint64_t queue = rng_below(&r, 5 * kMs), now = 0, sent = 0, last = 0;
        Path p;

        while (now < 500 * kMs) {
            uint64_t stamp = sent, burst = 1 + rng_below(&r, 32);

            sent += rng_below(&r, 8) == 0 ? rng_below(&r, 10 * kMs) : 0; // lost its core
            uint64_t arrived = sent + queue;
            if (now < arrived) { // the receiver looks
                last = now;
                now = arrived + (rng_below(&r, 8) == 0 ? rng_below(&r, 10 * kMs) : 0);
            }
            for (uint64_t i = 0; i < burst; i++)
                p.add(stamp, now - stamp, now - last);
            sent += burst * kUs;
        }
        ASSERT_LE(p.max_ns(), (double)queue) << "run " << run << " seed " << seed;
        for (uint64_t i = 0; i < 3; i++) // both are prompt
            p.add(now + i * kUs, queue, 0);
        ASSERT_EQ(p.bursts.back().min_ns, (double)queue) << "run " << run << " seed " << seed;
    }
}

// A receiver that looks at equal intervals sees a queue as it is, from its second look on.
TEST(Sojourn, RegularLooksHideNothing)
{
    uint64_t seed = test_seed();
    rng r;

    rng_init(&r, seed);
    for (int run = 0; run < 200; run++) {
        uint64_t every = 10 * kUs + rng_below(&r, 5 * kMs), queue = rng_below(&r, 5 * kMs);
        Path p;

        for (uint64_t i = 0; i * kUs < 4 * every; i++) {
            uint64_t arrived = i * kUs + queue, look = (arrived / every + 1) * every;

            p.add(i * kUs, look - i * kUs, every);
        }
        ASSERT_LE(p.bursts.back().max_ns, (double)queue + kUs) << "seed " << seed;
        ASSERT_GE(p.bursts.back().min_ns, (double)queue - kUs) << "seed " << seed;
    }
}

// A queue that falls is followed at once, by whatever packet shows it.
TEST(Sojourn, FallsAtOnce)
{
    Path p;

    for (uint64_t i = 0; i < 10; i++)
        p.add(i * kUs, 5 * kMs);
    p.add(10 * kUs, kMs, 20 * kMs);
    EXPECT_EQ(sojourn_ns(&p.s), kMs);
}

// The sums are those of the waits, whatever a late sender changes about them.
TEST(Sojourn, SumsAreThoseOfItsWaits)
{
    uint64_t seed = test_seed();
    rng r;

    rng_init(&r, seed);
    for (int run = 0; run < 1000; run++) {
        uint64_t n = 1 + rng_below(&r, 40), late = rng_below(&r, 2) * rng_below(&r, 100 * kUs);
        double before = 7 * kUs, min = 1e300, shift;
        std::vector<double> w;
        Path p;

        p.add(0, 7 * kUs);
        for (uint64_t i = 0; i < n; i++) {
            p.add(kUs, 10 * kUs + rng_below(&r, 50 * kUs));
            w.push_back((double)sojourn_ns(&p.s));
            min = std::min(min, w.back());
        }
        p.add(kUs + n * kUs + late, 0);
        shift = std::min(min - before, (double)late);
        const sojourn_burst &b = p.bursts.back();
        double sum = 0, squares = 0, next = 0, last = 0;

        for (size_t i = 0; i < w.size(); i++) {
            double x = w[i] - shift;

            sum += x;
            squares += x * x;
            next += i > 0 ? x * last : 0;
            last = x;
        }
        ASSERT_EQ(b.packets, (double)n);
        ASSERT_NEAR(b.sum_ns, sum, 1e-6 * sum + 1) << "seed " << seed;
        ASSERT_NEAR(b.sum_squares, squares, 1e-6 * squares + 1) << "seed " << seed;
        ASSERT_NEAR(b.sum_next, next, 1e-6 * squares + 1) << "seed " << seed;
        ASSERT_NEAR(b.min_ns, min - shift, 1e-3);
        ASSERT_NEAR(b.first_ns, w[0] - shift, 1e-3);
        ASSERT_NEAR(b.last_ns, last, 1e-3);
    }
}

// The peer tells numbers and stamps. Whatever they are, waits have bounds.
TEST(Sojourn, NumbersAndStampsThatLieHaveBounds)
{
    uint64_t seed = test_seed();
    rng r;
    Path p;

    rng_init(&r, seed);
    for (int i = 0; i < 100000; i++) {
        uint64_t most = rng_u64(&r) >> 24;

        p.number = rng_u64(&r) >> rng_below(&r, 64);
        p.add(rng_u64(&r) >> rng_below(&r, 64), most, rng_u64(&r) >> rng_below(&r, 64));
        ASSERT_LE(sojourn_ns(&p.s), most) << "seed " << seed;
        if (p.bursts.empty())
            continue;
        const sojourn_burst b = p.bursts.back();
        ASSERT_GE(b.min_ns, 0) << "seed " << seed;
        ASSERT_LE(b.max_ns, 1ull << 40) << "seed " << seed;
        p.bursts.clear();
    }
}
