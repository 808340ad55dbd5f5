// SPDX-License-Identifier: BSD-3-Clause
// A road: a link and the hosts at its ends, with all their faults, as numbers in one line of text.
// The same line gives the same road, bit for bit.
#ifndef SLUICE_TEST_SIM_ROAD_HH
#define SLUICE_TEST_SIM_ROAD_HH

#include <cstdint>
#include <string>
#include <vector>

enum RoadLaw { ROAD_UNIFORM, ROAD_NORMAL, ROAD_PARETO };
enum RoadAqm { ROAD_TAIL_DROP, ROAD_CODEL, ROAD_RED, ROAD_CODEL_ECN, ROAD_RED_ECN };
enum RoadTcp { ROAD_NO_TCP, ROAD_CUBIC, ROAD_BBR, ROAD_COPA };

// 0 means "none" for values that may be absent. Senders share the link to one receiver.
struct Road {
    double seed = 1;
    // the link
    double rate_bps = 100e6, rtt_ns = 10e6, queue_bytes = 125000, mtu = 1500;
    double aqm = ROAD_TAIL_DROP, aqm_target_ns = 0, aqm_min_bytes = 0; // CoDel; RED: max is 3 min
    double police_bps = 0, police_bytes = 0;                           // policer before the link
    // behind the link
    double loss = 0, loss_run = 0;               // share; mean run of losses (0: independent)
    double jitter_ns = 0, law = 0, reorders = 0; // options of "delay"
    double back_bps = 0, back_loss = 0;          // return path, shared by all
    // the link changes
    double step = 0;                                     // factor on its rate, once
    double trace_ns = 0;                                 // mean length of a rate trace's levels
    double cross = 0, cross_on_ns = 0, cross_off_ns = 0; // cross traffic: share while on; means
    // the flows
    double flows = 1, rtt_ratio = 1; // longest round trip over shortest
    double late = 0;                 // so many of the flows begin later
    double tcp = ROAD_NO_TCP;        // enum RoadTcp, beside the flows
    // the hosts
    double stall_rx_ns = 0, gap_rx_ns = 0, stall_tx_ns = 0, gap_tx_ns = 0; // means
    double poll_rx_ns = 0, poll_tx_ns = 0; // longest extra time between polls
    double ring = 0;                       // frames that the receiver's ring holds; 0: no limit
    double host_bps = 0;                   // receiver's configured capacity, payload
    double write_ns = 0, write_share = 0;  // interval of writes; their part of the fair share
    double read_ns = 0;                    // interval at which buffers are posted again

    double frame_bytes() const
    {
        return mtu + 14;
    }
    // User bytes of a full DATA frame.
    double payload_bytes() const
    {
        return frame_bytes() - 98;
    }
    bool has_stalls() const
    {
        return stall_rx_ns > 0 || stall_tx_ns > 0;
    }
    // The round trip of sender i. Round trips are log-evenly spaced, from shortest to longest.
    double rtt_of(uint32_t i) const;
    double mean_rtt_ns() const;
    double longest_rtt_ns() const
    {
        return rtt_ns * rtt_ratio;
    }
    // The highest rate of the link, before or after a step.
    double max_bps() const
    {
        return rate_bps * (step > 1 ? step : 1);
    }
    // Bytes under way at most, without those that wait for the link.
    double pipe_bytes() const
    {
        return max_bps() / 8 * (longest_rtt_ns() + jitter_ns) / 1e9;
    }
    // A word for each feature.
    std::vector<std::string> features() const;
};

// NAME=VALUE... for seed, rate, round trip and queue, and for every field that is not its default.
std::string road_text(const Road &r);
// Throws std::runtime_error, whose text names the error.
Road road_parse(const std::string &line);
// Rounds to four digits, so that a short text is the exact number.
double road_round(double x);

#endif
