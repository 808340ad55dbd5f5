// SPDX-License-Identifier: BSD-3-Clause
// Attacks of a peer or a stranger with a single well-made packet: odd ports, numbers half of their
// space ahead, units that shrink, bits that flip in the right place.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

extern "C" {
#include "base/seq.h"
#include "host/host_internal.h"
}
#include "framed.hh"
#include "peer.hh"

namespace
{

// Connections from UDP source port 0 must not leave entries in the early table.
TEST(Attack, SourcePortZero)
{
    PeerOptions o;
    Peer p(o);

    p.route.sport = 0;
    for (uint32_t i = 0; i < 40; i++) {
        p.own_key = 0x1000 + i;
        p.host_key = 0;
        p.accept();
        p.say_first();
        p.run(100000);
        p.close();
        p.run(3 * CLOCK_NS_PER_S);
        EXPECT_TRUE(p.is_free());
    }
    p.route.sport = 40000;
    p.own_key = 0x777777;
    p.host_key = 0;
    p.heard.clear();
    p.accept();
    p.say_first();
    p.run(100000000);
    EXPECT_EQ(p.counter("conns_full"), 0u);
    EXPECT_GT(p.heard_type(WIRE_CNTL), 0u) << "an honest FIRST is not answered any more";
}

// A FIRST from port 0 for a connection that is over must not find a stale entry and wake a free
// connection.
TEST(Attack, SourcePortZeroStaleEntry)
{
    PeerOptions o;
    o.conns = 1;
    Peer p(o);

    p.route.sport = 0;
    p.own_key = 0x1000;
    p.accept();
    p.say_first();
    p.run(100000);
    p.close();
    p.run(3 * CLOCK_NS_PER_S);
    ASSERT_TRUE(p.is_free());
    p.heard.clear();
    p.host_key = 0;
    p.say_first();
    p.run(100000);
    EXPECT_EQ(p.heard_type(WIRE_CNTL), 0u) << "a free connection sends";
}

// The same within one round of a worker: the frame comes, a client takes the number, the host
// sends.
TEST(Attack, SourcePortZeroHangs)
{
    PeerOptions o;
    o.conns = 2;
    Peer p(o);
    wire_first v = {};
    uint8_t bytes[WIRE_FIRST_BYTES];

    p.route.sport = 0;
    p.own_key = 0x1000;
    p.accept();
    p.say_first();
    p.run(100000);
    p.close();
    p.run(3 * CLOCK_NS_PER_S);
    ASSERT_TRUE(p.is_free());
    v.h = {WIRE_FIRST, WIRE_EARLY, 0, 0, p.own_key};
    v.unit_max = 1400;
    v.service = 7;
    wire_put_first(bytes, &v);
    rte_mbuf *m = mbuf_of(Pools::get().wire, framed(p.route, bytes, sizeof bytes));
    host_rx(p.h(), &m, 1, p.now());
    host_accept(p.h(), 7, 1, 1);
    host_accept(p.h(), 7, 1, 1);
    rte_mbuf *out[8];
    uint16_t n = host_tx(p.h(), out, 8, p.now());
    rte_pktmbuf_free_bulk(out, n);
}

// `posted` moves on until it is exactly half of the number space ahead of the tail.
TEST(Attack, PostedHalfway)
{
    PeerOptions o;
    Peer p(o);

    p.open_by_host();
    p.posted = p.host_initial + 1;
    p.say(p.state());
    p.run(1000000);
    p.post_send(1000, 5);
    ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_DATA) > 0; }));
    p.ack_all();
    ASSERT_TRUE(p.until([&] { return p.done(HOST_SEND, 5) != nullptr; }));
    std::memset(p.buffers.back().data(), 0xaa, 1000); // the application uses it again
    p.heard.clear();
    uint32_t tail = p.host_initial + 1;
    for (uint32_t i = 1; i <= 128; i++) {
        p.posted = tail + i * 0x1000000u;
        p.say(p.state());
        p.run(10000);
    }
    p.run(10000000);
    size_t ghosts = 0, stale = 0;
    for (const Heard &x : p.heard)
        if (x.type == WIRE_DATA) {
            ghosts++;
            stale += !x.payload.empty() && x.payload[0] == 0xaa;
        }
    EXPECT_EQ(ghosts, 0u) << "units of requests that were never made";
    EXPECT_EQ(stale, 0u) << "units from the memory of a completed request";
}

