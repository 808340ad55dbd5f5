// SPDX-License-Identifier: BSD-3-Clause
#include "road_draw.hh"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "text.hh"
#include "unit.hh"

namespace
{

constexpr double kUs = 1e3, kMs = 1e6, kS = 1e9, M = 1e6, G = 1e9;
constexpr double kHeldBytes = 700e6; // mbufs of a road at most
constexpr int kTries = 200; // after these, a road gets fewer flows, and shorter gaps between polls

enum Feature {
    LOSS,
    JITTER,
    AQM,
    POLICER,
    FLOWS,
    THIN_BACK,
    LOSSY_BACK,
    STEP,
    TRACE,
    CROSS,
    TCP,
    STALLS,
    POLLS,
    APPLICATION,
    HOST,
    FEATURES
};

const double kWeight[FEATURES] = {5, 4, 3, 1, 6, 2, 2, 2, 1, 2, 2, 4, 2, 2, 1};

constexpr uint32_t bit(Feature f)
{
    return 1u << f;
}

// Features that exclude each other.
const uint32_t kChanges = bit(STEP) | bit(TRACE) | bit(CROSS) | bit(POLICER) | bit(HOST);
const uint32_t kExcluded[FEATURES] = {
    bit(TCP),                                             // LOSS: a TCP gets no share there
    0,                                                    // JITTER
    bit(TRACE),                                           // AQM: a trace's queue drops the tail
    kChanges | bit(TCP),                                  // POLICER
    bit(TCP),                                             // FLOWS: one against one
    0,                                                    // THIN_BACK
    0,                                                    // LOSSY_BACK
    kChanges | bit(TCP),                                  // STEP
    kChanges | bit(TCP) | bit(AQM),                       // TRACE
    kChanges | bit(TCP),                                  // CROSS
    kChanges | bit(LOSS) | bit(FLOWS) | bit(APPLICATION), // TCP
    0,                                                    // STALLS
    0,                                                    // POLLS
    bit(TCP) | bit(HOST),                                 // APPLICATION
    kChanges | bit(TCP) | bit(APPLICATION),               // HOST
};

class Draw
{
  public:
    explicit Draw(uint64_t seed)
    {
        rng_init(&g, seed);
    }
    double unit()
    {
        return rng_unit(&g);
    }
    double uniform(double least, double most)
    {
        return road_round(least + (most - least) * unit());
    }
    double log(double least, double most)
    {
        return road_round(least * std::pow(most / least, unit()));
    }
    uint32_t below(uint32_t n)
    {
        return static_cast<uint32_t>(rng_below(&g, n));
    }
    bool chance(double p)
    {
        return unit() < p;
    }
    uint64_t number()
    {
        return rng_below(&g, 1000000000) + 1;
    }

