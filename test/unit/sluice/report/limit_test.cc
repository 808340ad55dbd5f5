/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is the stage that limits a transfer found? Transfers of drawn speeds are computed request by
 * request; what the clocks of the sender and its connection would tell is given to limits_take().
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "unit/base/seed.h"

extern "C" {
#include "base/rng.h"
#include "sluice/report/limit.h"
}

namespace
{

constexpr double kRequest = 4 << 20;
constexpr int kSlots = 8; // of the sender, and of the receiver

/* Speeds in bytes per second. */
struct Stages {
    double read, grant, peer;
    double trip_ns;
};

/* When request i is read, sent, taken by the receiver, confirmed. */
struct Transfer {
    explicit Transfer(const Stages &s, size_t n)
        : s(s), read(n), start(n), sent(n), taken(n), done(n)
    {
        for (size_t i = 0; i < n; i++) {
            double before = i > 0 ? read[i - 1] : 0;
            double slot = i >= kSlots ? done[i - kSlots] : 0;
            double buffer = i >= kSlots ? taken[i - kSlots] + s.trip_ns / 2 : 0;

            waited += std::max(slot - before, 0.0);
            read[i] = std::max(before, slot) + kRequest / s.read * 1e9;
            double ready = std::max(read[i], i > 0 ? sent[i - 1] : 0);
            start[i] = std::max(ready, buffer);
            sent[i] = start[i] + kRequest / s.grant * 1e9;
            taken[i] = std::max(sent[i] + s.trip_ns / 2, i > 0 ? taken[i - 1] : 0) +
                       kRequest / s.peer * 1e9;
            done[i] = sent[i] + s.trip_ns;
            app += std::max(read[i] - (i > 0 ? sent[i - 1] : 0), 0.0);
            full += start[i] - ready;
            paced += sent[i] - start[i];
        }
    }
    Stages s;
    std::vector<double> read, start, sent, taken, done;
    double waited = 0, app = 0, full = 0, paced = 0;
};

uint64_t whole(double x)
{
    return (uint64_t)x;
}

double drawn(struct rng *r, double least, double factor)
{
    return least * std::pow(factor, (double)rng_below(r, 1000001) / 1e6);
}

} // namespace

TEST(Limit, TheSlowestStageOfASenderIsFound)
{
    uint64_t seed = test_seed();
    int found[LIMITS] = {};
    struct rng r;

    rng_init(&r, seed);
    for (int world = 0; world < 2000; world++) {
        const char *why = rng_below(&r, 2) ? "queue" : "capacity";
        bool disk = rng_below(&r, 2);
        Stages s = {drawn(&r, 1e6, 1e4), drawn(&r, 1e6, 1e4), drawn(&r, 1e6, 1e4),
                    drawn(&r, 1e4, 1e5)};
        /* the speed that each would allow alone */
        std::vector<std::pair<double, enum limit>> all = {
            {s.read, disk ? LIMIT_DISK : LIMIT_PROCESSOR},
            {s.grant, *why == 'q' ? LIMIT_PATH : LIMIT_GRANT},
            {s.peer, LIMIT_PEER},
            {kSlots * kRequest / s.trip_ns * 1e9, LIMIT_ROUND}};
        struct limits_clock now;
        struct sluice_stats stats = {};
        struct limits l;
        double share;

        std::sort(all.begin(), all.end());
        if (all[1].first < 3 * all[0].first)
            continue; /* two that are as slow take turns */
        Transfer run(s, 2000);

        memset(&l, 0, sizeof l);
        l.sending = true;
        l.ready_file = -1;
        l.flight_bytes = whole(kSlots * kRequest);
        limits_waited(&l, LIMITS_FLIGHT, whole(run.waited));
        now = {whole(run.read.back()), disk ? 0 : whole(run.read.back() - run.waited), 0, 0};
        stats.tx_app_limited_ns = whole(run.app);
        stats.tx_peer_limited_ns = whole(run.full);
        stats.tx_rate_limited_ns = whole(run.paced);
        stats.tx_rate_Bps = whole(s.grant);
        stats.tx_bytes = whole(2000 * kRequest);
        stats.rtt_ns = whole(s.trip_ns);
        strcpy(stats.tx_why, why);
        limits_take(&l, &now, &stats);

        enum limit most = limits_longest(l.ns, &share);

        ASSERT_EQ(most, all[0].second)
            << limits_name(most) << ", not " << limits_name(all[0].second) << ": read " << s.read
            << ", grant " << s.grant << ", peer " << s.peer << " bytes/s, round trip " << s.trip_ns
            << " ns; world " << world << " of SLUICE_SEED=" << seed;
        found[most]++;
    }
    for (enum limit each :
         {LIMIT_DISK, LIMIT_PROCESSOR, LIMIT_PATH, LIMIT_GRANT, LIMIT_PEER, LIMIT_ROUND})
        EXPECT_GT(found[each], 0) << limits_name(each) << " was never the slowest";
}

