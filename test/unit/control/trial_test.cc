// SPDX-License-Identifier: BSD-3-Clause
// Trials of a path: the packets that count between two boundaries of polls, and the end of a trial.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "control/trial.h"
}

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000000;
constexpr uint64_t kBytes = 1000;

// Trials of a prompt sender, with a receiver that polls all the time unless told.
struct Watch {
    trial t;
    sojourn w;
    std::vector<trial_result> results;
    uint64_t min_ns = 0;

    Watch()
    {
        trial_reset(&t);
        sojourn_init(&w);
    }

    bool add(uint64_t number, uint64_t sent_ns, uint64_t arrived_ns, uint64_t increment_ns = 0,
             uint64_t bytes = kBytes, bool marked = false, uint64_t away_ns = 0,
             bool refused = false, bool ended = false)
    {
        sojourn_packet seen = {number, bytes, 1, sent_ns, increment_ns, 0};
        trial_packet p = {number, bytes, sent_ns, arrived_ns, away_ns, refused, marked, ended};
        sojourn_burst burst;
        trial_result out;
        bool judged = sojourn_add(&w, &seen, &burst);

        if (!trial_add(&t, &p, judged ? &burst : nullptr, min_ns, &out))
            return false;
        results.push_back(out);
        return true;
    }

    // The packets of one poll, sent 1 us apart. Was a trial completed?
    bool poll(uint64_t arrived_ns, const std::vector<uint64_t> &numbers)
    {
        bool complete = false;

        for (uint64_t n : numbers)
            complete |= add(n, n * kUs, arrived_ns);
        return complete;
    }

    // Packets with these numbers, each in its own poll. How many were needed for a trial?
    uint64_t each(uint64_t from, uint64_t most)
    {
        for (uint64_t n = from; n < from + most; n++) {
            if (add(n, n * kUs, n * kUs + 500))
                return n - from + 1;
        }
        return 0;
    }
};

} // namespace

// Nothing of the first poll counts, and everything of the others.
TEST(Trial, BeginsWithTheLastPacketOfAPoll)
{
    Watch w;

    EXPECT_FALSE(w.poll(100 * kUs, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_FALSE(w.poll(110 * kUs, {11, 12, 13, 14, 15, 16}));
    EXPECT_FALSE(w.poll(120 * kUs, {17, 18, 19, 20}));
    EXPECT_TRUE(w.poll(130 * kUs, {21}));
    ASSERT_EQ(w.results.size(), 1u);
    const trial_result &r = w.results[0];

    EXPECT_EQ(r.packets, 10u);
    EXPECT_EQ(r.bytes, 10 * kBytes);
    EXPECT_EQ(r.lost, 0u);
    EXPECT_EQ(r.arrived_ns, 20 * kUs);
    EXPECT_EQ(r.sent_ns, 10 * kUs) << "from number 10 to number 20";
}

// A poll is never split, even if a part of it would have been enough.
TEST(Trial, PacketsOfOnePollBelongTogether)
{
    Watch w;

    w.poll(100 * kUs, {1});
    EXPECT_FALSE(w.poll(140 * kUs, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}));
    EXPECT_TRUE(w.poll(150 * kUs, {19}));
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].packets, 17u);
    EXPECT_EQ(w.results[0].arrived_ns, 40 * kUs);
    // the next trial begins where this one ended
    EXPECT_FALSE(w.poll(150 * kUs, {20, 21, 22, 23, 24, 25, 26}));
    EXPECT_TRUE(w.poll(151 * kUs, {27}));
    ASSERT_EQ(w.results.size(), 2u);
    EXPECT_EQ(w.results[1].packets, 8u);
    EXPECT_EQ(w.results[1].arrived_ns, 10 * kUs);
    EXPECT_EQ(w.results[1].sent_ns, 8 * kUs);
}

TEST(Trial, NotBeforeEightNumbers)
{
    Watch w;

    EXPECT_EQ(w.each(1, 20), TRIAL_PACKETS + 2) << "the first, eight more, and one that ends it";
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].packets, TRIAL_PACKETS);
}

TEST(Trial, NotBeforeItsTime)
{
    Watch w;

    w.min_ns = 100 * kUs;
    EXPECT_EQ(w.each(1, 200), 102u);
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].arrived_ns, 100 * kUs);
    EXPECT_EQ(w.results[0].packets, 100u);
}

