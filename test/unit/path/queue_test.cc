// SPDX-License-Identifier: BSD-3-Clause
// Queues before a link: bands, RED, CoDel.
#include <deque>

#include "support.h"

namespace
{

struct rte_mbuf *dscp_packet(uint8_t dscp, uint32_t len, uint8_t ecn = 0)
{
    struct frame_route r = route_make("10.0.0.1", "10.0.0.2");

    r.dscp = dscp;
    r.ecn = ecn;
    return udp_make(r, len - 42);
}

std::vector<uint32_t> ids(const Line &l)
{
    std::vector<uint32_t> v;

    for (const Out &o : l.out)
        v.push_back(o.id);
    return v;
}

TEST(Bands, ShortFramesFirstWithLimitsOfTheirOwn)
{
    Line l("rate 8mbit band length 68 limit 2 band limit 3");

    for (uint32_t len : {1000, 1000, 68, 1000, 69, 50, 60, 1000, 1000})
        l.push(0, len); // 0 is on the link; the first band drops 6, the second drops 7 and 8
    l.finish();
    EXPECT_EQ(ids(l), (std::vector<uint32_t>{0, 2, 5, 1, 3, 4}));
    EXPECT_EQ(l.counts().dropped, 3u);
}

TEST(Bands, PriorityIsStrictButNotPreemptive)
{
    Line l("rate 8mbit band length 100 band");

    for (int i = 0; i < 3; i++)
        l.push(0, 1000);
    for (uint64_t i = 1; i <= 20; i++)
        l.push(i * 50000, 100); // twice the link's rate
    l.finish();
    ASSERT_EQ(l.out.size(), 23u);
    EXPECT_EQ(l.out[0].id, 0u);
    for (uint32_t i = 1; i <= 20; i++)
        EXPECT_EQ(l.out[i].id, i + 2);
}

TEST(Bands, ByCodePointAndBoth)
{
    Line l("rate 8mbit band dscp 46,34 length 200 band dscp 10 band");

    l.push(0, dscp_packet(0, 100));
    const struct {
        uint8_t dscp;
        uint32_t len;
    } more[] = {{0, 100}, {10, 100}, {46, 300}, {34, 200}, {46, 100}, {10, 100}};
    for (auto m : more)
        l.push(0, dscp_packet(m.dscp, m.len));
    l.finish();
    EXPECT_EQ(ids(l), (std::vector<uint32_t>{0, 4, 5, 2, 6, 1, 3}));
}

TEST(Bands, LimitsInBytes)
{
    Line l("rate 8kbit band length 100 limit 1k band limit 2k");

    l.push(0, 10);
    for (int i = 0; i < 20; i++)
        l.push(0, 100);
    for (int i = 0; i < 20; i++)
        l.push(0, 200);
    EXPECT_EQ(l.counts().queued_packets, 1 + 10 + 10u);
}

TEST(Bands, WhatDoesNotFitTogether)
{
    for (const char *bad :
         {"rate 1mbit band length 5", "rate 1mbit band band", "rate 1mbit limit 5 band",
          "rate 1mbit codel red min 1k max 2k", "rate 1mbit band length 5 band codel",
          "rate 1mbit band dscp 64 band", "rate 1mbit band dscp 4, band", "rate 1mbit red min 1k",
          "rate 1mbit red min 2k max 2k", "rate 1mbit band length 0 band"})
        EXPECT_NE(spec_error(bad), "") << bad;
}

/* ---- RED ------------------------------------------------------------------------------------- */

/* The link has rate 0, and a limit keeps the queue at one length. The limit drops packets that RED
 * marks, so the average stays. Floyd and Jacobson: the distance between marks is uniform, and 1 /
 * probability at most. */
TEST(Red, ProbabilityCurveAndEvenDistances)
{
    for (uint32_t kB : {12, 15, 21, 27}) {
        Line l("rate 0 limit " + std::to_string(kB - 1) +
                   " red min 10kB max 30kB probability 10% weight 1 ecn",
               GHZ, kB);
        double share = 0.1 * (kB - 10) / 20, whole = std::floor(1 / share), sum = 0;
        uint64_t marked, last = 0, count = 0;

        while (l.counts().queued_packets < kB)
            l.push(0, 1024);
        for (int i = 0; i < 100; i++)
            l.push(0, dscp_packet(0, 100, 1));
        marked = l.counts().marked;
        for (uint64_t i = 1; i <= 400000; i++) {
            l.push(0, dscp_packet(0, 100, 1));
            if (l.counts().marked == marked)
                continue;
            marked = l.counts().marked;
            if (last > 0) {
                ASSERT_LE((double)(i - last), std::ceil(1 / share));
                sum += (double)(i - last);
                count++;
            }
            last = i;
        }
        double mean = 0, square = 0, left = 1;
        for (double k = 1; k <= whole + 1; k++) {
            double p = std::min(share, left);

            mean += k * p;
            square += k * k * p;
            left -= p;
        }
        expect_mean(sum / (double)count, count, mean, std::sqrt(square - mean * mean), "distance");
    }
}

TEST(Red, AverageFollowsTheQueueByItsWeight)
{
    // the average reaches max when (1 - 2^-4)^n < 1 - max / queue
    Line l("rate 0 limit 100 red min 20kB max 21kB probability 0% weight 4");
    double average = 0;
    int let_in = 0;

    for (int i = 0; i < 200; i++) {
        uint64_t before = l.counts().queued_bytes;

        average += ((double)before - average) / 16;
        if (i == 0)
            average = 0; // the link is idle
        l.push(0, 1024);
        bool in = l.counts().queued_bytes > before;
        if (std::fabs(average - 21 * 1024) > 1) {
            ASSERT_EQ(in, average < 21 * 1024 && let_in < 101) << i << " " << average;
        }
        let_in += in;
    }
    EXPECT_GT(let_in, 21);
    EXPECT_LT(let_in, 60);
}

TEST(Red, IdleTimeDecaysTheAverage)
{
    // at 1 MB/s a packet takes 1 ms, so each idle ms counts as a packet with an empty queue
    const char *spec = "rate 1MB/s limit 1000 red min 5kB max 10kB probability 0% weight 3";
    for (uint64_t idle_ms : {1, 5, 6, 7, 30}) {
        Line l(spec);
        double average = 0;
        bool in = true;

        l.push(0, 1000);
        while (in) {
            uint64_t before = l.counts().queued_bytes;

            average += ((double)before - average) / 8;
            l.push(0, 1000);
            in = l.counts().queued_bytes > before;
        }
        ASSERT_GE(average, 10240);
        l.finish();
        uint64_t empty = l.out.back().at;
        average *= std::pow(7.0 / 8, (double)idle_ms);
        l.push(empty + idle_ms * 1000000, 1000);
        EXPECT_EQ(l.counts().queued_packets, average < 10240 ? 1u : 0u)
            << idle_ms << " " << average;
    }
}

/* A packet that is dropped at an idle link must not count earlier idle time twice, nor end it. */
TEST(Red, IdleTimeCountsOnce)
{
    const char *spec = "rate 1MB/s limit 1000 red min 5kB max 10kB probability 0% weight 5";
    for (uint64_t step_us : {10, 300, 1700}) {
        Line l(spec);
        uint64_t before = 0;

        l.push(0, 1000);
        do {
            before = l.counts().queued_bytes;
            l.push(0, 1000);
        } while (l.counts().queued_bytes > before);
        for (int i = 0; i < 100; i++) // far above max
            l.push(0, 1000);
        double average = 0;
        for (uint64_t i = 1; average < 10240; i++)
            average += ((double)std::min<uint64_t>(i * 1000, before) - average) / 32;
        average += ((double)before - average) * (1 - std::pow(31.0 / 32, 100));
        l.finish();
        double packets = std::log(10240 / average) / std::log(31.0 / 32); // until it is below max
        uint64_t empty = l.out.back().at, at = empty;
        do {
            at += step_us * 1000;
            l.push(at, 1000);
        } while (l.counts().queued_packets == 0 && at < empty + 1000000000);
        EXPECT_NEAR((double)(at - empty) / 1e6, packets, 1.1 + (double)step_us / 1000) << step_us;
    }
}

TEST(Red, EcnMarksBelowMaxAndDropsBeyond)
{
    Line l("rate 0 limit 1000 red min 1kB max 20kB probability 100% weight 1 ecn");

    for (int i = 0; i < 100; i++)
        l.push(0, dscp_packet(0, 1000, 2));
    EXPECT_GT(l.counts().marked, 5u);
    EXPECT_GT(l.counts().dropped, 50u);
    EXPECT_LT(l.counts().queued_bytes, 25000u);
}

/* ---- CoDel ----------------------------------------------------------------------------------- */

/* RFC 8289, section 5, word by word, for one queue before a link. */
struct Codel {
    double target = 3e6, interval = 40e6;
    std::deque<std::pair<uint32_t, uint64_t>> queue; // number, arrival
    std::vector<uint32_t> len;
    uint64_t bytes = 0;
    double first_above = 0, drop_next = 0;
    uint32_t count = 0, last_count = 0;
    bool dropping = false;
    std::vector<uint32_t> dropped;