  private:
    rng g;
};

uint32_t features(Draw &d)
{
    double p = d.unit();
    int n = p < 0.10 ? 0 : p < 0.35 ? 1 : p < 0.65 ? 2 : p < 0.85 ? 3 : 4;
    uint32_t has = 0, barred = 0;

    while (n-- > 0) {
        double sum = 0, at;
        int f = 0;

        for (int i = 0; i < FEATURES; i++)
            sum += (has | barred) & 1u << i ? 0 : kWeight[i];
        at = d.unit() * sum;
        for (; f < FEATURES; f++) {
            at -= (has | barred) & 1u << f ? 0 : kWeight[f];
            if (at < 0)
                break;
        }
        if (f == FEATURES)
            break;
        has |= 1u << f;
        barred |= kExcluded[f];
    }
    return has;
}

// These are relative to rate, round trip and queue, which may be drawn again later.
struct Parts {
    double queue, police, police_bdp, jitter, back, aqm_interval, red_min, cross_on, cross_off,
        host;
};

void draw_path(Draw &d, uint32_t has, Road &r, Parts &p)
{
    if (has & bit(LOSS)) {
        r.loss = d.log(0.0001, 0.3);
        r.loss_run = d.chance(0.5) ? d.log(2, 50) : 0;
    }
    if (has & bit(JITTER)) {
        p.jitter = d.uniform(0.01, 0.5);
        r.law = d.below(3);
        r.reorders = d.chance(0.5) && !(has & bit(TCP)); // the TCP's model needs the order
    }
    if (has & bit(AQM)) {
        r.aqm = ROAD_CODEL + d.below(4);
        p.aqm_interval = d.log(1, 10);
        p.red_min = d.log(0.05, 0.3);
    }
    if (has & bit(POLICER)) {
        p.police = d.uniform(0.1, 0.9);
        p.police_bdp = d.log(0.05, 4);
    }
    if (has & bit(THIN_BACK))
        p.back = d.log(1.0 / 500, 1.0 / 20);
    if (has & bit(LOSSY_BACK))
        r.back_loss = d.log(0.001, 0.2);
    if (has & bit(STEP))
        r.step = d.chance(0.5) ? 10 : 0.1;
    if (has & bit(TRACE))
        r.trace_ns = d.log(20 * kMs, 2 * kS);
    if (has & bit(CROSS)) {
        r.cross = d.uniform(0.1, 0.5);
        p.cross_on = d.log(20, 500);
        p.cross_off = d.log(20, 500);
    }
}

void draw_hosts(Draw &d, uint32_t has, Road &r, Parts &p)
{
    if (has & bit(FLOWS)) {
        r.flows = d.chance(0.5) ? 2 : std::floor(d.log(2, 64.99));
        r.rtt_ratio = d.chance(0.5) ? d.log(1, 10) : 1;
        if (d.chance(0.4))
            r.late = std::min(1.0 + d.below(3), r.flows - 1);
    }
    if (has & bit(TCP))
        r.tcp = ROAD_CUBIC + d.below(3);
    if (has & bit(STALLS)) {
        uint32_t side = d.below(3);

        for (uint32_t i = 0; i < 2; i++) {
            double stall = d.log(1 * kUs, 20 * kMs), share = d.uniform(0.02, 0.3);

            if (side == i)
                continue;
            (i == 0 ? r.stall_rx_ns : r.stall_tx_ns) = stall;
            (i == 0 ? r.gap_rx_ns : r.gap_tx_ns) = road_round(stall * (1 / share - 1));
        }
        r.ring = d.chance(0.5) ? 512u << d.below(4) : 0;
    }
    if (has & bit(POLLS)) {
        uint32_t side = d.below(3);
        double gap = d.log(1 * kUs, 20 * kMs);

        r.poll_rx_ns = side != 0 ? gap : 0;
        r.poll_tx_ns = side != 1 ? gap : 0;
    }
    if (has & bit(APPLICATION)) {
        uint32_t side = d.below(3);

        r.write_ns = side != 0 ? d.log(1 * kMs, 50 * kMs) : 0;
        r.write_share = side != 0 ? d.uniform(0.3, 0.9) : 0;
        r.read_ns = side != 1 ? d.log(1 * kMs, 50 * kMs) : 0;
    }
    if (has & bit(HOST))
        p.host = d.uniform(0.2, 0.8);
}

// Draws the rate and the round trip, and sets all values that depend on them.
void draw_size(Draw &d, const Parts &p, Road &r)
{
    double bdp;

    r.rate_bps = d.log(1 * M, 40 * G);
    r.rtt_ns = d.log(10 * kUs, 1 * kS);
    bdp = r.rate_bps / 8 * r.rtt_ns / kS;
    // the factors leave room for rounding to four digits, which takes up to 0.05 %
    r.queue_bytes = road_round(std::max(p.queue * bdp, 4.003 * r.frame_bytes()));
    r.jitter_ns = road_round(p.jitter * r.rtt_ns * 0.999);
    r.back_bps = road_round(p.back * r.rate_bps);
    r.police_bps = road_round(p.police * r.rate_bps);
    r.police_bytes =
        p.police > 0 ? road_round(std::max(p.police_bdp * bdp, 4.003 * r.frame_bytes())) : 0;
    r.host_bps = road_round(p.host * r.rate_bps);
    if (r.aqm == ROAD_CODEL || r.aqm == ROAD_CODEL_ECN)
        r.aqm_target_ns = road_round(std::max(p.aqm_interval * r.rtt_ns, 1 * kMs) / 20);
    if (r.aqm == ROAD_RED || r.aqm == ROAD_RED_ECN)
        r.aqm_min_bytes = road_round(std::max(p.red_min * r.queue_bytes, r.frame_bytes()));
    if (r.cross > 0) {
        r.cross_on_ns = road_round(std::max(p.cross_on * r.rtt_ns, 1 * kMs));
        r.cross_off_ns = road_round(std::max(p.cross_off * r.rtt_ns, 1 * kMs));
    }
}

bool fits(const Road &r, double packets_max)
{
    double held =
        r.rate_bps / 8 * (2 * r.longest_rtt_ns() + 2 * r.stall_rx_ns) / kS + r.queue_bytes;
    double poll = std::max(r.poll_rx_ns, r.poll_tx_ns);

    if (r.step > 1) // a step up brings ten times as much under way
        held *= r.step;
    if (held / r.frame_bytes() * (r.frame_bytes() + 300) > kHeldBytes)
        return false;
    if (32 * r.frame_bytes() * 8e9 < 1.5 * std::max(1.0, r.step) * r.rate_bps * poll)
        return false;
    if (r.trace_ns > 0 && r.rate_bps > 1 * G) // its trace file would have too many lines
        return false;
    return road_plan(r, packets_max).packets <= packets_max;
}

} // namespace

RoadPlan road_plan(const Road &r, double packets_max)
{
    RoadPlan plan(r);

    if (plan.packets > packets_max && r.flows == 1)
        return RoadPlan(r, true);
    return plan;
}

Road road_draw(uint64_t seed, uint32_t index, double packets_max)
{
    Draw d(seed * 1000003 + index);
    Road r;
    Parts p = {};
    uint32_t has;
    double mtu = d.unit();

    r.seed = static_cast<double>(d.number());
    r.mtu = mtu < 0.6 ? 1500 : mtu < 0.8 ? 9000 : 576 + d.below(9000 - 576 + 1);
    p.queue = d.log(0.05, 8);
    has = features(d);
    draw_path(d, has, r, p);
    draw_hosts(d, has, r, p);
    for (int again = 0; again < 16; again++) {
        for (int i = 0; i < kTries; i++) {
            draw_size(d, p, r);
            if (fits(r, packets_max))
                return r;
        }
        r.flows = std::max(1.0, std::floor(r.flows / 2));
        r.late = std::min(r.late, r.flows - 1);
        r.poll_rx_ns = road_round(r.poll_rx_ns / 2);
        r.poll_tx_ns = road_round(r.poll_tx_ns / 2);
    }
    throw std::runtime_error(
        text("no rate and round trip give a road of %.0f packets; allow for more", packets_max));
}
