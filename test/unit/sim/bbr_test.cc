// SPDX-License-Identifier: BSD-3-Clause
// BBRv3 against draft-ietf-ccwg-bbr-06: its states, one after the other, and their effects on a
// link, its queue and another flow. Brackets hold sections of the draft; "A" is its list of example
// test cases.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "findings.hh"
#include "flows.hh"

namespace
{

constexpr double kStep = 0.001; // s between observations

FlowsOptions alone(double queue_bdp = 2)
{
    FlowsOptions o;

    o.queue_bdp = queue_bdp;
    o.flows = {{TCP_BBR}};
    return o;
}

const bbr &law(const Flows &f, uint32_t i = 0)
{
    return f.sender(i).law.bbr;
}

double in_flight(const Flows &f, uint32_t i = 0)
{
    const tcp &t = f.sender(i);

    return static_cast<double>(t.nxt - t.una) - t.sacked - t.lost;
}

// A time that a flow spent in one state, with the extremes that were observed.
struct Stay {
    bbr_state state;
    double begun_s, ended_s;
    double max_in_flight, min_in_flight, max_queued;
    uint64_t rounds; // at its end
};

std::vector<Stay> stays(Flows &f, double until_s)
{
    std::vector<Stay> out;

    f.watch(until_s, kStep, [&](double now_s) {
        bbr_state state = law(f).state;

        if (out.empty() || out.back().state != state)
            out.push_back({state, now_s, now_s, 0, 1e9, 0, 0});
        Stay &s = out.back();
        s.ended_s = now_s;
        s.max_in_flight = std::max(s.max_in_flight, in_flight(f));
        s.min_in_flight = std::min(s.min_in_flight, in_flight(f));
        s.max_queued = std::max(s.max_queued, f.queued());
        s.rounds = law(f).rounds;
    });
    return out;
}

bool runs_to(Flows &f, bbr_state state, double until_s)
{
    while (law(f).state != state && f.now_s() < until_s)
        f.run(f.now_s() + kStep);
    return law(f).state == state;
}

double share(Flows &f, double seconds)
{
    std::vector<double> from = f.delivered();
    double begun = f.now_s();

    f.run(begun + seconds);
    return f.shares(from, begun)[0];
}

} // namespace

// [5.3.1.1, 5.3.1.2, A: Exiting STARTUP on Bandwidth Plateau]
TEST(Bbr, StartupDoublesUntilThreeRoundsBringNoMore)
{
    Flows f(alone());
    double doublings = std::log2(f.bdp() / TCP_CWND_FIRST);

    ASSERT_TRUE(runs_to(f, BBR_DRAIN, 5));
    Findings &all = Findings::get();
    // The first answer begins a round. The answers to the first window do not double the rate. The
    // segments that were sent before the link was full take one more round.
    all.add("bbr-startup: rounds until the link is full and known to be", "log2(bdp/10) + 3",
            static_cast<double>(law(f).rounds), "", doublings + 3, doublings + 3 + 3);
    all.add("bbr-startup: max_bw over the link's rate", "within 2 %", law(f).max_bw / f.link_sps(),
            "", 0.98, 1.02);
    all.add("bbr-startup: queue, bdp", "about 1", f.queued() / f.bdp(), "", 0.85, 1.15);
    EXPECT_EQ(law(f).full_bw_rounds, 3u);
    EXPECT_EQ(f.link().dropped, 0u);
    EXPECT_EQ(law(f).long_inflight, BBR_UNBOUND);
}

// [5.3.1.3] A queue of a quarter of bdp is too short for a window of 2 bdp.
TEST(Bbr, StartupEndsOnLoss)
{
    Flows f(alone(0.25));

    ASSERT_TRUE(runs_to(f, BBR_DRAIN, 5));
    EXPECT_GT(f.link().dropped, 0u);
    EXPECT_LT(law(f).full_bw_rounds, 3u) << "there was no plateau";
    EXPECT_TRUE(law(f).full_bw_reached);
    Findings::get().add("bbr-startup: heavy loss: long-term inflight, bdp", "1 to 1 + queue",
                        law(f).long_inflight / f.bdp(), "", 0.95, 1.3);
}

