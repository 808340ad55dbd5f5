// SPDX-License-Identifier: BSD-3-Clause
// The element police: GCRA against a model in whole numbers, cells, actions, and a contract's
// values.
#include <algorithm>
#include <cstring>

#include "support.h"

namespace
{

typedef unsigned __int128 u128;

/* I.371's virtual scheduling without fractions. Times are in 1 / (hz * rate) s. Clocks measure `at`
 * to one cycle. */
struct Model {
    uint64_t rate, hz, tolerance;
    u128 tat = 0;

    Model(uint64_t rate_Bps, uint64_t clock_hz, uint64_t cycles_early)
        : rate(rate_Bps), hz(clock_hz), tolerance(cycles_early)
    {
    }
    bool conforms(uint64_t at) const
    {
        return (u128)(at + tolerance + 1) * rate > tat;
    }
    void take(uint64_t at, uint64_t bytes)
    {
        tat = std::max(tat, (u128)at * rate) + (u128)bytes * hz;
    }
};

std::vector<bool> passed(const Line &l)
{
    std::vector<bool> v(l.pushed, false);

    for (const Out &o : l.out)
        v[o.id] = true;
    return v;
}

TEST(Police, FramesAsTheModelSays)
{
    for (uint64_t hz : CLOCKS)
        for (uint64_t cdvt_us : {0, 100, 5000}) {
            Line l("police pcr 9999kbit cdvt " + std::to_string(cdvt_us) + "us", hz);
            Model m(1249875, hz, cycles(cdvt_us * 1000, hz));
            struct rng r;
            std::vector<bool> want;
            uint64_t at = 0;

            rng_init(&r, hz + cdvt_us);
            for (int i = 0; i < 100000; i++) {
                uint32_t len = 60 + (uint32_t)rng_below(&r, 1455);

                at += rng_below(&r, 2 * 600 * hz / 1000000);
                want.push_back(m.conforms(at));
                if (want.back())
                    m.take(at, len);
                l.push(at, len);
            }
            l.finish();
            ASSERT_EQ(passed(l), want) << hz << " " << cdvt_us;
            EXPECT_GT(l.counts().dropped, 5000u);
        }
}

TEST(Police, BothRatesMustAgree)
{
    for (uint64_t hz : CLOCKS) {
        const uint64_t pcr = 10000000, scr = 1000000, mbs = 20000;
        Line l("police pcr 80mbit cdvt 50us scr 8mbit mbs 20000", hz);
        Model peak(pcr, hz, cycles(50000, hz));
        Model sustained(scr, hz, 0);
        struct rng r;
        std::vector<bool> want;
        uint64_t at = 0;

        rng_init(&r, hz);
        for (int i = 0; i < 100000; i++) {
            uint32_t len = 60 + (uint32_t)rng_below(&r, 1455);

            at += rng_below(&r, i / 100 % 3 == 0 ? hz / 200 : hz / 5000);
            // (MBS - 1)(1 / SCR - 1 / PCR), in bytes: the rest of the burst without this packet
            sustained.tolerance = peak.tolerance + (uint64_t)((u128)(mbs - len) * hz * (pcr - scr) /
                                                              ((u128)pcr * scr));
            want.push_back(peak.conforms(at) && sustained.conforms(at));
            if (want.back()) {
                peak.take(at, len);
                sustained.take(at, len);
            }
            l.push(at, len);
        }
        l.finish();
        ASSERT_EQ(passed(l), want) << hz;
        EXPECT_GT(l.counts().dropped, 10000u);
        EXPECT_GT(l.out.size(), 10000u);
    }
}

TEST(Police, BurstOfExactlyMbsAtPeakRate)
{
    Line l("police pcr 8mbit scr 800kbit mbs 10000"); // 1 and 0.1 bytes/us

    for (uint64_t i = 0; i < 12; i++)
        l.push(i * 1000000, 1000);
    l.finish();
    EXPECT_EQ(l.out.size(), 10u);
}

TEST(Police, CellsAsTheModelSays)
{
    for (uint64_t hz : CLOCKS) {
        const uint64_t line = 19375000;
        Line l("police pcr 100mbit cells line 155mbit cdvt 300us", hz);
        Model m(12500000, hz, cycles(300000, hz) + 1);
        struct rng r;
        std::vector<bool> want;
        uint64_t at = 0, last = 0, cells = 0, excess = 0;

        rng_init(&r, hz);
        for (int i = 0; i < 20000; i++) {
            uint32_t len = 60 + (uint32_t)rng_below(&r, 9000);
            uint64_t n = (len - 14 + 8 + 47) / 48, lost = 0;

            at += rng_below(&r, 2 * 750 * hz / 1000000);
            for (uint64_t k = 0; k < n; k++) {
                uint64_t before = (uint64_t)((u128)(n - 1 - k) * 53 * hz / line);
                uint64_t t = std::max(last, at > before ? at - before : 0);

                last = t;
                if (m.conforms(t))
                    m.take(t, 53);
                else
                    lost++;
            }
            cells += n;
            excess += lost;
            want.push_back(lost == 0);
            l.push(at, len);
        }
        l.finish();
        ASSERT_EQ(passed(l), want) << hz;
        EXPECT_EQ(l.counts().cells, cells);
        EXPECT_EQ(l.counts().cells_excess, excess);
        EXPECT_GT(excess, 1000u);
    }
}

TEST(Police, ExactlyTheContractLosesNothing)
{
    for (uint64_t hz : CLOCKS)
        for (const char *spec : {"rate 9999kbit police pcr 9999kbit",
                                 "rate 155mbit -6 48 5 police pcr 155mbit cells line 155mbit",
                                 "police pcr 9999kbit shape limit 99999 police pcr 9999kbit",
                                 "rate 33mbit police pcr 33mbit cdvt 10us scr 33mbit mbs 2k"}) {
            // frames count when they are complete, so behind a link, equal ones are evenly spaced,
            // but unequal ones only as cells
            bool alike = spec[0] == 'r' && strstr(spec, "cells") == nullptr;
            Line l(spec, hz);

            for (uint32_t i = 0; i < 5000; i++) {
                while (path_counts(l.p)->held_packets > 500)
                    l.poll(path_next(l.p));
                l.push(l.now, alike ? 777 : 60 + i * 7919 % 1455);
            }
            l.finish();
            EXPECT_EQ(l.out.size(), 5000u) << spec << " " << hz;
        }
}

/* One minute of cells at 134.05159 Mb/s, within a contract of 135 Mb/s. */
TEST(Police, BelowTheContractNoCellIsLost)
{
    Line l("police pcr 135mbit cells line 155.52mbit", 2600000000);
    const uint64_t n = 134051590ull * 60 / 424;
    struct rte_mbuf *m = packet_make(54); // 40 bytes behind Ethernet's header make one cell

    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)((u128)i * 424 * 2600000000u / 134051590);
        struct rte_mbuf *back = nullptr;

