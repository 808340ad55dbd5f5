// SPDX-License-Identifier: BSD-3-Clause
// The elements receiver (the buffer of a host) and hop (a router that sends limits).
#include "support.h"

namespace
{

TEST(Receiver, LimitCountsTheOneInService)
{
    Line packets("receiver 8mbit limit 3"), bytes("receiver 8mbit limit 1k");

    for (int i = 0; i < 10; i++) {
        packets.push(0, 256);
        bytes.push(0, 256);
    }
    packets.finish();
    bytes.finish();
    EXPECT_EQ(packets.out.size(), 3u);
    EXPECT_EQ(bytes.out.size(), 4u);
}

TEST(Receiver, TakesNothingLargerThanItsBuffer)
{
    Line l("receiver 8mbit limit 1k"), none("receiver 8mbit limit 0");

    l.push(0, 1025);
    l.push(0, 1024);
    none.push(0, 1);
    l.finish();
    none.finish();
    EXPECT_EQ(l.out.size(), 1u);
    EXPECT_EQ(none.out.size(), 0u);
}

TEST(Receiver, StallsOncePerPacketWhenItOverruns)
{
    Line l("receiver 8mbit stall 5ms limit 2");

    l.push(0, 1000);
    l.push(0, 1000);
    l.push(100000, 1000); // overruns, so the first packet takes 5 ms longer
    l.push(200000, 1000); // a packet stalls only once
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{6000000, 0, 1000}, {7000000, 1, 1000}}));
    EXPECT_EQ(l.counts().dropped, 2u);

    l.push(10000000, 1000);
    l.push(10000000, 1000);
    l.push(11000000, 1000); // in the cycle in which the first one is done, so there is room
    l.push(11000000, 1000); // this one overruns again
    l.finish();
    ASSERT_EQ(l.out.size(), 5u);
    EXPECT_EQ(l.out[2].at, 11000000u);
    EXPECT_EQ(l.out[3].at, 17000000u);
    EXPECT_EQ(l.out[4].at, 18000000u);
}

/* A stall has a fixed duration. A rate that changes meanwhile does not change it. */
TEST(Receiver, RateChangesInAStall)
{
    Line faster("receiver 8mbit stall 5ms limit 2 at 3ms receiver 16mbit stall 5ms limit 2");
    Line stopped(
        "receiver 8mbit stall 5ms limit 2 at 3ms receiver 0 limit 2 at 4ms receiver 8mbit");

    for (Line *l : {&faster, &stopped}) {
        l->push(0, 1000);
        l->push(0, 1000);
        l->push(500000, 1000); // 500 bytes are left, from 5.5 ms on
        l->finish();
    }
    EXPECT_EQ(faster.out[0].at, 5750000u);
    EXPECT_EQ(stopped.out[0].at, 6000000u);
}

TEST(Receiver, WithoutStallIsALink)
{
    Line l("receiver 8mbit");

    l.push(0, 100);
    l.push(0, 50);
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{100000, 0, 100}, {150000, 1, 50}}));
}

/* ---- hop ------------------------------------------------------------------------------------ */

struct wire_cntl cntl_of(struct rte_mbuf *m)
{
    struct wire_cntl c = {};
    struct frame f = frame_of(m);

    EXPECT_EQ(wire_parse_cntl(rte_pktmbuf_mtod(m, uint8_t *) + f.payload_off, f.payload_len, &c),
              WIRE_OK);
    return c;
}

struct frame_route to_sender(const char *family = "4")
{
    struct frame_route r =
        family[0] == '6' ? route_make("fd00::2", "fd00::1") : route_make("10.0.0.2", "10.0.0.1");

    r.sport = WIRE_UDP_PORT;
    r.dport = 40000;
    return r;
}

TEST(Hop, LowersCntlAndKeepsItsChecksumRight)
{
    for (const char *family : {"4", "6"})
        for (bool tagged : {false, true}) {
            Line l("hop 80mbit burst 64k expiry 500");
            struct frame_route r = to_sender(family);
            std::vector<struct wire_cntl> seen;

            r.vlan = tagged ? 9 : FRAME_VLAN_NONE;
            l.look = [&](struct rte_mbuf *m) {
                EXPECT_TRUE(sums_right(m));
                EXPECT_NE(frame_of(m).udp_sum, 0);
                seen.push_back(cntl_of(m));
            };
            for (uint64_t rate : {0ull, 5000000ull, 20000000ull})
                l.push(0, cntl_make(r, rate));
            l.finish();
            ASSERT_EQ(seen.size(), 3u);
            EXPECT_EQ(seen[0].hop_rate_Bps, 10000000u);
            EXPECT_EQ(seen[1].hop_rate_Bps, 5000000u);
            EXPECT_EQ(seen[2].hop_rate_Bps, 10000000u);
            EXPECT_EQ(seen[0].hop_burst_bytes, 65536u);
            EXPECT_EQ(seen[0].hop_expiry_ms, 500u);
            EXPECT_EQ(seen[0].hop_count, 1u);
            EXPECT_EQ(l.counts().changed, 3u);
        }
}

TEST(Hop, LeavesOtherPacketsAlone)
{
    Line l("hop 80mbit");
    struct frame_route r = to_sender(), other = r;
    std::vector<struct rte_mbuf *> sent;

    other.sport = 5;
    struct rte_mbuf *cut = cntl_make(r, 0);
    rte_pktmbuf_trim(cut, 20);
    l.look = [&](struct rte_mbuf *m) {
        struct rte_mbuf *w = sent[mbuf_id(m)];
        if (w == nullptr) // an empty packet has no copy
            return;
        EXPECT_EQ(memcmp(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(w, void *), m->pkt_len), 0);
        rte_pktmbuf_free(w);
    };
    for (struct rte_mbuf *m : {udp_make(r), cntl_make(other, 0), cut, packet_make(60),
                               packet_make(0), packet_make(10)}) {
        sent.push_back(rte_pktmbuf_copy(m, test_pool, 0, UINT32_MAX));
        l.push(0, m);
    }
    l.finish();
    EXPECT_EQ(l.out.size(), 6u);
    EXPECT_EQ(l.counts().changed, 0u);
}

