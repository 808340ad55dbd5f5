// SPDX-License-Identifier: BSD-3-Clause
// How a connection begins: FIRSTs that are repeated, refused, or too early; how much may be
// answered before the peer has proven its address; and neighbours (ARP, ND, gateway, a peer that
// moves, echo).
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

extern "C" {
#include "wire/neigh.h"
}

#include "peer.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

class Open : public WholePools
{
};

int status(const Peer &p, uint8_t op, uint64_t user)
{
    const host_completion *c = p.done(op, user);

    return c == nullptr ? 1 : c->status;
}

TEST_F(Open, RepeatedFirstIsOneConnection)
{
    Peer p;
    p.accept();
    uint32_t other = p.accept();
    for (int i = 0; i < 5; i++) {
        p.say_first();
        p.run(10000);
    }
    EXPECT_EQ(p.counter("conns_accepted"), 1u);
    EXPECT_EQ(p.counter("drop_first_duplicate"), 4u);
    EXPECT_EQ(p.heard_type(WIRE_CNTL), 5u) << "a FIRST is not answered";
    for (const Heard &x : p.heard) {
        EXPECT_LE(x.frame.payload_len, uint32_t(WIRE_FIRST_BYTES));
    }
    struct host_conn_info info;
    ASSERT_TRUE(host_conn_info(p.h(), other, &info));
    EXPECT_EQ(info.state, HOST_WAITING);
}

// A stranger that forges its address makes the host send no more than it sends itself.
TEST_F(Open, NoMoreIsAnsweredThanWasSaid)
{
    Peer p;
    p.accept();
    for (uint64_t i = 0; i < 4; i++) {
        p.post_recv(50000, 10 + i);
        p.post_send(50000, 20 + i);
    }
    uint64_t said = 0, heard = 0;
    p.say_first();
    said += WIRE_FIRST_BYTES;
    p.run(100 * kMs);
    for (uint32_t u = 0; u < 20; u += 2) { // with gaps
        p.host_key = 0;                    // a stranger does not see it
        p.say_data(p.initial, u, 50000, 100);
        said += WIRE_DATA_BYTES + 100;
        p.run(kMs);
    }
    p.run(2000 * kMs);
    for (const Heard &x : p.heard)
        heard += x.type != 0 ? x.frame.payload_len : 0;
    EXPECT_GT(heard, 0u);
    EXPECT_LE(heard, said);
    EXPECT_EQ(p.info().state, HOST_CLOSED) << "a connection without a peer stays open";
    EXPECT_EQ(status(p, HOST_SEND, 20), -ETIMEDOUT);
}

// A FIRST is as long as it was asked to be, each time that it is repeated, and what pads it is 0.
TEST_F(Open, FirstIsPadded)
{
    for (bool ipv6 : {false, true}) {
        for (uint32_t asked : {100u, 1437u, 1500u}) {
            PeerOptions o;
            o.ipv6 = ipv6;
            Peer p(o);
            struct host_connect op = {};
            op.peer = p.route.src;
            op.peer_port = p.route.sport;
            op.service = 9;
            op.first_bytes = o.mtu + 1u;
            EXPECT_EQ(host_connect(p.h(), &op, p.now()), -EMSGSIZE);
            op.first_bytes = asked;
            ASSERT_GE(host_connect(p.h(), &op, p.now()), 0);
            ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_FIRST) >= 3; }));
            for (const Heard &x : p.heard) {
                if (x.type != WIRE_FIRST)
                    continue;
                const uint32_t headers = (ipv6 ? 40 : 20) + 8;
                const uint8_t *payload = x.bytes.data() + x.frame.payload_off;
                EXPECT_EQ(x.frame.payload_len + headers,
                          std::max(asked, uint32_t(WIRE_FIRST_BYTES) + headers));
                EXPECT_EQ(std::count(payload + WIRE_FIRST_BYTES, payload + x.frame.payload_len, 0),
                          x.frame.payload_len - WIRE_FIRST_BYTES);
                EXPECT_TRUE(frame_udp_sum_ok(x.bytes.data(), &x.frame,
                                             frame_sum(payload, x.frame.payload_len)));
            }
        }
    }
}

