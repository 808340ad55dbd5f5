// SPDX-License-Identifier: BSD-3-Clause
// One-way delay increment: offset and drift of the clocks cancel, and the delay of a queue shows.
// The model remembers every packet of two windows and knows nothing of drift.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "control/owd.h"
}

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000000, kS = 1000000000;
constexpr uint64_t kWindow = 100 * kMs;
constexpr uint64_t kStart = 1000 * kS; // by the receiver's clock

struct Path {
    owd o;
    uint64_t offset_ns = 0; // the sender's clock minus the receiver's
    int64_t drift_ppb = 0;  // growth of the delays since kStart, seemingly
    uint64_t delay_ns = 20 * kMs;
    uint64_t window_ns = kWindow;

    Path()
    {
        owd_init(&o);
    }

    // A packet arrives now, after waiting so long.
    uint64_t packet(uint64_t at_ns, uint64_t queue_ns)
    {
        int64_t seems = (int64_t)((__int128)(at_ns - kStart) * drift_ppb / 1000000000);
        uint64_t sent = at_ns - delay_ns - queue_ns - (uint64_t)seems + offset_ns;

        return owd_increment(&o, sent, at_ns, window_ns);
    }
};

// Every packet since the previous window began.
struct Model {
    std::vector<int64_t> before, now;
    uint64_t begun_ns = 0, window_ns;

    explicit Model(uint64_t window) : window_ns(window)
    {
    }

    uint64_t increment(uint64_t sent_ns, uint64_t arrived_ns)
    {
        if (arrived_ns - begun_ns >= window_ns) {
            if (!now.empty())
                before = now;
            now.clear();
            begun_ns = arrived_ns;
        }
        now.push_back((int64_t)(arrived_ns - sent_ns));
        int64_t least = *std::min_element(now.begin(), now.end());

        for (int64_t d : before)
            least = std::min(least, d);
        return (uint64_t)(now.back() - least);
    }
};

double ppm(const owd &o)
{
    return (double)o.drift / (double)(1 << 30) * 1e6;
}

// Sends a packet each millisecond, half of them with a queue of up to 5 ms. Returns the largest
// error of the increments after since_ns.
uint64_t error_of(Path *p, rng *r, uint64_t length_ns, uint64_t since_ns)
{
    uint64_t most = 0;

    for (uint64_t t = 0; t < length_ns; t += kMs) {
        uint64_t queue = rng_below(r, 2) == 0 ? 0 : rng_below(r, 5 * kMs);
        int64_t wrong = (int64_t)(p->packet(kStart + t, queue) - queue);

        if (t >= since_ns)
            most = std::max(most, (uint64_t)std::llabs(wrong));
    }
    return most;
}

} // namespace

TEST(Owd, FastestIsZeroAndAQueueIsSeenExactly)
{
    Path p;

    EXPECT_EQ(p.packet(kStart, 3 * kMs), 0u) << "the first packet is the base";
    EXPECT_EQ(p.packet(kStart + kMs, kMs), 0u) << "faster than the base";
    EXPECT_EQ(p.packet(kStart + 2 * kMs, kMs + 1), 1u);
    EXPECT_EQ(p.packet(kStart + 3 * kMs, 0), 0u);
    EXPECT_EQ(p.packet(kStart + 4 * kMs, 0), 0u) << "as fast";
    EXPECT_EQ(p.packet(kStart + 5 * kMs, 12345), 12345u);
    EXPECT_EQ(p.packet(kStart + 5 * kMs, 7 * kS), 7 * kS) << "in the same poll";
}

TEST(Owd, OffsetOfClocksFallsOut)
{
    const uint64_t offsets[] = {1, kS, 1ull << 62, -(1ull << 62), (uint64_t)-1};
    const uint64_t queues[] = {5 * kMs, 0, 2 * kMs, 0, 1, kS};

    for (uint64_t offset : offsets) {
        Path near, far;

        far.offset_ns = offset;
        for (uint64_t i = 0; i < 60; i++) {
            uint64_t t = kStart + i * 7 * kMs;
            uint64_t expected = near.packet(t, queues[i % 6]);

            EXPECT_EQ(far.packet(t, queues[i % 6]), expected) << "offset " << offset << ", " << i;
            if (i > 0) {
                EXPECT_EQ(expected, queues[i % 6]) << i;
            }
        }
    }
}

// The path became longer. Two windows later, its delay is the base.
TEST(Owd, BaseIsForgottenAfterTwoWindows)
{
    Path p;

    EXPECT_EQ(p.packet(kStart, 0), 0u);
    for (uint64_t t = kMs; t < 2 * kWindow; t += kMs)
        ASSERT_EQ(p.packet(kStart + t, 3 * kMs), 3 * kMs) << t;
    for (uint64_t t = 2 * kWindow; t < 4 * kWindow; t += kMs)
        ASSERT_EQ(p.packet(kStart + t, 3 * kMs), 0u) << t;
    EXPECT_EQ(p.packet(kStart + 4 * kWindow, 2 * kMs), 0u) << "a shorter path counts at once";
    EXPECT_EQ(p.packet(kStart + 4 * kWindow + 1, 3 * kMs), kMs);
}

TEST(Owd, DriftFallsOut)
{
    const int64_t drifts[] = {50000, -50000};
    const uint64_t windows[] = {kWindow, kS, 5 * kS};
    rng r;

    rng_init(&r, test_seed());
    for (int64_t drift : drifts) {
        for (uint64_t window : windows) {
            Path p, fresh;

            p.drift_ppb = fresh.drift_ppb = drift;
            p.window_ns = fresh.window_ns = window;
            uint64_t bound = kUs + 2 * window * 50 / 1000000;

            EXPECT_LE(error_of(&p, &r, 300 * kS, 30 * kS + 2 * window), bound) << drift;
            EXPECT_NEAR(ppm(p.o), (double)drift / 1000, 0.05);
            // a window hides that much drift; once the drift is known, none is left
            EXPECT_LE(error_of(&fresh, &r, 300 * kS, 200 * kS), kUs) << drift << " " << window;
        }
    }
}