TEST(Hop, SaysAtOnceWhenItsRateChanges)
{
    Line l("hop 80mbit rcntl at 50ms hop 8mbit rcntl number 3 expiry 700 at 5s hop 80mbit rcntl");
    std::vector<std::pair<struct frame, struct wire_rcntl>> seen;

    l.look = [&](struct rte_mbuf *m) {
        struct frame f = frame_of(m);
        struct wire_rcntl v = {};
        if (wire_parse_rcntl(rte_pktmbuf_mtod(m, uint8_t *) + f.payload_off, f.payload_len, &v) !=
            WIRE_OK)
            return;
        EXPECT_TRUE(sums_right(m));
        seen.push_back({f, v});
    };
    struct frame_route a = to_sender(), b = to_sender("6");
    l.push(0, cntl_make(a, 0, 7));
    l.push(0, cntl_make(a, 0, 7)); // the same connection
    l.push(0, cntl_make(b, 0, 8));
    l.push(0, cntl_make(b, 0, 11, WIRE_EARLY)); // its key does not belong to the sender
    l.finish(60 * GHZ);
    ASSERT_EQ(seen.size(), 2u); // at 5 s the connections are forgotten
    EXPECT_EQ(l.out[4].at, 50000000u);
    EXPECT_EQ(seen[0].second.h.key, 7u);
    EXPECT_EQ(seen[1].second.h.key, 8u);
    EXPECT_EQ(seen[0].second.rate_Bps, 1000000u);
    EXPECT_EQ(seen[0].second.hop, 3u);
    EXPECT_EQ(seen[0].second.expiry_ms, 700u);
    EXPECT_EQ(seen[0].second.time_ns, 50000000u);
    EXPECT_TRUE(addr_equal(&seen[0].first.src, &a.src));
    EXPECT_TRUE(addr_equal(&seen[0].first.dst, &a.dst));
    EXPECT_EQ(l.counts().copied, 2u);
}

// A sealed CNTL ends in a trailer: a number of 8 bytes, a tag of 16.
struct rte_mbuf *sealed_cntl_make(const struct frame_route &r, uint64_t key, uint8_t tag)
{
    struct rte_mbuf *m = cntl_make(r, 0, key), *sealed;
    struct frame f = frame_of(m);
    std::vector<uint8_t> body(f.payload_len + WIRE_TRAILER_BYTES, tag);

    memcpy(body.data(), rte_pktmbuf_mtod(m, uint8_t *) + f.payload_off, f.payload_len);
    body[7] = 1; // the association
    rte_pktmbuf_free(m);
    sealed = udp_make(r, static_cast<uint32_t>(body.size()));
    uint8_t *bytes = rte_pktmbuf_mtod(sealed, uint8_t *);

    memcpy(bytes + f.payload_off, body.data(), body.size());
    frame_set_udp_sum(bytes, &r, static_cast<uint32_t>(body.size()),
                      frame_sum(body.data(), static_cast<uint32_t>(body.size())));
    return sealed;
}

TEST(Hop, QuotesTheLastCntlOfASealedConnection)
{
    Line l("hop 80mbit rcntl at 50ms hop 8mbit rcntl");
    std::vector<struct wire_rcntl> seen;
    uint32_t lowered = 0;

    l.look = [&](struct rte_mbuf *m) {
        struct frame f = frame_of(m);
        const uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *) + f.payload_off;
        struct wire_rcntl v = {};
        struct wire_cntl c = {};

        EXPECT_TRUE(sums_right(m));
        if (wire_parse_rcntl(p, f.payload_len, &v) == WIRE_OK)
            seen.push_back(v);
        else if (wire_parse_cntl(p, f.payload_len - WIRE_TRAILER_BYTES, &c) == WIRE_OK)
            lowered += c.hop_rate_Bps == 10000000;
    };
    l.push(0, sealed_cntl_make(to_sender(), 7, 0xa1));
    l.push(0, sealed_cntl_make(to_sender(), 7, 0xa2));
    l.push(0, cntl_make(to_sender("6"), 0, 8));
    l.finish();
    EXPECT_EQ(lowered, 2u);
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].h.key, 7u);
    EXPECT_TRUE(seen[0].proven);
    EXPECT_EQ(seen[0].proof, 0xa2a2a2a2a2a2a2a2u);
    EXPECT_EQ(seen[1].h.key, 8u);
    EXPECT_FALSE(seen[1].proven);
}

TEST(Hop, HearsConnectionsAtTimeZero)
{
    Line l("hop 80mbit rcntl at 50ms hop 8mbit rcntl");

    for (uint64_t key = 1; key <= 3; key++)
        l.push(0, cntl_make(to_sender(), 0, key));
    l.finish();
    EXPECT_EQ(l.counts().copied, 3u);
}

TEST(Hop, MoreConnectionsThanItKeeps)
{
    Line l("hop 80mbit rcntl at 50ms hop 8mbit rcntl");

    for (uint64_t i = 1; i <= 100; i++)
        l.push(i, cntl_make(to_sender(), 0, i));
    l.finish();
    EXPECT_EQ(l.counts().copied, 64u);
}

TEST(Hop, RateZeroIsRefused)
{
    EXPECT_NE(spec_error("hop 0").find("position 6"), std::string::npos) << spec_error("hop 0");
}

} // namespace
