// SPDX-License-Identifier: BSD-3-Clause
// EyeQ's receiver (Jeyakumar et al., NSDI 2013) takes the place of ours. It has one rate R for all
// senders, from the arrivals y of each interval and a virtual queue q that is drained at 90 % of
// the capacity C,
//
//   R <- R (1 + alpha (C' - y) / C' - beta q / (C' d)),  C' = 0.9 C, alpha 0.5, beta 0.25
//
// in the same world, with the same counters and grants, once in an interval (d). C comes from our
// own estimate of the host's capacity (control/capacity.h). Or the test tells EyeQ the true C at
// once, which no real receiver could know: then EyeQ sees a drop of C at the next interval, before
// it can be measured. For each receiver, the test measures how long it takes from a step of the
// host's speed until the sum of all senders' rates is within 5 % of its final value.
#include <gtest/gtest.h>

#include <cstdio>

extern "C" {
#include "control/capacity.h"
#include "host/host_internal.h"
}

#include "crowd.hh"
#include "fair.hh"
#include "pair.hh"

namespace
{

constexpr uint64_t kMs = 1000000, kStep = 50000;
constexpr double kFull = 1408.0 / 1514;
constexpr uint32_t kSenders = 16;

class Eyeq
{
  public:
    explicit Eyeq(Crowd &c, double capacity) : c(c), rate(capacity / kSenders)
    {
        host *h = world_host(c.w, 0);

        h->start.interval = 0; // no control core: no connection is idle or a newcomer
    }
    // known: C, or 0 if C is to be measured.
    void interval(double known, double link)
    {
        double bytes = 0;

        for (uint32_t i = 0; i < c.size(); i++)
            bytes += (double)c.info(i).rx_bytes;
        double capacity = known != 0 ? known : measure(bytes, link), target = 0.9 * capacity;

        bytes += 1408.0 * (double)c.overruns(); // they arrived, too
        double y = bytes - seen, full = target * 1e-3;

        seen = bytes;
        queue = std::max(0.0, queue + y - full);
        rate *= std::max(0.1, 1 + 0.5 * (full - y) / full - 0.25 * queue / full);
        rate = std::min(rate, capacity);
        grant();
    }

  private:
    double measure(double bytes, double link)
    {
        const host_port_counters *p = world_port_counters(c.w, 0);
        capacity_sample s = {};

        s.interval_ns = kMs;
        s.rx_bytes = (uint64_t)(bytes - before);
        s.overruns = p->imissed - port.imissed;
        s.busy = p->worker[0].busy - port.worker[0].busy;
        s.time = kMs;
        s.bursts = p->worker[0].bursts - port.worker[0].bursts;
        s.full = p->worker[0].full - port.worker[0].full;
        s.link_Bps = (uint64_t)link;
        port = *p;
        before = bytes;
        capacity_update(&known, &s);
        return known.capacity_Bps != 0 ? std::min((double)known.capacity_Bps, link) : link;
    }
    void grant()
    {
        host *h = world_host(c.w, 0);

        for (uint32_t i = 0; i < h->cfg.conns; i++) {
            h->grants[i].epoch = h->conns[i].pub.epoch;
            h->grants[i].rate_Bps = (uint64_t)rate;
            h->grants[i].burst_bytes = grant_burst(h, (uint64_t)rate, 1408);
            h->grants[i].reason = GRANT_CAPACITY;
            grant_mark(h, i);
        }
        world_wake(c.w, 0, world_now(c.w));
    }

    Crowd &c;
    double rate, queue = 0, seen = 0, before = 0;
    capacity known = {};
    host_port_counters port = {};
};

constexpr size_t kLong = 60 * kMs / kStep; // between steps

// The sum of the senders' rates, every 50 us, over steps down and up.
struct Course {
    std::vector<double> sender_rates;
    // The time until the sum is never again more than 5 % above (up: below) its final value, the
    // median of the second half. (A receiver that drains a backlog is below it for a while; that
    // does not count.)
    double settled_ms(size_t from, size_t to, bool up) const
    {
        std::vector<double> late(sender_rates.begin() + (long)(from + to) / 2,
                                 sender_rates.begin() + (long)to);
        size_t last = from;

        std::nth_element(late.begin(), late.begin() + (long)late.size() / 2, late.end());
        double end = late[late.size() / 2];
        for (size_t i = from; i < to; i++)
            if (i < from + kLong / 3 &&
                (up ? sender_rates[i] < 0.95 * end : sender_rates[i] > 1.05 * end))
                last = i + 1;
        return (double)((last - from) * kStep) * 1e-6;
    }
};

enum Who { OURS, EYEQ, EYEQ_INFORMED };

Course course(Who who, size_t phase)
{
    CrowdOptions o;
    Course out;
    const bool eyeq = who != OURS;

    o.senders = kSenders;
    o.control_ns = eyeq ? 0 : kMs;
    o.link_Bps = eyeq ? 0 : o.service_Bps;
    o.first_rate_Bps = 50000000;
    Crowd c(o);
    for (uint32_t i = 0; i < c.size(); i++)
        c.demand(i, UINT64_MAX);
    double capacity = kFull * (double)o.service_Bps;
    const double link = capacity;
    Eyeq other(c, capacity);
    uint64_t next = world_now(c.w) + kMs;

    for (size_t i = 0; i < 4 * kLong; i++) {
        if (i == 2 * kLong + phase || i == 3 * kLong + phase) { // not at the border of an interval
            capacity *= i < 3 * kLong ? 0.5 : 2;
            world_service(c.w, 0, (uint64_t)(capacity / kFull));
        }
        c.run(kStep);
        if (eyeq && world_now(c.w) >= next) {
            other.interval(who == EYEQ_INFORMED ? capacity : 0, link);
            next += kMs;
        }
        double sum = 0;
        for (uint32_t k = 0; k < c.size(); k++)
            sum += (double)c.sender_rate_Bps(k);
        out.sender_rates.push_back(sum);
    }
    return out;
}

} // namespace

TEST(Eyeq, StepsAreFollowedSooner)
{
    constexpr size_t kPhases = 5; // of an interval's 20 steps
    double down[3] = {}, up[3] = {};

    std::printf("%u senders, 1 ms intervals: ms until within 5 %% of the end\n"
                "  phase     ours down, up   EyeQ down, up   EyeQ that is told: down, up\n",
                kSenders);
    for (size_t p = 1; p < 20; p += 20 / kPhases) {
        double one[3][2];

        for (size_t k = 0; k < 3; k++) {
            Course c = course((Who)k, p);

            down[k] += one[k][0] = c.settled_ms(2 * kLong + p, 3 * kLong, false);
            up[k] += one[k][1] = c.settled_ms(3 * kLong + p, 4 * kLong, true);
        }
        std::printf("  %5.2f   %6.2f %6.2f   %6.2f %6.2f   %6.2f %6.2f\n",
                    (double)(p * kStep) * 1e-6, one[0][0], one[0][1], one[1][0], one[1][1],
                    one[2][0], one[2][1]);
    }
    std::printf("  mean    %6.2f %6.2f   %6.2f %6.2f   %6.2f %6.2f\n", down[0] / kPhases,
                up[0] / kPhases, down[1] / kPhases, up[1] / kPhases, down[2] / kPhases,
                up[2] / kPhases);
    EXPECT_LE(down[0], down[1]);
    EXPECT_LE(2 * up[0], up[1]);
    EXPECT_LE(2 * up[0], up[2]);
    EXPECT_TRUE(Pools::get().whole());
}
