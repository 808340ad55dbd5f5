// SPDX-License-Identifier: BSD-3-Clause
// Random roads. Their values are drawn from these distributions, where "log" means log-uniform:
//
//   rate                log 1 Mbit/s .. 40 Gbit/s
//   round trip          log 10 us .. 1 s
//   queue               log 0.05 .. 8 bandwidth-delay products, 4 packets at least
//   MTU                 1500 (0.6), 9000 (0.2), or 576 .. 9000
//   number of features  0 .. 4 with 0.10, 0.25, 0.30, 0.20, 0.15; they are drawn with the weights
//                       below, and some exclude each other:
//
//   loss 5         log 0.01 .. 30 %, independent, or (0.5) in runs of log 2 .. 50 packets
//                  (Gilbert-Elliott)
//   jitter 4       1 .. 50 % of the round trip; uniform, normal or Pareto; (0.5) out of order, but
//                  not beside a TCP
//   aqm 3          CoDel (interval log 1 .. 10 round trips, 1 ms at least; target a twentieth) or
//                  RED (min log 0.05 .. 0.3 of the queue); (0.5) marks instead of drops
//   policer 1      0.1 .. 0.9 of the rate, a bucket of log 0.05 .. 4 bandwidth-delay products
//   flows 6        2 (0.5), or log 2 .. 64; (0.5) round trips log 1:1 .. 10:1; (0.4) up to three
//                  begin late
//   thin back 2    the return path has log 1/500 .. 1/20 of the rate
//   lossy back 2   log 0.1 .. 20 %
//   step 2         of the rate, to 10 times or to a tenth
//   trace 1        of the rate, between an eighth and all; levels of log 20 ms .. 2 s
//   cross 2        cross traffic takes 0.1 .. 0.5 of the link; it is on and off for log 20 .. 500
//                  round trips, 1 ms at least
//   tcp 2          one CUBIC, BBRv3 or Copa beside one flow
//   stalls 4       of the receiver, of each sender, or both: log 1 us .. 20 ms, 2 .. 30 % of the
//                  time; (0.5) a ring of 512, 1024, 2048 or 4096 frames
//   polls 2        at most log 1 us .. 20 ms between polls, of the receiver, of each sender, or
//                  both, where 32 frames a poll still carry 1.5 times the rate
//   application 2  writes at intervals of log 1 .. 50 ms, 0.3 .. 0.9 of its share; or reads at such
//                  intervals; or both
//   host 1         the receiver's configured capacity is 0.2 .. 0.8 of the rate
//
// A road of one flow that would take more packets than allowed runs for a shorter time. If that is
// still too long, only its rate and its round trip are drawn again. So large bandwidth-delay
// products are rarer than the distributions say. A road that does not fit after many draws gets
// half as many flows, and half as long between polls.
#ifndef SLUICE_TEST_SIM_ROAD_DRAW_HH
#define SLUICE_TEST_SIM_ROAD_DRAW_HH

#include <cstdint>

#include "road.hh"
#include "road_plan.hh"

// Road `index` of a seed. It does not depend on the seed's other roads.
Road road_draw(uint64_t seed, uint32_t index, double packets_max);
// The plan of a road; a shortened one, if a single flow would take too many packets.
RoadPlan road_plan(const Road &r, double packets_max);

#endif
