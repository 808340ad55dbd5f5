// SPDX-License-Identifier: BSD-3-Clause
// Copa against its paper (Arun and Balakrishnan, NSDI 2018; sections in brackets): the window after
// each acknowledgement, then the effects on a link, its queue and other flows.
#include <algorithm>
#include <cmath>
#include <vector>

#include "findings.hh"
#include "flows.hh"

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr double kInverse = 2; // 1 / delta, by default
constexpr double kStep = 0.001;

const copa &law(const Flows &f, uint32_t i = 0)
{
    return f.sender(i).law.copa;
}

FlowsOptions copas(uint32_t n, double each_s = 0)
{
    FlowsOptions o;

    for (uint32_t i = 0; i < n; i++)
        o.flows.push_back({TCP_COPA, i * each_s});
    return o;
}

// The law alone. Each acknowledgement is of one segment, and has timed a round trip.
struct Law {
    tcp_law l;
    uint64_t now_ns = 0, una = 0;

    Law()
    {
        tcp_law_config cfg = {};

        cfg.cwnd_first = 10;
        tcp_law_init(&l, TCP_COPA, &cfg);
    }
    const copa &state() const
    {
        return l.copa;
    }
    void ack(uint64_t rtt_ns)
    {
        tcp_timed timed = {now_ns, rtt_ns, una, una + window()};
        tcp_ack a = {};

        l.ops->rtt(&l, &timed);
        a.now_ns = now_ns;
        a.una = ++una;
        a.nxt = una + window();
        a.delivered = 1;
        a.in_flight = window();
        a.srtt_ns = rtt_ns;
        l.ops->ack(&l, &a);
    }
    // Acknowledges all segments of a round trip of this length.
    void round(uint64_t rtt_ns)
    {
        uint64_t n = window();

        for (uint64_t i = 0; i < n; i++) {
            now_ns += rtt_ns / n;
            ack(rtt_ns);
        }
    }
    uint64_t window() const
    {
        return (uint64_t)l.cwnd;
    }
    void lose()
    {
        delivery_mark mark = {};
        delivery d = {};
        tcp_lost lost = {una, now_ns, &mark, &d};

        l.ops->lost(&l, &lost);
    }
};

} // namespace

// [2.1] The window moves by v / (delta cwnd) a segment, towards the rate 1 / (delta dq). The pace
// is 2 cwnd / RTTstanding.
TEST(CopaLaw, TheWindowGoesTowardsTheTargetRate)
{
    Law c;

    c.round(40 * kMs);
    EXPECT_TRUE(c.state().slow_start);
    EXPECT_EQ(c.l.cwnd, 20) << "doubles once in a round trip";
    // 20 segments in 50 ms are 400/s, above 1 / (0.5 * 10 ms) = 200/s
    c.round(50 * kMs);
    EXPECT_FALSE(c.state().slow_start);
    double before = c.l.cwnd;
    c.now_ns += 2 * kMs;
    c.ack(50 * kMs);
    EXPECT_DOUBLE_EQ(c.l.cwnd, before - kInverse / before);
    EXPECT_DOUBLE_EQ(c.l.pace_sps, 2 * c.l.cwnd / 0.05);
    // 29 segments in 42 ms are below 1 / (0.5 * 2 ms) = 1000/s
    c.now_ns += 100 * kMs; // no answer of the last half round trip took 50 ms
    before = c.l.cwnd;
    c.ack(42 * kMs);
    EXPECT_DOUBLE_EQ(c.l.cwnd, before + kInverse / before);
}

// [2.1] v doubles in each round trip after the direction was the same for three. Otherwise it is 1.
TEST(CopaLaw, TheVelocityDoublesFromTheThirdRoundTripOn)
{
    Law c;
    std::vector<double> v;

    c.l.cwnd = 1000;
    c.round(40 * kMs); // slow start would continue
    c.round(50 * kMs);
    ASSERT_FALSE(c.state().slow_start);
    for (int i = 0; i < 8; i++) {
        double before = c.l.cwnd, inverse = c.state().inverse; // competes in the end

        v.push_back(c.state().velocity);
        c.ack(50 * kMs);
        EXPECT_NEAR(before - c.l.cwnd, v.back() * inverse / before, 1e-9);
        c.round(50 * kMs);
    }
    EXPECT_EQ(v[0], 1);
    EXPECT_EQ(v[1], 1);
    EXPECT_EQ(v[2], 1);
    for (size_t i = 4; i < v.size(); i++)
        EXPECT_EQ(v[i], 2 * v[i - 1]);
    c.now_ns += 100 * kMs;
    c.ack(40 * kMs);
    EXPECT_EQ(c.state().velocity, 1) << "the direction has changed";
}

