// SPDX-License-Identifier: BSD-3-Clause
// A peer that falls silent, a connection on which nothing happens for hours, and routers on the
// path.
#include <gtest/gtest.h>

#include "framed.hh"
#include "peer.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000000;

class Silence : public WholePools
{
};

int status(const Peer &p, uint8_t op, uint64_t user)
{
    const host_completion *c = p.done(op, user);

    return c == nullptr ? 1 : c->status;
}

TEST_F(Silence, RateFallsStepByStepThenTheConnectionFails)
{
    Peer p; // silence: 1 s, so a step is 125 ms
    p.open_by_host();
    p.rate_Bps = 8000000;
    p.burst_bytes = 14000;
    p.posted += 2;
    wire_cntl much = p.state();
    much.received = 4000; // the path is known to carry much
    p.say(much);
    uint64_t start = p.now();
    p.post_send(30000000, 5);
    p.post_send(1, 6);
    p.post_recv(10, 7);
    for (uint64_t step = 0; step < 8; step++) {
        p.run(start + step * 125 * kMs + 62 * kMs - p.now());
        EXPECT_EQ(p.info().tx_rate_Bps, 8000000u >> step) << step;
        EXPECT_EQ(status(p, HOST_SEND, 5), 1);
    }
    EXPECT_TRUE(p.until([&] { return p.done(HOST_RECV, 7) != nullptr; }));
    EXPECT_NEAR(double(p.now() - start) / 1e6, 1000, 10);
    EXPECT_EQ(status(p, HOST_SEND, 5), -ETIMEDOUT);
    EXPECT_EQ(status(p, HOST_SEND, 6), -ETIMEDOUT);
    EXPECT_EQ(status(p, HOST_RECV, 7), -ETIMEDOUT);
    p.run(10000);
    ASSERT_NE(p.last_cntl(), nullptr);
    EXPECT_EQ(p.last_cntl()->end, WIRE_END_SILENCE);
    // the sent bytes fell with the rate: step k sends half of step k - 1
    uint64_t bytes[8] = {};
    for (const Heard &x : p.heard)
        if (x.type == WIRE_DATA && x.at_ns >= start && (x.at_ns - start) / (125 * kMs) < 8)
            bytes[(x.at_ns - start) / (125 * kMs)] += x.payload.size();
    for (int step = 0; step < 8; step++)
        EXPECT_NEAR(double(bytes[step]), 1e6 / (1 << step), 2 * 14000 + 1400 + 2000) << step;
    p.close();
    EXPECT_TRUE(p.until([&] { return p.is_free(); }));
}

// Somebody replays packets of a peer that is dead. They are no signs of life.
TEST_F(Silence, ReplayedPacketsKeepNoDeadPeerAlive)
{
    for (bool cntl : {false, true}) {
        Peer p;

        p.open_to_host();
        p.post_recv(2000, 5);
        p.post_recv(2000, 6);
        p.run(10000);
        wire_cntl last = p.state(WIRE_SREQ);
        p.say(last);
        p.say_data(p.initial, 0, 2000, 1000);
        const uint64_t start = p.now(), number = p.packet - 1;
        EXPECT_TRUE(p.until([&] {
            p.run(10 * kMs);
            p.packet = number;
            if (cntl)
                p.say(last);
            else
                p.say_data(p.initial, 0, 2000, 1000);
            return p.done(HOST_RECV, 6) != nullptr;
        }));
        EXPECT_EQ(status(p, HOST_RECV, 5), -ETIMEDOUT);
        EXPECT_NEAR(double(p.now() - start) / 1e6, 1000, 15);
        EXPECT_GT(p.counter(cntl ? "drop_cntl_old" : "drop_duplicate"), 90u);
    }
}