// Padding, whatever it holds, changes nothing.
TEST_F(Open, PaddedFirstIsTaken)
{
    Peer p;
    wire_first v = {};
    std::vector<uint8_t> bytes(WIRE_FIRST_BYTES + 1000, 0x5a);

    v.h.key = p.own_key;
    v.unit_max = 1400;
    v.service = 9; // nobody listens there
    wire_put_first(bytes.data(), &v);
    p.say_bytes(bytes.data(), static_cast<uint32_t>(bytes.size()));
    p.run(kMs);
    EXPECT_EQ(p.heard_flags(WIRE_END), 1u);
    EXPECT_EQ(p.drops(), p.counter("drop_no_listener"));
}

TEST_F(Open, EarlyDataOfBothSides)
{
    Peer p;
    p.accept();
    p.post_recv(3000, 5);
    p.post_send(1000, 6);
    p.say_first();
    for (uint32_t u = 0; u < 3; u++)
        p.say_data(p.initial, u, 3000, 1400);
    p.run(100000);
    EXPECT_EQ(p.done(HOST_RECV, 5), nullptr) << "its address may be forged";
    EXPECT_EQ(p.heard_type(WIRE_DATA), 1u) << "more bytes are sent than came";
    EXPECT_EQ(p.counter("rx_data"), 3u);
    p.say(p.state());
    p.run(10000);
    EXPECT_EQ(status(p, HOST_RECV, 5), 0);
    p.ack_all();
    EXPECT_EQ(status(p, HOST_SEND, 6), 0);
}

TEST_F(Open, NobodyListens)
{
    Peer p;
    p.connect();
    p.post_send(100, 5);
    ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_FIRST) > 0; }));
    // the answer to FIRST of a host without a listener
    wire_cntl v = p.state(WIRE_END);
    v.own_key = p.host_key;
    v.end = WIRE_END_NOBODY;
    uint64_t start = p.now();
    p.say(v);
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_CONNECT, 1), -ECONNREFUSED);
    EXPECT_EQ(status(p, HOST_SEND, 5), -ECONNREFUSED);
    EXPECT_LT(p.now() - start, 2 * kMs);
    EXPECT_EQ(p.heard_flags(WIRE_END), 0u) << "a refusal needs no answer";
    p.close();
    EXPECT_TRUE(p.until([&] { return p.is_free(); }));
}

TEST_F(Open, RefusalIsSmallerThanFirst)
{
    Peer p;
    host_unlisten(p.h(), 7);
    p.say_first();
    p.run(kMs);
    ASSERT_EQ(p.heard.size(), 1u);
    EXPECT_LE(p.heard[0].frame.payload_len, uint32_t(WIRE_FIRST_BYTES));
    EXPECT_EQ(p.heard[0].cntl.h.key, p.own_key);
    EXPECT_EQ(p.heard[0].cntl.end, WIRE_END_NOBODY);
    EXPECT_EQ(p.counter("drop_no_listener"), 1u);
}

TEST_F(Open, NoAcceptWaitsYet)
{
    Peer p;
    p.say_first();
    p.run(20 * kMs);
    EXPECT_EQ(p.heard.size(), 0u);
    EXPECT_EQ(p.counter("drop_no_accept"), 1u);
    p.accept();
    p.say_first(); // the peer tries again
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_ACCEPT, 1), 0);
}

TEST_F(Open, UnlistenCancelsWhoWaits)
{
    Peer p;
    p.accept();
    host_unlisten(p.h(), 7);
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_ACCEPT, 1), -ECANCELED);
    EXPECT_EQ(host_accept(p.h(), 7, 1, 2), -ENOENT);
    p.close();
    EXPECT_TRUE(p.until([&] { return p.is_free(); }));
}

