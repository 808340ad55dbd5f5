// SPDX-License-Identifier: BSD-3-Clause
// What a road asks of the flows on it. Each bar follows from what the road is:
//
//   used     of what is left to us (of the link: without others' packets, what a policer or the
//            receiver's capacity keep from us, and the time for which hosts stand still):
//            (1 - loss) times 98 %; with loss 1 - loss - 1 % (1.5 % where a round trip takes more
//            than 0.3 s); with jitter, AQM, a thin or lossy way back or different round trips 95 %
//            of that, with others on and off 93 %, with stalls or polls 90 %. While what is left
//            changes: of the least that was left during ten rounds. With a TCP both have 90 %.
//            Where the application writes less: 95 % of what it wrote
//   queue    mean: 0.2 bandwidth-delay products (0.25 with anything beside losses), two packets of
//            each flow, or 2 x jitter, whichever is most, and what comes in lumps, because a
//            sender or a trace lets packets go in lumps: half of one; for 5 rounds after what is
//            left became less, all of the queue
//   Jain     0.95 of all flows, 0.97 from 32 on
//   late     rounds until a late flow has 80 % of its part: 20
//   rise     rounds until 90 % of the new rate come after a step: 10; after a step down they come
//            (fall: share of the new rate during the first 10 rounds)
//   drain    rounds until the queue is below half a (new) bandwidth-delay product: 5, or a quarter
//            more than it takes if nothing at all is sent; drain-old: below half an old one: 5
//   lost     after a step, in queues: 1; or, after a step down, a quarter more than what the old
//            rate brings in a round trip beyond a queue
//   twice    units that came twice: 1 %
//   sluice, tcp   a quarter of the link each; the TCP's: half of what it has alone, if that is less
//   why      looks at which a path was named where the receiver limits: none
//   open     connections that failed: none
//
// A round is a round trip, as road_plan.hh has it, or eight packets of each flow, and the time for
// which hosts are away.
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

// Numbers to know.
struct RoadFigures {
    // Of the worst phase. The queue in bandwidth-delay products, and of its bar; jain: -1 if alone
    double used, queue, queue_of_bar, jain;
};

struct RoadOutcome {
    std::vector<RoadVerdict> verdicts;
    RoadFigures figures;
};

// tcp_alone: the share of the link that the TCP has when it is alone.
RoadOutcome road_judge(const Road &r, const RoadPlan &p, const RoadRecord &seen, double tcp_alone);
// Of a TCP's road, from a run without Sluice.
double road_tcp_share(const Road &r, const RoadPlan &p, const RoadRecord &seen);

#endif
