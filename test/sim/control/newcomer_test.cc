// SPDX-License-Identifier: BSD-3-Clause
// Senders that begin, and senders that pause and come back: alone, among others, and all at once.
// The hosts have sluiced's defaults.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

extern "C" {
#include "host/host_internal.h"
}

#include "crowd.hh"
#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000000;
constexpr uint64_t kAll = UINT64_MAX;
constexpr double kFull = 1408.0 / 1514; // payload of full frames
constexpr uint64_t kRtt = 100 * kUs;
constexpr uint32_t kMany = 256; // connections, two of each host

class NewcomerWorld : public WholePools
{
};

// 10 Gbit/s, a buffer of 1 MB, a round trip of 100 us, and sluiced's defaults.
CrowdOptions defaults(uint32_t senders)
{
    CrowdOptions o;

    o.conns = senders == kMany ? 2 : 1;
    o.senders = senders / o.conns;
    o.ring = 660;
    o.link_Bps = 1250000000;
    o.first_rate_Bps = 125000000;
    o.first_burst_bytes = 16384;
    o.request_bytes = 1000000;
    return o;
}

// The time from which on the receiver gets 9/10 of its capacity or more, for a millisecond. The
// 32 frames that it takes at once do not matter.
uint64_t fill_ns(Crowd &c, uint32_t sender, const CrowdOptions &o)
{
    constexpr uint64_t kStep = 10 * kUs;
    constexpr size_t kLong = kMs / kStep;
    const double step = 0.9 * kFull * (double)o.service_Bps * (double)kStep * 1e-9;
    std::vector<double> had;
    size_t from = 0;

    for (size_t i = 0; i < 2 * kLong; i++) {
        had.push_back((double)c.info(sender).rx_bytes);
        c.run(kStep);
    }
    for (size_t i = 0; i < kLong && from == i; i++)
        for (size_t k = 1; k <= kLong; k++)
            if (had[i + k] - had[i] + 32 * 1408 < step * (double)k)
                from = i + 1;
    return from * kStep;
}

// All senders begin within a millisecond, at five phases of the control interval. All data must
// have come at most 5 % later than at full speed. No packet may be dropped after the first round
// trip; before that, first bursts of new connections are.
void incast(bool connected, uint64_t phase_ns)
{
    CrowdOptions o = defaults(kMany);
    o.connect = connected;
    Crowd c(o);

    c.run(5 * kMs + phase_ns);
    uint64_t start = world_now(c.w), before = c.overruns();
    for (uint32_t i = 0; i < c.size(); i++) {
        if (!connected)
            c.connect(i);
        c.send_once(i, o.request_bytes);
        c.run(kMs / kMany);
    }
    /* a sender whose question for our MAC address got lost asks again a millisecond later */
    c.run(connected ? kRtt : kRtt + kMs);
    uint64_t first = c.overruns() - before;
    uint32_t done = 0;
    while (done < c.size() && world_now(c.w) < start + 2000 * kMs) {
        c.run(kMs);
        for (done = 0; done < c.size() && c.sent_once(done);)
            done++;
    }
    uint64_t end = 0, later = c.overruns() - before - first;
    for (uint32_t i = 0; i < c.size(); i++)
        end = std::max(end, c.sent_at(i));
    double took = (double)(end - start) * 1e-9;
    double ideal = (double)o.request_bytes * kMany / (kFull * (double)o.service_Bps) + 1e-9 * kRtt;

    std::printf("%u:1 of 1 MB, %s: %.1f ms, %.1f %% more than bytes / capacity + RTT; %lu packets "
                "dropped in the first %s and RTT, %lu later: %s\n",
                kMany, connected ? "idle connections" : "new connections", took * 1e3,
                100 * (took / ideal - 1), first, connected ? "millisecond" : "two milliseconds",
                later, took <= ideal * 1.05 && later == 0 ? "met" : "MISSED");
    EXPECT_EQ(done, c.size());
    EXPECT_LE(took, ideal * 1.05);
    EXPECT_EQ(later, 0u) << "of 182000 packets";
}

} // namespace

