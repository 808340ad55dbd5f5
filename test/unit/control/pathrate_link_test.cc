// SPDX-License-Identifier: BSD-3-Clause
// The rate law of a path, with trials on a link that is modelled packet by packet. It has a rate, a
// queue, random loss behind the queue, and a round trip.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "../base/draw.hh"
#include "../base/seed.h"
#include "trials.hh"

extern "C" {
#include "base/rng.h"
#include "control/pathrate.h"
}

namespace
{

struct Packet {
    int flow;
    uint64_t number, sent_ns, arrived_ns, queue_ns;
    uint32_t epoch;
};

struct Sender {
    pathrate p;
    trial t;
    sojourn w;
    uint64_t share_Bps;               // the host's grant, all of which it sends if its path allows
    uint64_t begin_ns = 0;            // when it begins
    uint64_t rate_Bps = 0, grant = 0; // its rate; its newest grant
    uint64_t next_ns = 0, number = 0; // its next packet
    uint32_t epoch = 0, granted = 0;  // number of the grant in force; of the newest one
    std::deque<std::pair<uint64_t, uint64_t>> coming; // grants: time of arrival, rate
    uint64_t trials = 0, bytes = 0;
    std::vector<double> ceilings, queues; // one for each trial

    explicit Sender(uint64_t share) : share_Bps(share), rate_Bps(share), grant(share)
    {
        pathrate_init(&p);
        trial_reset(&t);
        sojourn_init(&w);
    }
};

struct Link {
    uint64_t rate_Bps, rtt_ns, unit, limit; // limit: packets in the queue
    double loss = 0;                        // share lost behind the queue
    std::vector<Sender> senders;
    std::deque<Packet> way;
    rng r;
    uint64_t now_ns = 0, idle_ns = 0; // idle_ns: when the queue will be empty

    std::string text() const
    {
        return "rate " + std::to_string(rate_Bps) + " rtt " + std::to_string(rtt_ns) + " unit " +
               std::to_string(unit) + " limit " + std::to_string(limit) + " loss " +
               std::to_string(loss);
    }

    uint64_t packet_ns() const
    {
        return std::max<uint64_t>(1, (uint64_t)((double)unit * 1e9 / (double)rate_Bps));
    }

    void send(Sender *s, int flow)
    {
        while (!s->coming.empty() && s->coming.front().first <= now_ns) {
            s->rate_Bps = s->coming.front().second;
            s->epoch++;
            s->coming.pop_front();
        }
        s->next_ns += std::max<uint64_t>(1, (uint64_t)((double)unit * 1e9 / (double)s->rate_Bps));
        s->number++;
        uint64_t wait = idle_ns > now_ns ? idle_ns - now_ns : 0;

        if (wait / packet_ns() >= limit)
            return;
        idle_ns = now_ns + wait + packet_ns();
        if ((double)rng_below(&r, 1000000) < loss * 1e6)
            return;
        way.push_back({flow, s->number, now_ns, idle_ns + rtt_ns / 2, wait, s->epoch});
    }

    void receive(const Packet &k)
    {
        Sender *s = &senders[(size_t)k.flow];
        sojourn_packet seen = {k.number, unit, 1, k.sent_ns, k.queue_ns, 0};
        trial_packet p = {k.number, unit, k.sent_ns, k.arrived_ns, 0, false, false, false};
        sojourn_burst before;
        trial_result out;
        double burst =
            s->p.mode == PATHRATE_FREE
                ? 0
                : (double)pathrate_burst_bytes(&s->p, s->grant, unit) * 2e9 / (double)s->grant;
        uint64_t min = std::max({rtt_ns / 4, (uint64_t)100000, (uint64_t)burst});

        bool judged = sojourn_add(&s->w, &seen, &before);

        s->bytes += unit;
        if (k.epoch < s->granted || !trial_add(&s->t, &p, judged ? &before : nullptr, min, &out))
            return;
        bool changed = pathrate_update(&s->p, &out, s->grant, rtt_ns);

        s->trials++;
        s->ceilings.push_back((double)s->p.ceiling_Bps);
        s->queues.push_back((double)out.mean_ns);
        if (!changed)
            return;
        s->grant = std::min(s->share_Bps, s->p.ceiling_Bps);
        s->granted++;
        s->coming.push_back({now_ns + rtt_ns / 2, s->grant});
        trial_reset(&s->t);
    }