// The peer lowers unit_max after a provisional acknowledgement of a part of the request.
TEST(Attack, SmallerUnitsAfterProvisional)
{
    PeerOptions o;
    Peer p(o);
    std::vector<uint8_t> head(10000, 1), tail(4000, 2);
    struct host_send op = {};

    p.open_by_host();
    p.posted = p.host_initial + 1;
    p.say(p.state());
    p.run(1000000);
    op.pieces[0] = {head.data(), head.size()};
    op.pieces[1] = {tail.data(), tail.size()};
    op.provisional = true;
    op.user = 5;
    ASSERT_EQ(host_send(p.h(), p.conn, &op, p.now()), 0);
    ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_DATA) >= 9; }));
    p.ack = pos_make(p.host_initial, 9); // only the last unit is missing, a part of the tail
    p.say(p.state());
    ASSERT_TRUE(p.until([&] { return p.done(HOST_SEND, 5) != nullptr; }));
    ASSERT_TRUE(p.done(HOST_SEND, 5)->provisional);
    std::fill(head.begin(), head.end(), 0xaa); // the application uses it again
    p.heard.clear();
    wire_cntl v = p.state();
    v.unit_max = 600;
    p.say(v);
    p.run(10000000);
    size_t stale = 0;
    for (const Heard &x : p.heard)
        stale += x.type == WIRE_DATA && !x.payload.empty() && x.payload[0] == 0xaa;
    EXPECT_EQ(stale, 0u) << "memory that was given back is sent";
}

// CNTL that acknowledge what was never sent open a connection, and say that long packets are lost.
// The peer has not said yet, in a CNTL that is right, how long its units may be.
TEST(Attack, AnAckOfNothingCutsNoUnits)
{
    PeerOptions o;
    o.ahead = 1;
    Peer p(o);

    p.connect();
    p.post_send(1000000, 5);
    ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_FIRST) > 0; }));
    p.rate_Bps = 64000;
    p.burst_bytes = 3000;
    for (int i = 0; i < 200; i++) {
        wire_cntl v = p.state(WIRE_SREQ);

        v.ack += 1ull << 40;
        v.received = 0;
        p.say(v);
        p.run(20000000);
    }
    EXPECT_GT(p.heard_type(WIRE_DATA), 20u);
    EXPECT_GT(p.counter("drop_cntl_ack"), 100u);
    EXPECT_EQ(p.counter("units_cut"), 0u);
    EXPECT_EQ(p.info().unit_bytes, 1408u);
}

// A peer acknowledges a part of a request, takes only shorter units from then on that do not divide
// those, and lets all of them be lost. The request ends with the reason, and not never.
TEST(Attack, AUnitThatNothingDividesIsNamed)
{
    PeerOptions o;
    Peer p(o);

    p.open_by_host();
    p.posted = p.host_initial + 1;
    p.say(p.state());
    p.post_send(100000, 5);
    ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_DATA) > 20; }));
    p.ack = pos_make(p.host_initial, 3);
    for (int i = 0; i < 100 && p.done(HOST_SEND, 5) == nullptr; i++) {
        wire_cntl v = p.state(WIRE_SREQ);

        v.unit_max = 1000;
        v.received = 3;
        v.span_count = 1;
        v.spans[0] = {p.ack, pos_make(p.host_initial, 60)};
        p.say(v);
        p.run(20000000);
    }
    ASSERT_NE(p.done(HOST_SEND, 5), nullptr) << "it is repeated for ever";
    EXPECT_EQ(p.done(HOST_SEND, 5)->status, -ECOMM);
}

// A station of the link opens a connection from the address of another one, which says nothing.
// Its MAC address does not become that of its victim.
TEST(Attack, AForgedFirstMakesNoNeighbour)
{
    PeerOptions o;
    struct host_neighbor n;
    uint32_t asked = 0;

    o.answer_arp = false;
    Peer p(o);
    p.accept();
    p.say_first();
    p.run(200000000); // so long that an answer to the host's CNTL is overdue
    p.host_key = p.host_seq = 0;
    p.say_data(p.initial, 0, 1000, 1000);
    for (int i = 0; i < 100; i++) {
        p.run(5000000);
        for (uint32_t k = 0; k < HOST_NEIGHBORS_MAX; k++)
            if (host_neighbor(p.h(), k, &n) && addr_equal(&n.addr, &p.route.src)) {
                asked++;
                ASSERT_FALSE(n.known) << i;
            }
    }
    EXPECT_GT(asked, 0u) << "it is asked for";
}