TEST_F(NewcomerWorld, IncastOfIdleConnections)
{
    for (uint64_t phase = 0; phase < kMs; phase += kMs / 5)
        incast(true, phase);
}

TEST_F(NewcomerWorld, IncastOfNewConnections)
{
    for (uint64_t phase = 0; phase < kMs; phase += kMs / 5)
        incast(false, phase);
}

// With the same defaults, one sender fills the link within two round trips, if it is new and alone,
// and also if it is among many idle ones.
TEST_F(NewcomerWorld, OneAloneFillsTheLink)
{
    {
        CrowdOptions o = defaults(1);
        o.connect = false;
        Crowd c(o);

        c.run(5 * kMs);
        c.connect(0);
        c.demand(0, kAll);
        uint64_t took = fill_ns(c, 0, o);
        std::printf("alone, new: the link is full after %.0f us\n", (double)took * 1e-3);
        EXPECT_LE(took, 2 * kRtt);
    }
    CrowdOptions o = defaults(kMany);
    Crowd c(o);

    c.run(5 * kMs);
    c.demand(7, kAll);
    uint64_t took = fill_ns(c, 7, o);
    std::printf("alone among %u idle ones: the link is full after %.0f us\n", kMany - 1,
                (double)took * 1e-3);
    EXPECT_LE(took, 2 * kRtt);
}

namespace
{

// One of four senders pauses, and comes back; times in ns.
struct Pause {
    uint64_t given;   // from its last byte until the others are granted its share
    uint64_t back;    // from its first byte until all senders know the old shares
    double shares[4]; // in the 10 ms after that
};

bool rates_are(Crowd &c, const std::vector<double> &want, bool at_senders)
{
    for (uint32_t i = 0; i < want.size(); i++) {
        double rate = (double)(at_senders ? c.sender_rate_Bps(i) : c.info(i).rx_rate_Bps);

        if (rate < 0.95 * want[i] || rate > 1.05 * want[i])
            return false;
    }
    return true;
}

uint64_t until(Crowd &c, uint64_t from, const std::vector<double> &want, bool at_senders)
{
    while (!rates_are(c, want, at_senders) && world_now(c.w) < from + 20 * kMs)
        c.run(5 * kUs);
    return world_now(c.w) - from;
}

Pause pause(uint64_t phase_ns)
{
    CrowdOptions o;
    Pause p = {};

    o.senders = 4;
    o.link_Bps = 1250000000;
    o.request_bytes = 20000;
    Crowd c(o);
    for (uint32_t i = 0; i < 4; i++)
        c.demand(i, kAll);
    c.run(40 * kMs + phase_ns);
    double all = (double)c.capacity().granted_Bps;
    const std::vector<double> four(4, all / 4), three(3, all / 3);
    uint64_t last = world_now(c.w), bytes = 0;

    EXPECT_TRUE(rates_are(c, four, true)) << "at first";
    c.demand(3, 0);
    for (uint32_t i = 0; i < 60; i++, c.run(5 * kUs)) // begun requests still arrive
        if (c.info(3).rx_bytes != bytes) {
            bytes = c.info(3).rx_bytes;
            last = world_now(c.w);
        }
    p.given = until(c, last, three, false);
    c.run(20 * kMs + kMs / 3 - phase_ns / 2);
    c.demand(3, kAll);
    p.back = until(c, world_now(c.w), four, true);
    c.rates();
    c.run(10 * kMs);
    std::vector<double> r = c.rates();
    for (uint32_t i = 0; i < 4; i++)
        p.shares[i] = r[i] / (all / 4);
    return p;
}

} // namespace

// The pause begins at ten phases of the control interval.
TEST_F(NewcomerWorld, APauseIsSharedAndTakenBack)
{
    std::printf("one of four pauses: the others have its share after; it has it back after (us)\n");
    for (uint64_t phase = 0; phase < 1000 * kUs; phase += 100 * kUs) {
        Pause p = pause(phase);

        std::printf("  %4lu %8.0f %8.0f   shares %.3f %.3f %.3f %.3f\n", phase / kUs,
                    (double)p.given * 1e-3, (double)p.back * 1e-3, p.shares[0], p.shares[1],
                    p.shares[2], p.shares[3]);
        EXPECT_LE(p.given, kMs + kRtt) << "longer than an interval, and the time to miss it";
        EXPECT_LE(p.back, kMs + kRtt) << phase;
        for (double s : p.shares)
            EXPECT_NEAR(s, 1, 0.05) << phase;
    }
}

