// SPDX-License-Identifier: BSD-3-Clause
// The capacity of a host, from its work: measured, overrun, saturated, probed.
#include <gtest/gtest.h>

#include <algorithm>

extern "C" {
#include "control/capacity.h"
}

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kGBps = 1000000000;

// A millisecond at this rate, in which so many of 1000 time units were busy.
capacity_sample sample(uint64_t rx_Bps, uint64_t busy, uint64_t overruns = 0, bool full = false)
{
    capacity_sample s = {};

    s.interval_ns = kMs;
    s.rx_bytes = rx_Bps / 1000;
    s.busy = busy;
    s.time = 1000;
    s.overruns = overruns;
    s.bursts = 100;
    s.full = full ? 100 : 0;
    return s;
}

capacity run(capacity c, const capacity_sample &s, int times = 1)
{
    for (int i = 0; i < times; i++)
        capacity_update(&c, &s);
    return c;
}

capacity fresh()
{
    capacity c;

    capacity_init(&c);
    return c;
}

} // namespace

// Bursts of 77 us are counted when they begin: 13 in one interval, 12 or 13 in the next. The
// measurement counts finished work, not begun work.
TEST(Capacity, WorkOfTwoIntervalsCountsForBoth)
{
    capacity c = fresh();
    uint64_t done = 0, least = UINT64_MAX, most = 0;

    for (int i = 1; i <= 1000; i++) {
        uint64_t begun = (uint64_t)i * 1000 / 77 + 1 - done; // of 1000 us
        capacity_sample s = sample(0, 77 * begun);

        s.rx_bytes = begun * 77 * 1000;
        done += begun;
        capacity_update(&c, &s);
        if (i > 1) {
            least = std::min(least, c.could_Bps[0]);
            most = std::max(most, c.could_Bps[0]);
        }
    }
    EXPECT_NEAR((double)least, (double)kGBps, 1e-3 * (double)kGBps);
    EXPECT_NEAR((double)most, (double)kGBps, 1e-3 * (double)kGBps);
}

// Work that was not done then does not count as missing later.
TEST(Capacity, WhoLostItsCoreForLongIsNoSlowerForThat)
{
    capacity c = run(run(fresh(), sample(kGBps, 1000, 5), 2), sample(kGBps, 990), 50);

    c = run(c, sample(kGBps, 50000));
    EXPECT_EQ(run(c, sample(kGBps, 990), 20).capacity_Bps, c.capacity_Bps);
    EXPECT_EQ(c.overruns, 2u);
}

// In the first interval, the host may have been fast for part of it.
TEST(Capacity, TheSecondOverrunIsTrue)
{
    capacity c = run(run(fresh(), sample(2 * kGBps, 900)), sample(kGBps, 1000, 5));

    EXPECT_GT(c.capacity_Bps, 2 * kGBps);
    EXPECT_EQ(run(c, sample(kGBps, 1000, 5)).capacity_Bps, kGBps);
}

TEST(Capacity, UnknownUntilSomethingWasTooMuch)
{
    capacity c = run(fresh(), sample(kGBps, 500), 100);

    EXPECT_EQ(c.why, CAPACITY_UNKNOWN);
    EXPECT_EQ(c.capacity_Bps, 0u);
    EXPECT_EQ(capacity_grant(&c), UINT64_MAX);
}

TEST(Capacity, OverrunIsWhatWasAbsorbedAndDrains)
{
    capacity c = run(fresh(), sample(kGBps, 1000, 5), 2);

    EXPECT_EQ(c.capacity_Bps, kGBps);
    EXPECT_EQ(c.why, CAPACITY_OVERRUN);
    EXPECT_EQ(capacity_grant(&c), kGBps / 2) << "while the backlog drains";
    c = run(c, sample(kGBps * 31 / 32, 1000, 0, true), 5);
    EXPECT_EQ(capacity_grant(&c), kGBps / 2) << "full bursts show that the backlog is still there";
    c = run(c, sample(kGBps / 2, 500), 1);
    EXPECT_EQ(capacity_grant(&c), kGBps - kGBps / 128);
}

