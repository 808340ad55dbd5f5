// SPDX-License-Identifier: BSD-3-Clause
#include "road.hh"

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "text.hh"

namespace
{

struct Field {
    const char *name;
    double Road::*at;
    double least, most;
};

const Field kFields[] = {
    {"seed", &Road::seed, 1, 9e15},
    {"rate_bps", &Road::rate_bps, 1e5, 400e9},
    {"rtt_ns", &Road::rtt_ns, 1e3, 10e9},
    {"queue_bytes", &Road::queue_bytes, 1000, 1e11},
    {"mtu", &Road::mtu, 576, 9000},
    {"aqm", &Road::aqm, 0, ROAD_RED_ECN},
    {"aqm_target_ns", &Road::aqm_target_ns, 0, 1e10},
    {"aqm_min_bytes", &Road::aqm_min_bytes, 0, 1e11},
    {"police_bps", &Road::police_bps, 0, 400e9},
    {"police_bytes", &Road::police_bytes, 0, 1e11},
    {"loss", &Road::loss, 0, 0.5},
    {"loss_run", &Road::loss_run, 0, 1000},
    {"jitter_ns", &Road::jitter_ns, 0, 10e9},
    {"law", &Road::law, 0, ROAD_PARETO},
    {"reorders", &Road::reorders, 0, 1},
    {"back_bps", &Road::back_bps, 0, 400e9},
    {"back_loss", &Road::back_loss, 0, 0.5},
    {"step", &Road::step, 0, 100},
    {"trace_ns", &Road::trace_ns, 0, 1e11},
    {"cross", &Road::cross, 0, 0.9},
    {"cross_on_ns", &Road::cross_on_ns, 0, 1e12},
    {"cross_off_ns", &Road::cross_off_ns, 0, 1e12},
    {"flows", &Road::flows, 1, 64},
    {"rtt_ratio", &Road::rtt_ratio, 1, 100},
    {"late", &Road::late, 0, 63},
    {"tcp", &Road::tcp, 0, ROAD_COPA},
    {"stall_rx_ns", &Road::stall_rx_ns, 0, 1e9},
    {"gap_rx_ns", &Road::gap_rx_ns, 0, 1e11},
    {"stall_tx_ns", &Road::stall_tx_ns, 0, 1e9},
    {"gap_tx_ns", &Road::gap_tx_ns, 0, 1e11},
    {"poll_rx_ns", &Road::poll_rx_ns, 0, 1e9},
    {"poll_tx_ns", &Road::poll_tx_ns, 0, 1e9},
    {"ring", &Road::ring, 0, 1e6},
    {"host_bps", &Road::host_bps, 0, 400e9},
    {"write_ns", &Road::write_ns, 0, 1e10},
    {"write_share", &Road::write_share, 0, 10},
    {"read_ns", &Road::read_ns, 0, 1e10},
};

const Field *field_of(const std::string &name)
{
    for (const Field &f : kFields)
        if (name == f.name)
            return &f;
    return nullptr;
}

// The number with the fewest digits that keep its value.
std::string shortest(double x)
{
    std::string s = text("%.0f", x);

    if (std::strtod(s.c_str(), nullptr) == x)
        return s;
    for (int digits = 1; digits <= 17; digits++) {
        s = text("%.*g", digits, x);
        if (std::strtod(s.c_str(), nullptr) == x)
            break;
    }
    return s;
}

void check(const Road &r)
{
    if (r.late >= r.flows)
        throw std::runtime_error(text("late=%g: at most flows - 1 begin later", r.late));
    if (r.jitter_ns > r.rtt_ns / 2)
        throw std::runtime_error(text("jitter_ns=%g: more than one way's delay", r.jitter_ns));
    if ((r.stall_rx_ns > 0) != (r.gap_rx_ns > 0) || (r.stall_tx_ns > 0) != (r.gap_tx_ns > 0))
        throw std::runtime_error("a stall has a gap, and a gap a stall");
    if (r.cross > 0 && (r.cross_on_ns <= 0 || r.cross_off_ns <= 0))
        throw std::runtime_error("cross has cross_on_ns and cross_off_ns");
    if ((r.write_ns > 0) != (r.write_share > 0))
        throw std::runtime_error("write_ns has write_share, and write_share write_ns");
    if (r.police_bps > 0 && r.police_bytes < 2 * r.frame_bytes())
        throw std::runtime_error("police_bytes: a policer's bucket holds two frames at least");
    if ((r.aqm == ROAD_CODEL || r.aqm == ROAD_CODEL_ECN) && r.aqm_target_ns <= 0)
        throw std::runtime_error("CoDel has aqm_target_ns");
    if ((r.aqm == ROAD_RED || r.aqm == ROAD_RED_ECN) && r.aqm_min_bytes <= 0)
        throw std::runtime_error("RED has aqm_min_bytes");
    if (r.trace_ns > 0 && (r.step > 0 || r.aqm != ROAD_TAIL_DROP))
        throw std::runtime_error("a trace has no step and no AQM");
}

} // namespace