// With two packets in an interval, it takes long to miss eight of them. But the last packet says
// that it is the last.
TEST_F(NewcomerWorld, WhoSaysThatItEndsIsIdleSoon)
{
    CrowdOptions o;

    o.senders = 2;
    o.link_Bps = 1250000000;
    o.request_bytes = 1408;
    o.peers = {{Crowd::address(2), 32, 0, 1, 0, 3000000, 0, 0}};
    Crowd c(o);
    c.demand(0, kAll);
    c.demand(1, kAll);
    c.run(40 * kMs);
    EXPECT_STREQ(host_reason_name(c.info(1).rx_reason), "ceiling");
    c.demand(1, 0);
    uint64_t last = world_now(c.w), bytes = 0;
    for (uint32_t i = 0; i < 4000 && c.info(1).rx_reason != GRANT_IDLE; i++, c.run(5 * kUs))
        if (c.info(1).rx_bytes != bytes) {
            bytes = c.info(1).rx_bytes;
            last = world_now(c.w);
        }
    std::printf("3 MB/s: idle %.2f ms after the last packet\n",
                (double)(world_now(c.w) - last) * 1e-6);
    EXPECT_LE(world_now(c.w) - last, kMs + 2 * 1408 * kMs / 3000 + kRtt)
        << "longer than an interval, and the time of two packets";
}

// FIRST asks for 125 MB/s, and the host grants 10 MB/s. A round trip later the sender has that
// rate. Lost CNTL are repeated, also while data flow and the grant changes.
TEST_F(NewcomerWorld, FirstIsCorrectedAndGrantsSurviveLoss)
{
    for (bool lossy : {false, true}) {
        PairOptions o;
        uint64_t from = 0, to = 0, count = 0;

        o.control_ns = kMs;
        o.capacity_Bps = 10000000;
        o.fate = [&](uint32_t host, rte_mbuf *, uint64_t now, world_fate *f) {
            if (host == 1 && now >= from && now < to)
                f->copies = count++ % 4 == 3;
        };
        Pair p(o);
        auto told = [&] {
            struct host_conn_info info = {};

            host_conn_info(p.a(), p.conn[0], &info);
            return info.tx_rate_Bps;
        };
        auto wait = [&](uint64_t rate, uint64_t max_ns) {
            uint64_t start = world_now(p.w);

            while (told() != rate && world_now(p.w) < start + max_ns)
                world_run(p.w, world_now(p.w) + 10 * kUs);
            return world_now(p.w) - start;
        };
        world_run(p.w, world_now(p.w) + 3 * kMs);
        p.open();
        p.recv(1000000);
        p.send(1000000);
        EXPECT_EQ(told(), o.rate_first_Bps);
        from = world_now(p.w) + 150 * kUs; // by then the question for the MAC address is answered
        to = lossy ? from + 300 * kMs : 0;
        uint64_t first = wait(o.capacity_Bps, 200 * kMs);
        host_control_set_capacity(world_control(p.w, 1), 5000000);
        uint64_t next = wait(5000000, 200 * kMs);
        std::printf("%s: corrected after %lu us, changed after %lu us, %lu CNTLs in trouble\n",
                    lossy ? "3 of 4 CNTLs lost" : "nothing lost", first / kUs, next / kUs, count);
        EXPECT_LE(first, lossy ? 70 * kMs : 250 * kUs) << "slower than ARP, RTT, FIRST again";
        EXPECT_LE(next, (lossy ? 40 : 1) * kMs + 150 * kUs);
        EXPECT_TRUE(p.run([&] { return p.all_done(); }));
        EXPECT_TRUE(p.finish());
    }
}