// There is no rate while the sender's clock stands still.
TEST(Trial, NotBeforeTheSendersClockMoves)
{
    Watch w;

    for (uint64_t n = 1; n < 50; n++)
        EXPECT_FALSE(w.add(n, 7, n * kUs)) << n;
    EXPECT_FALSE(w.add(50, 8, 50 * kUs));
    EXPECT_TRUE(w.add(51, 9, 51 * kUs));
    EXPECT_EQ(w.results[0].sent_ns, 1u);
}

// Numbers alone make no trial. The waits of four packets must be known, each by the next packet.
TEST(Trial, NotBeforeFourWaits)
{
    Watch w;

    for (uint64_t n = 10; n <= 40; n += 10)
        EXPECT_FALSE(w.add(n, n * kUs, n * kUs)) << n;
    EXPECT_TRUE(w.add(50, 50 * kUs, 50 * kUs)) << "the first packet's wait counts, too";
    EXPECT_EQ(w.results[0].packets, 3u);
    EXPECT_EQ(w.results[0].lost, 27u);
}

TEST(Trial, LostAreCountedFromNumbers)
{
    Watch w;

    w.poll(100 * kUs, {1});
    w.poll(110 * kUs, {2, 3, 5, 6, 8});
    w.poll(120 * kUs, {10, 11, 14});
    EXPECT_TRUE(w.poll(130 * kUs, {20})) << "a gap before this packet belongs to the next trial";
    EXPECT_EQ(w.results[0].packets, 8u);
    EXPECT_EQ(w.results[0].lost, 5u);
    EXPECT_EQ(w.results[0].sent_ns, 13 * kUs);
    w.poll(140 * kUs, {21, 22, 23, 24});
    EXPECT_TRUE(w.poll(150 * kUs, {25}));
    EXPECT_EQ(w.results[1].packets, 5u);
    EXPECT_EQ(w.results[1].lost, 5u) << "15 to 19";
}

// A packet that was overtaken is not lost. It is not the last packet, and it counts once.
TEST(Trial, LatePacketCountsOnce)
{
    Watch w;

    w.poll(100 * kUs, {1});
    w.poll(110 * kUs, {2, 3, 4, 8, 6, 7});
    w.poll(120 * kUs, {9, 5});
    EXPECT_TRUE(w.poll(130 * kUs, {10}));
    EXPECT_EQ(w.results[0].packets, 8u);
    EXPECT_EQ(w.results[0].lost, 0u);
    EXPECT_EQ(w.results[0].sent_ns, 8 * kUs) << "of number 9, not of number 5";
    EXPECT_EQ(w.results[0].arrived_ns, 20 * kUs);
}

// A packet from before the trial arrived during it. If there are more packets than numbers, none is
// lost.
TEST(Trial, PacketOfTheTrialBefore)
{
    Watch w;

    w.poll(100 * kUs, {10});
    w.poll(110 * kUs, {11, 12, 13, 14, 15, 16, 3, 4});
    w.poll(120 * kUs, {17, 18});
    EXPECT_TRUE(w.poll(130 * kUs, {19}));
    EXPECT_EQ(w.results[0].packets, 10u);
    EXPECT_EQ(w.results[0].bytes, 10 * kBytes);
    EXPECT_EQ(w.results[0].lost, 0u);
    EXPECT_EQ(w.results[0].sent_ns, 8 * kUs);
}

// Packets of the first poll may be out of order, too.
TEST(Trial, FirstPollOutOfOrder)
{
    Watch w;

    w.poll(100 * kUs, {8, 10, 9});
    w.poll(110 * kUs, {11, 12, 13, 14});
    w.poll(120 * kUs, {15, 16, 17, 18});
    EXPECT_TRUE(w.poll(130 * kUs, {19}));
    EXPECT_EQ(w.results[0].packets, 8u);
    EXPECT_EQ(w.results[0].lost, 0u);
}

TEST(Trial, ResetForgets)
{
    Watch w;

    for (uint64_t n = 1; n < 9; n++)
        w.add(n, n * kUs, n * kUs, 77 * kUs);
    trial_reset(&w.t);
    EXPECT_EQ(w.each(100, 20), TRIAL_PACKETS + 2);
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].packets, TRIAL_PACKETS);
    EXPECT_EQ(w.results[0].lost, 0u);
    EXPECT_EQ(w.results[0].max_ns, 0u);
    EXPECT_EQ(w.results[0].sent_ns, TRIAL_PACKETS * kUs);
}