// [5.3.2, A: Exiting DRAIN Based on Inflight]
TEST(Bbr, DrainEmptiesTheQueueWithinARound)
{
    Flows f(alone());

    ASSERT_TRUE(runs_to(f, BBR_DRAIN, 5));
    double begun = f.now_s(), queued_s = f.queued() / f.link_sps();
    while (law(f).state == BBR_DRAIN && f.now_s() < 6)
        f.run(f.now_s() + kStep);
    // at half the rate, less 1 %, a queue of bdp lasts for two empty round trips
    Findings::get().add("bbr-drain: time, of a round trip with that queue", "at most 1",
                        (f.now_s() - begun) / (0.04 + queued_s), "", 0.5, 1.03);
    EXPECT_LE(in_flight(f), law(f).bdp + 1);
    EXPECT_LE(f.queued(), 0.03 * f.bdp());
}

// [A: Exiting DRAIN Based on Time] The link loses a tenth of its rate, so bdp is never reached.
TEST(Bbr, DrainEndsAfterThreeRoundsAtTheLatest)
{
    FlowsOptions o = alone(4);
    double begun;

    {
        Flows f(o);
        ASSERT_TRUE(runs_to(f, BBR_DRAIN, 5));
        begun = f.now_s();
    }
    o.later = "at " + std::to_string(static_cast<int>(begun * 1e3)) + "ms rate 45mbit";
    Flows f(o);
    ASSERT_TRUE(runs_to(f, BBR_DRAIN, 5));
    uint64_t rounds = law(f).rounds;
    while (law(f).state == BBR_DRAIN && f.now_s() < 10)
        f.run(f.now_s() + kStep);
    EXPECT_EQ(law(f).rounds, rounds + 4) << "more than three have passed";
    EXPECT_GT(in_flight(f), law(f).bdp);
}

// [5.3.3] DOWN, CRUISE for 2 to 3 s, REFILL for a round, UP until the rate does not grow further.
TEST(Bbr, ProbesForBandwidthInACycle)
{
    Flows f(alone());
    std::vector<Stay> all = stays(f, 30);
    double bdp = f.bdp(), longest_cruise = 0, max_up = 0, most = 0;
    int ups = 0;

    for (size_t i = 1; i < all.size(); i++) {
        const Stay &s = all[i], &before = all[i - 1];
        double lasted = s.ended_s - s.begun_s;

        if (s.state == BBR_CRUISE) {
            EXPECT_TRUE(before.state != BBR_REFILL && before.state != BBR_UP);
            longest_cruise = std::max(longest_cruise, lasted);
        } else if (s.state == BBR_REFILL) {
            EXPECT_TRUE(before.state == BBR_CRUISE || before.state == BBR_DOWN);
            if (i + 1 < all.size() && all[i + 1].state == BBR_UP) {
                EXPECT_NEAR(lasted, 0.04, 0.01) << "one round";
            }
        } else if (s.state == BBR_UP) {
            EXPECT_EQ(before.state, BBR_REFILL);
            max_up = std::max(max_up, s.max_in_flight);
            ups++;
        } else if (s.state == BBR_DOWN && i + 1 < all.size() && all[i + 1].state == BBR_CRUISE) {
            EXPECT_LE(s.min_in_flight, 1.02 * bdp);
        }
        if (s.begun_s > 1)
            most = std::max(most, s.max_queued);
    }
    Findings &out = Findings::get();
    // the wait of 2 to 3 s begins again with each ProbeRTT, so one or two fit in between
    out.add("bbr-probe: UP phases in 30 s", "1 or 2 each 5 s", ups, "", 5, 12);
    out.add("bbr-probe: longest cruise", "at most 3", longest_cruise, "s", 1, 3);
    out.add("bbr-probe: most in flight while UP, bdp", "1.25 to 2.25", max_up / bdp, "", 1.25,
            2.27);
    out.add("bbr-probe: longest queue, bdp", "at most 1.5", most / bdp, "", 0.1, 1.5);
}