double Road::rtt_of(uint32_t i) const
{
    if (flows < 2)
        return rtt_ns;
    return rtt_ns * std::pow(rtt_ratio, i / (flows - 1));
}

double Road::mean_rtt_ns() const
{
    double sum = 0;

    for (uint32_t i = 0; i < flows; i++)
        sum += rtt_of(i);
    return sum / flows;
}

std::vector<std::string> Road::features() const
{
    std::vector<std::string> words;
    auto add = [&](bool has, const std::string &word) {
        if (has)
            words.push_back(word);
    };

    add(loss > 0 && loss_run == 0, "loss");
    add(loss > 0 && loss_run > 0, "loss-runs");
    add(jitter_ns > 0 && reorders == 0, "jitter");
    add(jitter_ns > 0 && reorders > 0, "jitter-reorders");
    add(aqm == ROAD_CODEL || aqm == ROAD_RED, "aqm");
    add(aqm == ROAD_CODEL_ECN || aqm == ROAD_RED_ECN, "ecn");
    add(police_bps > 0, "policer");
    add(flows > 1 && flows < 8, "flows-2-7");
    add(flows >= 8, "flows-8-64");
    add(rtt_ratio > 1, "rtt-ratio");
    add(late > 0, "late");
    add(back_bps > 0, "thin-back");
    add(back_loss > 0, "lossy-back");
    add(step > 1, "step-up");
    add(step > 0 && step < 1, "step-down");
    add(trace_ns > 0, "trace");
    add(cross > 0, "cross");
    add(tcp == ROAD_CUBIC, "cubic");
    add(tcp == ROAD_BBR, "bbr");
    add(tcp == ROAD_COPA, "copa");
    add(stall_rx_ns > 0, "stall-rx");
    add(stall_tx_ns > 0, "stall-tx");
    add(poll_rx_ns > 0 || poll_tx_ns > 0, "polls");
    add(host_bps > 0, "host-limits");
    add(write_ns > 0, "writes");
    add(read_ns > 0, "reads");
    add(words.empty(), "plain");
    return words;
}

std::string road_text(const Road &r)
{
    static const Road usual;
    std::string s;

    for (const Field &f : kFields)
        if (r.*f.at != usual.*f.at || f.at == &Road::seed || f.at == &Road::rate_bps ||
            f.at == &Road::rtt_ns || f.at == &Road::queue_bytes)
            s += (s.empty() ? "" : " ") + (f.name + ("=" + shortest(r.*f.at)));
    return s;
}

Road road_parse(const std::string &line)
{
    std::istringstream words(line);
    std::string word;
    Road r;

    while (words >> word) {
        size_t sign = word.find('=');
        const Field *f = field_of(word.substr(0, sign));
        char *end = nullptr;

        if (sign == std::string::npos || f == nullptr)
            throw std::runtime_error("\"" + word + "\" is no NAME=VALUE of a road");
        r.*f->at = std::strtod(word.c_str() + sign + 1, &end);
        if (*end != '\0' || end == word.c_str() + sign + 1)
            throw std::runtime_error("\"" + word + "\" has no number behind its =");
        if (!(r.*f->at >= f->least && r.*f->at <= f->most))
            throw std::runtime_error("\"" + word + "\" is not within " +
                                     text("%g and %g", f->least, f->most));
    }
    check(r);
    return r;
}

double road_round(double x)
{
    return std::strtod(text("%.4g", x).c_str(), nullptr);
}
