// SPDX-License-Identifier: BSD-3-Clause
// The element rate: exact departures, the time of a packet on the link, changes during a packet,
// and limits of queues.
#include "support.h"

namespace
{

typedef unsigned __int128 u128;

/* The cycles that so many bytes take, rounded up. */
uint64_t ceil_cycles(u128 bytes, uint64_t hz, uint64_t rate_Bps)
{
    return (uint64_t)((bytes * hz + rate_Bps - 1) / rate_Bps);
}

TEST(Rate, BusyLinkIsExactToTheCycle)
{
    const struct {
        const char *text;
        uint64_t rate_Bps;
    } rates[] = {
        {"10mbit", 1250000}, {"33333kbit", 4166625}, {"100gbit", 12500000000}, {"56kbit", 7000}};

    for (uint64_t hz : CLOCKS)
        for (auto r : rates) {
            Line l(std::string("rate ") + r.text + " limit 4000", hz, 1, 8192, 1000);
            u128 sum = 0;
            uint64_t start = 12345, sent = 0;
            std::vector<uint64_t> due;

            for (uint32_t i = 0; i < 20000; i++) {
                uint32_t len = 60 + i * 7919 % 1455;
                // never idle: a packet arrives whenever half of the queue is free
                while (path_counts(l.p)->held_packets > 2000)
                    l.poll(path_next(l.p));
                l.push(i < 2000 ? start : l.now, len);
                sent++;
                sum += len;
                due.push_back(start + ceil_cycles(sum, hz, r.rate_Bps));
            }
            l.finish();
            ASSERT_EQ(l.out.size(), sent);
            for (uint32_t i = 0; i < sent; i++) {
                ASSERT_EQ(l.out[i].id, i);
                ASSERT_EQ(l.out[i].at, due[i]) << r.text << " " << hz << " packet " << i;
            }
        }
}

TEST(Rate, MillionPacketsMakeTheRateExactly)
{
    Line l("rate 1gbit", 2599999813, 1, 8192, 0);
    const uint64_t n = 1000000;

    for (uint64_t i = 0; i < n; i++) {
        while (path_counts(l.p)->held_packets > 500)
            l.poll(path_next(l.p));
        l.push(l.now, 1500);
    }
    l.finish();
    EXPECT_EQ(l.out.back().at, ceil_cycles((u128)n * 1500, 2599999813, 125000000));
}

TEST(Rate, IdleLinkStartsAfresh)
{
    Line l("rate 8kbit"); // 1 byte each ms

    l.push(5, 10);
    l.push(10000005, 10); // comes when the first packet leaves, which is gone already
    l.push(40000000, 3);
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{10000005, 0, 10}, {20000005, 1, 10}, {43000000, 2, 3}}));
}

/* The time of one packet at 1 byte/us, in us. */
uint64_t time_of(const std::string &options, uint32_t len)
{
    Line l("rate 8mbit " + options);

    l.push(0, len);
    l.finish();
    EXPECT_EQ(l.out.size(), 1u);
    return l.out[0].at / 1000;
}

TEST(Rate, OverheadPerPacket)
{
    EXPECT_EQ(time_of("", 100), 100u);
    EXPECT_EQ(time_of("24", 100), 124u);
    EXPECT_EQ(time_of("+24", 100), 124u);
    EXPECT_EQ(time_of("-14", 100), 86u);
    EXPECT_EQ(time_of("-100", 100), 0u);
    EXPECT_EQ(time_of("-200", 100), 0u);
}

TEST(Rate, Cells)
{
    EXPECT_EQ(time_of("0 48", 48), 48u);
    EXPECT_EQ(time_of("0 48", 49), 96u);
    EXPECT_EQ(time_of("0 48 5", 49), 106u);
    EXPECT_EQ(time_of("0 48 -5", 49), 86u);
    EXPECT_EQ(time_of("-6 48 5", 54), 53u); // AAL5 behind Ethernet's header: -14 + 8 bytes
    EXPECT_EQ(time_of("-14 48 5", 14), 0u);
    EXPECT_EQ(time_of("0 0 5", 49), 49u);
    EXPECT_NE(spec_error("rate 8mbit 0 5 -5"), "");
}

TEST(Rate, LimitsInPacketsAndBytes)
{
    Line packets("rate 8kbit limit 3"), bytes("rate 8kbit limit 1k"), usual("rate 8kbit");

    for (Line *l : {&packets, &bytes, &usual})
        for (int i = 0; i < 1100; i++)
            l->push(0, 256);
    for (Line *l : {&packets, &bytes, &usual})
        l->finish();
    EXPECT_EQ(packets.out.size(), 1 + 3u); // one packet is on the link
    EXPECT_EQ(bytes.out.size(), 1 + 4u);
    EXPECT_EQ(usual.out.size(), 1 + 1000u);
}