// [5.3.3.5.3] The wait is drawn from 2 to 3 s, so that flows do not probe in step.
TEST(Bbr, WaitsTwoToThreeSeconds)
{
    double least = 1e9, most = 0;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        FlowsOptions o = alone();

        o.rate_bps = 10e6;
        o.seed = seed;
        Flows f(o);
        f.run(3);
        f.watch(30, 0.1, [&](double) {
            least = std::min(least, static_cast<double>(law(f).probe_wait_ns) * 1e-9);
            most = std::max(most, static_cast<double>(law(f).probe_wait_ns) * 1e-9);
        });
    }
    Findings::get().add("bbr-probe: shortest wait drawn", "2 to 3", least, "s", 2, 2.3);
    Findings::get().add("bbr-probe: longest wait drawn", "2 to 3", most, "s", 2.7, 3);
}

// [5.3.4, A: Entering and Exiting PROBE_RTT]
TEST(Bbr, LooksForTheLeastRoundTripEachFiveSeconds)
{
    Flows f(alone());
    std::vector<Stay> all = stays(f, 41), probes;
    Findings &out = Findings::get();

    for (size_t i = 0; i < all.size(); i++)
        if (all[i].state == BBR_PROBE_RTT && i + 1 < all.size()) {
            probes.push_back(all[i]);
            EXPECT_EQ(all[i + 1].state, BBR_CRUISE);
            EXPECT_NEAR(all[i].min_in_flight / f.bdp(), 0.5, 0.02);
        }
    ASSERT_GE(probes.size(), 6u);
    for (size_t i = 1; i < probes.size(); i++) {
        // 5 s after the end of the last one, at the next acknowledgement
        EXPECT_NEAR(probes[i].begun_s - probes[i - 1].ended_s, 5, 0.01);
        // 200 ms, and the time until only half of bdp is in flight
        EXPECT_NEAR(probes[i].ended_s - probes[i].begun_s, 0.2 + 0.02, 0.025);
    }
    out.add("bbr-probe-rtt: from one's end to the next", "5", probes[2].begun_s - probes[1].ended_s,
            "s", 4.99, 5.05);
    out.add("bbr-probe-rtt: in flight, bdp", "0.5", probes[1].min_in_flight / f.bdp(), "", 0.48,
            0.52);
    out.add("bbr-probe-rtt: min_rtt found", "40", static_cast<double>(law(f).min_rtt_ns) * 1e-6,
            "ms", 40, 40.5);
}

// [5.3.4.2, 5.6.2] The full rate for 98 % of the time, paced 1 % below the bandwidth. Usually there
// is no queue.
TEST(Bbr, FillsALinkWithoutAQueue)
{
    Flows f(alone());
    double queued = 0, in_cruise = 0;
    int looks = 0, cruises = 0;

    f.run(10);
    std::vector<double> from = f.delivered();
    f.watch(40, kStep, [&](double) {
        queued += f.queued();
        looks++;
        if (law(f).state == BBR_CRUISE) {
            in_cruise += f.queued();
            cruises++;
        }
    });
    Findings &out = Findings::get();
    out.add("bbr-steady: used of the link", "0.98 x 0.99", f.shares(from, 10)[0], "", 0.96, 1);
    out.add("bbr-steady: mean queue in CRUISE", "none", in_cruise / cruises, "packets", 0, 1);
    out.add("bbr-steady: mean queue, bdp", "below 1.5", queued / looks / f.bdp(), "", 0, 0.25);
    EXPECT_EQ(f.link().dropped, 0u);
}

// [5.3.3.5.3] With 1 % of loss, CRUISE follows the rate of delivery, which falls by that share in
// each round trip. The next probe finds the whole bandwidth again: 62 round trips lose less than
// the half that a probe wins back.
TEST(Bbr, RandomLossOfOnePercent)
{
    double worst = 1, sum = 0, bw = 1;
    const int seeds = 4;

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        FlowsOptions o = alone(1);

        o.loss = 0.01;
        o.seed = seed;
        Flows f(o);
        f.run(5);
        std::vector<double> from = f.delivered();
        double found = 0;
        int looks = 0;
        f.watch(65, 0.1, [&](double) {
            found += law(f).max_bw / f.link_sps();
            looks++;
        });
        double used = f.shares(from, 5)[0];
        worst = std::min(worst, used);
        sum += used / seeds;
        bw = std::min(bw, found / looks);
        EXPECT_EQ(f.sender(0).counts.timeouts, 0u);
    }
    // the mean of 0.99^n is 0.70 over a cruise of 3 s, and 0.79 over one of 2 s
    Findings::get().add("bbr-loss: 1 % at random: used of the link, mean of 4 seeds",
                        "mean of 0.99^n: 0.70", sum, "", 0.70, 0.99);
    Findings::get().add("bbr-loss: 1 % at random: max_bw over the link's rate", "found again", bw,
                        "", 0.85, 1.02);
    EXPECT_GE(worst, 0.6);
}