        path_push(l.p, &m, 1, at);
        ASSERT_EQ(path_pop(l.p, &back, 1, at), 1) << i;
    }
    rte_pktmbuf_free(m);
    EXPECT_EQ(l.counts().cells, n);
    EXPECT_EQ(l.counts().cells_excess, 0u);
}

/* Just above PCR, the distance between lost cells is nearly constant. */
TEST(Police, LossAboveTheContractIsPeriodic)
{
    Line l("police pcr 135mbit cdvt 50us cells line 155.52mbit", 2600000000);
    std::vector<uint32_t> lost;

    for (uint64_t i = 0; i < 25000; i++)
        l.push((uint64_t)((u128)i * 424 * 2600000000u / 136000000), 54);
    l.finish();
    std::vector<bool> ok = passed(l);
    for (uint32_t i = 0; i < 25000; i++)
        if (!ok[i])
            lost.push_back(i);
    ASSERT_GT(lost.size(), 100u);
    for (size_t i = 1; i < lost.size(); i++) {
        EXPECT_GE(lost[i] - lost[i - 1], 135u); // 136 / (136 - 135)
        EXPECT_LE(lost[i] - lost[i - 1], 137u);
    }
}

/* A steady excess fills the link with cells, but delivers no frames. */
TEST(Police, SteadyExcessDeliversNothing)
{
    Line l("rate 136mbit -6 48 5 police pcr 135mbit cdvt 50us cells line 136mbit");

    for (uint32_t i = 0; i < 500; i++)
        l.push(0, 9188 + 14);
    l.finish();
    // the tolerance of 50 us is used up after 136 times as long, and a frame takes 599 us
    EXPECT_EQ(l.out.size(), 136 * 50 / 599u);
    EXPECT_LT(l.counts(1).cells_excess, l.counts(1).cells / 100);
}

