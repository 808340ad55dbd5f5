// SPDX-License-Identifier: BSD-3-Clause
// The times of the events on a road, and the rate that is left to Sluice's flows at each time.
//
//   turn = R + max(R / 4, 100 us, 10 packets of each flow)    a round trip and a trial
//   R    = longest round trip + jitter + a packet on the link + a CNTL on the return path
//
// A road runs in phases, which begin at the start, when the late flows begin, and at the step. Each
// phase first settles, and is measured afterwards.
#ifndef SLUICE_TEST_SIM_ROAD_PLAN_HH
#define SLUICE_TEST_SIM_ROAD_PLAN_HH

#include <cstdint>
#include <string>
#include <vector>

#include "road.hh"

// Several flows must be equal after 500 turns, or after 30 s but at least 100 turns, if sooner.
constexpr double kTurnsAlone = 80, kTurnsTogether = 500, kTurnsLook = 100, kTurnsLookTogether = 200;
constexpr double kTurnsShort = 30, kTurnsLookShort = 20;

struct RoadPhase {
    std::string name; // first, late, step
    double event_ns, look_from_ns, look_to_ns;
    uint32_t active; // flows that send
};

// A rate that stays until the next level begins.
struct RoadLevel {
    double from_ns, bps;
};

class RoadPlan
{
  public:
    explicit RoadPlan(const Road &road, bool shortened = false);

    // Mean of the rate left between two times; with back_ns > 0, mean of the least that was left
    // during the last back_ns.
    double left_bps(double from_ns, double to_ns, double back_ns = 0) const;
    // The lowest and the highest rate left between two times.
    double min_left_bps(double from_ns, double to_ns) const;
    double max_left_bps(double from_ns, double to_ns) const;
    // Share of the time that lies within within_ns after a fall of the rate left.
    double after_fall(double from_ns, double to_ns, double within_ns) const;

    std::vector<RoadPhase> phases;
    std::vector<RoadLevel> link;        // rate that it carries
    std::vector<RoadLevel> left;        // rate left for Sluice's flows
    std::vector<double> cross_turns_ns; // cross traffic begins, ends, begins ...
    double end_ns = 0, sample_ns = 0;
    double round_trip_ns = 0; // R
    double packets = 0;       // on the full link, and other work that costs as much
    bool is_short;

  private:
    double turn_ns(double bps, double active) const;
    void phase_add(const char *name, double event_ns, double active, double bps);
    void link_plan();
    void cross_plan();
    void left_plan();

    Road r;
};

// The shortest round of control (road_judge.hh). It takes eight packets of each flow to measure a
// rate, and a host that is away measures nothing.
double road_round_ns(const Road &r, const RoadPlan &p, double bps, double active);

#endif