// The link is known to carry more than the host can take. Nothing was dropped yet.
TEST(Capacity, SlowerThanItsLinkForTwoIntervals)
{
    capacity_sample s = sample(kGBps / 2, 1000, 0, true);

    s.link_Bps = kGBps;
    capacity c = run(fresh(), s, 1);
    EXPECT_EQ(c.why, CAPACITY_UNKNOWN) << "a worker may lose its core for a moment";
    c = run(c, s, 1);
    EXPECT_EQ(c.capacity_Bps, kGBps / 2);
    EXPECT_EQ(capacity_grant(&c), kGBps / 4);
    s.link_Bps = 0;
    c = run(fresh(), s, 7);
    EXPECT_EQ(c.why, CAPACITY_UNKNOWN);
    s.link_Bps = kGBps;
    s.full = 0;
    EXPECT_EQ(run(fresh(), s, 2).why, CAPACITY_OVERRUN) << "all time went into receiving";
    s.tx_bytes = s.rx_bytes;
    EXPECT_EQ(run(fresh(), s, 7).why, CAPACITY_UNKNOWN) << "half of it went into sending";
}

// The host became slower within the first interval: some of its time was idle, but none afterwards.
TEST(Capacity, SlowerFromTheMiddleOfAnIntervalOn)
{
    capacity_sample s = sample(kGBps * 6 / 10, 980), begins = s;

    s.full = 60;
    begins.full = 40;
    s.link_Bps = begins.link_Bps = kGBps;
    EXPECT_EQ(run(fresh(), s, 2).why, CAPACITY_OVERRUN);
    EXPECT_EQ(run(run(fresh(), begins), s).why, CAPACITY_UNKNOWN) << "the bursts were small";
    s.busy = begins.busy = 870;
    EXPECT_EQ(run(fresh(), s, 2).why, CAPACITY_UNKNOWN) << "it could have done more";
}

// Usually 13 bursts take 1001 us, but one interval has only 12. The backlog is still there.
TEST(Capacity, ABacklogIsNotGoneForOneBurst)
{
    capacity c = run(fresh(), sample(kGBps, 1000, 5), 2);
    capacity_sample s = sample(kGBps * 924 / 1000, 924);

    s.bursts = s.full = 12;
    capacity after = run(c, s);
    EXPECT_EQ(capacity_grant(&after), kGBps / 2);
    s.full = 11;
    after = run(c, s);
    EXPECT_GT(capacity_grant(&after), kGBps * 9 / 10);
}

// A worker counts a poll first, and then that it was full. Control may read the counters in
// between.
TEST(Capacity, APollThatIsFullMayCountLater)
{
    capacity_sample s = sample(kGBps, 950);

    s.bursts = 0;
    s.full = 1;
    EXPECT_EQ(run(fresh(), s, CAPACITY_RECENT).why, CAPACITY_UNKNOWN);
    s.bursts = 12;
    s.full = 13;
    s.busy = 1000;
    EXPECT_EQ(run(fresh(), s, CAPACITY_RECENT).why, CAPACITY_SATURATED);
}

// A burst overran the port, although the worker was idle for half of the time.
TEST(Capacity, IdleTimeCounts)
{
    capacity c = run(fresh(), sample(kGBps, 500, 1), 2);

    EXPECT_EQ(c.capacity_Bps, 2 * kGBps);
}

// Sending took time as well, so the idle time is shared by both.
TEST(Capacity, WorkOfSendingCounts)
{
    capacity_sample s = sample(kGBps, 500, 1);

    s.tx_bytes = kGBps / 1000;
    EXPECT_EQ(run(fresh(), s, 2).capacity_Bps, 3 * kGBps);
}

// Half of the capacity is lost, for good or for a moment.
TEST(Capacity, FallsWithinTwoIntervals)
{
    capacity c = run(run(fresh(), sample(kGBps, 1000, 5), 2), sample(kGBps, 1000));

    c = run(c, sample(kGBps / 2, 1000, 5));
    EXPECT_EQ(c.capacity_Bps, kGBps) << "the worker may just have lost its core";
    c = run(c, sample(kGBps / 2, 1000, 5));
    EXPECT_EQ(c.capacity_Bps, kGBps / 2);
}

// The host is twice as fast as before, and the time that work takes shows it.
TEST(Capacity, RisesInTwoIntervalsWhereTimeIsLeft)
{
    capacity c = run(fresh(), sample(kGBps, 1000, 5), 2);

    c = run(c, sample(kGBps, 500), 2);
    EXPECT_EQ(c.capacity_Bps, 2 * kGBps);
    EXPECT_EQ(c.why, CAPACITY_MEASURED);
    c = run(c, sample(kGBps / 1000, 1));
    EXPECT_EQ(c.capacity_Bps, 2 * kGBps) << "little came, so nothing was shown";
}