// The peer says which of our packets its CNTL answers. What it says would count in the control of
// other connections.
TEST(Attack, ARoundTripOfAnHour)
{
    PeerOptions o;
    Peer p(o);

    p.open_by_host();
    for (int i = 0; i < 40; i++) {
        p.run(500000000);
        p.say(p.state());
    }
    for (int i = 0; i < 20; i++) {
        wire_cntl v = p.state();

        v.echo_ns = 1;
        v.echo_held_ns = 0;
        p.say(v);
        p.run(1000000);
    }
    EXPECT_GT(p.info().rtt_ns, 100000000u) << "it is heard";
    EXPECT_LE(p.info().rtt_ns, o.silence_ms * 1000000ull);
}

// One flipped bit makes a unit of the first attempt look like one of a new attempt.
TEST(Attack, CorruptNewAttempt)
{
    PeerOptions o;
    Peer p(o);
    constexpr uint32_t kUnit = 1408, kLast = 1280;
    constexpr uint64_t kLen = 3 * kUnit + kLast;

    p.open_to_host();
    p.post_recv(kLen, 5);
    p.run(10000);
    uint32_t r = p.initial;
    p.say_data(r, 1, kLen, kUnit);
    p.say_data(r, 2, kLen, kUnit);
    p.run(10000);
    wire_data d = {};
    std::vector<uint8_t> bytes(WIRE_DATA_BYTES + kLast), frame;
    d.h = {WIRE_DATA, 0, 0, 0, p.host_key};
    d.packet = p.packet++;
    d.request = r;
    d.unit = 3;
    d.request_len = kLen;
    d.unit_bytes = kUnit;
    wire_put_data(bytes.data(), &d);
    for (uint64_t i = 0; i < kLast; i++)
        bytes[WIRE_DATA_BYTES + i] = pattern(r, 3 * kUnit + i);
    frame.resize(frame_header_len(&p.route) + bytes.size());
    uint16_t head = frame_put(frame.data(), &p.route, bytes.size());
    std::memcpy(frame.data() + head, bytes.data(), bytes.size());
    frame_set_udp_sum(frame.data(), &p.route, bytes.size(), frame_sum(bytes.data(), bytes.size()));
    frame[head + 51] ^= 0x80; // unit_bytes: 1408 becomes 1280
    p.say_frame(frame);
    p.run(10000);
    EXPECT_EQ(p.counter("drop_sum"), 1u);
    p.say_data(r, 0, kLen, kUnit);
    p.say_data(r, 3, kLen, kUnit);
    ASSERT_TRUE(p.until([&] { return p.done(HOST_RECV, 5) != nullptr; }));
    EXPECT_EQ(p.done(HOST_RECV, 5)->status, 0);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < kLen; i++)
        wrong += p.buffers.back()[i] != pattern(r, i);
    EXPECT_EQ(wrong, 0u) << "bytes delivered wrong, with status 0";
}

// A new attempt begins for the request before a refused one.
TEST(Attack, NewAttemptBeforeRefused)
{
    PeerOptions o;
    Peer p(o);

    p.open_to_host();
    p.post_recv(3000, 5);
    p.post_recv(10, 6);
    p.run(10000);
    uint32_t r = p.initial;
    p.say_data(r, 1, 3000, 1408);
    p.say_data(r + 1, 0, 500, 1408);
    p.run(10000);
    for (uint32_t u = 0; u < 5; u++)
        p.say_data(r, u, 3000, 640);
    p.say_data(r + 1, 0, 500, 640);
    p.run(100000000);
    p.say_data(r + 1, 0, 500, 640);
    p.run(100000000);
    p.say(p.state(WIRE_SREQ));
    p.run(100000000);
    EXPECT_EQ(p.last_cntl()->ack, pos_make(r + 2, 0)) << "the ACK does not move on";
}