TEST_F(Open, FirstIsRepeatedAtGrowingIntervals)
{
    PeerOptions o;
    o.silence_ms = 3000;
    Peer p(o);
    p.connect();
    EXPECT_TRUE(p.until([&] { return p.done(HOST_CONNECT, 1) != nullptr; }));
    EXPECT_EQ(status(p, HOST_CONNECT, 1), -ETIMEDOUT);
    EXPECT_NEAR(double(p.now()) / 1e9, 3.0, 0.02);
    std::vector<uint64_t> at;
    for (const Heard &x : p.heard)
        if (x.type == WIRE_FIRST)
            at.push_back(x.at_ns);
    ASSERT_GE(at.size(), 6u);
    EXPECT_NEAR(double(at[1] - at[0]), 20e6, 1e6);
    for (size_t i = 2; i < at.size(); i++)
        EXPECT_GE(at[i] - at[i - 1] + kMs, at[i - 1] - at[i - 2]);
}

// The opener's answer to the first CNTL is lost. The opener asks until the peer has seen one.
TEST_F(Open, OpenersCntlIsRepeated)
{
    Peer p;
    p.connect();
    ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_FIRST) > 0; }));
    wire_cntl v = p.state();
    v.cntl_seen = 0;
    p.say(v);
    p.run(100 * kMs);
    EXPECT_GE(p.heard_type(WIRE_CNTL), 3u);
    EXPECT_LE(p.heard_type(WIRE_CNTL), 9u);
    p.say(p.state());
    p.run(10000);
    size_t n = p.heard_type(WIRE_CNTL);
    p.run(100 * kMs);
    EXPECT_EQ(p.heard_type(WIRE_CNTL), n);
}

// An acceptor under pressure keeps no state. It asks for FIRST again, with its cookie.
TEST_F(Open, CookieIsRepeatedInFirst)
{
    Peer p;
    p.connect();
    ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_FIRST) > 0; }));
    EXPECT_EQ(p.last_first()->cookie, 0u);
    wire_cntl v = p.state();
    v.cookie = 0x1122334455667788;
    v.rate_Bps = 1;
    p.say(v);
    p.run(kMs);
    EXPECT_EQ(p.heard_type(WIRE_FIRST), 2u) << "FIRST is not repeated at once";
    EXPECT_EQ(p.last_first()->cookie, v.cookie);
    EXPECT_EQ(p.done(HOST_CONNECT, 1), nullptr) << "a cookie completes the connect";
    p.run(50 * kMs);
    EXPECT_EQ(p.last_first()->cookie, v.cookie) << "the timer's FIRST lacks the cookie";
    p.say(p.state());
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_CONNECT, 1), 0);
    EXPECT_GT(p.info().tx_rate_Bps, 1u);
}

TEST_F(Open, LostArpAndNdAreAskedAgain)
{
    for (bool ipv6 : {false, true}) {
        PeerOptions o;
        o.ipv6 = ipv6;
        o.answer_arp = false;
        Peer p(o);
        p.connect();
        p.run(500 * kMs);
        size_t asked = 0;
        for (const Heard &x : p.heard)
            asked += x.kind == (ipv6 ? FRAME_ICMP6 : FRAME_ARP);
        EXPECT_GE(asked, 5u) << "after 12.5, 25, 50 ... 200 ms, or up to twice that";
        EXPECT_LE(asked, 6u);
        EXPECT_EQ(p.heard_type(WIRE_FIRST), 0u);
        p.opt.answer_arp = true;
        EXPECT_TRUE(p.until([&] { return p.heard_type(WIRE_FIRST) > 0; }));
        p.say(p.state());
        p.run(kMs);
        EXPECT_EQ(status(p, HOST_CONNECT, 1), 0);
    }
}

TEST_F(Open, Unreachable)
{
    PeerOptions o;
    o.answer_arp = false;
    Peer p(o);
    p.connect();
    p.post_send(10, 5);
    EXPECT_TRUE(p.until([&] { return p.done(HOST_CONNECT, 1) != nullptr; }));
    EXPECT_EQ(status(p, HOST_CONNECT, 1), -EHOSTUNREACH);
    EXPECT_EQ(status(p, HOST_SEND, 5), -EHOSTUNREACH);
    EXPECT_NEAR(double(p.now()) / 1e9, 1.0, 0.02);
    p.close();
    EXPECT_TRUE(p.until([&] { return p.is_free(); }));
}

