// SPDX-License-Identifier: BSD-3-Clause
// Faults that the swarm has found, each in its smallest form.
#include <gtest/gtest.h>

#include <cstdio>

#include "../unit/base/draw.hh"
#include "../unit/base/seed.h"
#include "peer.hh"
#include "dumbbell.hh"

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000000;

// CNTL packets that ask for units, since frame `from`.
size_t asking(const Peer &p, size_t from)
{
    size_t n = 0;

    for (size_t i = from; i < p.heard.size(); i++)
        n += p.heard[i].type == WIRE_CNTL && p.heard[i].cntl.span_count > 0;
    return n;
}

// A CNTL without an mbuf takes no number, and is sent as soon as there is an mbuf.
TEST(Repair, CntlWaitsForAnMbuf)
{
    Peer p;
    rte_mempool *pool = Pools::get().head;
    std::vector<rte_mbuf *> held(rte_mempool_avail_count(pool));

    p.open_to_host();
    held.resize(rte_mempool_avail_count(pool));
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool, held.data(), static_cast<unsigned>(held.size())), 0);
    uint32_t seq = p.last_cntl()->seq;
    size_t heard = p.heard.size();

    p.say(p.state(WIRE_SREQ));
    p.run(5 * kMs);
    EXPECT_EQ(p.heard.size(), heard);
    EXPECT_GT(p.counter("tx_no_mbuf"), 0u);
    rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
    p.run(10 * kUs);
    ASSERT_EQ(p.heard.size(), heard + 1);
    EXPECT_EQ(p.last_cntl()->seq, seq + 1);
}

// DATA without an mbuf cost nothing. They take no packet numbers, which count up one by one on the
// wire. Nor do they count for the bytes that may be sent to an unproven peer.
TEST(Repair, DataWaitForAnMbuf)
{
    Peer p;
    rte_mempool *pool = Pools::get().head;
    std::vector<rte_mbuf *> held;

    p.accept();
    p.say_first();
    p.run(kMs);
    p.host_key = 0;                  // the peer goes on with EARLY
    for (uint32_t i = 0; i < 4; i++) // the host may answer with as many bytes
        p.say_data(p.initial + i, 0, 1000, 1400);
    p.run(kMs);
    held.resize(rte_mempool_avail_count(pool));
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool, held.data(), static_cast<unsigned>(held.size())), 0);
    for (uint64_t i = 0; i < 3; i++)
        p.post_send(500, 5 + i);
    p.run(10 * kMs);
    EXPECT_GT(p.counter("tx_no_mbuf"), 10u);
    EXPECT_EQ(p.heard_type(WIRE_DATA), 0u);
    rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
    p.run(kMs);
    std::vector<uint64_t> numbers;
    for (const Heard &x : p.heard)
        if (x.type == WIRE_DATA)
            numbers.push_back(x.data.packet);
    EXPECT_EQ(numbers, (std::vector<uint64_t>{0, 1, 2}));
    p.close();
}

// There are more gaps than one CNTL can name. The next CNTL follows at once with the rest, and each
// gap is named once.
TEST(Repair, AFullListIsFollowedByTheNext)
{
    PeerOptions o;
    o.gaps = 128;
    Peer p(o);

    p.open_to_host();
    p.post_recv(300000, 1);
    p.run(10 * kMs);
    p.say(p.state()); // late, so that round trips seem long and no timer asks for units
    p.run(kMs);
    uint64_t first = p.packet++;
    for (uint32_t u = 1; u <= 60; u++)
        p.say_data(p.initial, u, 300000, 1000);
    p.run(kMs);
    std::swap(first, p.packet); // this path reorders, so gaps wait for 60 packets
    p.say_data(p.initial, 0, 300000, 1000);
    std::swap(first, p.packet);
    p.run(kMs);
    size_t from = p.heard.size();
    for (uint32_t u = 62; u <= 160; u += 2) // 50 gaps
        p.say_data(p.initial, u, 300000, 1000);
    p.run(100 * kUs);
    p.say(p.state(WIRE_SREQ));
    p.run(100 * kUs);
    EXPECT_EQ(asking(p, from), 0u) << "asks for units that may be under way";
    for (uint32_t u = 161; u <= 230; u++)
        p.say_data(p.initial, u, 300000, 1000);
    p.run(20 * kUs); // more than 60 packets came after each gap
    std::vector<uint32_t> asked;
    for (size_t i = from; i < p.heard.size(); i++)
        for (uint32_t k = 0; p.heard[i].type == WIRE_CNTL && k < p.heard[i].cntl.span_count; k++)
            asked.push_back(pos_unit(p.heard[i].cntl.spans[k].first));
    ASSERT_EQ(asked.size(), 50u);
    for (uint32_t i = 0; i < 50; i++)
        EXPECT_EQ(asked[i], 61 + 2 * i);
}

