// SPDX-License-Identifier: BSD-3-Clause
#include "road_plan.hh"

#include <algorithm>
#include <cmath>

#include "unit.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, kCntlBytes = 200;
constexpr uint32_t kTraceLevels = 32;
constexpr double kTraceDepth = 8;       // highest level over lowest
constexpr double kControlOfPacket = 10; // control intervals of a host that cost like a packet

double uniform(rng *g, double least, double most)
{
    return least + (most - least) * rng_unit(g);
}

double mean(const std::vector<RoadLevel> &levels, double from, double to)
{
    double sum = 0;

    for (size_t i = 0; i < levels.size(); i++) {
        double end = i + 1 < levels.size() ? levels[i + 1].from_ns : to;

        sum += levels[i].bps * std::max(0.0, std::min(to, end) - std::max(from, levels[i].from_ns));
    }
    return sum / (to - from);
}

} // namespace

RoadPlan::RoadPlan(const Road &road, bool shortened) : is_short(shortened), r(road)
{
    double early = r.flows - r.late, now;

    round_trip_ns = r.longest_rtt_ns() + r.jitter_ns + r.frame_bytes() * 8e9 / r.rate_bps;
    if (r.back_bps > 0)
        round_trip_ns += kCntlBytes * 8e9 / r.back_bps;
    phase_add("first", 0, early, r.rate_bps);
    if (r.late > 0)
        phase_add("late", end_ns, r.flows, r.rate_bps);
    now = end_ns;
    if (r.step > 0)
        phase_add("step", now, r.flows, r.rate_bps * r.step);
    link_plan();
    cross_plan();
    left_plan();
    sample_ns = std::max({r.rtt_ns / 4, end_ns / 20000, 1000.0});
    packets = mean(link, 0, end_ns) * end_ns / 8e9 / r.frame_bytes() +
              (r.flows + 1) * end_ns / kMs / kControlOfPacket;
}

double RoadPlan::turn_ns(double bps, double active) const
{
    double packet_ns = r.frame_bytes() * 8e9 / bps;

    return round_trip_ns + std::max({round_trip_ns / 4, 0.1 * kMs, 10 * active * packet_ns});
}

void RoadPlan::phase_add(const char *name, double event_ns, double active, double bps)
{
    double turn = turn_ns(bps, active), packet_ns = r.frame_bytes() * 8e9 / bps;
    double settle = kTurnsAlone * turn, look = kTurnsLook * turn;

    look = std::max(look, std::min(5 * look, 500 * kMs));
    if (active > 1) {
        settle = std::min(kTurnsTogether * turn, std::max(30 * kS, 100 * turn));
        look = std::max(kTurnsLookTogether * turn, 300 * active * packet_ns);
    }
    if (is_short) {
        settle = std::min(settle, kTurnsShort * turn);
        look = std::min(look, kTurnsLookShort * turn);
    }
    if (r.tcp != ROAD_NO_TCP) {
        settle = std::max(settle, 15 * kS);
        look = std::max(look, 30 * kS);
    }
    settle = std::max(settle, 30 * kMs);
    look = std::max({look, 50 * (r.stall_rx_ns + r.gap_rx_ns), 50 * (r.stall_tx_ns + r.gap_tx_ns),
                     6 * (r.cross_on_ns + r.cross_off_ns), 20 * r.trace_ns, 40 * r.write_ns,
                     40 * r.read_ns});
    phases.push_back({name, event_ns, event_ns + settle, event_ns + settle + look,
                      static_cast<uint32_t>(active)});
    end_ns = event_ns + settle + look;
}

// A trace is a walk between rate / 8 and rate, whose levels repeat after the last one. Times are
// whole milliseconds, as in the file.
void RoadPlan::link_plan()
{
    rng g;
    double at = 0, level = 0.5;

    if (r.trace_ns <= 0) {
        link.push_back({0, r.rate_bps});
        if (r.step > 0)
            link.push_back({phases.back().event_ns, r.rate_bps * r.step});
        return;
    }
    rng_init(&g, static_cast<uint64_t>(r.seed) * 1000 + 901);
    for (uint32_t i = 0; i < kTraceLevels; i++) {
        link.push_back({at, r.rate_bps * std::pow(kTraceDepth, level - 1)});
        at += std::max(kMs, std::floor(uniform(&g, 0.5, 1.5) * r.trace_ns / kMs) * kMs);
        level = std::clamp(level + uniform(&g, -0.5, 0.5), 0.0, 1.0);
    }
    for (uint32_t i = 0; at < end_ns; i++) {
        double long_ns = link[i + 1].from_ns - link[i].from_ns;

        link.push_back({at, link[i].bps});
        at += long_ns;
    }
}

