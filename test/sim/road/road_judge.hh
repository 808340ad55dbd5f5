// SPDX-License-Identifier: BSD-3-Clause
// The bars that the flows on a road must meet. Each follows from the properties of the road:
//
//   used     share of the rate left to us that must be used. That is the link's rate without cross
//            traffic, at most what a policer or the receiver's capacity lets through, while hosts
//            can run. The bar is (1 - loss) times the least that applies of
//              98 %, or (1 - loss - 1 %) / (1 - loss) with loss (1.5 % if the round trip is longer
//                  than 0.3 s)
//              95 % with jitter, AQM, a thin or lossy return path, or different round trips
//              93 % with cross traffic
//              90 % with stalls, polls or a TCP, whose share then counts, too
//            While the rate left changes, the bar is a share of the least rate of the last ten
//            rounds. Where the application writes less, it is 95 % of the bytes written
//   queue    mean queue at most: the longest of 0.2 bandwidth-delay products (0.25 with several
//            flows, jitter, or a thin or lossy return path), two packets of each flow, and 2 x
//            jitter; more by half of the largest burst, if a sender polls late or a trace lets
//            packets go in bursts. For 5 rounds after a fall of the rate left: all of the queue. No
//            bar with a TCP
//   Jain     Jain's index of all flows: 0.95, or 0.97 from 32 flows on
//   late     rounds until a late flow has 80 % of its part: 20
//   rise     rounds after a step up until 90 % of the new rate come: 10
//   fall     share of the new rate that comes in the first 10 rounds after a step down: 90 %
//   drain    rounds after a step down until the queue is below half a (new) bandwidth-delay
//            product: 5, or a quarter more than it takes if nothing is sent; drain-old: below half
//            an old one: 5
//   lost     bytes dropped after a step, in queues: 1; after a step down, a quarter more than the
//            bytes that the old rate brings in a round trip and the queue cannot hold, if that is
//            more
//   twice    share of units that came twice: 1 %
//   sluice, tcp   share of the link: a quarter each, or for the TCP half of its share when alone,
//            if that is less
//   why      share of samples whose grant names the path although only the receiver limits: 0
//   open     connections that failed: 0
//
// A round is a round trip R (road_plan.hh), or the time of eight packets of each flow if that is
// longer, plus the time for which hosts may be away.
#ifndef SLUICE_TEST_SIM_ROAD_JUDGE_HH
#define SLUICE_TEST_SIM_ROAD_JUDGE_HH

#include <string>
#include <vector>

#include "road.hh"
#include "road_plan.hh"
#include "road_run.hh"

struct RoadVerdict {
    std::string bar, phase;
    double value, limit;
    bool at_most;

    bool holds() const
    {
        return at_most ? value <= limit : value >= limit;
    }
};

// Figures for the reports.
struct RoadFigures {
    // Each from its worst phase. The queue is in bandwidth-delay products. queue_of_bar is its
    // share of the bar. jain: -1 if no phase has it
    double used, queue, queue_of_bar, jain;
};

struct RoadOutcome {
    std::vector<RoadVerdict> verdicts;
    RoadFigures figures;
};

// tcp_alone: the share of the link that the TCP has when it is alone.
RoadOutcome road_judge(const Road &r, const RoadPlan &p, const RoadRecord &seen, double tcp_alone);
// This share, from a run of the road without Sluice.
double road_tcp_share(const Road &r, const RoadPlan &p, const RoadRecord &seen);

#endif