namespace
{

/* One second, in which this end ran for cpu_ns and waited for wait_ns. */
enum limit one_second(bool sending, uint64_t cpu_ns, uint64_t ready_ns, uint64_t wait_ns,
                      enum limits_wait what, const struct sluice_stats &stats)
{
    struct limits_clock now = {1000000000, cpu_ns, ready_ns, 0};
    struct limits l = {};
    double share;
    uint64_t sum = 0;

    l.sending = sending;
    l.flight_bytes = 32 << 20;
    limits_waited(&l, what, wait_ns);
    limits_take(&l, &now, &stats);
    for (uint64_t ns : l.ns)
        sum += ns;
    EXPECT_NEAR((double)sum, 1e9, 10) << "no time is lost, none counts twice";
    return limits_longest(l.ns, &share);
}

struct sluice_stats granted(uint64_t grant_Bps, uint64_t bytes, const char *why)
{
    struct sluice_stats s = {};

    s.tx_rate_Bps = s.rx_rate_Bps = grant_Bps;
    s.tx_bytes = s.rx_bytes = bytes;
    s.tx_rate_limited_ns = 1000000000;
    strcpy(s.tx_why, why);
    strcpy(s.rx_why, why);
    return s;
}

} // namespace

TEST(Limit, ASleepInASystemCallIsTheDisk)
{
    struct sluice_stats s = {};

    EXPECT_EQ(one_second(true, 200000000, 100000000, 0, LIMITS_FLIGHT, s), LIMIT_DISK);
    EXPECT_EQ(one_second(true, 600000000, 100000000, 0, LIMITS_FLIGHT, s), LIMIT_PROCESSOR);
    EXPECT_EQ(one_second(true, 200000000, 600000000, 0, LIMITS_FLIGHT, s), LIMIT_BUSY)
        << "a thread that waits for a processor does not wait for the disk";
    EXPECT_EQ(one_second(true, 50000000, 700000000, 900000000, LIMITS_INPUT, s), LIMIT_BUSY)
        << "a thread that is late for its input does not wait for it";
    EXPECT_EQ(one_second(true, 0, 0, 900000000, LIMITS_INPUT, s), LIMIT_INPUT);
}

TEST(Limit, ASenderBelowItsGrantWaitsForItsDaemon)
{
    EXPECT_EQ(one_second(true, 0, 0, 900000000, LIMITS_FLIGHT, granted(1000, 740, "capacity")),
              LIMIT_DAEMON);
    EXPECT_EQ(one_second(true, 0, 0, 900000000, LIMITS_FLIGHT, granted(1000, 760, "capacity")),
              LIMIT_GRANT);
    EXPECT_EQ(one_second(true, 0, 0, 900000000, LIMITS_FLIGHT, granted(1000, 1000, "ecn")),
              LIMIT_PATH);
    EXPECT_EQ(one_second(true, 0, 0, 900000000, LIMITS_FLIGHT, granted(1000, 1000, "probe")),
              LIMIT_START);
    EXPECT_EQ(one_second(true, 0, 0, 900000000, LIMITS_FLIGHT, {}), LIMIT_DAEMON)
        << "a daemon that has not looked at the connection";
}

TEST(Limit, AReceiverBelowItsGrantWaitsForTheSender)
{
    EXPECT_EQ(one_second(false, 0, 0, 900000000, LIMITS_FLIGHT, granted(1000, 740, "queue")),
              LIMIT_PEER);
    EXPECT_EQ(one_second(false, 0, 0, 900000000, LIMITS_FLIGHT, granted(1000, 760, "queue")),
              LIMIT_PATH);
    EXPECT_EQ(one_second(false, 0, 0, 400000000, LIMITS_FLIGHT, granted(1000, 740, "queue")),
              LIMIT_DISK);
}

TEST(Limit, AStreamThatTakesNoMoreIsNoDisk)
{
    struct limits_clock now = {1000000000, 100000000, 0, 0};
    struct sluice_stats s = {};
    struct limits l = {};

    l.stream = true;
    limits_take(&l, &now, &s);
    EXPECT_EQ(l.ns[LIMIT_OUTPUT], 900000000u);
    EXPECT_EQ(l.ns[LIMIT_DISK], 0u);
}

