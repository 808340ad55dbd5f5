// SPDX-License-Identifier: BSD-3-Clause
// Tests the simulator itself: its promises about time, order, ports and paths.
#include <gtest/gtest.h>

#include <map>

#include "pair.hh"

extern "C" {
#include "base/rng.h"
#include "sim/schedule.h"
}

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000000;

TEST(Schedule, AsANaiveOne)
{
    constexpr uint32_t kEvents = 70;
    std::vector<uint64_t> storage(SCHEDULE_BYTES(kEvents) / 8 + 1);
    std::map<uint32_t, uint64_t> naive;
    struct schedule s;
    struct rng r;

    rng_init(&r, 4);
    schedule_init(&s, storage.data(), kEvents);
    for (int i = 0; i < 200000; i++) {
        uint32_t event = static_cast<uint32_t>(rng_below(&r, kEvents));
        uint64_t at = rng_below(&r, 4) == 0 ? TIME_NEVER : rng_below(&r, 50);
        uint64_t next = TIME_NEVER;
        uint32_t first = 0;

        schedule_set(&s, event, at);
        naive.erase(event);
        if (at != TIME_NEVER)
            naive[event] = at;
        for (auto [e, t] : naive)
            if (t < next) {
                next = t;
                first = e;
            }
        ASSERT_EQ(schedule_next(&s), next);
        if (next != TIME_NEVER) {
            ASSERT_EQ(schedule_first(&s), first);
        }
    }
}

// Two hosts. Notes the frames that B takes, and when.
struct Bench {
    explicit Bench(const world_port &a, const world_port &b)
    {
        world_config cfg = {};

        cfg.delay_ns = 50 * kUs;
        cfg.poll_ns = 1000;
        cfg.control_ns = kMs;
        cfg.frames_max = 1000;
        cfg.pool = Pools::get().wire;
        cfg.rx = rx;
        cfg.app = [](void *, uint32_t, host *h, uint64_t) {
            host_completion c[8];

            while (host_completions(h, c, 8) > 0)
                continue;
        };
        cfg.ctx = this;
        w = world_create(&cfg);
        add(1, a);
        add(2, b);
    }
    ~Bench()
    {
        world_destroy(w);
        EXPECT_TRUE(Pools::get().whole());
    }
    void add(uint8_t i, const world_port &p)
    {
        host_config c = {};
        char err[200] = "";

        c.mac = {{2, 0, 0, 0, 0, i}};
        addr_parse(i == 1 ? "10.0.0.1" : "10.0.0.2", &c.address[0]);
        c.prefix_len[0] = 24;
        c.vlan = FRAME_VLAN_NONE;
        c.mtu = 1500;
        c.udp_port = WIRE_UDP_PORT;
        c.workers = 1;
        c.conns = 2;
        c.depth = 4;
        c.gaps = 4;
        c.silence_ms = 1000;
        c.repeat_us = 2000;
        c.first_rate_Bps = c.first_burst_bytes = 100000;
        c.head_pool = Pools::get().head;
        c.copy_pool = Pools::get().copy;
        ASSERT_GE(world_add(w, &c, &p, err, sizeof err), 0) << err;
    }
    // Sends a frame from A to B, with `number` in its last byte.
    void send(uint8_t number, uint16_t len = 100)
    {
        rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().wire);
        uint8_t *p = reinterpret_cast<uint8_t *>(rte_pktmbuf_append(m, len));
        const uint8_t head[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};

        ASSERT_NE(p, nullptr);
        std::fill(p, p + len, 0);
        std::copy(head, head + 12, p);
        p[len - 1] = number;
        world_emit(w, 0, m);
    }
    static void rx(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now)
    {
        Bench *b = static_cast<Bench *>(ctx);

        for (uint16_t k = 0; k < n && i == 1; k++)
            b->taken.push_back(
                {*rte_pktmbuf_mtod_offset(m[k], uint8_t *, m[k]->data_len - 1), now});
    }
    struct Taken {
        uint8_t number;
        uint64_t at;
    };
    world *w;
    std::vector<Taken> taken;
};

