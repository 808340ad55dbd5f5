// SPDX-License-Identifier: BSD-3-Clause
// Roads as text, roads that are drawn, and the rate that a plan leaves to the flows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "road_draw.hh"

namespace
{

constexpr double kPackets = 1e6;

Road step_road()
{
    return road_parse("rate_bps=100000000 rtt_ns=10000000 queue_bytes=125000 step=0.1");
}

} // namespace

TEST(RoadText, IsTheRoad)
{
    for (uint32_t i = 0; i < 200; i++) {
        Road r = road_draw(3, i, kPackets);

        EXPECT_EQ(road_text(road_parse(road_text(r))), road_text(r));
        EXPECT_EQ(road_text(road_draw(3, i, kPackets)), road_text(r));
    }
    EXPECT_NE(road_text(road_draw(3, 0, kPackets)), road_text(road_draw(4, 0, kPackets)));
}

TEST(RoadDraw, KeepsToWhatItSays)
{
    std::map<std::string, int> features;

    for (uint32_t i = 0; i < 1000; i++) {
        Road r = road_draw(1, i, kPackets);

        EXPECT_LE(road_plan(r, kPackets).packets, kPackets);
        EXPECT_GE(r.queue_bytes, 4 * r.frame_bytes());
        EXPECT_GE(r.rate_bps, 0.999e6);
        EXPECT_LE(r.rate_bps, 40e9);
        EXPECT_GE(r.rtt_ns, 0.999e4);
        EXPECT_LE(r.rtt_ns, 1e9);
        EXPECT_LE(r.jitter_ns, r.rtt_ns / 2);
        for (const std::string &word : r.features())
            features[word]++;
    }
    for (const char *word :
         {"loss",       "loss-runs", "jitter",     "jitter-reorders", "aqm",   "ecn",
          "policer",    "flows-2-7", "flows-8-64", "rtt-ratio",       "late",  "thin-back",
          "lossy-back", "step-up",   "step-down",  "trace",           "cross", "cubic",
          "bbr",        "copa",      "stall-rx",   "stall-tx",        "polls", "host-limits",
          "writes",     "reads"})
        EXPECT_GE(features[word], 5) << word;
    // one of ten has no feature, and chance allows no more difference
    EXPECT_NEAR(features["plain"], 100, 40);
}

TEST(RoadPlan, AStepLeavesATenth)
{
    RoadPlan p(step_road());
    double at = p.phases.back().event_ns, ms = 1e6;

    ASSERT_EQ(p.phases.size(), 2u);
    EXPECT_DOUBLE_EQ(p.left_bps(0, at), 100e6);
    EXPECT_DOUBLE_EQ(p.left_bps(at, p.end_ns), 10e6);
    EXPECT_DOUBLE_EQ(p.left_bps(at - ms, at + ms), 55e6);
    EXPECT_DOUBLE_EQ(p.min_left_bps(at - ms, at + ms), 10e6);
    EXPECT_DOUBLE_EQ(p.max_left_bps(at - ms, at + ms), 100e6);
    // 2 ms after a fall are a fifth of these 10 ms
    EXPECT_DOUBLE_EQ(p.after_fall(at, at + 10 * ms, 2 * ms), 0.2);
    EXPECT_DOUBLE_EQ(p.after_fall(0, at, 2 * ms), 0);
}

TEST(RoadPlan, WhatWasLeftWithoutABreak)
{
    RoadPlan p(road_parse("rate_bps=10000000 rtt_ns=10000000 queue_bytes=12500 step=10"));
    double at = p.phases.back().event_ns, ms = 1e6;

    // for 4 ms after the rise, the minimum of the last 4 ms is the old rate
    EXPECT_DOUBLE_EQ(p.left_bps(at, at + 8 * ms, 4 * ms), 55e6);
    EXPECT_DOUBLE_EQ(p.left_bps(at + 4 * ms, at + 8 * ms, 4 * ms), 100e6);
}

TEST(RoadPlan, OthersLeaveTheRest)
{
    RoadPlan p(road_parse("rate_bps=100000000 rtt_ns=10000000 queue_bytes=125000 cross=0.4 "
                          "cross_on_ns=50000000 cross_off_ns=50000000"));

    ASSERT_GT(p.cross_turns_ns.size(), 4u);
    EXPECT_DOUBLE_EQ(p.left_bps(0, p.cross_turns_ns[0]), 100e6);
    EXPECT_DOUBLE_EQ(p.left_bps(p.cross_turns_ns[0], p.cross_turns_ns[1]), 60e6);
    EXPECT_DOUBLE_EQ(p.left_bps(p.cross_turns_ns[1], p.cross_turns_ns[2]), 100e6);
}

TEST(RoadPlan, ATraceStaysBetweenItsLevels)
{
    RoadPlan p(road_parse("rate_bps=80000000 rtt_ns=10000000 queue_bytes=125000 trace_ns=2e8"));

    EXPECT_GE(p.min_left_bps(0, p.end_ns), 9.99e6);
    EXPECT_LE(p.max_left_bps(0, p.end_ns), 80e6);
    EXPECT_LT(p.min_left_bps(0, p.end_ns), p.max_left_bps(0, p.end_ns) / 2);
}