// [2.7, 3.1] UP overruns the queue. Losses stay below 2 % in any round, and far below that on
// average.
TEST(Bbr, AShallowQueueBoundsWhatIsInFlight)
{
    Flows f(alone(0.25));

    f.run(5);
    uint64_t sent = f.sender(0).counts.segments, dropped = f.link().dropped;
    double used = share(f, 60);
    double loss = static_cast<double>(f.link().dropped - dropped) /
                  static_cast<double>(f.sender(0).counts.segments - sent);
    Findings &out = Findings::get();
    out.add("bbr-shallow: 0.25 bdp of queue: used of the link", "0.98 x 0.99", used, "", 0.95, 1);
    out.add("bbr-shallow: lost, % of all", "below 1, 2 in a round", 100 * loss, "%", 0.001, 1);
    out.add("bbr-shallow: long-term inflight, bdp", "1 to 1.25", law(f).long_inflight / f.bdp(), "",
            1, 1.31);
    EXPECT_EQ(f.sender(0).counts.timeouts, 0u);
}

// [5.3.3.1] 0.90 in DOWN and 1.25 in UP make bandwidths converge, so the second flow catches up.
TEST(Bbr, TwoFlowsShareInTheLongRun)
{
    double worst = 1;

    for (double queue_bdp : {1.0, 4.0})
        for (uint64_t seed = 1; seed <= 2; seed++) {
            FlowsOptions o = alone(queue_bdp);

            o.flows = {{TCP_BBR}, {TCP_BBR, 10}};
            o.seed = seed;
            Flows f(o);
            f.run(40);
            std::vector<double> from = f.delivered();
            f.run(120);
            worst = std::min(worst, jain(f.shares(from, 40)));
        }
    Findings::get().add("bbr-share: two flows, the second 10 s later: Jain, 30 s on",
                        "approximately fair", worst, "", 0.95, 1);
}

// [A: Increasing Bandwidth 10x, Decreasing Bandwidth 10x]
TEST(Bbr, FollowsTenTimesMoreAndLess)
{
    FlowsOptions o = alone(10);

    o.rate_bps = 10e6; // its queue is one bdp of the later rate
    o.later = "at 10s rate 100mbit limit 500000B at 40s rate 10mbit limit 500000B";
    Flows f(o);
    f.run(9.9);
    EXPECT_NEAR(law(f).max_bw / f.link_sps(), 1, 0.03);
    // at most 3 s until a probe begins, then a doubling in each of log2(10) rounds
    f.run(10 + 3.3 + 8 * 0.04);
    Findings &out = Findings::get();
    out.add("bbr-change: ten times the rate: max_bw at the end of one probe", "10",
            law(f).max_bw / f.link_sps(), "", 9.5, 10.3);
    double least = BBR_UNBOUND;
    f.run(40);
    f.watch(60, kStep, [&](double) { least = std::min(least, law(f).short_bw); });
    out.add("bbr-change: a tenth of it: lowest bw_shortterm, of before", "down, 0.7 a round",
            least / f.link_sps() / 10, "", 0, 0.5);
    out.add("bbr-change: a tenth of it: max_bw, four cycles later", "1",
            law(f).max_bw / f.link_sps(), "", 0.95, 1.1);
}

// [A: Correctly Managing Sub-Packet BDPs]
TEST(Bbr, FourSegmentsAtLeast)
{
    FlowsOptions o = alone(40);

    o.rate_bps = 5e6;
    o.rtt_ms = 1;
    Flows f(o);
    f.run(5);
    EXPECT_LT(f.bdp(), 1);
    Findings::get().add("bbr-small: bdp of 0.4 packets: used of the link", "all of it",
                        share(f, 20), "", 0.95, 1.001);
    double least = 1e9;
    f.watch(40, kStep, [&](double) { least = std::min(least, f.sender(0).law.cwnd); });
    EXPECT_EQ(least, 4) << "in ProbeRTT, where half of bdp rounds to nothing";
}