// [2.2] It competes after five round trips without a nearly empty queue, with AIMD on 1 / delta.
// Then it returns.
TEST(CopaLaw, CompetesWhereTheQueueIsNeverEmpty)
{
    Law c;

    c.l.cwnd = 100;
    c.round(40 * kMs);
    c.round(80 * kMs);
    ASSERT_FALSE(c.state().slow_start);
    int rounds = 0;
    for (; !c.state().competitive && rounds < 20; rounds++)
        c.round((80 + rounds % 2) * kMs);
    EXPECT_GE(rounds, 4);
    EXPECT_LE(rounds, 7);
    c.lose();
    EXPECT_EQ(c.state().inverse, kInverse) << "not below the default";
    c.round(80 * kMs);
    double before = c.state().inverse;
    for (int i = 0; i < 6; i++)
        c.round(80 * kMs);
    EXPECT_NEAR(c.state().inverse, before + 6, 1.01) << "one more in each round trip";
    before = c.state().inverse;
    c.lose();
    EXPECT_DOUBLE_EQ(c.state().inverse, std::max(before / 2, kInverse));
    c.lose();
    EXPECT_DOUBLE_EQ(c.state().inverse, std::max(before / 2, kInverse)) << "once in a round trip";
    c.round(40 * kMs);
    EXPECT_FALSE(c.state().competitive);
    EXPECT_EQ(c.state().inverse, kInverse);
    c.lose();
    EXPECT_EQ(c.state().inverse, kInverse) << "losses mean nothing here";
}

// [3] One flow: the queue swings between 0 and 2.5 / delta segments, in five round trips.
TEST(Copa, KeepsFivePacketsAtMostAndEmptiesTheQueueEachFiveRoundTrips)
{
    Flows f(copas(1));
    std::vector<double> queued, periods;
    double sum = 0, turned_s = 0, competes = 0, looks = 0;
    bool up = false;

    f.run(10);
    std::vector<double> from = f.delivered();
    f.watch(40, kStep, [&](double now_s) {
        looks++;
        competes += law(f).competitive;
        if (!law(f).competitive) {
            queued.push_back(f.queued());
            sum += f.queued();
        }
        if (up && !law(f).up) {
            periods.push_back(now_s - turned_s);
            turned_s = now_s;
        }
        up = law(f).up;
    });
    std::sort(queued.begin(), queued.end());
    std::sort(periods.begin(), periods.end());
    double n = static_cast<double>(queued.size());
    Findings &out = Findings::get();
    out.add("copa-steady: used of the link", "all of it", f.shares(from, 10)[0], "", 0.98, 1.001);
    out.add("copa-steady: mean queue", "1.25/delta = 2.5", sum / n, "packets", 1.5, 3.5);
    // acknowledgements of every second segment make pairs
    out.add("copa-steady: queue, 95 % of the time below", "2.5/delta = 5",
            queued[queued.size() * 95 / 100], "packets", 3, 7);
    out.add("copa-steady: queue, 5 % of the time at most", "0", queued[queued.size() / 20],
            "packets", 0, 0);
    out.add("copa-steady: period, median, round trips", "5", periods[periods.size() / 2] / 0.0402,
            "", 4.5, 5.6);
    out.differs("copa-steady: time that it competes though alone", "none", competes / looks, "", 0,
                0.01, "whole packets: a cycle at times ends before the queue is seen empty");
    EXPECT_EQ(f.link().dropped, 0u);
}

// [3] Each flow adds 1 / delta to the queue.
TEST(Copa, FourFlowsKeepFourTimesThat)
{
    FlowsOptions o = copas(4, 2);
    double queued = 0;
    int looks = 0;

    o.queue_bdp = 2;
    Flows f(o);
    f.run(30);
    std::vector<double> from = f.delivered();
    f.watch(60, kStep, [&](double) {
        queued += f.queued();
        looks++;
    });
    Findings &out = Findings::get();
    out.add("copa-four: mean queue", "1.25 x 4/delta = 10", queued / looks, "packets", 6, 14);
    out.add("copa-four: Jain", "equal", jain(f.shares(from, 30)), "", 0.98, 1);
}