void RoadPlan::cross_plan()
{
    rng g;

    rng_init(&g, static_cast<uint64_t>(r.seed) * 1000 + 902);
    for (double at = 0; r.cross > 0 && at < end_ns;) {
        at += uniform(&g, 0.5, 1.5) *
              (cross_turns_ns.size() % 2 == 0 ? r.cross_off_ns : r.cross_on_ns);
        cross_turns_ns.push_back(at);
    }
}

void RoadPlan::left_plan()
{
    size_t l = 0, c = 0;

    for (double at = 0;;) {
        double bps = link[l].bps - (c % 2 == 1 ? r.cross * r.rate_bps : 0);

        if (r.police_bps > 0)
            bps = std::min(bps, r.police_bps);
        if (r.host_bps > 0)
            bps = std::min(bps, r.host_bps * r.frame_bytes() / r.payload_bytes());
        left.push_back({at, bps});
        double next_l = l + 1 < link.size() ? link[l + 1].from_ns : HUGE_VAL;
        double next_c = c < cross_turns_ns.size() ? cross_turns_ns[c] : HUGE_VAL;

        at = std::min(next_l, next_c);
        if (!(at < end_ns))
            return;
        l += next_l == at;
        c += next_c == at;
    }
}

double RoadPlan::min_left_bps(double from_ns, double to_ns) const
{
    double least = HUGE_VAL;

    for (size_t i = 0; i < left.size(); i++)
        if (left[i].from_ns < to_ns && (i + 1 == left.size() || left[i + 1].from_ns > from_ns))
            least = std::min(least, left[i].bps);
    return least;
}

double RoadPlan::max_left_bps(double from_ns, double to_ns) const
{
    double most = 0;

    for (size_t i = 0; i < left.size(); i++)
        if (left[i].from_ns < to_ns && (i + 1 == left.size() || left[i + 1].from_ns > from_ns))
            most = std::max(most, left[i].bps);
    return most;
}

// The minimum over a moving window changes only when a level begins, or leaves the window.
double RoadPlan::left_bps(double from_ns, double to_ns, double back_ns) const
{
    std::vector<double> cuts = {from_ns, to_ns};
    double sum = 0;

    if (back_ns <= 0)
        return mean(left, from_ns, to_ns);
    for (const RoadLevel &l : left)
        for (double at : {l.from_ns, l.from_ns + back_ns})
            if (at > from_ns && at < to_ns)
                cuts.push_back(at);
    std::sort(cuts.begin(), cuts.end());
    for (size_t i = 0; i + 1 < cuts.size(); i++) {
        double middle = (cuts[i] + cuts[i + 1]) / 2;

        sum += (cuts[i + 1] - cuts[i]) * min_left_bps(middle - back_ns, middle);
    }
    return sum / (to_ns - from_ns);
}

double RoadPlan::after_fall(double from_ns, double to_ns, double within_ns) const
{
    double sum = 0, counted = from_ns;

    for (size_t i = 1; i < left.size(); i++) {
        if (left[i].bps >= left[i - 1].bps)
            continue;
        double begin = std::max(left[i].from_ns, counted);
        double end = std::min(left[i].from_ns + within_ns, to_ns);

        sum += std::max(0.0, end - begin);
        counted = std::max(counted, end);
    }
    return sum / (to_ns - from_ns);
}

double road_round_ns(const Road &r, const RoadPlan &p, double bps, double active)
{
    double away = 2 * std::max(r.stall_rx_ns, r.stall_tx_ns) + std::max(r.poll_rx_ns, r.poll_tx_ns);

    return std::max(p.round_trip_ns, 8 * active * r.frame_bytes() * 8e9 / bps) + away;
}
