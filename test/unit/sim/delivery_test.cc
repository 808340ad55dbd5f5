// SPDX-License-Identifier: BSD-3-Clause
// Delivery-rate samples (draft-ietf-ccwg-bbr-06, section 4.1), and windows over measured values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

extern "C" {
#include "model/delivery.h"
#include "model/recent.h"
}

namespace
{

constexpr uint64_t kMs = 1000000;

// Each segment is sent at one time and acknowledged at another.
struct Wire {
    delivery d = {};
    std::vector<delivery_mark> mark;

    void send(uint64_t now_ns, uint64_t in_flight)
    {
        mark.emplace_back();
        delivery_sent(&d, &mark.back(), now_ns, in_flight);
    }
    delivery_sample ack(const std::vector<uint64_t> &segments, uint64_t now_ns, uint64_t min_rtt_ns)
    {
        delivery_sample s;

        delivery_begin(&s);
        for (uint64_t n : segments)
            delivery_came(&d, &s, n, &mark[n], now_ns);
        delivery_end(&d, &s, min_rtt_ns);
        return s;
    }
};

} // namespace

// Ten segments, 1 ms apart, with a round trip of 10 ms. One is delivered in each millisecond.
TEST(Delivery, ASteadyFlowHasItsRate)
{
    Wire w;
    delivery_sample s;

    for (uint64_t i = 0; i < 10; i++)
        w.send(i * kMs, i);
    for (uint64_t i = 0; i < 40; i++) {
        s = w.ack({i}, (10 + i) * kMs, 10 * kMs);
        w.send((10 + i) * kMs, 9);
    }
    EXPECT_TRUE(s.some);
    EXPECT_DOUBLE_EQ(s.rate, 1000);
    EXPECT_EQ(s.volume, 10u);
    EXPECT_EQ(s.interval_ns, 10 * kMs);
    EXPECT_EQ(s.in_flight, 10u);
    EXPECT_EQ(s.newest, 39u);
}

// Section 4.1.2.3: answers that were held up arrive together. They do not raise the rate above that
// at which the segments were sent.
TEST(Delivery, AnswersAtOnceAreNoRate)
{
    Wire w;
    std::vector<uint64_t> held;

    for (uint64_t i = 0; i < 80; i++) {
        if (i >= 10 && i <= 40)
            w.ack({i - 10}, i * kMs, 10 * kMs);
        if (i > 30)
            held.push_back(i);
        w.send(i * kMs, std::min<uint64_t>(i, 10));
    }
    // 49 answers came in the 41 ms since the last one, but their segments took 49 ms to send
    delivery_sample s = w.ack(held, 81 * kMs, 10 * kMs);
    EXPECT_EQ(s.volume, 49u);
    EXPECT_EQ(s.interval_ns, 49 * kMs);
    EXPECT_DOUBLE_EQ(s.rate, 1000);
}

// The opposite case: segments that were sent at once arrive as fast as the path allows.
TEST(Delivery, SegmentsAtOnceAreNoRate)
{
    Wire w;
    delivery_sample s = {};

    for (uint64_t i = 0; i < 20; i++)
        w.send(0, i);
    for (uint64_t i = 0; i < 20; i++)
        s = w.ack({i}, (10 + i) * kMs, 10 * kMs);
    EXPECT_EQ(s.interval_ns, 29 * kMs);
    EXPECT_NEAR(s.rate, 20 / 0.029, 1);
}

TEST(Delivery, AnIntervalBelowTheLeastRoundTripIsUnreliable)
{
    Wire w;

    w.send(0, 0);
    EXPECT_EQ(w.ack({0}, 9 * kMs, 10 * kMs).rate, 0);
    w.send(20 * kMs, 0);
    EXPECT_DOUBLE_EQ(w.ack({1}, 30 * kMs, 10 * kMs).rate, 100);
}

// Section 4.1.2.4: a limit lasts until all that is in flight has arrived, and one more segment.
TEST(Delivery, ALimitLastsUntilWhatWasInFlightHasCome)
{
    Wire w;

    for (uint64_t i = 0; i < 4; i++)
        w.send(i * kMs, i);
    EXPECT_FALSE(w.ack({0}, 10 * kMs, kMs).limited);
    delivery_limit(&w.d, 3);
    for (uint64_t i = 4; i < 8; i++)
        w.send((10 + i) * kMs, 3);
    for (uint64_t i = 1; i < 4; i++)
        EXPECT_FALSE(w.ack({i}, (20 + i) * kMs, kMs).limited) << i << " was sent before the limit";
    EXPECT_TRUE(w.ack({4}, 30 * kMs, kMs).limited);
    w.send(31 * kMs, 3);
    for (uint64_t i = 5; i < 8; i++)
        EXPECT_TRUE(w.ack({i}, 40 * kMs, kMs).limited);
    EXPECT_FALSE(w.ack({8}, 50 * kMs, kMs).limited) << "sent after the fifth had arrived";
}

TEST(Delivery, LossesBelongToTheRoundTrip)
{
    Wire w;

    for (uint64_t i = 0; i < 5; i++)
        w.send(i * kMs, i);
    w.d.lost += 2;
    w.send(9 * kMs, 3);
    EXPECT_EQ(w.ack({4}, 10 * kMs, kMs).lost, 2u);
    EXPECT_EQ(w.ack({5}, 20 * kMs, kMs).lost, 0u) << "sent after the losses";
}

// Against all measured values. A window covers at least its length, and at most a span more.
TEST(Recent, AWindowIsAtMostASpanLonger)
{
    const char *told = std::getenv("SLUICE_SEED");
    uint64_t seed = told != nullptr ? std::strtoull(told, nullptr, 10) : std::random_device()();
    std::mt19937_64 draw(seed);

    std::printf("SLUICE_SEED=%lu\n", seed);
    for (int round = 0; round < 50; round++) {
        std::deque<std::pair<uint64_t, uint64_t>> all; // time, value
        uint64_t now = draw() % 1000, span = 1 + draw() % 50;
        recent r;

        recent_init(&r);
        for (int i = 0; i < 500; i++) {
            uint64_t value = draw() % 10000, window = draw() % ((RECENT_PARTS - 1) * span);
            uint64_t least, most, in[2] = {UINT64_MAX, UINT64_MAX}, big[2] = {0, 0};

            now += draw() % (draw() % 8 == 0 ? 20 * span : span);
            recent_add(&r, value, now, span);
            all.emplace_back(now, value);
            recent_get(&r, now, window, &least, &most);
            for (const auto &a : all)
                for (int k = 0; k < 2; k++)
                    if (a.first + window + (k ? span : 0) >= now) {
                        in[k] = std::min(in[k], a.second);
                        big[k] = std::max(big[k], a.second);
                    }
            ASSERT_LE(least, in[0]);
            ASSERT_GE(least, in[1]);
            ASSERT_GE(most, big[0]);
            ASSERT_LE(most, big[1]);
        }
    }
}