    bool dodeque(double now, std::pair<uint32_t, uint64_t> &p, bool &ok)
    {
        ok = false;
        if (queue.empty()) {
            first_above = 0;
            return false;
        }
        p = queue.front();
        queue.pop_front();
        bytes -= len[p.first];
        if (now - (double)p.second < target || bytes <= 1514) {
            first_above = 0;
        } else if (first_above == 0) {
            first_above = now + interval;
        } else if (now >= first_above) {
            ok = true;
        }
        return true;
    }

    double law(double t, uint32_t n) const
    {
        return t + std::round(interval / std::sqrt((double)n)); // clocks count whole cycles
    }

    bool deque(double now, std::pair<uint32_t, uint64_t> &p)
    {
        bool ok, any = dodeque(now, p, ok);

        if (dropping) {
            if (!ok)
                dropping = false;
            while (now >= drop_next && dropping) {
                dropped.push_back(p.first);
                count++;
                any = dodeque(now, p, ok);
                if (!ok)
                    dropping = false;
                else
                    drop_next = law(drop_next, count);
            }
        } else if (ok) {
            dropped.push_back(p.first);
            any = dodeque(now, p, ok);
            dropping = true;
            uint32_t delta = count - last_count;
            count = delta > 1 && now - drop_next < 16 * interval ? delta : 1;
            drop_next = law(now, count);
            last_count = count;
        }
        return any;
    }
};

/* A link of 1 byte/us. The rate of arrival swings around it in both directions. */
TEST(Codel, DropsWhatTheRfcDrops)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t ms = seed % 4 == 0 ? 40 : seed % 4;
        Line l("rate 8mbit limit 8000 codel target 3ms interval " + std::to_string(ms) + "ms");
        Codel c;
        struct rng r;
        uint64_t at = 0, free_at = 0;
        std::vector<uint32_t> sent;
        bool busy = false;
        uint32_t serving = 0;