// Options with a round trip of 10 ms, and no bursts.
PairOptions paced(uint32_t gaps, uint64_t rate_Bps)
{
    PairOptions o;

    o.gaps = gaps;
    o.rate_first_Bps = rate_Bps;
    o.burst_first = 0;
    o.delay_ns = 5 * kMs;
    return o;
}

// Every second packet of a long flight is lost, which makes far more gaps than the host has spans.
// The host keeps the packets that came. Only lost ones are asked for, and sent again.
TEST(Repair, MoreGapsThanSpansLoseNothingThatCame)
{
    PairOptions o = paced(16, 1000000000);
    size_t data = 0, lost = 0;
    o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t, world_fate *f) {
        if (from == 0 && m->pkt_len > 1000 && ++data <= 200 && data % 2 == 1) {
            f->copies = 0;
            lost++;
        }
    };
    Pair p(o);
    p.open();
    p.recv(1408 * 150);
    p.recv(1408 * 50);
    p.send(1408 * 150);
    p.send(1408 * 50);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_GT(lost, 80u);
    struct host_conn_info a = {}, b = {};
    host_conn_info(p.a(), p.conn[0], &a);
    host_conn_info(p.b(), p.conn[1], &b);
    EXPECT_EQ(a.tx_repeats, lost);
    EXPECT_EQ(b.rx_duplicates, 0u);
    EXPECT_TRUE(p.finish()) << p.state();
}

bool repeats(const rte_mbuf *m)
{
    const uint8_t *bytes = rte_pktmbuf_mtod(m, const uint8_t *);
    wire_header w;
    frame f;

    return frame_parse(bytes, m->data_len, m->pkt_len, &f) == FRAME_UDP &&
           wire_parse_header(bytes + f.payload_off, m->data_len - f.payload_off, &w) == WIRE_OK &&
           w.type == WIRE_DATA && (w.flags & WIRE_REPEAT) != 0;
}

// Every second one of 4000 packets is lost, and so is its first repeat. When these losses are
// found, no other packets are left to send. Several CNTL in sequence ask for all of the packets,
// each packet once. No CNTL waits longer because no packet came after the CNTL before.
TEST(Repair, ManyGapsAtTheEndTakeAFewRoundTrips)
{
    constexpr size_t kFirst = 8000, kLast = 12000, kAll = 16000;
    PairOptions o = paced(64, 400000000);
    size_t data = 0, lost = 0;
    o.fate = [&](uint32_t from, rte_mbuf *m, uint64_t, world_fate *f) {
        if (from != 0 || m->pkt_len <= 1000)
            return;
        if (repeats(m) ? lost < kLast - kFirst
                       : ++data > kFirst && data <= kLast && data % 2 == 1) {
            f->copies = 0;
            lost++;
        }
    };
    Pair p(o);
    p.open();
    p.recv(1408 * kAll);
    p.send(1408 * kAll);
    uint64_t began = world_now(p.w);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    double took = static_cast<double>(world_now(p.w) - began) / kMs;
    struct host_conn_info a = {};
    host_conn_info(p.a(), p.conn[0], &a);
    std::printf("  %zu lost, %lu sent again, %.1f ms\n", lost, a.tx_repeats, took);
    EXPECT_EQ(lost, kLast - kFirst);
    EXPECT_EQ(a.tx_repeats, lost);
    EXPECT_LT(took, 250);
    EXPECT_TRUE(p.finish()) << p.state();
}

// Several senders share a link on which few packets are under way. A repeat takes much longer there
// than a CNTL's echo: its sender waits until it may send, and then the repeat waits behind other
// packets. No packet is sent again while its first repeat may be under way.
TEST(Repair, FewPacketsUnderWayAreRepeatedOnce)
{
    const Pools &pools = Pools::get();
    rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 8; i++) {
        DumbbellOptions o;

        o.senders = 2 + static_cast<uint32_t>(rng_below(&r, 15));
        o.rate_bps = draw(&r, 1e6, 10);
        double packet_ns = Dumbbell::kFrame * 8e9 / o.rate_bps;
        o.rtt_ns = packet_ns * draw(&r, 0.125, 6);
        o.queue_bytes = draw(&r, 4, 2) * Dumbbell::kFrame;
        o.loss = draw(&r, 0.005, 4);
        o.seed = rng_below(&r, 1000000);
        Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});
        for (uint32_t k = 0; k < o.senders; k++)
            s.start(k);
        s.run(3000 * o.senders * packet_ns); // the start counts, too
        double units = 0, duplicates = 0;
        for (uint32_t k = 0; k < o.senders; k++) {
            struct host_conn_info seen = s.info(k);

            units += static_cast<double>(seen.rx_units);
            duplicates += static_cast<double>(seen.rx_duplicates);
        }
        std::printf("  %2u senders, %6.1f Mbit/s, %7.1f us, %4.1f %% lost: %4.1f %% came twice\n",
                    o.senders, o.rate_bps / 1e6, o.rtt_ns / 1e3, 100 * o.loss,
                    100 * duplicates / units);
        EXPECT_LE(duplicates / units, 0.01);
    }
    EXPECT_TRUE(pools.whole()) << "mbufs leak";
}

