// SPDX-License-Identifier: BSD-3-Clause
// TCPs of today that share one link, from end 0 of a line to end 1: what each delivers, what waits
// before the link, and how long the round trips are.
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
    double more_ms = 0; // of round trip than the line's
};

struct FlowsOptions {
    double rate_bps = 100e6;
    double rtt_ms = 40;
    double queue_bdp = 1; // of the line's round trip
    double loss = 0;      // behind the link
    std::string later;    // changes of the way there: "at 10s rate 10mbit"
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
    Flows(const Flows &) = delete; // nodes refer to it: made where it stays

    void run(double until_s);
    // Runs, and looks after each step.
    void watch(double until_s, double step_s, const std::function<void(double now_s)> &look);
    double now_s() const
    {
        return now_;
    }

    const tcp &sender(uint32_t i) const
    {
        return ends_[i]->sender;
    }
    // Frame bytes that flow i's receiver has read, as they were on the link.
    double delivered(uint32_t i) const;
    // Shares of the link that each flow had in (from, now]; `from`: what delivered() was.
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