// FIRST packets from many ports take half of the waiting connections. Then the host asks for a
// cookie.
TEST(Attack, ForgedFirstsLeaveConnectionsToOthers)
{
    PeerOptions o;
    o.conns = 16;
    Peer p(o);

    for (int i = 0; i < 8; i++)
        p.accept();
    for (uint32_t i = 0; i < 200; i++) {
        p.own_key = 0x1000 + i;
        p.route.sport = static_cast<uint16_t>(2000 + i);
        p.say_first();
        p.run(10000);
    }
    EXPECT_EQ(p.counter("conns_accepted"), 4u);
    EXPECT_EQ(p.counter("drop_no_cookie"), 196u);
    p.heard.clear();
    p.own_key = 0x77;
    p.host_key = 0;
    p.say_first();
    p.run(10000);
    ASSERT_NE(p.last_cntl(), nullptr);
    uint64_t cookie = p.last_cntl()->cookie;
    EXPECT_NE(cookie, 0u);
    EXPECT_EQ(p.last_cntl()->h.flags & WIRE_END, 0);
    p.route.sport++;
    p.say_first(cookie);
    p.run(10000);
    EXPECT_EQ(p.counter("conns_accepted"), 4u) << "the cookie of another port counts";
    p.route.sport--;
    p.say_first(cookie);
    p.run(10000);
    EXPECT_EQ(p.counter("conns_accepted"), 5u);
    EXPECT_EQ(p.last_cntl()->cookie, 0u);
    p.run(3 * CLOCK_NS_PER_S); // the host gives up the silent connections
    p.own_key = 0x78;
    p.say_first();
    p.run(10000);
    EXPECT_EQ(p.counter("conns_accepted"), 6u) << "a cookie, but no connection is unproven";
}

// Somebody guesses keys, and the host replaces the one that was missed too often. The peer learns
// the new key, goes on, and may use the former one for a while.
TEST(Attack, TheKeyChangesWhenItIsGuessed)
{
    constexpr uint64_t kLen = 1000;
    Peer p;

    p.open_to_host();
    for (uint64_t i = 0; i < 5; i++)
        p.post_recv(kLen, i);
    p.run(10000);
    uint64_t key = p.host_key;
    p.h()->conns[p.conn].misses = KEY_MISSES_MAX - 1;
    p.host_key = key ^ 1;
    p.say_data(p.initial, 0, kLen, kLen);
    p.host_key = 0;
    p.run(10000);
    ASSERT_NE(p.host_key, 0u) << "the peer does not hear of the new key";
    ASSERT_NE(p.host_key, key);
    EXPECT_EQ(p.counter("keys_renewed"), 1u);
    uint64_t renewed = p.host_key;
    auto arrives = [&](uint32_t request, uint64_t with) {
        p.host_key = with;
        p.say_data(p.initial + request, 0, kLen, kLen);
        p.run(10000);
        return p.done(HOST_RECV, request) != nullptr;
    };
    EXPECT_TRUE(arrives(0, key)) << "it was under way";
    EXPECT_TRUE(arrives(1, renewed));
    EXPECT_TRUE(arrives(2, key)) << "it was overtaken";
    p.run(p.opt.silence_ms * 1000000ull / CONN_SILENCE_STEPS);
    EXPECT_FALSE(arrives(3, key)) << "two keys for ever";
    EXPECT_TRUE(arrives(3, renewed));
}

// A host of which half of the connections are unproven, so that it asks for cookies.
class Crowded : public Peer
{
  public:
    Crowded() : Peer(options())
    {
        EXPECT_EQ(host_listen(h(), 8), 0);
        fill();
    }
    // Closes all connections. Afterwards four wait for service 7, four for service 8, and four are
    // unproven.
    void fill()
    {
        for (uint32_t c = 0; c < opt.conns; c++)
            host_close(h(), c, WIRE_END_ABORT, now());
        run(5 * CLOCK_NS_PER_S);
        for (int i = 0; i < 8; i++)
            accept();
        for (uint32_t i = 0; i < 4; i++)
            EXPECT_EQ(first(0x1000 + i, static_cast<uint16_t>(2000 + i), 7, 0), 0u);
        for (uint64_t i = 0; i < 4; i++)
            EXPECT_GE(host_accept(h(), 8, 0, 100 + i), 0);
    }
    void fill_at(uint64_t ns)
    {
        world_run(w, ns - 6 * CLOCK_NS_PER_S);
        fill();
        world_run(w, ns);
    }
    // Returns the cookie in the answer; 0: there was none.
    uint64_t first(uint64_t key, uint16_t sport, uint16_t service, uint64_t cookie)
    {
        wire_first v = {};
        uint8_t bytes[WIRE_FIRST_BYTES];

        heard.clear();
        own_key = key;
        host_key = 0;
        route.sport = sport;
        v.h = {WIRE_FIRST, WIRE_EARLY, 0, 0, key};
        v.unit_max = 1400;
        v.service = service;
        v.cookie = cookie;
        wire_put_first(bytes, &v);
        say_bytes(bytes, sizeof bytes);
        run(10000);
        return last_cntl() != nullptr ? last_cntl()->cookie : 0;
    }

