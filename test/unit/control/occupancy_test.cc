// SPDX-License-Identifier: BSD-3-Clause
// Thresholds and intervals against the rule in words, for the paper's laws and for random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "../base/seed.h"

extern "C" {
#include "control/occupancy.h"
}

namespace
{

constexpr uint64_t MS = 1000000; // ns

struct occupancy_pace pace_make(const struct occupancy_law *law, uint64_t interval_ns = MS)
{
    struct occupancy_pace p;

    occupancy_pace_init(&p, law, interval_ns, MS / 100, 1000 * MS);
    return p;
}

// A random valid law. Its levels are close together, so that they are crossed.
struct occupancy_law law_make(std::mt19937_64 &random)
{
    struct occupancy_law law = {};
    uint64_t level = 0;
    double alpha = 0, beta = 1;

    law.n = 1 + (uint32_t)(random() % OCCUPANCY_THRESHOLDS_MAX);
    law.zero = (uint32_t)(random() % law.n);
    for (uint32_t i = 0; i < law.n; i++) {
        law.level[i] = level += 1 + random() % 5;
        law.alpha_per_us[i] = alpha += 1e-6 * (double)(1 + random() % 50);
        law.beta[i] = beta += 0.001 * (double)(1 + random() % 100);
    }
    return law;
}

} // namespace

TEST(Occupancy, ThePapersLawsAreLaws)
{
    EXPECT_TRUE(occupancy_law_right(&occupancy_single));
    EXPECT_TRUE(occupancy_law_right(&occupancy_dual));
    EXPECT_TRUE(occupancy_law_right(&occupancy_triple));
}

TEST(Occupancy, WhatIsNoLaw)
{
    auto wrong = [](void (*change)(struct occupancy_law * law)) {
        struct occupancy_law law = occupancy_triple;

        change(&law);
        return !occupancy_law_right(&law);
    };

    EXPECT_FALSE(wrong([](struct occupancy_law *) {}));
    EXPECT_TRUE(wrong([](struct occupancy_law *law) { law->n = 0; }));
    EXPECT_TRUE(wrong([](struct occupancy_law *law) { law->n = OCCUPANCY_THRESHOLDS_MAX + 1; }));
    EXPECT_TRUE(wrong([](struct occupancy_law *law) { law->zero = 3; }));
    EXPECT_TRUE(wrong([](struct occupancy_law *law) { law->level[1] = 1; }));
    EXPECT_TRUE(wrong([](struct occupancy_law *law) { law->beta[0] = 1; }));
    EXPECT_TRUE(wrong([](struct occupancy_law *law) { law->beta[1] = law->beta[0]; }));
    EXPECT_TRUE(wrong([](struct occupancy_law *law) { law->alpha_per_us[0] = 0; }));
    EXPECT_TRUE(
        wrong([](struct occupancy_law *law) { law->alpha_per_us[1] = law->alpha_per_us[0]; }));
}

TEST(Occupancy, SaysWhatItCrossed)
{
    struct occupancy o;

    occupancy_init(&o, &occupancy_triple);
    EXPECT_EQ(o.zone, -2) << "below Th-1";
    EXPECT_FALSE(occupancy_update(&o, 1)) << "equal is not crossed";
    EXPECT_TRUE(occupancy_update(&o, 3)) << "two crossings make one packet";
    EXPECT_EQ(o.zone, 0);
    EXPECT_FALSE(occupancy_update(&o, 7));
    EXPECT_TRUE(occupancy_update(&o, 8));
    EXPECT_EQ(o.zone, 1);
    EXPECT_FALSE(occupancy_update(&o, 7)) << "downward, equal is not crossed either";
    EXPECT_TRUE(occupancy_update(&o, 6));
    EXPECT_EQ(o.zone, 0);
    EXPECT_FALSE(occupancy_update(&o, 2));
    EXPECT_TRUE(occupancy_update(&o, 1));
    EXPECT_EQ(o.zone, -1);
    EXPECT_TRUE(occupancy_update(&o, 0));
    EXPECT_EQ(o.zone, -2);
    EXPECT_EQ(o.crossings, 5u);
}