TEST(Police, TagsWhatExceeds)
{
    for (const char *dst : {"10.0.0.2", "fd00::2"})
        for (int dscp : {8, 12, 0}) {
            Line l("police pcr 8mbit tag" +
                   (dscp == 8 ? std::string() : " " + std::to_string(dscp)));
            struct frame_route r = route_make(dst[0] == 'f' ? "fd00::1" : "10.0.0.1", dst);
            uint64_t tagged = 0;

            r.dscp = 46;
            r.ecn = 2;
            l.look = [&](struct rte_mbuf *m) {
                const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *) + 14;
                int tos = dst[0] == 'f' ? (ip[0] << 4 | ip[1] >> 4) & 255 : ip[1];

                EXPECT_TRUE(sums_right(m));
                EXPECT_EQ(tos & 3, 2);
                EXPECT_EQ(tos >> 2, mbuf_id(m) == 0 ? 46 : dscp);
                tagged += tos >> 2 != 46;
            };
            for (uint64_t i = 0; i < 3; i++)
                l.push(i, udp_make(r, 500));
            l.finish();
            EXPECT_EQ(tagged, 2u);
            EXPECT_EQ(l.counts().marked, 2u);
        }
}

TEST(Police, ShapesToTheContractExactly)
{
    for (uint64_t hz : CLOCKS) {
        Line l("police pcr 9999kbit shape limit 1000", hz);
        u128 sum = 0;

        for (uint32_t i = 0; i < 500; i++)
            l.push(1000, 60 + i);
        l.finish();
        ASSERT_EQ(l.out.size(), 500u);
        for (uint32_t i = 0; i < 500; i++) {
            ASSERT_EQ(l.out[i].id, i);
            ASSERT_EQ(l.out[i].at, 1000 + (uint64_t)(sum * hz / 1249875)) << i;
            sum += 60 + i;
        }
        EXPECT_EQ(l.element().delay->max, l.out.back().at - 1000);
    }
}

TEST(Police, ShapeHasALimit)
{
    Line packets("police pcr 8kbit shape limit 3"), bytes("police pcr 8kbit shape limit 1k"),
        usual("police pcr 8kbit shape");

    for (int i = 0; i < 1100; i++)
        for (Line *l : {&packets, &bytes, &usual})
            l->push(0, 256);
    EXPECT_EQ(packets.counts().queued_packets, 3u);
    EXPECT_EQ(bytes.counts().queued_packets, 4u);
    EXPECT_EQ(usual.counts().queued_packets, 1000u);
}

TEST(Police, HugeBurstsDoNotWrap)
{
    Line l("police pcr 80mbit scr 8bit mbs 4294967295 cells line 80mbit");

    for (uint64_t i = 1; i <= 1000; i++)
        l.push(i * 1000000, 500);
    l.finish();
    EXPECT_EQ(l.out.size(), 1000u);
}

TEST(Police, ShapedDelayIsWhatItWas)
{
    Line l("police pcr 8kbit shape at 1ms police pcr 8gbit shape"); // a new contract begins at 1 ms

    l.push(0, 100);
    l.push(0, 100);     // leaves after 100 ms
    l.push(2000000, 1); // could leave at once, but not before the last one
    l.finish();
    EXPECT_EQ(l.out[2].at, 100000000u);
    EXPECT_EQ(histogram_min(l.element().delay), 98000000u);
}

// Frames wait under the old contract when the new one begins: those that come then wait behind
// them, and still leave as far apart as it says.
TEST(Police, ShapedFramesStayApartWhenAContractBegins)
{
    Line l("police pcr 8kbit shape at 1s police pcr 8kbit shape");

    for (int i = 0; i < 21; i++)
        l.push(0, 100);
    for (uint64_t at = 1100000000; at < 2000000000; at += 100000000)
        l.push(at, 100);
    l.finish();
    ASSERT_EQ(l.out.size(), 30u);
    for (size_t i = 0; i < l.out.size(); i++) // the first one under it does not know the last one
        EXPECT_EQ(l.out[i].at, (i > 20 ? i - 1 : i) * 100000000u) << i;
}

TEST(Police, WhatIsNoContract)
{
    for (const char *bad :
         {"police", "police drop", "police pcr 1mbit scr 1kbit", "police pcr 1mbit mbs 5",
          "police pcr 1mbit scr 2mbit mbs 5", "police pcr 1mbit cells", "police pcr 1mbit tag 64"})
        EXPECT_NE(spec_error(bad), "") << bad;
}

} // namespace
