// SPDX-License-Identifier: BSD-3-Clause
#include "road_judge.hh"

#include <algorithm>
#include <cmath>
#include <cstring>

extern "C" {
#include "host/host.h"
}

namespace
{

constexpr double kS = 1e9;
constexpr double kTraceStep_ns = 1e6; // a trace's times are milliseconds
constexpr double kSteady = 10, kLate = 20, kRise = 10, kDrain = 5; // rounds

class Judge
{
  public:
    Judge(const Road &road, const RoadPlan &road_plan, const RoadRecord &record, double tcp_alone)
        : r(road), plan(road_plan), seen(record), alone(tcp_alone)
    {
        out.figures = {HUGE_VAL, 0, 0, -1};
    }

    RoadOutcome judge()
    {
        for (const RoadPhase &p : plan.phases) {
            enter(p);
            used();
            dropped();
            queue();
            if (p.active > 1 && r.write_ns == 0)
                jain();
            if (p.name == "late")
                late();
            if (p.name == "step")
                step();
            if (only_receiver_limits())
                why();
        }
        double failed = 0;

        for (const RoadFlowSample &f : seen.samples.back().flows)
            failed += !f.open;
        add("open", failed, 0, true);
        phase = nullptr;
        add("twice", seen.units > 0 ? seen.duplicates / seen.units : 1, 0.01, true);
        return out;
    }

  private:
    void add(const char *bar, double value, double limit, bool at_most = false)
    {
        out.verdicts.push_back(
            {bar, phase != nullptr ? phase->name : "all", value, limit, at_most});
    }

    void enter(const RoadPhase &p)
    {
        phase = &p;
        from = p.look_from_ns;
        to = p.look_to_ns;
        left_bps = plan.left_bps(from, to);
        round = road_round_ns(r, plan, left_bps, p.active);
        bdp = r.mean_rtt_ns() * left_bps / 8 / kS;
    }

    // Bytes that came for Sluice's flows between two times.
    double came(double begin, double end) const
    {
        const RoadSample &a = seen.at(begin), &b = seen.at(end);
        double sum = 0;

        for (size_t i = 0; i < a.flows.size(); i++)
            sum += b.flows[i].wire_bytes - a.flows[i].wire_bytes;
        return sum;
    }

    double flow_came(size_t i, double begin, double end) const
    {
        return seen.at(end).flows[i].wire_bytes - seen.at(begin).flows[i].wire_bytes;
    }

    // Share of the time in which hosts could run. The stalls of all hosts are measured in one sum,
    // which is split here by how often each side stalls.
    double could() const
    {
        double stood = (seen.at(to).stalled_ns - seen.at(from).stalled_ns) / (to - from);
        double rx = r.stall_rx_ns > 0 ? r.stall_rx_ns / (r.stall_rx_ns + r.gap_rx_ns) : 0;
        double tx = r.stall_tx_ns > 0 ? r.stall_tx_ns / (r.stall_tx_ns + r.gap_tx_ns) : 0;

        if (rx + tx == 0)
            return 1;
        return 1 - stood * (rx + tx) / (rx + tx * r.flows);
    }

    double part() const
    {
        double part = 0.98;

        if (r.loss > 0)
            part = 1 - (r.rtt_ns > 0.3 * kS ? 0.015 : 0.01) / (1 - r.loss);
        if (r.jitter_ns > 0 || r.aqm != ROAD_TAIL_DROP || r.back_bps > 0 || r.back_loss > 0 ||
            r.rtt_ratio > 1)
            part = std::min(part, 0.95);
        if (r.cross > 0)
            part = std::min(part, 0.93);
        if (r.has_stalls() || r.poll_rx_ns > 0 || r.poll_tx_ns > 0 || r.tcp != ROAD_NO_TCP)
            part = std::min(part, 0.90);
        return part;
    }