TEST(World, APathsTimesAreExact)
{
    world_port a = {}, b = {};

    a.up = "rate 8mbit delay 300us"; // 100 bytes: 100 us
    b.down = "delay 20us";
    Bench bench(a, b);
    uint64_t start = world_now(bench.w);

    for (uint8_t i = 0; i < 3; i++)
        bench.send(i);
    world_run(bench.w, start + 10 * kMs);
    ASSERT_EQ(bench.taken.size(), 3u);
    for (uint8_t i = 0; i < 3; i++) {
        EXPECT_EQ(bench.taken[i].number, i);
        EXPECT_EQ(bench.taken[i].at, start + (i + 1) * 100 * kUs + 320 * kUs);
    }
}

TEST(World, ARingOverrunsAndIsCounted)
{
    world_port a = {}, b = {};

    b.ring = 5;
    b.poll_ns = 100 * kUs;
    b.burst = 2;
    Bench bench(a, b);
    uint64_t start = world_now(bench.w);

    world_run(bench.w, start + kMs);
    for (uint8_t i = 0; i < 12; i++)
        bench.send(i);
    world_run(bench.w, start + 5 * kMs);
    ASSERT_EQ(bench.taken.size(), 5u); // two in each poll
    EXPECT_EQ(bench.taken[1].at, bench.taken[0].at);
    EXPECT_EQ(bench.taken[2].at, bench.taken[0].at + 100 * kUs);
    EXPECT_EQ(bench.taken[4].at, bench.taken[0].at + 200 * kUs);
    EXPECT_EQ(world_port_counters(bench.w, 1)->imissed, 7u);
}

TEST(World, TroublesComeAndGoAndEnd)
{
    world_port a = {}, b = {};

    b.spell[WORLD_STALL] = {kMs, 4 * kMs};
    b.spell[WORLD_RX_NO_MBUF] = {kMs, kMs};
    b.spell[WORLD_CUT] = {kMs, kMs};
    b.spell[WORLD_BODIES_OUT] = {kMs, kMs};
    Bench bench(a, b);
    uint64_t start = world_now(bench.w), longest = 0;

    for (uint64_t t = 0; t < 4000; t++) {
        bench.send(static_cast<uint8_t>(t));
        world_run(bench.w, start + t * 50 * kUs + 1);
    }
    for (size_t i = 1; i < bench.taken.size(); i++)
        longest = std::max(longest, bench.taken[i].at - bench.taken[i - 1].at);
    EXPECT_GT(longest, 2 * kMs);
    EXPECT_GT(bench.taken.size(), 400u);
    EXPECT_GT(world_port_counters(bench.w, 1)->rx_nombuf, 100u);
    EXPECT_GT(world_counts(bench.w)->cut, 100u);
    for (int t : {WORLD_STALL, WORLD_RX_NO_MBUF, WORLD_CUT, WORLD_BODIES_OUT})
        EXPECT_GT(world_counts(bench.w)->spells[t], 5u) << t;
    EXPECT_EQ(world_counts(bench.w)->spells[WORLD_TX_REFUSED], 0u);
    world_calm(bench.w);
    bench.taken.clear();
    start = world_now(bench.w);
    for (uint64_t t = 0; t < 100; t++) {
        bench.send(static_cast<uint8_t>(t));
        world_run(bench.w, start + (t + 1) * 100 * kUs);
    }
    world_run(bench.w, start + 20 * kMs);
    EXPECT_GE(bench.taken.size(), 100u);
}

// Refused frames are kept, and come later in their order. None is lost if `keep_ns` is long enough.
TEST(World, RefusedFramesAreKept)
{
    for (bool patient : {true, false}) {
        world_port a = {}, b = {};

        a.spell[WORLD_TX_REFUSED] = {20 * kUs, 200 * kUs};
        a.keep_ns = patient ? 100 * kMs : 10 * kUs;
        Bench bench(a, b);
        struct host_connect op = {};

        addr_parse("10.0.0.2", &op.peer);
        op.service = 1;
        for (int i = 0; i < 20; i++) {
            int64_t c = host_connect(world_host(bench.w, 0), &op, world_now(bench.w));

            ASSERT_GE(c, 0);
            world_run(bench.w, world_now(bench.w) + 10 * kMs);
            host_close(world_host(bench.w, 0), static_cast<uint32_t>(c), WIRE_END_ABORT,
                       world_now(bench.w));
            world_run(bench.w, world_now(bench.w) + 3000 * kMs);
        }
        EXPECT_GT(world_counts(bench.w)->refused, 100u);
        EXPECT_EQ(world_counts(bench.w)->given_up > 0, !patient);
        world_calm(bench.w);
        world_run(bench.w, world_now(bench.w) + 3000 * kMs);
    }
}

} // namespace