// On a path of which nothing is known, no more than 256 kB are under way.
TEST_F(Silence, NothingIsLostOnAnUnknownPathButAFlight)
{
    Peer p;
    p.open_by_host();
    p.rate_Bps = 8000000;
    p.burst_bytes = 14000;
    p.posted++;
    p.say(p.state());
    p.post_send(30000000, 5);
    p.run(200 * kMs);
    uint64_t bytes = 0;
    for (const Heard &x : p.heard)
        bytes += x.type == WIRE_DATA ? x.payload.size() : 0;
    EXPECT_NEAR(double(bytes), 262144, 1500);
    // as much may be under way again as arrived, or got lost before the CNTL that the peer saw
    wire_cntl some = p.state();
    some.received = 100;
    p.say(some);
    p.run(200 * kMs);
    uint64_t more = 0;
    for (const Heard &x : p.heard)
        more += x.type == WIRE_DATA ? x.payload.size() : 0;
    EXPECT_GT(more - bytes, 100 * 1300u);
    EXPECT_LE(more - bytes, 262144u + 1500);
    p.close();
    EXPECT_TRUE(p.until([&] { return p.is_free(); }));
}

TEST_F(Silence, OnePacketRestoresTheRate)
{
    Peer p;
    p.open_by_host();
    p.rate_Bps = 8000000;
    p.say(p.state());
    p.run(500 * kMs);
    EXPECT_LT(p.info().tx_rate_Bps, 2000000u);
    p.say(p.state());
    p.run(10000);
    EXPECT_EQ(p.info().tx_rate_Bps, 8000000u);
    p.run(400 * kMs);
    EXPECT_LT(p.info().tx_rate_Bps, 8000000u);
    p.post_recv(2, 5);
    p.say_data(p.initial, 0, 2, 1400); // DATA counts as well
    p.run(130 * kMs);
    EXPECT_GE(p.info().tx_rate_Bps, 4000000u);
    EXPECT_EQ(p.info().state, HOST_OPEN);
}

TEST_F(Silence, IdleForHours)
{
    PairOptions o;
    o.silence_ms = 3000;
    Pair p(o);
    p.open();
    p.recv(10);
    p.send(10);
    ASSERT_TRUE(p.run([&] { return p.all_done(); }));
    uint64_t before = world_counts(p.w)->sent;
    world_run(p.w, world_now(p.w) + 3 * 3600 * CLOCK_NS_PER_S);
    uint64_t sent = world_counts(p.w)->sent - before;
    EXPECT_EQ(p.log.size(), 4u) << p.state();
    // a question and an answer in every eighth of the silence, or two of each that cross
    EXPECT_LE(sent, 3 * 3600 * 8 / 3 * 4 + 10u);
    EXPECT_GE(sent, 3 * 3600 * 8 / 3u);
    p.recv(100000);
    p.send(100000);
    uint64_t start = world_now(p.w);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_LT(world_now(p.w) - start, 10 * kMs) << "the pause looks like a long round trip";
    struct host_conn_info info;
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
    EXPECT_LT(info.rtt_ns, 1 * kMs);
    EXPECT_TRUE(p.finish()) << p.state();
}

// The CNTL of a peer, as a frame in an mbuf.
rte_mbuf *frame_of(Peer &p, const wire_cntl &v)
{
    uint8_t bytes[WIRE_CNTL_MAX_BYTES];

    return mbuf_of(Pools::get().wire, framed(p.route, bytes, wire_put_cntl(bytes, &v)));
}

// The counters of cores differ a little. A peer that was heard in the future was not heard long
// ago.
TEST_F(Silence, AnEarlierTimeFailsNothing)
{
    Peer p;
    p.open_by_host();
    p.run(100 * kMs);
    uint64_t late = p.now() + 60 * kMs; // the first step of silence is due by then
    rte_mbuf *m = frame_of(p, p.state());
    host_rx(p.h(), &m, 1, late);
    rte_mbuf *out[64];
    uint16_t n = host_tx(p.h(), out, 64, late - 10 * kUs);
    rte_pktmbuf_free_bulk(out, n);
    EXPECT_EQ(p.info().state, HOST_OPEN);
    EXPECT_EQ(p.counter("conns_failed"), 0u);
    p.close();
}