    void used()
    {
        double all = left_bps / 8 * (to - from) / kS;
        double steady = plan.left_bps(from, to, kSteady * round) / left_bps;
        double limit = (1 - r.loss) * part() * steady * could();
        double ours = came(from, to) / all;
        double tcp = (seen.at(to).tcp_bytes - seen.at(from).tcp_bytes) / all;

        if (r.write_ns > 0) {
            double wrote = seen.at(to).offered_bytes - seen.at(from).offered_bytes;

            limit = std::min(limit, 0.95 * wrote * r.frame_bytes() / r.payload_bytes() / all);
        }
        out.figures.used = std::min(out.figures.used, ours + tcp);
        add("used", ours + tcp, limit);
        if (r.tcp != ROAD_NO_TCP) {
            add("sluice", ours, 0.25);
            add("tcp", tcp, std::min(0.25, alone / 2));
        }
    }

    // What link and policer drop of what one flow sends, as a share of what comes. Losses show that
    // too much is sent once they exceed an eighth (control/loss.h); the bar is about twice that.
    void dropped()
    {
        bool others = r.flows > 1 || r.tcp != ROAD_NO_TCP || r.cross > 0;
        bool changes = r.trace_ns > 0 || phase->name == "step";

        if (others || changes || r.aqm != ROAD_TAIL_DROP)
            return;
        add("dropped", (seen.at(to).dropped_bytes - seen.at(from).dropped_bytes) / came(from, to),
            0.3, true);
    }

    // Bytes in the queue, on average.
    double waits(double begin, double end) const
    {
        double sum = 0, n = 0;

        for (const RoadSample &s : seen.samples)
            if (s.at_ns > begin && s.at_ns <= end) {
                sum += s.queue_bytes;
                n++;
            }
        return n > 0 ? sum / n : 0;
    }

    double queue_bar() const
    {
        bool only_loss = r.flows == 1 && r.jitter_ns == 0 && r.back_bps == 0 && r.back_loss == 0;
        double lumps_ns = r.poll_tx_ns / 2 + (r.trace_ns > 0 ? kTraceStep_ns / 2 : 0);
        double bytes_of_ns = left_bps / 8 / kS;

        return std::max({(only_loss ? 0.2 : 0.25) * bdp, 2 * phase->active * r.frame_bytes(),
                         2 * r.jitter_ns * bytes_of_ns}) +
               lumps_ns * bytes_of_ns;
    }

    void queue()
    {
        double fallen = plan.after_fall(from, to, kDrain * round), bar = queue_bar();

        out.figures.queue = std::max(out.figures.queue, waits(from, to) / bdp);
        if (r.tcp != ROAD_NO_TCP)
            return;
        bar = (1 - fallen) * bar + fallen * std::max(bar, r.queue_bytes);
        out.figures.queue_of_bar = std::max(out.figures.queue_of_bar, waits(from, to) / bar);
        add("queue", waits(from, to) / bdp, bar / bdp, true);
    }

    void jain()
    {
        double sum = 0, squares = 0;

        for (uint32_t i = 0; i < phase->active; i++) {
            double bytes = flow_came(i, from, to);

            sum += bytes;
            squares += bytes * bytes;
        }
        double index = squares > 0 ? sum * sum / phase->active / squares : 0;

        out.figures.jain = out.figures.jain < 0 ? index : std::min(out.figures.jain, index);
        add("Jain", index, phase->active >= 32 ? 0.97 : 0.95);
    }

    // Rounds after the event until flow i (all flows if i < 0) has so many bytes a second, on
    // average over a round trip and 16 packets. The result is the time at which such a window
    // begins.
    double reached(int i, double Bps) const
    {
        double begin = phase->event_ns;
        double window = std::max(plan.round_trip_ns, 16 * r.frame_bytes() * kS / Bps);

        for (double at = begin; at + window <= to; at += plan.sample_ns) {
            double bytes =
                i < 0 ? came(at, at + window) : flow_came(static_cast<size_t>(i), at, at + window);

            if (bytes >= Bps * window / kS)
                return (at - begin) / round;
        }
        return HUGE_VAL;
    }