TEST(Trial, IncrementsOfItsPackets)
{
    const uint64_t increments[] = {35, 50, 40, 45, 60, 30, 90, 20, 10};
    Watch w;

    w.min_ns = 8 * kUs;
    for (uint64_t i = 0; i < 9; i++)
        EXPECT_FALSE(w.add(i, i * kUs, i * kUs + 500, increments[i]));
    EXPECT_TRUE(w.add(9, 9 * kUs, 9 * kUs + 500, 5));
    EXPECT_EQ(w.results[0].min_ns, 10u) << "not that of the packet that ends it";
    EXPECT_EQ(w.results[0].max_ns, 90u);
    EXPECT_EQ(w.results[0].mean_ns, (35u + 50 + 40 + 45 + 60 + 30 + 90 + 20 + 10) / 9);
    for (uint64_t i = 10; i < 20; i++)
        w.add(i, i * kUs, i * kUs + 500, 70);
    ASSERT_EQ(w.results.size(), 2u);
    EXPECT_EQ(w.results[1].min_ns, 5u) << "it belongs to the next trial";
    EXPECT_EQ(w.results[1].max_ns, 70u);
}

// A flow of constant rate, polled at random, with losses. Its rate does not depend on the polls. It
// is exact to the nanosecond if polls end with a packet, and to the time of one packet otherwise.
// Each packet is in exactly one trial.
TEST(Trial, RatesDoNotDependOnPolls)
{
    rng r;

    rng_init(&r, test_seed());
    for (int run = 0; run < 300; run++) {
        uint64_t gap = 1 + rng_below(&r, 10000), most = 1 + rng_below(&r, 64), number = 1;
        uint64_t loss = rng_below(&r, 2) * (1 + rng_below(&r, 20)); // percent
        bool exact = rng_below(&r, 2) == 0;
        uint64_t first = 0, before = 0, end = 0, came = 0, lost = 0;
        Watch w;

        w.min_ns = rng_below(&r, 100 * gap);
        while (w.results.size() < 10) {
            std::vector<uint64_t> poll;
            uint64_t n = 1 + rng_below(&r, most);

            // if a poll ends with a packet, that one is not lost
            for (uint64_t i = 1; i <= n; i++, number++) {
                if (i == n || rng_below(&r, 100) >= loss)
                    poll.push_back(number);
            }
            uint64_t at = 12345 + (number - 1) * gap + (exact ? 0 : rng_below(&r, gap));
            size_t results = w.results.size();

            for (uint64_t x : poll)
                w.add(x, x * gap, at);
            first = first == 0 ? poll.back() : first;
            for (size_t i = results; i < w.results.size(); i++) {
                const trial_result &t = w.results[i];
                uint64_t numbers = t.packets + t.lost;

                came += t.packets;
                lost += t.lost;
                ASSERT_GE(numbers, TRIAL_PACKETS);
                ASSERT_GE(t.arrived_ns, w.min_ns);
                ASSERT_EQ(t.bytes, t.packets * kBytes);
                ASSERT_EQ(t.sent_ns, numbers * gap);
                uint64_t wrong = (uint64_t)std::llabs((int64_t)(t.arrived_ns - numbers * gap));

                ASSERT_LT(wrong, exact ? 1 : gap);
                end = before;
            }
            before = poll.back();
        }
        ASSERT_EQ(came + lost, end - first) << "run " << run;
        if (loss == 0) {
            ASSERT_EQ(lost, 0u) << "run " << run;
        }
    }
}

// Empty packets show no rate. Without a byte there is no trial.
TEST(Trial, EmptyPackets)
{
    Watch w;

    for (uint64_t n = 1; n < 100; n++)
        EXPECT_FALSE(w.add(n, n * kUs, n * kUs + 500, 0, 0));
    EXPECT_FALSE(w.add(100, 100 * kUs, 100 * kUs + 500)); // belongs to the trial, does not end it
    EXPECT_TRUE(w.add(101, 101 * kUs, 101 * kUs + 500));
    EXPECT_EQ(w.results[0].bytes, kBytes);
}

// Marks count if their packets do, so the mark of the first packet does not count.
TEST(Trial, MarkedPacketsAreCounted)
{
    Watch w;

    for (uint64_t n = 0; n < 20; n++)
        w.add(n, n * kUs, n * kUs + 500, 0, kBytes, n % 2 == 0);
    ASSERT_EQ(w.results.size(), 2u);
    for (const trial_result &r : w.results) {
        EXPECT_GE(r.marked, r.packets / 2);
        EXPECT_LE(r.marked, (r.packets + 1) / 2);
    }
}