// CNTL packets with these flags, since frame `from`.
size_t sent_with(const Peer &p, size_t from, uint8_t flags)
{
    size_t n = 0;

    for (size_t i = from; i < p.heard.size(); i++)
        n += p.heard[i].type == WIRE_CNTL && (p.heard[i].cntl.h.flags & flags) == flags;
    return n;
}

// Two requests wait for their provisional ACK. The first one gets it when all before the ACK's unit
// has come, and the second one after that.
TEST(Repair, EachProvisionalAckIsGiven)
{
    Peer p;

    p.open_to_host();
    p.post_recv(5000, 1);
    p.post_recv(5000, 2);
    p.run(10 * kMs);
    for (uint32_t u : {0, 2})
        p.say_data(p.initial, u, 5000, 1000, u == 2 ? WIRE_PACK : 0);
    for (uint32_t u : {0, 2})
        p.say_data(p.initial + 1, u, 5000, 1000, u == 2 ? WIRE_PACK : 0);
    p.run(200 * kUs);
    EXPECT_EQ(sent_with(p, 0, WIRE_PACK), 0u);
    size_t from = p.heard.size();
    p.say_data(p.initial, 1, 5000, 1000);
    p.run(20 * kUs);
    EXPECT_EQ(sent_with(p, from, WIRE_PACK), 1u);
    for (uint32_t u : {3, 4})
        p.say_data(p.initial, u, 5000, 1000);
    p.run(200 * kUs);
    from = p.heard.size();
    p.say_data(p.initial + 1, 1, 5000, 1000);
    p.run(20 * kUs);
    EXPECT_EQ(sent_with(p, from, WIRE_PACK), 1u);
}

// A DREQ that a later one has overtaken does not take the place of the later one.
TEST(Repair, ALaterDreqOutlivesAnEarlierOne)
{
    Peer p;

    p.open_to_host();
    p.post_recv(9000, 1);
    p.run(10 * kMs);
    p.say(p.state()); // late, so that round trips seem long and no NAK comes due in between
    for (uint32_t u : {0, 1, 4})
        p.say_data(p.initial, u, 9000, 1000, u == 4 ? WIRE_DREQ : 0);
    p.run(200 * kUs);
    size_t from = p.heard.size();
    p.say_data(p.initial, 2, 9000, 1000, WIRE_DREQ);
    p.run(20 * kUs);
    EXPECT_EQ(sent_with(p, from, 0), 1u);
    from = p.heard.size();
    p.say_data(p.initial, 3, 9000, 1000);
    p.run(20 * kUs);
    EXPECT_EQ(sent_with(p, from, 0), 1u) << "the later DREQ is not answered";
}

// The host asks a peer that sends nothing for missing units less and less often, however short the
// round trip is. Once the peer sends again, the host asks at once.
TEST(Repair, NaksBackOffWhileNoDataCome)
{
    Peer p;

    p.open_to_host();
    p.post_recv(5000, 1);
    p.say_data(p.initial, 0, 5000, 1000);
    for (int i = 0; i < 20; i++) { // so the host learns the short round trip
        p.say(p.state(WIRE_SREQ));
        p.run(20 * kUs);
    }
    EXPECT_LT(p.info().rtt_ns, kMs);
    size_t from = p.heard.size();

    p.say_data(p.initial, 2, 5000, 1000);
    p.run(100 * kMs);
    EXPECT_GE(asking(p, from), 5u);
    EXPECT_LE(asking(p, from), 20u);
    from = p.heard.size();
    p.say_data(p.initial, 3, 5000, 1000);
    p.run(10 * kUs);
    EXPECT_EQ(asking(p, from), 1u);
}

// With go-back-N, units that a CNTL shows to be missing are asked for once, and then again by the
// timer. (Two sides that both missed units answered each other's CNTL as fast as the path carried
// them.)
TEST(Repair, GoBackNAnswersNewsOnly)
{
    PeerOptions o;
    o.go_back_n = true;
    Peer p(o);

    p.open_to_host();
    p.post_recv(5000, 1);
    p.say_data(p.initial, 0, 5000, 1000);
    p.run(10 * kMs);
    p.sent_end = pos_make(p.initial, 3);
    size_t from = p.heard.size();

    for (int i = 0; i < 50; i++) {
        p.say(p.state());
        p.run(20 * kUs);
    }
    EXPECT_EQ(asking(p, from), 1u);
    EXPECT_LE(p.heard.size(), from + 3);
}

} // namespace