    void late()
    {
        double fair =
            plan.left_bps(phase->event_ns, phase->event_ns + kLate * round) / 8 / phase->active;
        double worst = 0;

        for (uint32_t i = phase->active - static_cast<uint32_t>(r.late); i < phase->active; i++)
            worst =
                std::max(worst, reached(static_cast<int>(i), 0.8 * fair * (1 - r.loss) * could()));
        add("late", worst, kLate, true);
    }

    void step()
    {
        double begin = phase->event_ns, ten = begin + kRise * round;
        double Bps = 0.9 * (1 - r.loss) * could() * left_bps / 8;
        double dropped =
            seen.at(begin + kLate * round).dropped_bytes - seen.at(begin).dropped_bytes;

        if (r.step > 1) {
            add("lost", dropped / r.queue_bytes, 1, true);
            add("rise", reached(-1, Bps), kRise, true);
            return;
        }
        add("fall", came(begin, ten) / (left_bps / 8 * (ten - begin) / kS),
            0.9 * (1 - r.loss) * could());
        double old = bdp / r.step, sunk = std::min(r.queue_bytes, (1 - r.step) * old);
        double least = 1 + (sunk - bdp / 2) / (left_bps / 8 * round / kS);

        double beyond = (1 - r.step) * r.rate_bps / 8 * plan.round_trip_ns / kS - r.queue_bytes;

        add("lost", dropped / r.queue_bytes, std::max(1.0, 1.25 * beyond / r.queue_bytes), true);
        add("drain", drained(bdp / 2), std::max(kDrain, 1.25 * least), true);
        add("drain-old", drained(old / 2), kDrain, true);
    }

    // Rounds from the event until the queue was longer than `bytes`, and then was not for a round
    // trip.
    double drained(double bytes) const
    {
        double since = phase->event_ns;
        bool was = false;

        for (const RoadSample &s : seen.samples) {
            if (s.at_ns <= phase->event_ns)
                continue;
            if (s.queue_bytes > bytes) {
                since = s.at_ns;
                was = true;
            } else if (was && s.at_ns - since >= plan.round_trip_ns) {
                break;
            } else if (!was && s.at_ns - phase->event_ns > kSteady * round) {
                return 0;
            }
        }
        return (since - phase->event_ns) / round;
    }

    // True if only the receiver limits, and no packet is lost: then no grant may name the path.
    bool only_receiver_limits() const
    {
        return r.host_bps > 0 && r.loss == 0 && r.aqm == ROAD_TAIL_DROP;
    }

    void why()
    {
        double named = 0, n = 0;

        for (const RoadSample &s : seen.samples)
            for (uint32_t i = 0; s.at_ns > from && s.at_ns <= to && i < phase->active; i++) {
                const char *word = host_reason_name(s.flows[i].why);

                named += strcmp(word, "queue") == 0 || strcmp(word, "loss") == 0 ||
                         strcmp(word, "competing") == 0 || strcmp(word, "ecn") == 0;
                n++;
            }
        add("why", n > 0 ? named / n : 1, 0, true);
    }

    const Road &r;
    const RoadPlan &plan;
    const RoadRecord &seen;
    double alone;
    RoadOutcome out;
    const RoadPhase *phase = nullptr;
    double from = 0, to = 0, left_bps = 0, round = 0, bdp = 0;
};

} // namespace

RoadOutcome road_judge(const Road &r, const RoadPlan &p, const RoadRecord &seen, double tcp_alone)
{
    return Judge(r, p, seen, tcp_alone).judge();
}

double road_tcp_share(const Road &r, const RoadPlan &p, const RoadRecord &seen)
{
    const RoadPhase &look = p.phases[0];
    double bytes = seen.at(look.look_to_ns).tcp_bytes - seen.at(look.look_from_ns).tcp_bytes;

    return bytes * 8e9 / (look.look_to_ns - look.look_from_ns) /
           p.left_bps(look.look_from_ns, look.look_to_ns);
}
