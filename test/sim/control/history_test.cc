// SPDX-License-Identifier: BSD-3-Clause
// The history of control's decisions is complete, in order, and as long as it should be.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "crowd.hh"
#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kAll = UINT64_MAX;

class History : public WholePools
{
  protected:
    static std::vector<host_decision> read(Crowd &c, uint64_t from = 0, uint32_t max = HOST_HISTORY)
    {
        std::vector<host_decision> v(max);

        v.resize(host_control_history(world_control(c.w, 0), from, v.data(), max));
        return v;
    }
};

} // namespace

// Each connection's last decision is its grant, and the last capacity decision is the known
// capacity.
TEST_F(History, EndsWithWhatIs)
{
    CrowdOptions o;

    o.senders = 3;
    Crowd c(o);
    for (uint32_t i = 0; i < 3; i++)
        c.demand(i, kAll);
    c.run(20 * kMs);

    std::map<uint32_t, host_decision> last;
    host_decision capacity = {};
    std::vector<host_decision> all = read(c);
    uint64_t number = 0, time = 0;

    ASSERT_FALSE(all.empty());
    ASSERT_LT(all.size(), HOST_HISTORY) << "the ring is full, so some decisions are missing";
    for (const host_decision &d : all) {
        EXPECT_EQ(d.number, number++);
        EXPECT_GE(d.time, time);
        EXPECT_EQ(d.time % kMs, all[0].time % kMs) << "not at the end of an interval";
        time = d.time;
        (d.decided == HOST_DECIDED_CAPACITY ? capacity : last[d.conn]) = d;
    }
    EXPECT_LE(time, world_now(c.w));
    EXPECT_EQ(last.size(), 3u);
    for (uint32_t i = 0; i < 3; i++) {
        struct host_conn_info info = c.info(i);
        const host_decision *d = nullptr;

        for (const auto &[conn, x] : last)
            if (addr_equal(&x.peer, &info.peer))
                d = &x;
        ASSERT_NE(d, nullptr);
        EXPECT_EQ(d->rate_Bps, info.rx_rate_Bps);
        EXPECT_EQ(d->burst_bytes, info.rx_burst_bytes);
        EXPECT_STREQ(d->why, host_reason_name(info.rx_reason));
        EXPECT_GT(d->rx_Bps, 0u);
    }
    EXPECT_STREQ(capacity.why, c.capacity().why);
    EXPECT_NEAR((double)capacity.rate_Bps, (double)c.capacity().measured_Bps,
                (double)c.capacity().measured_Bps / 64);
}

// The history has the overrun from which control learnt the capacity, with the number of lost
// packets.
TEST_F(History, TellsOfTheOverrun)
{
    CrowdOptions o;

    Crowd c(o);
    c.demand(0, kAll);
    c.demand(1, kAll);
    c.run(30 * kMs);
    uint64_t lost = 0;

    for (const host_decision &d : read(c))
        if (d.decided == HOST_DECIDED_CAPACITY && strcmp(d.why, "overrun") == 0)
            lost += d.lost;
    EXPECT_GT(lost, 0u);
    EXPECT_LE(lost, c.overruns());
}

// The history is a ring that forgets the oldest decisions. A reader that goes on where it stopped
// misses none until then.
TEST_F(History, KeepsTheNewest)
{
    CrowdOptions o;

    o.senders = 8;
    o.service_Bps = 0;
    Crowd c(o);
    uint64_t next = 0;

    for (uint32_t i = 0; i < 8; i++)
        c.demand(i, kAll);
    for (uint64_t round = 0; next < HOST_HISTORY + 500; round++) {
        ASSERT_LT(round, 1000u);
        host_control_set_capacity(world_control(c.w, 0), round % 2 != 0 ? 100000000 : 200000000);
        c.run(kMs);
        for (const host_decision &d : read(c, next, 64))
            ASSERT_EQ(d.number, next++);
    }
    std::vector<host_decision> all = read(c);

    ASSERT_EQ(all.size(), HOST_HISTORY);
    for (size_t i = 1; i < all.size(); i++)
        ASSERT_EQ(all[i].number, all[i - 1].number + 1);
    EXPECT_GE(all.back().number, next - 1);
    EXPECT_TRUE(read(c, all.back().number + 1).empty());
    EXPECT_EQ(read(c, all.back().number).size(), 1u);
    EXPECT_EQ(read(c, 0, 10).front().number, all.front().number);
}