TEST(Occupancy, EveryPacketChangesTheInterval)
{
    struct occupancy_pace p = pace_make(&occupancy_dual);

    EXPECT_EQ(occupancy_pace_next(&p), MS) << "since time 0, unchanged";
    occupancy_pace_sent(&p, 5 * MS);
    EXPECT_NEAR(p.interval_us, 1 / (1e-5 + 1e-3), 1e-9);
    EXPECT_EQ(occupancy_pace_next(&p), 5 * MS + (uint64_t)(p.interval_us * 1000));
    occupancy_pace_signal(&p, 1);
    occupancy_pace_sent(&p, 6 * MS);
    EXPECT_NEAR(p.interval_us, 1.2036 * 1.2036 * 1000, 1e-6);
}

// A signal changes the pending interval at once. It is computed again from the interval before, as
// if the sender had known the signal then. (The paper: I_{j+1} had been found by (2), and is found
// again by (1).) A repeated signal changes nothing.
TEST(Occupancy, APendingIntervalIsRecomputedFromTheOneBefore)
{
    struct occupancy_pace p = pace_make(&occupancy_single);

    occupancy_pace_sent(&p, 0);
    double before = p.interval_us;

    occupancy_pace_sent(&p, 0);
    EXPECT_DOUBLE_EQ(p.interval_us, 1 / (2e-5 + 1 / before));
    occupancy_pace_signal(&p, 0);
    EXPECT_DOUBLE_EQ(p.interval_us, 1.02 * before);
    EXPECT_EQ(occupancy_pace_next(&p), (uint64_t)(1020 * before));
    occupancy_pace_signal(&p, 0);
    EXPECT_DOUBLE_EQ(p.interval_us, 1.02 * before);
    occupancy_pace_signal(&p, -1);
    EXPECT_DOUBLE_EQ(p.interval_us, 1 / (2e-5 + 1 / before));
    occupancy_pace_signal(&p, 0);
    occupancy_pace_sent(&p, 0);
    EXPECT_DOUBLE_EQ(p.interval_us, 1.02 * 1.02 * before);
}

TEST(Occupancy, ForeignZonesAndBounds)
{
    struct occupancy_pace p = pace_make(&occupancy_dual);

    occupancy_pace_signal(&p, 127);
    EXPECT_EQ(p.zone, 1);
    for (int i = 0; i < 1000; i++)
        occupancy_pace_sent(&p, 0);
    EXPECT_EQ(occupancy_pace_next(&p), 1000 * MS);
    occupancy_pace_signal(&p, -128);
    EXPECT_EQ(p.zone, -1);
    for (int i = 0; i < 20000; i++)
        occupancy_pace_sent(&p, 0);
    EXPECT_EQ(occupancy_pace_next(&p), MS / 100);
}

// For any law and any levels, the zone is where the level is, except for ties. It is signalled when
// it changes, and only then. Intervals grow above Th0 and shrink below it, and more in zones
// further away.
TEST(Occupancy, AnyLaw)
{
    std::mt19937_64 random(test_seed());

    for (int round = 0; round < 300; round++) {
        const struct occupancy_law law = law_make(random);
        struct occupancy o;
        struct occupancy_pace p = pace_make(&law);
        uint64_t level = 0, said = 0;

        ASSERT_TRUE(occupancy_law_right(&law));
        occupancy_init(&o, &law);
        for (int step = 0; step < 500; step++) {
            int8_t before = o.zone;

            level = random() % 8 == 0 ? random() % 45 : level + random() % 3 - (level > 0);
            bool due = occupancy_update(&o, level);
            int below = 0, at = 0;

            for (uint32_t i = 0; i < law.n; i++) {
                below += law.level[i] < level;
                at += law.level[i] == level;
            }
            int lowest = below - (int)law.zero - 1;
            // among the zones that touch the level, the one nearest to the last zone
            ASSERT_EQ(o.zone, std::clamp<int>(before, lowest, lowest + at));
            ASSERT_EQ(due, o.zone != before);
            said += due;
            if (due)
                occupancy_pace_signal(&p, o.zone);
            ASSERT_EQ(p.zone, o.zone);

            double was = p.interval_us;
            struct occupancy_pace outer = p;

            occupancy_pace_sent(&p, (uint64_t)step);
            double now = o.zone >= 0 ? was * law.beta[o.zone]
                                     : 1 / (law.alpha_per_us[-1 - o.zone] + 1 / was);

            ASSERT_DOUBLE_EQ(p.interval_us, std::clamp(now, p.min_us, p.max_us));
            outer.zone = (int8_t)(o.zone + (o.zone >= 0 ? 1 : -1));
            if (outer.zone < (int)(law.n - law.zero) && outer.zone >= -1 - (int)law.zero) {
                occupancy_pace_sent(&outer, 0);
                ASSERT_TRUE(o.zone >= 0 ? outer.interval_us >= p.interval_us
                                        : outer.interval_us <= p.interval_us);
            }
        }
        ASSERT_EQ(o.crossings, said);
    }
}