TEST(Rate, NoQueueAtAll)
{
    Line l("rate 8kbit limit 0");

    l.push(0, 10);
    l.push(1, 10);
    l.push(10000000, 10);
    l.finish();
    EXPECT_EQ(l.out.size(), 2u);
}

TEST(Rate, QueueHistogramsSayWhatWasFound)
{
    Line l("rate 8kbit");

    for (uint64_t i = 0; i < 10; i++)
        l.push(i, 10);
    l.push(9, 10); // a burst is one look, and the first packet found an idle link
    l.finish();
    EXPECT_EQ(l.element().queue->max, 9u);
    EXPECT_EQ(histogram_count(l.element().queue), 9u);
    EXPECT_EQ(histogram_min(l.element().delay), 10000000u);
    EXPECT_EQ(l.element().delay->max, 110000000u - 9u);
}

/* ---- at ------------------------------------------------------------------------------------- */

TEST(At, RateChangesInTheMiddleOfAPacket)
{
    for (uint64_t hz : CLOCKS) {
        Line l("rate 7kbit at 1s rate 3kbit", hz); // 875 and 375 B/s
        uint64_t change = hz;

        l.push(0, 1000);
        l.push(0, 100);
        l.finish();
        // at the change, 875 bytes are done; 125 are left, then 100, at 375 B/s
        EXPECT_EQ(l.out[0].at, change + ceil_cycles(125, hz, 375)) << hz;
        EXPECT_EQ(l.out[1].at, change + ceil_cycles(225, hz, 375)) << hz;
    }
}

TEST(At, RateOffAndOnAgain)
{
    Line l("rate 8kbit at 5ms rate 0 at 20ms rate 8mbit");

    l.push(0, 10);
    l.push(0, 1000);
    l.advance(15000000);
    EXPECT_EQ(path_next(l.p), 20000000u);
    l.push(15000000, 1000);
    l.finish();
    EXPECT_EQ(l.out,
              (std::vector<Out>{{20005000, 0, 10}, {21005000, 1, 1000}, {22005000, 2, 1000}}));
}

TEST(At, StandingLinkWithNothingToComeIsNever)
{
    Line l("rate 0");

    l.push(0);
    EXPECT_EQ(path_next(l.p), TIME_NEVER);
}

TEST(At, RateChangesUntilTheEndOfTheText)
{
    // two changes are at the same time: the later one in the text holds
    Line l("rate 8kbit at 20ms rate 8mbit at 10ms rate 0 at 20ms rate 80kbit");

    l.push(0, 20);
    l.finish();
    EXPECT_EQ(l.out[0].at, 20000000u + 1000000u);
}

TEST(At, DelayAndLossAndTwoOfAKind)
{
    Line l("delay 1ms loss 0% delay 2ms at 10ms delay/2 5ms loss 100% at 20ms loss 0% delay/1 9ms");

    for (uint64_t ms : {0, 8, 12, 25})
        l.push(ms * 1000000);
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{3000000, 0, 100}, {11000000, 1, 100}, {39000000, 3, 100}}));
}

TEST(At, DelayThatBecomesShorterOvertakesUnlessOrdered)
{
    Line l("delay 10ms at 5ms delay 1ms"), o("delay 10ms at 5ms delay 1ms order");

    for (Line *x : {&l, &o}) {
        x->push(0);
        x->push(6000000);
        x->finish();
    }
    EXPECT_EQ(l.out, (std::vector<Out>{{7000000, 1, 100}, {10000000, 0, 100}}));
    EXPECT_EQ(o.out, (std::vector<Out>{{10000000, 0, 100}, {10000000, 1, 100}}));
}

/* `order` that begins later holds packets back behind the latest one, not behind the last
 * arrival. */
TEST(At, OrderFromThenOn)
{
    TempFile f("0 8192 -8192");

    for (uint64_t seed = 0; seed < 50; seed++) {
        Line l("delay 10ms 9ms distribution " + f.name + " at 5us delay 1ms order", GHZ, seed);

        for (uint64_t at = 0; at < 5000; at += 1000)
            l.push(at);
        l.push(6000);
        l.finish();
        EXPECT_EQ(l.out.back().id, 5u);
    }
}

TEST(At, TimesCountFromTheStart)
{
    Line l("loss 0% at 10ms loss 100%", GHZ, 1, 64, 500000000);

    l.push(509999999);
    l.push(510000000);
    l.finish();
    EXPECT_EQ(l.out.size(), 1u);
}

TEST(At, ListsBeginAgain)
{
    Line l("loss list 2 at 10ms loss pattern 10");

    for (uint64_t i = 0; i < 3; i++)
        l.push(i);
    for (uint64_t i = 0; i < 3; i++)
        l.push(10000000 + i);
    l.finish();
    ASSERT_EQ(l.out.size(), 3u);
    EXPECT_EQ(l.out[1].id, 2u);
    EXPECT_EQ(l.out[2].id, 4u);
}

} // namespace