    // Runs until the first sender has had so many trials.
    void run(uint64_t trials)
    {
        while (senders[0].trials < trials) {
            size_t first = 0;

            for (size_t i = 0; i < senders.size(); i++) {
                senders[i].next_ns = std::max(senders[i].next_ns, senders[i].begin_ns);
                first = senders[i].next_ns < senders[first].next_ns ? i : first;
            }
            if (!way.empty() && way.front().arrived_ns <= senders[first].next_ns) {
                Packet p = way.front();

                way.pop_front();
                now_ns = p.arrived_ns;
                receive(p);
            } else {
                now_ns = senders[first].next_ns;
                send(&senders[first], (int)first);
            }
        }
    }
};

// The median of the last n.
double middle(const std::vector<double> &v, size_t n)
{
    std::vector<double> w(v.end() - (long)std::min(n, v.size()), v.end());

    std::sort(w.begin(), w.end());
    return w[w.size() / 2];
}

double most(const std::vector<double> &v, size_t n)
{
    return *std::max_element(v.end() - (long)std::min(n, v.size()), v.end());
}

Link random_link(rng *r)
{
    Link l = {};

    l.rate_Bps = (uint64_t)draw(r, 1.25e6, 11.96); // 10 Mb/s .. 40 Gb/s
    l.rtt_ns = (uint64_t)draw(r, 1e4, 14.87);      // 10 us .. 300 ms
    double bdp = (double)l.rate_Bps * (double)l.rtt_ns / 1e9;

    // it must carry two packets in a round trip, or in 10 ms: grants are not smaller
    uint64_t largest =
        (uint64_t)(0.45 * (double)l.rate_Bps * std::max(0.01, (double)l.rtt_ns / 1e9));

    l.unit = 1500 + rng_below(r, std::min<uint64_t>(largest, 9000) - 1500);
    l.unit = std::max(l.unit, (uint64_t)(bdp / 8192)); // bounds the run time
    l.limit = 32 + (uint64_t)(draw(r, 0.5, 3) * bdp / (double)l.unit);
    rng_init(&l.r, rng_u64(r));
    return l;
}

// The rate of the second flow over that of the first. The first has the link to itself until the
// second begins.
double second_to_first(Link *l)
{
    for (int i = 0; i < 2; i++)
        l->senders.emplace_back(2 * l->rate_Bps);
    l->senders[1].begin_ns = 100 * (l->rtt_ns + 100000);
    l->run(2000);
    double a = (double)l->senders[0].bytes, b = (double)l->senders[1].bytes;

    l->run(3000);
    return ((double)l->senders[1].bytes - b) / ((double)l->senders[0].bytes - a);
}

void expect_fair(Link l, int run)
{
    SCOPED_TRACE("run " + std::to_string(run) + ": " + l.text());
    double ratio = second_to_first(&l);

    EXPECT_GT(ratio, 0.4);
    EXPECT_LT(ratio, 2.5);
}

} // namespace

TEST(PathrateLink, FindsTheLink)
{
    rng r;

    rng_init(&r, test_seed());
    for (int run = 0; run < 60; run++) {
        Link l = random_link(&r);

        l.loss = rng_below(&r, 3) == 0 ? draw(&r, 1e-4, 8) : 0;
        l.senders.emplace_back((uint64_t)((double)l.rate_Bps * draw(&r, 1.3, 4)));
        l.run(300);
        const Sender &s = l.senders[0];
        double rate = (double)l.rate_Bps, packet = (double)l.packet_ns();
        double target = target_of(packet, (double)l.rtt_ns);
        double used = (double)s.bytes * 1e9 / (double)l.now_ns / rate;

        SCOPED_TRACE("run " + std::to_string(run) + ": " + l.text());
        EXPECT_EQ(s.p.mode, PATHRATE_QUEUE);
        EXPECT_NEAR(middle(s.ceilings, 96), rate, 0.05 * rate);
        EXPECT_GT(used, 0.9 * (1 - l.loss));
        EXPECT_LE(middle(s.queues, 96), 1.5 * target + packet);
        EXPECT_LE(most(s.queues, 96), 6 * target + 4 * packet);
    }
}

// The second flow begins with twice the link's rate, when the first has the link to itself.
TEST(PathrateLink, TwoFlowsApproachEachOther)
{
    rng r;

    rng_init(&r, test_seed());
    for (int run = 0; run < 24; run++) {
        Link l = random_link(&r);

        l.limit *= 2;
        // if a packet takes many round trips, packet numbers decide the shares
        if (l.packet_ns() <= l.rtt_ns)
            expect_fair(l, run);
    }
}

// Where few packets are under way, a flow with less does not take the queue for a competitor's.
TEST(PathrateLink, TwoFlowsOfFewPacketsApproachEachOther)
{
    rng r;

    rng_init(&r, test_seed());
    for (int run = 0; run < 400; run++) {
        Link l = random_link(&r);

        l.limit *= 2;
        if (l.packet_ns() <= l.rtt_ns && 8 * l.packet_ns() > l.rtt_ns)
            expect_fair(l, run);
    }
}