// A sender that had nothing more to send after a packet paused until the next one. The last packet
// of a trial is the first of the next, so its pause belongs to that one.
TEST(Trial, APauseFollowsThePacketThatEnds)
{
    for (uint64_t end : {1, 5, 9, 10, 17, 18}) {
        Watch w;

        for (uint64_t n = 1; n <= 19; n++)
            w.add(n, n * kUs, n * kUs + 500, 0, kBytes, false, 0, false, n == end);
        ASSERT_EQ(w.results.size(), 2u);
        EXPECT_EQ(w.results[0].paused, end < 9) << end;
        EXPECT_EQ(w.results[1].paused, end >= 9 && end < 17) << end;
    }
}

// The longest gap between times of sending, of packets that came in order.
TEST(Trial, TheLongestTimeWithoutAPacketSent)
{
    Watch w;
    uint64_t sent = 0;

    for (uint64_t n = 1; n <= 10; n++) {
        sent += n == 4 ? 7 * kUs : n == 7 ? 3 * kUs : kUs;
        w.add(n, sent, n * 10 * kUs);
    }
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].gap_ns, 7 * kUs);
}

// A path that stands still delays one packet, and those behind it follow closely.
TEST(TrialStall, IsTheTimeForWhichNothingMoved)
{
    Watch w;

    w.min_ns = 60 * kUs;
    for (uint64_t n = 1; w.results.empty() && n < 1000; n++)
        w.add(n, n * kUs, std::max(n, uint64_t(300 * (n > 20))) * kUs);
    ASSERT_EQ(w.results.size(), 1u);
    // number 21 came 280 us after number 20, and was sent 1 us after it
    EXPECT_NEAR((double)w.results[0].stall_ns, 279e3, 1e3);
    EXPECT_GE(w.results[0].arrived_ns, 278 * kUs + 60 * kUs) << "it goes on beside the stall";
}

// A queue that grows delays each packet a little more, however often the receiver looks. Packets
// that come out of order tell nothing.
TEST(TrialStall, IsNoneWhileAQueueGrows)
{
    for (uint64_t poll : {1, 10}) {
        Watch w;

        w.min_ns = 100 * kUs;
        for (uint64_t n = 1; w.results.empty() && n < 1000; n++)
            w.add(n % 7 == 3 ? n - 2 : n, n * kUs, (n * 3 / poll + 1) * poll * kUs);
        ASSERT_EQ(w.results.size(), 1u) << poll;
        EXPECT_LE(w.results[0].stall_ns, 2 * kUs) << poll;
    }
}

// The receiver was away from its port, and says so.
TEST(TrialStall, IsNoneOfTheReceiver)
{
    for (bool told : {false, true}) {
        Watch w;

        for (uint64_t n = 1; w.results.empty() && n < 100; n++)
            w.add(n, n * kUs, (n + (n > 4 ? 300 : 0)) * kUs, 0, kBytes, false,
                  told && n == 5 ? 300 * kUs : 0);
        ASSERT_EQ(w.results.size(), 1u);
        EXPECT_EQ(w.results[0].stall_ns > 0, !told);
    }
}

TEST(TrialStall, TwoAddUp)
{
    Watch w;

    w.min_ns = 60 * kUs;
    for (uint64_t n = 1; w.results.empty() && n < 1000; n++)
        w.add(n, n * kUs, (n + 300 * (n > 20) + 200 * (n > 30)) * kUs);
    ASSERT_EQ(w.results.size(), 1u);
    const trial_result &r = w.results[0];
    // each less the mean time of a packet
    EXPECT_NEAR((double)r.stall_ns, 500e3 - 2.0 * (double)r.arrived_ns / (double)r.packets, 2e3);
    EXPECT_GE(r.arrived_ns, r.stall_ns + 60 * kUs) << "it goes on beside the stalls";
}

// Three times in a trial is how the path is.
TEST(TrialStall, ThreeAreASlowPath)
{
    Watch w;

    w.min_ns = 400 * kUs;
    for (uint64_t n = 1; w.results.empty() && n < 1000; n++)
        w.add(n, n * kUs, (n + n / 50 * 100) * kUs);
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].stall_ns, 0u);
    EXPECT_LT(w.results[0].arrived_ns, 600 * kUs);
}

// Where few packets are under way, one of them comes behind a packet of another flow, and the next
// ones do, too.
TEST(TrialStall, IsNoneBehindAPacketOfAnother)
{
    Watch w;

    for (uint64_t n = 1; w.results.empty() && n < 100; n++)
        w.add(n, n * kMs, (n + (n > 4)) * kMs);
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].stall_ns, 0u);
}