// Laws in the form in which people write them.
TEST(OccupancyText, Laws)
{
    struct occupancy_law law;
    char err[160];

    ASSERT_EQ(occupancy_law_parse("triple", false, &law, err, sizeof err), 0) << err;
    EXPECT_EQ(memcmp(&law, &occupancy_triple, sizeof law), 0);
    ASSERT_EQ(occupancy_law_parse("dual 1ms,4.5ms", true, &law, err, sizeof err), 0) << err;
    EXPECT_EQ(law.level[0], 1000000u);
    EXPECT_EQ(law.level[1], 4500000u);
    EXPECT_EQ(law.beta[1], occupancy_dual.beta[1]);
    ASSERT_EQ(occupancy_law_parse("1,2,7/1e-5,5e-5/1.003,1.2", false, &law, err, sizeof err), 0)
        << err;
    EXPECT_EQ(law.n, 3u);
    EXPECT_EQ(law.zero, 1u);
    EXPECT_EQ(law.level[2], 7u);
    EXPECT_EQ(law.alpha_per_us[1], 5e-5);
    EXPECT_EQ(law.beta[1], 1.2);
}

TEST(OccupancyText, WhatIsNone)
{
    const struct {
        const char *text;
        bool times;
        const char *why;
    } wrong[] = {
        {"", false, "a value is missing"},
        {"quadruple", false, "or single, dual, triple"},
        {"dual ", true, "say levels of delay"},
        {"dual", true, "say levels of delay"},
        {"dual 1ms", true, "one for each threshold"},
        {"dual 1,2,3", false, "one for each threshold"},
        {"dual 1,7/", false, "something is left over"},
        {"dual 7,1", false, "not a law"},
        {"1,7", false, "no '/' behind the levels"},
        {"1,7/1e-5", false, "no '/' behind the alphas"},
        {"1,7/1e-5/1.003", false, "do not fit the levels"},
        {"1,7/1e-5/1.003,1.2 x", false, "something is left over"},
        {"1,7/1e-5/1.003,", false, "a value is missing"},
        {"1,7/0/1.003,1.2", false, "not a number above 0"},
        {"1,7/nan/1.003,1.2", false, "not a number above 0"},
        {"1,7/1e-5/0.9,1.2", false, "not a law"},
        {"1,7/1e-5/1.1,inf", false, "not a number above 0"},
        {"1ms,4ms/1e-5/1.1,1.2", false, "whole numbers"},
        {"1,4/1e-5/1.1,1.2", true, "levels of delay are times"},
        {"1,2,3,4,5,6,7,8,9/1e-5/1.1", false, "a ninth value"},
        {"1234567890123456789012345678901234567890/1/2", false, "too long"},
    };
    struct occupancy_law law;
    char err[160];

    for (const auto &w : wrong) {
        EXPECT_EQ(occupancy_law_parse(w.text, w.times, &law, err, sizeof err), -EINVAL) << w.text;
        EXPECT_NE(strstr(err, w.why), nullptr) << w.text << ": " << err;
    }
}