  private:
    static PeerOptions options()
    {
        PeerOptions o;
        o.conns = 32;
        o.silence_ms = 10000; // the unproven stay unproven
        return o;
    }
};

// A cookie holds for 120 s at least. At 241 s it is old, whenever it was made.
TEST(Attack, CookiesGrowOld)
{
    for (uint64_t made_s : {10, 60, 119, 120, 121}) {
        Crowded p;
        auto again = [&](uint64_t age_s, uint64_t cookie) {
            p.fill_at((made_s + age_s) * CLOCK_NS_PER_S);
            uint64_t accepted = p.counter("conns_accepted");
            uint64_t answer = p.first(0x77, 3000, 7, cookie);
            EXPECT_EQ(p.counter("conns_accepted"), accepted + (answer == 0)) << made_s;
            return answer;
        };

        uint64_t cookie = again(0, 0);
        ASSERT_NE(cookie, 0u);
        EXPECT_EQ(again(120, cookie), 0u) << "young, made at " << made_s;
        uint64_t renewed = again(241, cookie);
        EXPECT_NE(renewed, 0u) << "replayed at 241 s, made at " << made_s;
        EXPECT_NE(renewed, cookie);
    }
}

// A cookie is for one key, port, service and address of ours.
TEST(Attack, ACookieIsForNothingElse)
{
    Crowded p;
    uint64_t cookie = p.first(0x77, 3000, 7, 0);
    const uint64_t accepted = p.counter("conns_accepted");

    ASSERT_NE(cookie, 0u);
    EXPECT_NE(p.first(0x78, 3000, 7, cookie), 0u) << "another key";
    EXPECT_NE(p.first(0x77, 3001, 7, cookie), 0u) << "another UDP port";
    EXPECT_NE(p.first(0x77, 3000, 8, cookie), 0u) << "another service";
    EXPECT_EQ(p.counter("conns_accepted"), accepted);
    EXPECT_EQ(p.first(0x77, 3000, 7, cookie), 0u);
    EXPECT_EQ(p.counter("conns_accepted"), accepted + 1);
}

// A peer asks for an early burst without limit, and then shows no CNTL. It gets what anybody may
// have under way, 256 KiB, and two bursts of its first grant.
TEST(Attack, AFirstSetsNoLimitOfItsOwn)
{
    PeerOptions o;
    o.burst_req = 0;
    Peer p(o);
    constexpr uint32_t kUnit = 1400, kUnits = 2000;
    constexpr uint64_t kLen = static_cast<uint64_t>(kUnit) * kUnits;

    p.accept();
    p.post_recv(kLen, 5);
    p.say_first();
    p.run(10000);
    for (uint32_t i = 0; i < kUnits; i++) {
        p.host_seq = 0; // it shows none
        p.say_data(p.initial, i, kLen, kUnit);
        if (i % 32 == 0)
            p.run(1000);
    }
    p.run(10000);
    const uint64_t taken = kUnit * (kUnits - p.counter("drop_over_grant"));
    EXPECT_GE(taken, 1u << 18);
    EXPECT_LE(taken, (1u << 18) + 2 * o.burst_first + 4 * o.mtu);
}

// The host sends no answer to a group address.
TEST(Attack, GroupSourcesAreDropped)
{
    Peer p;
    frame_route mine = p.route;

    p.accept();
    p.route.src_mac.addr_bytes[0] |= 1;
    p.say_first();
    p.route = mine;
    addr_parse("255.255.255.255", &p.route.src);
    p.say_first();
    addr_parse("0.0.0.0", &p.route.src);
    p.say_first();
    p.run(10000);
    EXPECT_EQ(p.counter("drop_source"), 3u);
    EXPECT_EQ(p.heard_type(WIRE_CNTL), 0u);
}

} // namespace