// At the lowest grant, work takes hardly any time. The capacity still rises again soon.
TEST(Capacity, ComesBackFromNothing)
{
    capacity c = run(fresh(), sample(1000, 1000, 5), 2);
    int intervals = 0;

    EXPECT_EQ(c.capacity_Bps, CAPACITY_MIN_BPS);
    for (; c.capacity_Bps < kGBps / 10 * 9 && intervals < 100; intervals++) {
        uint64_t rate = capacity_grant(&c);

        c = run(c, sample(rate, 1 + rate / (kGBps / 1000)));
    }
    EXPECT_LE(intervals, 12);
}

// The worker was away, and the port dropped packets meanwhile. The host is no slower for that.
TEST(Capacity, WhoWasNotThereIsNoSlower)
{
    for (int away = 1; away <= 40; away++) {
        capacity c = run(run(fresh(), sample(kGBps, 1000, 5), 2), sample(kGBps, 1000), 50);

        c = run(c, sample(0, 0, 5), away);
        EXPECT_EQ(c.capacity_Bps, kGBps) << away;
        c = run(c, sample(kGBps / 100, 1000), 1); // the burst that it had begun
        EXPECT_EQ(c.why, CAPACITY_OVERRUN) << "drops from its absence count now";
        EXPECT_EQ(capacity_grant(&c), kGBps / 2) << "the backlog must drain first";
        c = run(c, sample(kGBps, 1000), 3);
        EXPECT_EQ(c.capacity_Bps, kGBps) << away;
    }
}

// A grant of one packet in 11 ms leaves most intervals without a packet.
TEST(Capacity, ComesBackThoughHardlyAnythingComes)
{
    capacity c = run(fresh(), sample(1000, 1000, 5), 2);
    int intervals = 0;

    EXPECT_EQ(c.capacity_Bps, CAPACITY_MIN_BPS);
    for (double owed = 0; c.capacity_Bps < kGBps / 10 * 9 && intervals < 1000; intervals++) {
        owed += (double)capacity_grant(&c) / 1000;
        uint64_t packets = (uint64_t)(owed / 1400);

        owed -= (double)packets * 1400;
        // The worker always has a little other work.
        c = run(c, sample(packets * 1400 * 1000, 1 + packets * 1400 * 1000 / kGBps));
    }
    EXPECT_LE(intervals, 40);
}

TEST(Capacity, SaturationShowsInFullBursts)
{
    capacity_sample s = sample(kGBps, 1000);

    EXPECT_EQ(run(fresh(), s, 100).why, CAPACITY_UNKNOWN) << "small bursts would grow";
    s.full = s.bursts;
    EXPECT_EQ(run(fresh(), s, CAPACITY_RECENT - 1).why, CAPACITY_UNKNOWN);
    capacity c = run(fresh(), s, CAPACITY_RECENT);

    EXPECT_EQ(c.why, CAPACITY_SATURATED);
    EXPECT_EQ(c.capacity_Bps, kGBps);
    EXPECT_GT(capacity_grant(&c), kGBps) << "without drops, senders wait";
}

TEST(Capacity, ProbesWhereAllTimeIsSpentAndMoreIsWanted)
{
    capacity c = run(fresh(), sample(kGBps, 1000, 5), 2);
    capacity_sample s = sample(kGBps, 1000);

    c = run(c, s, 100);
    EXPECT_EQ(c.capacity_Bps, kGBps) << "no sender wants more";
    s.hungry = true;
    c = run(c, s);
    EXPECT_EQ(c.capacity_Bps, kGBps + kGBps / 16);
    EXPECT_EQ(run(c, s, 15).capacity_Bps, c.capacity_Bps) << "it waits for the effect";
    EXPECT_GT(run(c, s, 16).capacity_Bps, c.capacity_Bps);
    EXPECT_EQ(c.why, CAPACITY_PROBED);
}

// Without known times, an overrun lowers the capacity, and then it is probed upward.
TEST(Capacity, WithoutTimesByOverrunAlone)
{
    capacity_sample s = sample(kGBps, 0, 3);

    s.time = 0;
    capacity c = run(fresh(), s, 2);

    EXPECT_EQ(c.capacity_Bps, kGBps);
    s.overruns = 0;
    s.hungry = true;
    EXPECT_EQ(run(c, s, 31).capacity_Bps, kGBps) << "not at once";
    EXPECT_GT(run(c, s, 40).capacity_Bps, kGBps);
}
