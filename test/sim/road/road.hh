// SPDX-License-Identifier: BSD-3-Clause
// A road: a link with all that is wrong with it and with the hosts at its ends, as numbers that
// stand in one line of text. The same line is the same road, bit for bit.
#ifndef SLUICE_TEST_SIM_ROAD_HH
#define SLUICE_TEST_SIM_ROAD_HH

#include <cstdint>
#include <string>
#include <vector>

enum RoadLaw { ROAD_UNIFORM, ROAD_NORMAL, ROAD_PARETO };
enum RoadAqm { ROAD_TAIL_DROP, ROAD_CODEL, ROAD_RED, ROAD_CODEL_ECN, ROAD_RED_ECN };
enum RoadTcp { ROAD_NO_TCP, ROAD_CUBIC, ROAD_BBR, ROAD_COPA };

// 0 is "none" wherever it makes sense. Senders share the link to one receiver.
struct Road {
    double seed = 1;
    // the link
    double rate_bps = 100e6, rtt_ns = 10e6, queue_bytes = 125000, mtu = 1500;
    double aqm = ROAD_TAIL_DROP, aqm_target_ns = 0, aqm_min_bytes = 0; // CoDel; RED: max is 3 min
    double police_bps = 0, police_bytes = 0; // before the link; its bucket
    // behind the link
    double loss = 0, loss_run = 0;               // share; mean run of losses (0: independent)
    double jitter_ns = 0, law = 0, reorders = 0; // as the delay element reads it
    double back_bps = 0, back_loss = 0;          // the way back, shared by all
    // the link changes
    double step = 0;                                     // its rate times this, once
    double trace_ns = 0;                                 // a rate trace, whose levels last so long
    double cross = 0, cross_on_ns = 0, cross_off_ns = 0; // others' share of the link, on average
    // who sends
    double flows = 1, rtt_ratio = 1; // of the longest round trip to the shortest
    double late = 0;                 // of the flows begin later
    double tcp = ROAD_NO_TCP;        // and one of these is beside them
    // the hosts
    double stall_rx_ns = 0, gap_rx_ns = 0, stall_tx_ns = 0, gap_tx_ns = 0; // means
    double poll_rx_ns = 0, poll_tx_ns = 0; // most time between polls
    double ring = 0;                       // frames that wait for the receiver; 0: no limit
    double host_bps = 0;                   // payload that the receiver is said to take
    double write_ns = 0, write_share = 0;  // a write each so often, of its fair share
    double read_ns = 0;                    // buffers are posted again each so often

    double frame_bytes() const
    {
        return mtu + 14;
    }
    // Of a full frame of DATA.
    double payload_bytes() const
    {
        return frame_bytes() - 98;
    }
    bool has_stalls() const
    {
        return stall_rx_ns > 0 || stall_tx_ns > 0;
    }
    // Of sender i, evenly spaced (as powers) from the shortest to the longest.
    double rtt_of(uint32_t i) const;
    double mean_rtt_ns() const;
    double longest_rtt_ns() const
    {
        return rtt_ns * rtt_ratio;
    }
    // Of the link, before or behind a step.
    double max_bps() const
    {
        return rate_bps * (step > 1 ? step : 1);
    }
    // Under way at most, without what waits for the link.
    double pipe_bytes() const
    {
        return max_bps() / 8 * (longest_rtt_ns() + jitter_ns) / 1e9;
    }
    // Words for what is special about it.
    std::vector<std::string> features() const;
};

// NAME=VALUE... of seed, rate, round trip and queue, and of all else that is not as above.
std::string road_text(const Road &r);
// Throws std::runtime_error, which says what is wrong.
Road road_parse(const std::string &line);
// Four digits, so that the text is the number.
double road_round(double x);

#endif