        c.interval = (double)ms * 1e6;
        rng_init(&r, seed);
        auto serve_until = [&](uint64_t t) {
            while (busy && free_at <= t) {
                std::pair<uint32_t, uint64_t> p;

                sent.push_back(serving);
                busy = c.deque((double)free_at, p);
                if (busy) {
                    serving = p.first;
                    free_at += c.len[serving] * 1000ull;
                }
            }
        };
        for (uint32_t i = 0; i < 20000; i++) {
            uint32_t len = 100 + (uint32_t)rng_below(&r, 1400);
            // packets take 800 us on average
            uint64_t mean = i / 2000 % 3 == 0 ? 500 : i / 100 % 2 ? 700 : 1050;

            at += rng_below(&r, 2000 * mean);
            serve_until(at);
            l.push(at, len);
            c.len.push_back(len);
            if (!busy) {
                busy = true;
                serving = i;
                free_at = at + len * 1000ull;
            } else {
                c.queue.push_back({i, at});
                c.bytes += len;
            }
        }
        l.finish();
        serve_until(TIME_NEVER);
        ASSERT_EQ(l.counts().dropped, c.dropped.size()) << seed;
        ASSERT_EQ(ids(l), sent) << seed;
        ASSERT_GT(sent.size(), 10000u);
        ASSERT_GT(c.dropped.size(), 100u);
    }
}

TEST(Codel, EcnMarksAndKeeps)
{
    Line l("rate 8mbit codel target 1ms interval 10ms ecn");
    uint64_t marks = 0;

    l.look = [&](struct rte_mbuf *m) { marks += frame_of(m).ecn == 3; };
    for (uint64_t i = 0; i < 900; i++)
        l.push(i * 500000, dscp_packet(0, 1000, 1));
    l.finish();
    EXPECT_EQ(l.out.size(), 900u);
    EXPECT_GT(marks, 10u);
    EXPECT_EQ(l.counts().marked, marks);
}

TEST(Codel, LeavesAShortQueueAlone)
{
    Line l("rate 8mbit codel");

    for (uint64_t i = 0; i < 10000; i++)
        l.push(i * 1001000, 1000);
    l.finish();
    EXPECT_EQ(l.out.size(), 10000u);
}

} // namespace
