// SPDX-License-Identifier: BSD-3-Clause
// Modern TCPs that share one link, from end 0 of a line to end 1. Measures the bytes that each
// delivers, the queue before the link, and the round trips.
#ifndef SLUICE_TEST_UNIT_SIM_FLOWS_HH
#define SLUICE_TEST_UNIT_SIM_FLOWS_HH

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "path/path.h"
#include "model/line.h"
#include "model/tcp.h"
#include "model/tcp_receiver.h"
}

struct FlowOptions {
    tcp_law_kind law = TCP_CUBIC;
    double start_s = 0;
    double more_ms = 0; // added to the line's round trip
};

struct FlowsOptions {
    double rate_bps = 100e6;
    double rtt_ms = 40;
    double queue_bdp = 1; // at the line's round trip
    double loss = 0;      // share, behind the link
    std::string later;    // changes of the path to end 1: "at 10s rate 10mbit"
    std::vector<FlowOptions> flows;
    uint64_t seed = 1;
};

class Flows
{
  public:
    static constexpr uint16_t kMss = 1460;
    static constexpr double kFrame = 1514; // bytes on the link

    explicit Flows(const FlowsOptions &options);
    ~Flows();
    Flows(const Flows &) = delete; // it owns the line

    void run(double until_s);
    // Runs, and calls look() after each step.
    void watch(double until_s, double step_s, const std::function<void(double now_s)> &look);
    double now_s() const
    {
        return now_;
    }

    const tcp &sender(uint32_t i) const
    {
        return ends_[i]->sender;
    }
    // Bytes that flow i's receiver has read, with the headers that they had on the link.
    double delivered(uint32_t i) const;
    // Share of the link that each flow had in (from_s, now]; `from`: delivered() at from_s.
    std::vector<double> shares(const std::vector<double> &from, double from_s) const;
    std::vector<double> delivered() const;
    const path_element_counts &link() const;
    // Packets that wait for the link, without the one that is being sent.
    double queued() const;
    // Segments that the link carries in a second, and in a round trip of an empty line.
    double link_sps() const
    {
        return opt_.rate_bps / 8 / kFrame;
    }
    double bdp() const
    {
        return link_sps() * opt_.rtt_ms / 1e3;
    }

  private:
    struct End {
        std::vector<tcp_flight> flight;
        struct tcp sender;
        struct tcp_receiver receiver;
    };

    void add(uint32_t i);

    FlowsOptions opt_;
    struct line *line_;
    std::vector<std::unique_ptr<End>> ends_;
    double now_ = 0;
};

// Jain's index: 1 if all are equal, 1/n if one has all.
double jain(const std::vector<double> &shares);

#endif