// A counter steps back by an hour, as on a virtual machine that is restored. The time that is made
// of it goes on, timers expire, and no connection fails.
TEST_F(Silence, ACounterThatStepsBackStopsNothing)
{
    Peer p;
    p.open_by_host();
    uint64_t start = p.now() + 3600 * CLOCK_NS_PER_S, ahead = 0, last = 0;
    size_t asked = 0;
    for (uint64_t ms = 0; ms < 900; ms++) { // the silence is 1 s
        uint64_t counter = start + ms * kMs - (ms < 50 ? 0 : 3600 * CLOCK_NS_PER_S);
        uint64_t now = clock_steady(&ahead, &last, ahead, counter);
        rte_mbuf *out[64];
        if (ms == 0) {
            rte_mbuf *m = frame_of(p, p.state());
            host_rx(p.h(), &m, 1, now);
        }
        uint16_t n = host_tx(p.h(), out, 64, now);
        for (uint16_t i = 0; i < n; i++)
            asked += ms > 50;
        rte_pktmbuf_free_bulk(out, n);
    }
    EXPECT_EQ(p.counter("conns_failed"), 0u);
    EXPECT_GE(asked, 6u) << "fewer than one in each eighth of the silence";
    p.close();
}

// A connection pauses between transfers. The measured round trips stay short.
TEST_F(Silence, PausesAreNotRoundTrips)
{
    Pair p({});
    p.open();
    for (int i = 0; i < 20; i++) {
        p.recv(5000);
        p.send(5000);
        ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
        world_run(p.w, world_now(p.w) + 200 * kMs);
    }
    for (uint32_t side = 0; side < 2; side++) {
        struct host_conn_info info;
        ASSERT_TRUE(host_conn_info(world_host(p.w, side), p.conn[side], &info));
        EXPECT_GE(info.rtt_ns, 2 * p.opt.delay_ns);
        EXPECT_LT(info.rtt_ns, 4 * p.opt.delay_ns) << side;
    }
    EXPECT_TRUE(p.finish()) << p.state();
}

TEST_F(Silence, RouterLimitsForATime)
{
    for (uint32_t burst : {0u, 50000u}) {
        Peer p;
        p.burst_bytes = burst;
        p.rate_Bps = 10000000;
        p.open_by_host();
        EXPECT_EQ(p.info().tx_burst_bytes, burst);
        wire_rcntl r = {};
        uint8_t bytes[WIRE_RCNTL_BYTES];
        r.h.key = p.host_key;
        r.rate_Bps = 1000000;
        r.expiry_ms = 30;
        r.time_ns = 100;
        p.say_bytes(bytes, wire_put_rcntl(bytes, &r));
        p.run(kMs);
        EXPECT_EQ(p.info().tx_rate_Bps, 1000000u);
        EXPECT_GT(p.info().tx_burst_bytes, 0u) << "a burst of 0 lifts the router's limit";
        r.time_ns = 99; // an older one
        r.rate_Bps = 5;
        p.say_bytes(bytes, wire_put_rcntl(bytes, &r));
        p.say(p.state());
        p.run(kMs);
        EXPECT_EQ(p.info().tx_rate_Bps, 1000000u);
        p.run(30 * kMs);
        EXPECT_EQ(p.info().tx_rate_Bps, 10000000u);
        EXPECT_EQ(p.info().tx_burst_bytes, burst);
        // a router that writes into CNTL can only lower the rate
        wire_cntl v = p.state();
        v.hop_rate_Bps = 90000000;
        v.hop_expiry_ms = 10;
        p.say(v);
        p.run(kMs);
        EXPECT_EQ(p.info().tx_rate_Bps, burst == 0 ? 90000000u : 10000000u);
        p.run(20 * kMs);
        EXPECT_EQ(p.info().tx_rate_Bps, 10000000u);
    }
}

} // namespace