// The sender's clock went back. No stall is longer than the time between two arrivals.
TEST(TrialStall, ATimeThatLiesIsNone)
{
    for (uint64_t sent : {uint64_t(0), UINT64_MAX, uint64_t(1) << 63}) {
        Watch w;

        for (uint64_t n = 1; n <= 40; n++)
            w.add(n, n == 7 ? sent : n * kUs, n * kUs);
        ASSERT_FALSE(w.results.empty());
        for (const trial_result &r : w.results)
            EXPECT_LE(r.stall_ns, kUs) << sent;
    }
}

// Each pause of the receiver is longer than the last one. Only the final one makes the end
// uncertain.
TEST(Trial, AwayBeforeItsEnd)
{
    Watch w;

    w.min_ns = 30 * kUs;
    for (uint64_t n = 1; w.results.empty() && n < 100; n++)
        w.add(n, n * kUs, n / 4 * 4 * kUs + 9 * kUs, 0, kBytes, false, n / 4 * 100);
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].away_ns, w.results[0].arrived_ns / (4 * kUs) * 100);
}

// A trial begins while the receiver works through what came in its absence.
TEST(Trial, AwayBeforeItsBegin)
{
    Watch w;

    w.min_ns = 30 * kUs;
    for (uint64_t n = 1; w.results.empty() && n < 100; n++)
        w.add(n, n * kUs, (n < 8 ? 20 + n / 4 : 30 + n) * kUs, 0, kBytes, false, n < 8 ? 15000 : 0);
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].away_ns, 0u);
    // from number 3, read at 20 us, to number 35, read at 65 us: 30 us, and 15 us of stall
    EXPECT_EQ(w.results[0].packets, 32u);
    EXPECT_EQ(w.results[0].arrived_ns, (45 + 15) * kUs);
}

// The first packet after a gap tells whether our port may have been full meanwhile.
TEST(Trial, WhatOurPortRefusedIsNotLost)
{
    Watch w;
    uint64_t sent = 0;

    w.min_ns = 30 * kUs;
    for (uint64_t n = 1; w.results.empty() && n < 100; n++) {
        sent += n == 6 ? 4 : n == 20 ? 8 : 1; // 3 numbers are missing, then 7
        w.add(sent, sent * kUs, sent * kUs, 0, kBytes, false, 0, n >= 20);
    }
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].lost, 3u);
    EXPECT_EQ(w.results[0].refused, 7u);
}

// Late packets were not refused.
TEST(Trial, NoMoreIsRefusedThanIsMissing)
{
    Watch w;

    w.min_ns = 40 * kUs;
    for (uint64_t n = 1; w.results.empty() && n < 100; n++)
        if (n < 10 || n >= 15) {
            w.add(n, n * kUs, n * kUs, 0, kBytes, false, 0, true);
            for (uint64_t late = 10; n == 20 && late < 13; late++)
                w.add(late, late * kUs, n * kUs, 0, kBytes, false, 0, true);
        }
    ASSERT_EQ(w.results.size(), 1u);
    EXPECT_EQ(w.results[0].lost, 0u);
    EXPECT_EQ(w.results[0].refused, 2u);
}

namespace
{

struct Reordering {
    double lossy, lost; // share of trials that lost more than an eighth; share of packets lost
};

// A packet is sent each 100 us and takes 10 to 30 ms. Trials last 15 ms. Each begins with packets
// that were sent 5 ms after the last trial ended.
Reordering reorder(double loss, uint64_t seed)
{
    constexpr uint64_t kNumbers = 200000;
    std::vector<std::pair<uint64_t, uint64_t>> arrivals; // time, number
    uint64_t mark = 0, trials = 0, lossy = 0, lost = 0, numbers = 0;
    rng g;
    Watch w;

    rng_init(&g, seed);
    for (uint64_t n = 0; n < kNumbers; n++)
        if (rng_below(&g, 1000) >= loss * 1000)
            arrivals.emplace_back(n * 100 * kUs + 10 * kMs + rng_below(&g, 20 * kMs), n);
    std::sort(arrivals.begin(), arrivals.end());
    w.min_ns = 15 * kMs;
    for (auto [when, n] : arrivals) {
        if (n < mark) {
            trial_older(&w.t);
            continue;
        }
        if (!w.add(n, n * 100 * kUs, when))
            continue;
        const trial_result &r = w.results.back();
        uint64_t all = r.packets + r.lost + r.reordered;

        trials++;
        lossy += r.lost > 2 + all / 8;
        lost += r.lost;
        numbers += all;
        trial_reset(&w.t);
        mark = (when + 5 * kMs) / (100 * kUs) + 1;
    }
    EXPECT_GT(trials, 200u);
    return {(double)lossy / (double)trials, (double)lost / (double)numbers};
}

} // namespace

