// SPDX-License-Identifier: BSD-3-Clause
// Thresholds that drive a connection: on delay, where the path is slow, and on posted buffers,
// where the application is slow.
#include <gtest/gtest.h>

#include <cstdio>

#include "pair.hh"
#include "dumbbell.hh"
#include "whole_pools.hh"

namespace
{

constexpr double kS = 1e9;

class Occupied : public WholePools
{
  protected:
    static BulkPools pools()
    {
        const Pools &p = Pools::get();

        return {p.head, p.attach, p.copy, p.wire};
    }

    // The rate at which connection 0 receives payload from now on.
    static double rate_Bps(Dumbbell &s, double ns)
    {
        uint64_t before = s.info(0).rx_bytes;

        s.run(ns);
        return static_cast<double>(s.info(0).rx_bytes - before) * kS / ns;
    }

    // Buffers that are in use, of the most that were posted, on average.
    static double in_use(Dumbbell &s, double ns)
    {
        double sum = 0;

        for (int i = 0; i < 200; i++) {
            s.run(ns / 200);
            sum += static_cast<double>(s.in_use());
        }
        return sum / 200;
    }
};

} // namespace

// On 100 Mbit/s and 10 ms, the link is used, and its queue stays about between the thresholds. Once
// the rate is found, no packet is lost, and the grant has the right reason.
TEST_F(Occupied, DelayOnAPath)
{
    DumbbellOptions o;

    o.occupancy = HOST_OCCUPANCY_DELAY;
    o.law = "2ms,6ms/1e-6/1.0005,1.005";
    Dumbbell s(o, pools());
    s.start(0);
    s.run(3 * kS);
    uint64_t dropped = s.link()->dropped;
    double rate = rate_Bps(s, 3 * kS), queue_ms = s.queue_bytes(3 * kS) * 8 / o.rate_bps * 1e3;

    std::printf("rate %.1f Mbit/s, queue %.2f ms\n", rate * 8e-6, queue_ms);
    EXPECT_GE(rate * 8, 0.90 * o.rate_bps * 1416 / 1514);
    EXPECT_GE(queue_ms, 0.5);
    EXPECT_LE(queue_ms, 6);
    EXPECT_EQ(s.link()->dropped, dropped);
    EXPECT_STREQ(host_reason_name(s.info(0).rx_reason), "occupancy");
}

// An application takes 4 MB/s of a path that carries three times as much. With thresholds it stays
// busy with few of its buffers in use. Without them nearly all are in use, and the sender waits for
// buffers.
TEST_F(Occupied, BuffersOfASlowApplication)
{
    double used[2];

    for (int on = 0; on < 2; on++) {
        DumbbellOptions o;

        o.consume_Bps = 4e6;
        o.occupancy = on ? HOST_OCCUPANCY_BUFFERS : HOST_OCCUPANCY_OFF;
        o.law = "dual 4,8";
        Dumbbell s(o, pools());
        s.start(0);
        s.run(5 * kS);
        double rate = rate_Bps(s, 5 * kS);

        used[on] = in_use(s, 5 * kS);
        std::printf("%s: rate %.2f MB/s, %.1f buffers in use\n", on ? "dual" : "none", rate * 1e-6,
                    used[on]);
        EXPECT_GE(rate, 0.95 * o.consume_Bps);
        EXPECT_LE(rate, 1.02 * o.consume_Bps);
    }
    EXPECT_LE(used[1], 8);
    EXPECT_GE(used[0], 2 * used[1]);
}

// Where nothing is slow, thresholds cost nothing.
TEST_F(Occupied, NothingIsSlow)
{
    DumbbellOptions o;

    o.occupancy = HOST_OCCUPANCY_BUFFERS;
    o.law = "dual";
    o.rate_bps = 1e9;
    Dumbbell s(o, pools());
    s.start(0);
    s.run(1 * kS);
    EXPECT_GE(rate_Bps(s, 1 * kS) * 8, 0.93 * o.rate_bps * 1416 / 1514);
}
