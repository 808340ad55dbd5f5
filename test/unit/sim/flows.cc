// SPDX-License-Identifier: BSD-3-Clause
#include "flows.hh"

#include <algorithm>
#include <stdexcept>

#include "findings.hh"
#include "route.hh"
#include "text.hh"

namespace
{

constexpr uint64_t kHz = 1000000000;
constexpr uint16_t kSenders = 1001, kReceivers = 2001; // UDP ports of the first flow

} // namespace

Flows::Flows(const FlowsOptions &options) : opt_(options)
{
    double bytes = opt_.rate_bps / 8 * opt_.rtt_ms / 1e3;
    std::string there = text("rate %.0fbit limit %.0fB delay %.3fms", opt_.rate_bps,
                             opt_.queue_bdp * bytes, opt_.rtt_ms / 2);
    std::string back = text("delay %.3fms", opt_.rtt_ms / 2);
    char err[300];

    if (opt_.loss > 0)
        there += text(" loss %g%%", 100 * opt_.loss);
    there += " " + opt_.later;
    for (uint32_t i = 0; i < opt_.flows.size(); i++)
        if (opt_.flows[i].more_ms > 0)
            back += text(" match sport %u ( delay %.3fms )", kReceivers + i, opt_.flows[i].more_ms);
    line_config cfg = {{there.c_str(), back.c_str()}, kHz, opt_.seed, 8000, test_pool};
    line_ = line_create(&cfg, err, sizeof err);
    if (line_ == nullptr)
        throw std::runtime_error(err);
    for (uint32_t i = 0; i < opt_.flows.size(); i++)
        add(i);
}

void Flows::add(uint32_t i)
{
    const FlowOptions &f = opt_.flows[i];
    uint16_t from = static_cast<uint16_t>(kSenders + i);
    uint16_t to = static_cast<uint16_t>(kReceivers + i);
    tcp_config t = {};
    tcp_receiver_config r = {route(1, to, from), kHz, test_pool};
    double max_ms = opt_.rtt_ms * (1 + opt_.queue_bdp) + f.more_ms;

    ends_.push_back(std::make_unique<End>());
    End &e = *ends_.back();
    t.route = route(0, from, to);
    t.hz = kHz;
    t.start = static_cast<uint64_t>(f.start_s * 1e9);
    t.mss_bytes = kMss;
    t.window_segments = tcp_window(static_cast<uint64_t>(2 * link_sps() * max_ms / 1e3));
    e.flight.resize(t.window_segments);
    t.flight = e.flight.data();
    t.law = f.law;
    t.seed = opt_.seed * 100 + i;
    t.pool = test_pool;
    tcp_init(&e.sender, &t);
    tcp_receiver_init(&e.receiver, &r);
    line_add(line_, 0, tcp_node(&e.sender));
    line_add(line_, 1, tcp_receiver_node(&e.receiver));
}

Flows::~Flows()
{
    line_destroy(line_);
}

void Flows::run(double until_s)
{
    now_ = std::max(now_, until_s);
    line_run(line_, static_cast<uint64_t>(now_ * 1e9));
}

void Flows::watch(double until_s, double step_s, const std::function<void(double now_s)> &look)
{
    while (now_ + step_s / 2 < until_s) {
        run(now_ + step_s);
        look(now_);
    }
}

double Flows::delivered(uint32_t i) const
{
    return static_cast<double>(ends_[i]->receiver.data_bytes) * kFrame / kMss;
}

std::vector<double> Flows::delivered() const
{
    std::vector<double> out;

    for (uint32_t i = 0; i < ends_.size(); i++)
        out.push_back(delivered(i));
    return out;
}

std::vector<double> Flows::shares(const std::vector<double> &from, double from_s) const
{
    std::vector<double> out;

    for (uint32_t i = 0; i < ends_.size(); i++)
        out.push_back((delivered(i) - from[i]) * 8 / opt_.rate_bps / (now_ - from_s));
    return out;
}

const path_element_counts &Flows::link() const
{
    path_element_info info;

    path_element(line_path(line_, 0), 0, &info);
    return *info.counts;
}

double Flows::queued() const
{
    return std::max(0.0, static_cast<double>(link().queued_packets) - 1);
}

double jain(const std::vector<double> &shares)
{
    double sum = 0, squares = 0;

    for (double s : shares) {
        sum += s;
        squares += s * s;
    }
    return squares > 0 ? sum * sum / static_cast<double>(shares.size()) / squares : 0;
}