// Every 10 s, half of the error is corrected.
TEST(Owd, DriftIsFoundByHalves)
{
    Path p;

    p.drift_ppb = 80000;
    for (uint64_t t = 0; t <= 32 * kS; t += kMs) {
        p.packet(kStart + t, 0);
        if (t == 10 * kS) {
            EXPECT_EQ(p.o.drift, 0) << "two windows must be 10 s apart";
        }
        if (t == 11 * kS) {
            EXPECT_NEAR(ppm(p.o), 40, 0.1);
        }
        if (t == 22 * kS) {
            EXPECT_NEAR(ppm(p.o), 60, 0.1);
        }
        if (t == 32 * kS) {
            EXPECT_NEAR(ppm(p.o), 70, 0.1);
        }
    }
}

// A drift beyond 200 ppm comes from a queue, not from a clock.
TEST(Owd, DriftIsClamped)
{
    for (int64_t sign : {1, -1}) {
        Path p;

        p.drift_ppb = sign * 1000000;
        for (uint64_t t = 0; t < 60 * kS; t += kMs) {
            uint64_t increment = p.packet(kStart + t, 0);

            if (t < 15 * kS)
                continue;
            EXPECT_NEAR(ppm(p.o), 200 * (double)sign, 0.01);
            EXPECT_LE(increment, 2 * kWindow * 800 / 1000000 + kUs);
        }
        p.drift_ppb = 0;
        Path q;

        q.o.drift = p.o.drift;
        for (uint64_t t = 0; t < 120 * kS; t += kMs)
            q.packet(kStart + t, 0);
        EXPECT_NEAR(ppm(q.o), 0, 1) << "the drift recovers";
    }
}

// A connection goes on after a pause in which the clocks drifted by milliseconds. There is no
// queue, and one that begins is seen.
TEST(Owd, DriftOfALongPauseIsNoQueue)
{
    const struct {
        int64_t drift_ppb;
        uint64_t before_ns, pause_ns;
    } cases[] = {{-40000, 5 * kS, 600 * kS},
                 {40000, 5 * kS, 600 * kS},
                 {-40000, 60 * kS, 600 * kS},
                 {40000, 60 * kS, 600 * kS},
                 {-100000, 15 * kS, 240 * kS}};

    for (const auto &[drift, before, pause] : cases) { // the drift is known better every 10 s
        Path p;
        uint64_t at = kStart;

        p.drift_ppb = drift;
        p.window_ns = 64 * 50 * kMs;
        for (; at < kStart + before; at += kMs)
            p.packet(at, 0);
        at += pause;
        for (uint64_t end = at + 10 * kS; at < end; at += kMs)
            ASSERT_LE(p.packet(at, 0), 3 * kMs) << drift << " " << before;
        EXPECT_NEAR((double)p.packet(at, 20 * kMs), 20e6, 3e6);
    }
}

// A short pause forgets nothing: a queue that is there after it is seen.
TEST(Owd, AShortPauseForgetsNothing)
{
    Path p;

    for (uint64_t at = kStart; at < kStart + kS; at += kMs)
        p.packet(at, 0);
    EXPECT_EQ(p.packet(kStart + kS + 400 * kMs, 7 * kMs), 7 * kMs);
}

// Random windows, delays, polls and pauses, too short for a drift to be measured.
TEST(Owd, AsTheModelSays)
{
    rng r;

    rng_init(&r, test_seed());
    for (int run = 0; run < 300; run++) {
        uint64_t window = kMs + rng_below(&r, kS), offset = rng_u64(&r) >> 2, delay = 0;
        uint64_t most = 1 + rng_below(&r, 50 * kMs), gap = 1 + rng_below(&r, window);
        uint64_t t = rng_below(&r, 2) == 0 ? rng_below(&r, window) : kStart;
        uint64_t end = t + 9 * kS;
        Model m(window);
        owd o;

        owd_init(&o);
        for (int i = 0; i < 300 && t < end; i++) {
            // now and then the path changes
            if (rng_below(&r, 50) == 0)
                delay = rng_below(&r, most);
            if (rng_below(&r, 3) > 0)
                t += rng_below(&r, rng_below(&r, 20) == 0 ? 3 * window : gap / 4 + 1);
            uint64_t sent = t - delay - rng_below(&r, most) + offset;

            ASSERT_EQ(owd_increment(&o, sent, t, window), m.increment(sent, t))
                << "run " << run << " packet " << i;
        }
    }
}

// When a clock is set, a new base begins. Delays count from it as before. No time breaks anything
// (also under UBSan).
TEST(Owd, ClocksThatAreSet)
{
    rng r;
    owd o;
    uint64_t t = kStart;
    const uint64_t jump = OWD_JUMP_NS;

    owd_init(&o);
    for (uint64_t offset :
         {0ull, 1ull << 63, ~0ull, 1ull << 50, 0ull, (1ull << 63) + (1ull << 62)}) {
        for (int i = 0; i < 5; i++, t += kMs)
            EXPECT_EQ(owd_increment(&o, t - 3 * kMs + offset, t, kWindow), 0u);
        EXPECT_EQ(owd_increment(&o, t - 7 * kMs + offset, t, kWindow), 4 * kMs);
    }
    rng_init(&r, test_seed());
    for (int i = 0; i < 100000; i++, t += rng_below(&r, kS))
        ASSERT_LE(owd_increment(&o, rng_u64(&r) >> rng_below(&r, 64), t, kWindow), jump);
}