// As many packets are under way when a trial ends as earlier packets arrive during it, except for
// chance. So more than an eighth is missing in less than 2 of 100 trials. If the earlier packets
// did not count, nearly all trials would miss so many.
TEST(Trial, WhatIsReorderedIsNotLost)
{
    uint64_t seed = test_seed();

    double lossy = 0;

    for (uint64_t i = 0; i < 20; i++)
        lossy += reorder(0, seed + i).lossy / 20;
    EXPECT_LT(lossy, 0.02) << "seeds from " << seed;
    for (uint64_t i = 0; i < 5; i++) {
        // A trial begins with an early packet, so more packets than usual arrive late meanwhile.
        double lost = reorder(0.2, seed + i).lost;

        EXPECT_GT(lost, 1.0 / 8) << "seed " << seed + i;
        EXPECT_LT(lost, 0.21) << "seed " << seed + i;
    }
}

namespace
{

// A trial of 200 packets, one each 100 us. Their delays follow a line of this slope, plus noise
// that is the same for `run` packets in a row.
trial_result noisy(double slope, uint64_t noise_ns, uint32_t run, rng *g)
{
    Watch w;
    uint64_t noise = 0;

    w.min_ns = 20000 * kUs;
    for (uint64_t n = 0; w.results.empty(); n++) {
        if (n % run == 0)
            noise = noise_ns > 0 ? rng_below(g, noise_ns) : 0;
        w.add(n, n * 100 * kUs, n * 100 * kUs + 500,
              (uint64_t)(50e6 + slope * (double)(n * 100 * kUs)) + noise);
    }
    return w.results[0];
}

} // namespace

TEST(Trial, GrowthIsTheSlopeOfItsDelays)
{
    rng g;

    rng_init(&g, 1);
    for (double slope : {0.0, 0.25, -0.1}) {
        trial_result r = noisy(slope, 0, 1, &g);

        EXPECT_NEAR(r.growth, slope, 1e-6);
        EXPECT_LT(r.noise_ns, 10);
        EXPECT_LT(r.error, 1e-6);
    }
}

// The slope differs from the true one by its standard error, whether delays are independent or
// alike for a while. With long runs, of which a trial has few, the error is estimated too high:
// neighbours are alike, but runs are independent.
TEST(Trial, ItsErrorIsHowFarTheSlopeIsOff)
{
    uint64_t seed = test_seed();
    rng g;

    rng_init(&g, seed);
    for (uint32_t run : {1u, 4u, 16u}) {
        constexpr int kTrials = 2000;
        double off = 0, said = 0;

        for (int i = 0; i < kTrials; i++) {
            trial_result r = noisy(0.25, 10000 * kUs, run, &g);

            EXPECT_NEAR(r.noise_ns, 10e6 / std::sqrt(12), 2.5e6) << "seed " << seed;
            off += (r.growth - 0.25) * (r.growth - 0.25);
            said += r.error * r.error;
        }
        EXPECT_GT(std::sqrt(off / said), run < 16 ? 0.7 : 0.3) << run << " alike, seed " << seed;
        EXPECT_LT(std::sqrt(off / said), 1.4) << run << " alike, seed " << seed;
    }
}

// However alike neighbours are, all packets of a trial together are at least one sample.
TEST(Trial, ItsErrorIsAtMostThatOfOneSample)
{
    uint64_t seed = test_seed();
    rng g;

    rng_init(&g, seed);
    for (int i = 0; i < 2000; i++) {
        Watch w;

        for (uint64_t n = 0; w.results.empty(); n++) {
            uint64_t most = n == 1 ? 20000 * kUs : 2000 * kUs; // the first packet waited longest

            w.add(n, n * 100 * kUs, n * 100 * kUs + 500, rng_below(&g, most));
        }
        const trial_result &r = w.results[0];
        double n = (double)r.packets, deviation_ns = 100e3 * std::sqrt((n * n - 1) / 12);

        ASSERT_LE(r.error, 1.001 * r.noise_ns * std::sqrt(n / (n - 2)) / deviation_ns)
            << "seed " << seed << " trial " << i;
    }
}