TEST_F(Open, ThroughTheGateway)
{
    for (bool ipv6 : {false, true}) {
        PeerOptions o;
        o.ipv6 = ipv6;
        o.gateway = true;
        Peer p(o);
        p.open_by_host();
        struct neigh n;
        ASSERT_EQ(neigh_parse(p.heard[0].bytes.data(), uint32_t(p.heard[0].bytes.size()),
                              &p.heard[0].frame, &n),
                  NEIGH_REQUEST);
        EXPECT_TRUE(addr_equal(&n.target, &host_get_config(p.h())->gateway[ipv6]));
        EXPECT_TRUE(addr_equal(&n.sender, &p.route.dst)) << "an unset sender would be a probe";
    }
    Peer none;
    struct host_connect op = {};
    op.peer = addr_from_v4(0x0a000902);
    op.service = 1;
    EXPECT_EQ(host_connect(none.h(), &op, none.now()), -EHOSTUNREACH) << "off link, no gateway";
}

// The peer has come back with another MAC address. The one that the host remembers leads nowhere.
TEST_F(Open, PeerMoved)
{
    Peer p;
    p.open_by_host();
    p.close();
    EXPECT_TRUE(p.until([&] { return p.is_free(); }));
    p.route.src_mac.addr_bytes[5] = 0x77;
    p.heard.clear();
    p.connect();
    EXPECT_TRUE(p.until(
        [&] {
            for (const Heard &x : p.heard)
                if (x.type == WIRE_FIRST && x.frame.dst_mac.addr_bytes[5] == 0x77)
                    return true;
            return false;
        },
        900 * kMs));
}

TEST_F(Open, NeighboursAreForgotten)
{
    Peer p;
    p.open_by_host();
    p.close();
    p.run(60000 * kMs);
    p.heard.clear();
    p.connect();
    p.run(kMs);
    ASSERT_FALSE(p.heard.empty());
    EXPECT_EQ(p.heard[0].kind, FRAME_ARP);
}

TEST_F(Open, AnswersArpNdAndEcho)
{
    Peer p;
    uint8_t bytes[NEIGH_FRAME_MAX];
    uint16_t len =
        neigh_put_request(bytes, &p.route.src_mac, &p.route.src, &p.route.dst, FRAME_VLAN_NONE);
    p.say_frame({bytes, bytes + len});
    p.run(10000);
    ASSERT_EQ(p.heard.size(), 1u);
    struct neigh n;
    ASSERT_EQ(neigh_parse(p.heard[0].bytes.data(), uint32_t(p.heard[0].bytes.size()),
                          &p.heard[0].frame, &n),
              NEIGH_REPLY);
    EXPECT_EQ(std::memcmp(&n.mac, &p.route.dst_mac, 6), 0);
    // a question for another address is heard, and not answered
    addr other = addr_from_v4(0x0a000005);
    len = neigh_put_request(bytes, &p.route.src_mac, &p.route.src, &other, FRAME_VLAN_NONE);
    p.say_frame({bytes, bytes + len});
    p.run(10000);
    EXPECT_EQ(p.heard.size(), 1u);
    EXPECT_EQ(p.drops(), 0u);
    // echo: ICMP type 8 over 40 bytes
    std::vector<uint8_t> ping(14 + 20 + 40);
    frame_route r = p.route;
    frame_put(ping.data(), &r, 40 - 8);
    ping[14 + 9] = 1; // ICMP instead of UDP: the header's checksum changes by 17 - 1
    uint16_t sum = static_cast<uint16_t>((ping[24] << 8 | ping[25]) + 16);
    ping[24] = static_cast<uint8_t>(sum >> 8), ping[25] = static_cast<uint8_t>(sum);
    std::memset(ping.data() + 34, 0, 40);
    ping[34] = 8;
    uint16_t icmp = static_cast<uint16_t>(~frame_sum_fold(frame_sum(ping.data() + 34, 40)));
    std::memcpy(ping.data() + 36, &icmp, 2);
    p.say_frame(ping);
    p.run(10000);
    ASSERT_EQ(p.heard.size(), 2u);
    EXPECT_EQ(p.heard[1].kind, FRAME_ICMP4);
    EXPECT_EQ(p.heard[1].bytes.size(), ping.size());
    EXPECT_EQ(p.heard[1].bytes[34], 0) << "echo reply";
    EXPECT_EQ(p.counter("rx_echo"), 1u);
}

} // namespace
