// SPDX-License-Identifier: BSD-3-Clause
// The paper's findings on one, two and three thresholds, averaged over a hundred phases.
#include <gtest/gtest.h>

#include <cmath>

#include "occupancy_line.h"

namespace
{

constexpr uint64_t SECOND = OccupancyLine::SECOND;
constexpr int PHASES = 100;

struct Means {
    double grown_s = 0; // since the step
    double power = 0, power_deviation = 0;
    double controls = 0, controls_late = 0, overflows = 0;
};

Means mean(const struct occupancy_law &law, uint64_t load, uint64_t load_ns = SECOND)
{
    Means m;
    double squares = 0;

    for (int i = 0; i < PHASES; i++) {
        OccupancyLine l(law);

        l.load = load;
        l.load_ns = load_ns;
        l.phase_ns = (uint64_t)i * SECOND / 2 / PHASES;
        l.run();
        EXPECT_GT(l.processed, 0u);
        m.grown_s += ((double)l.grown_ns / 1e9 - 1) / PHASES;
        m.power += l.power() / PHASES;
        squares += l.power() * l.power() / PHASES;
        m.controls += (double)l.controls / PHASES;
        m.controls_late += (double)l.controls_late / PHASES;
        m.overflows += (double)l.overflows / PHASES;
    }
    m.power_deviation = std::sqrt(std::max(0.0, squares - m.power * m.power));
    return m;
}

struct occupancy_law single_at(uint64_t threshold)
{
    struct occupancy_law law = occupancy_single;

    law.level[0] = threshold;
    return law;
}

} // namespace

// Load 5 for a second. After the step, the interval stops growing within 0.61 s with one threshold,
// and within 0.20 s with two.
TEST(OccupancyLine, TwoThresholdsFindTheLoadSooner)
{
    Means single = mean(occupancy_single, 5), dual = mean(occupancy_dual, 5);

    EXPECT_NEAR(single.grown_s, 0.61, 0.3 * 0.61);
    EXPECT_NEAR(dual.grown_s, 0.20, 0.3 * 0.20);
    EXPECT_GE(single.grown_s / dual.grown_s, 2);
    EXPECT_LE(single.grown_s / dual.grown_s, 4);
}

TEST(OccupancyLine, TwoThresholdsSayAndLoseLess)
{
    for (uint64_t load = 2; load <= 8; load++) {
        Means single = mean(occupancy_single, load), dual = mean(occupancy_dual, load);

        EXPECT_LE(dual.controls, 0.8 * single.controls) << "load " << load;
        EXPECT_LT(dual.overflows, single.overflows) << "load " << load;
    }
}

// Power, for both durations of the load. Three thresholds are not clearly better than two, but they
// are better than one.
TEST(OccupancyLine, TwoThresholdsHaveMorePower)
{
    for (uint64_t load_ns : {SECOND, SECOND / 2}) {
        double single = 0, dual = 0, triple = 0, single_deviation = 0, dual_deviation = 0;

        for (uint64_t load = 2; load <= 8; load++) {
            Means s = mean(occupancy_single, load, load_ns);
            Means d = mean(occupancy_dual, load, load_ns);

            single += s.power;
            single_deviation += s.power_deviation;
            dual += d.power;
            dual_deviation += d.power_deviation;
            triple += mean(occupancy_triple, load, load_ns).power;
        }
        EXPECT_GE(dual, single) << load_ns;
        EXPECT_LE(triple, 1.05 * dual) << load_ns;
        EXPECT_GE(triple, single) << load_ns;
        EXPECT_LT(dual_deviation, single_deviation) << "it depends less on the phase";
    }
}

TEST(OccupancyLine, ASmallSingleThresholdIsBetter)
{
    double one = 0, five = 0, eight = 0;

    for (uint64_t load = 2; load <= 8; load++) {
        one += mean(single_at(1), load).power;
        five += mean(single_at(5), load).power;
        eight += mean(single_at(8), load).power;
    }
    EXPECT_GT(one, five);
    EXPECT_GT(five, eight);
}

// From 2.2 s on, after the load, one threshold needs about twice as many control packets as two.
TEST(OccupancyLine, TwoThresholdsSayHalfAsMuchInTheEnd)
{
    Means single = mean(occupancy_single, 5), dual = mean(occupancy_dual, 5);

    EXPECT_NEAR(dual.controls_late / single.controls_late, 0.5, 0.3 * 0.5);
    EXPECT_GT(single.controls_late - dual.controls_late, 0.5 * (single.controls - dual.controls));
}
