// SPDX-License-Identifier: BSD-3-Clause
// The element delay: without jitter, its limits, and packets that skip it.
#include "support.h"

namespace
{

TEST(Delay, ExactToTheCycleAtAnyClock)
{
    for (uint64_t hz : CLOCKS) {
        Line l("delay 20ms", hz, 1, 8192, 12345);
        uint64_t at = 12345;

        for (int i = 0; i < 20000; i++)
            l.push(at += 1 + (uint64_t)i * 7919 % 100003, 64 + (uint32_t)i % 1400);
        l.finish();
        ASSERT_EQ(l.out.size(), 20000u);
        for (uint32_t i = 0; i < 20000; i++) {
            ASSERT_EQ(l.out[i].id, i);
            ASSERT_EQ(l.out[i].at, l.in[i] + cycles(20000000, hz));
        }
        EXPECT_EQ(histogram_min(l.element().delay), cycles(20000000, hz));
        EXPECT_EQ(l.element().delay->max, cycles(20000000, hz));
        EXPECT_EQ(path_counts(l.p)->held_packets, 0u);
    }
}

TEST(Delay, NothingToWaitFor)
{
    Line l("delay 0");

    l.push(5);
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{5, 0, 100}}));
}

// A day in ns is 2^46, and buckets of the sorter are as short as the delay. A path that turned to
// each of them, or to each 4096th, would take minutes.
TEST(Delay, APollThatIsADayLateCostsNoMore)
{
    constexpr uint64_t kDay = 86400 * GHZ;
    Line l("delay 1ns 1ns");
    uint32_t id = 0;

    for (uint64_t at : {UINT64_C(0), kDay, kDay + 5, 99 * kDay + 5, 99 * kDay + 5000}) {
        struct rte_mbuf *m = packet_make(100);

        mbuf_id(m) = id++;
        path_push(l.p, &m, 1, at);
    }
    l.poll(99 * kDay + 10000);
    ASSERT_EQ(l.out.size(), 5u);
    for (uint32_t i = 0; i < 5; i++)
        EXPECT_EQ(l.out[i].id, i);
}

TEST(Delay, EmptySpecIsAWire)
{
    Line l("");

    l.push(5);
    EXPECT_EQ(path_next(l.p), 5u);
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{5, 0, 100}}));
    EXPECT_EQ(path_next(l.p), TIME_NEVER);
}

TEST(Delay, LimitInPackets)
{
    Line l("delay 1ms limit 5");

    for (int i = 0; i < 8; i++)
        l.push(0);
    l.push(1000000); // the first ones have left in this cycle
    l.finish();
    EXPECT_EQ(l.out.size(), 6u);
    EXPECT_EQ(l.counts().dropped, 3u);
    EXPECT_EQ(l.counts().queued_packets_max, 5u);
}

TEST(Delay, LimitInBytes)
{
    Line l("delay 1ms limit 1k");

    for (int i = 0; i < 8; i++)
        l.push(0, 256);
    l.push(1, 1);
    l.finish();
    EXPECT_EQ(l.out.size(), 4u);
    EXPECT_EQ(l.counts().dropped, 5u);
    EXPECT_EQ(l.counts().queued_bytes_max, 1024u);
}

TEST(Delay, BothLimits)
{
    Line l("delay 1ms limit 3 limit 1k");

    for (int i = 0; i < 4; i++)
        l.push(0, 100);
    l.finish();
    for (int i = 0; i < 3; i++)
        l.push(10000000, 512);
    l.finish();
    EXPECT_EQ(l.out.size(), 5u);
}

/* The numbers of the packets that did not wait. */
std::vector<uint32_t> skipped(Line &l, uint64_t n)
{
    std::vector<uint32_t> ids;

    for (uint64_t i = 0; i < n; i++)
        l.push(i * 20000);
    l.finish();
    for (const Out &o : l.out)
        if (o.at == l.in[o.id])
            ids.push_back(o.id);
    EXPECT_EQ(l.out.size(), n);
    return ids;
}

TEST(Reorder, ProbabilityAndCorrelation)
{
    Line l("delay 1ms reorder 25% 50%");
    const uint64_t n = 1000000;
    std::vector<uint32_t> ids = skipped(l, n);
    uint64_t pairs = 0;

    for (size_t i = 1; i < ids.size(); i++)
        pairs += ids[i] == ids[i - 1] + 1;
    expect_share(ids.size(), n, 0.25, "skip", 0.5);
    expect_share(pairs, ids.size(), 0.5 + 0.5 * 0.25, "skip after a skip");
    EXPECT_EQ(histogram_min(l.element().delay), 0u);
}

TEST(Reorder, ProbabilityAlone)
{
    Line l("delay 1ms reorder 3%");
    const uint64_t n = 1000000;

    expect_share(skipped(l, n).size(), n, 0.03, "skip");
}

TEST(Reorder, GapAloneIsEveryGapth)
{
    for (const char *spec : {"delay 1ms gap 5", "delay 1ms reorder 100% gap 5"}) {
        Line l(spec);
        std::vector<uint32_t> ids = skipped(l, 1000);

        ASSERT_EQ(ids.size(), 200u);
        for (uint32_t i = 0; i < 200; i++)
            EXPECT_EQ(ids[i], 5 * i + 4);
    }
}

TEST(Reorder, GapThenChance)
{
    Line l("delay 1ms reorder 40% gap 4");
    const uint64_t n = 1000000;
    std::vector<uint32_t> ids = skipped(l, n);
    uint64_t at_once = 0;

    for (size_t i = 1; i < ids.size(); i++) {
        ASSERT_GE(ids[i] - ids[i - 1], 4u);
        at_once += ids[i] - ids[i - 1] == 4;
    }
    expect_share(at_once, ids.size() - 1, 0.4, "first chance taken");
    // a round has 3 + Geometric(0.4) packets: mean 5.5, deviation sqrt(0.6) / 0.4
    expect_mean((double)ids.back() / (double)ids.size(), ids.size(), 5.5, std::sqrt(0.6) / 0.4,
                "packets a round");
}

TEST(Reorder, OvertakersAreCounted)
{
    Line l("delay 10us reorder 10%");

    for (uint32_t i = 0; i < 1000; i++)
        l.push(i * 1000ull);
    l.finish();
    uint64_t late = 0;
    uint32_t most = 0;
    for (const Out &o : l.out) {
        late += o.id < most;
        most = std::max(most, o.id);
    }
    EXPECT_GT(late, 0u);
    EXPECT_EQ(l.counts().reordered, late);
}

} // namespace