/* The storage's threads read and write meanwhile: what they compute is no disk. */
TEST(Limit, WaitsForFilesAreTheProcessorsFirst)
{
    for (bool sending : {true, false}) {
        struct limits_clock now = {1000000000, 100000000, 0, 300000000};
        struct sluice_stats s = granted(1000, 1000, "queue");
        struct limits l = {};

        l.sending = sending;
        limits_waited(&l, LIMITS_FILES, 800000000);
        limits_take(&l, &now, &s);
        EXPECT_EQ(l.ns[LIMIT_PROCESSOR], 400000000u);
        EXPECT_EQ(l.ns[LIMIT_DISK], 600000000u);
        now = {2000000000, 200000000, 0, 1300000000};
        limits_waited(&l, LIMITS_FILES, 800000000);
        limits_take(&l, &now, &s);
        EXPECT_EQ(l.ns[LIMIT_PROCESSOR], 1300000000u) << "no more than was waited for";
        EXPECT_EQ(l.ns[LIMIT_DISK], 700000000u);
    }
}

TEST(Limit, WordsForPeople)
{
    uint64_t ns[LIMITS] = {};
    struct sluice_stats s = granted(1, 1, "queue");
    char text[256], small[20];

    ns[LIMIT_PATH] = 3;
    ns[LIMIT_DISK] = 1;
    limits_describe(text, sizeof text, ns, LIMITS_FROM_SENDER, &s);
    EXPECT_STREQ(text, "limited for 75 % of the time by the path (queue); \"sluice show path\" at "
                       "the receiver tells more");
    ns[LIMIT_PEER] = 4;
    limits_describe(text, sizeof text, ns, LIMITS_FROM_RECEIVER, &s);
    EXPECT_STREQ(text, "limited for 50 % of the time by the sender, its disk or its processor");
    limits_describe(small, sizeof small, ns, LIMITS_FROM_RECEIVER, &s);
    EXPECT_STREQ(small, "limited for 50 % of");
    for (enum limits_view view : {LIMITS_FROM_SENDER, LIMITS_FROM_AFAR}) {
        const std::string where = view == LIMITS_FROM_AFAR ? "at the sender" : "here";
        uint64_t disk[LIMITS] = {}, busy[LIMITS] = {};

        disk[LIMIT_DISK] = busy[LIMIT_BUSY] = 1;
        limits_describe(text, sizeof text, disk, view, &s);
        EXPECT_EQ(text, "limited for 100 % of the time by the disk " + where);
        limits_describe(text, sizeof text, busy, view, &s);
        EXPECT_EQ(text, "limited for 100 % of the time by other programs, which have the "
                        "processors " +
                            where);
    }
    EXPECT_STREQ(limits_word(LIMIT_DISK, LIMITS_FROM_SENDER), "disk here");
    EXPECT_STREQ(limits_word(LIMIT_DISK, LIMITS_FROM_AFAR), "sender's disk");
    EXPECT_STREQ(limits_word(LIMIT_PEER, LIMITS_FROM_AFAR), "receiver");
    EXPECT_STREQ(limits_word(LIMITS, LIMITS_FROM_AFAR), "");
    ns[LIMIT_OPTION] = 8;
    limits_describe(text, sizeof text, ns, LIMITS_FROM_SENDER, &s);
    EXPECT_STREQ(text, "limited for 50 % of the time by --bwlimit or --rate");
    ns[LIMIT_GRANT] = 16;
    strcpy(s.tx_why, "limit");
    limits_describe(text, sizeof text, ns, LIMITS_FROM_SENDER, &s);
    EXPECT_STREQ(text, "limited for 50 % of the time by what the receiver allows, by --bwlimit or "
                       "--rate");
}

/* What this end allows itself is told from what the other end allows, which may be less. */
TEST(Limit, AnOwnLimitIsToldFromThePeers)
{
    for (bool sending : {true, false}) {
        for (uint64_t own_Bps : {0, 1000000, 2000000}) {
            struct limits_clock now = {1000000000, 0, 0, 0};
            struct sluice_stats s = granted(1000000, 1000000, "limit");
            struct limits l;
            double share;

            memset(&l, 0, sizeof l);
            l.sending = sending;
            l.ready_file = -1;
            l.own_Bps = own_Bps;
            l.flight_bytes = 32 << 20;
            limits_waited(&l, LIMITS_FLIGHT, 1000000000);
            s.tx_rate_limited_ns = 1000000000;
            limits_take(&l, &now, &s);
            EXPECT_EQ(limits_longest(l.ns, &share), own_Bps == 1000000 ? LIMIT_OPTION : LIMIT_GRANT)
                << own_Bps;
        }
    }
}