// [2.1] dq is the same for all flows, so only equal rates are stable.
TEST(Copa, TwoFlowsBecomeEqual)
{
    FlowsOptions o = copas(2, 5);
    double equal_s = 0;

    Flows f(o);
    f.run(5);
    std::vector<double> from = f.delivered();
    f.watch(40, 1, [&](double now_s) {
        double index = jain(f.shares(from, now_s - 1));

        from = f.delivered();
        equal_s = index < 0.95 ? now_s - 5 : equal_s;
    });
    Findings::get().add("copa-two: a second flow: Jain stays above 0.95 after", "equal rates",
                        equal_s, "s", 0.5, 10);
}

// [2.1, 3] Shares are equal, whatever the round trips are.
TEST(Copa, RoundTripsDoNotMatter)
{
    double worst = 1;

    for (double more_ms : {20, 40, 80, 160}) {
        FlowsOptions o = copas(2, 1);

        o.flows[1].more_ms = more_ms;
        Flows f(o);
        f.run(20);
        std::vector<double> from = f.delivered();
        f.run(80);
        worst = std::min(worst, jain(f.shares(from, 20)));
    }
    Findings::get().add("copa-rtt: 40 ms beside 60, 80, 120, 200: Jain, the worst", "equal", worst,
                        "", 0.95, 1);
}

// [2.2] Losses without a queue do not slow it down.
TEST(Copa, RandomLossOfOnePercent)
{
    FlowsOptions o = copas(1);

    o.loss = 0.01;
    Flows f(o);
    f.run(5);
    std::vector<double> from = f.delivered();
    f.run(65);
    Findings::get().add("copa-loss: 1 % at random: used of the link, less that", "all of it",
                        f.shares(from, 5)[0] / 0.99, "", 0.95, 1.001);
}

// [2.2] Beside CUBIC it competes. When all packets of CUBIC are lost, it keeps a short queue again.
TEST(Copa, CompetesBesideCubicAndReturns)
{
    FlowsOptions o = copas(1);
    double competes = 0, still = 0, queued = 0;
    int looks = 0;

    o.flows.push_back({TCP_CUBIC, 5});
    o.later = "match sport 1002 ( loss 0% at 105s loss 100% )";
    Flows f(o);
    f.run(15);
    std::vector<double> from = f.delivered();
    f.watch(105, 0.01, [&](double) {
        competes += law(f).competitive;
        looks++;
    });
    std::vector<double> shares = f.shares(from, 15);
    Findings &out = Findings::get();
    out.add("copa-cubic: Copa's share of the link", "fair: a quarter", shares[0], "", 0.25, 0.6);
    out.add("copa-cubic: part of the time that it competes", "most", competes / looks, "", 0.5, 1);
    f.run(110);
    looks = 0;
    f.watch(140, 0.01, [&](double) {
        still += law(f).competitive;
        queued += f.queued();
        looks++;
    });
    out.add("copa-cubic: then alone: part of the time", "returns", still / looks, "", 0, 0.25);
    out.add("copa-cubic: then alone: mean queue, bdp", "short again", queued / looks / f.bdp(), "",
            0, 0.05);
}

// [3] The paper computes with a volume in the queue, but a link's queue has whole packets. At 10
// Mbit/s x 20 ms (16 packets), a tenth of five packets is less than a packet. So the queue rarely
// counts as nearly empty.
TEST(Copa, FewPacketsUnderWayAreTakenForACompetitor)
{
    FlowsOptions o = copas(1);
    double competes = 0;
    int looks = 0;

    o.rate_bps = 10e6;
    o.rtt_ms = 20;
    Flows f(o);
    f.run(5);
    f.watch(65, 0.01, [&](double) {
        competes += law(f).competitive;
        looks++;
    });
    Findings::get().differs("copa-small: alone at 10 Mbit/s x 20 ms: time that it competes", "none",
                            competes / looks, "", 0, 0.1,
                            "a tenth of 5 packets is less than one: seldom seen as nearly empty");
}
