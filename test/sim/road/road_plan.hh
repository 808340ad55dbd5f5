// SPDX-License-Identifier: BSD-3-Clause
// When what happens on a road, and what the link leaves to Sluice's flows at each time.
//
//   turn = R + max(R / 4, 100 us, 10 packets of each flow)    a round trip and a trial
//   R    = longest round trip + jitter + a packet on the link + a CNTL on the way back
//
// A road is run in phases: from the beginning, from when late flows begin, from the step on. Each
// phase settles first and is looked at then.
#ifndef SLUICE_TEST_SIM_ROAD_PLAN_HH
#define SLUICE_TEST_SIM_ROAD_PLAN_HH

#include <cstdint>
#include <string>
#include <vector>

#include "road.hh"

// Flows are asked to be equal after 500 turns, or after 30 s and a hundred turns.
constexpr double kTurnsAlone = 80, kTurnsTogether = 500, kTurnsLook = 100, kTurnsLookTogether = 200;
constexpr double kTurnsShort = 30, kTurnsLookShort = 20;

struct RoadPhase {
    std::string name; // first, late, step
    double event_ns, look_from_ns, look_to_ns;
    uint32_t active; // flows
};

// Constant from each time to the next.
struct RoadLevel {
    double from_ns, bps;
};

class RoadPlan
{
  public:
    explicit RoadPlan(const Road &road, bool shortened = false);

    // Of what is left, on average between two times; with back_ns > 0: of the least that was left
    // during so long before.
    double left_bps(double from_ns, double to_ns, double back_ns = 0) const;
    // The least left at these times, and the most.
    double min_left_bps(double from_ns, double to_ns) const;
    double max_left_bps(double from_ns, double to_ns) const;
    // Share of a time that lies within so long after what is left became less.
    double after_fall(double from_ns, double to_ns, double within_ns) const;

    std::vector<RoadPhase> phases;
    std::vector<RoadLevel> link;        // what it carries
    std::vector<RoadLevel> left;        // of it, for us
    std::vector<double> cross_turns_ns; // others begin, end, begin...
    double end_ns = 0, sample_ns = 0;
    double round_trip_ns = 0; // R
    double packets = 0;       // on the link, if it is full, and what else costs as much
    bool is_short;

  private:
    double turn_ns(double bps, double active) const;
    void phase_add(const char *name, double event_ns, double active, double bps);
    void link_plan();
    void cross_plan();
    void left_plan();

    Road r;
};

// What a round trip of control cannot be shorter than: eight packets of each flow tell a rate, and
// a host that is away does not.
double road_round_ns(const Road &r, const RoadPlan &p, double bps, double active);

#endif
