// SPDX-License-Identifier: BSD-3-Clause
// A rate that is held on a slow link, with trials made by hand.
#include <gtest/gtest.h>

#include <cstdint>

#include "delays.hh"

namespace
{

constexpr uint64_t kMs = 1000000, kS = 1000000000;
constexpr uint64_t kUnit = 1000, kRate = 20000; // a packet takes 50 ms
constexpr uint64_t kRtt = 60 * kMs;             // and a round trip little more
constexpr uint64_t kPacket = 50 * kMs;

// Eight packets arrived at this rate. The first waited for early_ns, the last for late_ns.
trial_result seen(uint64_t rate_Bps, uint64_t early_ns, uint64_t late_ns)
{
    trial_result t = {};

    t.packets = 8;
    t.bytes = 8 * kUnit;
    t.arrived_ns = t.bytes * kS / rate_Bps;
    t.sent_ns = t.arrived_ns + early_ns - late_ns;
    change(&t, early_ns, late_ns);
    return t;
}

void update(pathrate *p, const trial_result &t, uint64_t rtt_ns = kRtt)
{
    pathrate_update(p, &t, p->ceiling_Bps, rtt_ns);
}

// Many packets were lost, and a queue of one packet is left.
pathrate limited(uint64_t rtt_ns = kRtt)
{
    pathrate p;
    trial_result t = seen(kRate, kPacket, kPacket);

    pathrate_init(&p);
    t.lost = t.runs = 20;
    t.max_ns = 4 * kPacket;
    update(&p, t, rtt_ns);
    EXPECT_EQ(p.mode, PATHRATE_QUEUE);
    update(&p, seen(kRate, kPacket, kPacket), rtt_ns);
    return p;
}

// After all trials that hold the rate, in which no packet waits. The next trial looks for a queue.
pathrate looking()
{
    pathrate p = limited();

    for (int i = 0; i < 16; i++) {
        EXPECT_LT(p.ceiling_Bps, kRate) << i;
        update(&p, seen(p.ceiling_Bps, 0, 0));
    }
    return p;
}

} // namespace

TEST(PathrateHold, TheQueueGoesAndALittleLessIsHeld)
{
    pathrate p = limited();

    // removes one packet of queue in 8 packets' time and a round trip
    EXPECT_NEAR((double)p.ceiling_Bps, (double)kRate * (1 - 50.0 / (400 + 60)), 5);
    for (int i = 0; i < 15; i++) {
        update(&p, seen(p.ceiling_Bps, 0, 0));
        EXPECT_NEAR((double)p.ceiling_Bps, 0.99 * (double)kRate, 2) << i;
    }
    update(&p, seen(p.ceiling_Bps, 0, 0));
    EXPECT_NEAR((double)p.ceiling_Bps, 17.0 / 16 * (double)kRate, 2) << "it probes for more";
}

TEST(PathrateHold, AQueueThatBeginsWhenMoreIsSentConfirmsIt)
{
    pathrate p = looking();

    update(&p, seen(kRate, 0, kPacket / 4));
    EXPECT_LT(p.ceiling_Bps, kRate);
    EXPECT_GT(p.ceiling_Bps, kRate * 85 / 100) << "half a packet of queue is removed";
    update(&p, seen(p.ceiling_Bps, 0, 0));
    EXPECT_NEAR((double)p.ceiling_Bps, 0.99 * (double)kRate, 2);
}

TEST(PathrateHold, NoQueueThenMeansThatThereIsMore)
{
    pathrate p = looking();
    uint64_t before = p.ceiling_Bps;

    for (int i = 0; i < 6; i++)
        update(&p, seen(p.ceiling_Bps, 0, 0));
    EXPECT_GT(p.ceiling_Bps, 2 * before) << "faster and faster";
}

TEST(PathrateHold, WaitingMeansThatSomebodyElseIsThere)
{
    uint64_t apart = 0;

    for (uint64_t wait : {kPacket / 5, kPacket / 3}) {
        pathrate p = limited();

        for (int i = 0; i < 4; i++)
            update(&p, seen(p.ceiling_Bps, 0, 0));
        update(&p, seen(p.ceiling_Bps, wait, wait));
        EXPECT_EQ(p.held > 0, wait == kPacket / 5);
        apart = p.apart;
    }
    EXPECT_EQ(apart, 64u);
    pathrate p = limited();
    uint32_t last = 0;

    for (int i = 0; i < 10000; i++) {
        update(&p, seen(kRate, kPacket, kPacket));
        EXPECT_GE(p.apart_next, last);
        last = p.apart_next;
    }
    EXPECT_EQ(last, 1024u) << "less and less often";
}

TEST(PathrateHold, NotWhereMoreIsUnderWay)
{
    EXPECT_GT(limited(3 * kPacket).held, 0u);
    EXPECT_EQ(limited(5 * kPacket).held, 0u);
}

TEST(PathrateHold, NotForWhoSendsLess)
{
    pathrate p = limited();

    for (int i = 0; i < 100; i++) {
        update(&p, seen(p.ceiling_Bps / 2, 0, 0));
        ASSERT_LT(p.held, 3u) << "its trials show nothing of the link";
        ASSERT_LT(p.ceiling_Bps, kRate);
    }
    trial_result t = seen(kRate / 4, 0, 0);

    pathrate_update(&p, &t, p.ceiling_Bps / 4, kRtt);
    EXPECT_EQ(p.held, 0u) << "the host has no more for us";
}
