// SPDX-License-Identifier: BSD-3-Clause
// Sealed connections and what a host knows of its peers: peers that are revoked or get a key, their
// names, addresses, and the services that they may use.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "framed.hh"
#include "sealed.hh"

extern "C" {
#include "assoc/assoc.h"
#include "assoc/seal.h"
#include "host/host_internal.h"
}

namespace
{

// A peer that is taken from the list loses its connections at once.
TEST_F(Sealed, Revoked)
{
    Pair p(o);

    p.open();
    p.recv(1000);
    p.send(1000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    p.recv(10);
    ASSERT_EQ(host_control_set_secured(world_control(p.w, 1), nullptr, 0), 0);
    EXPECT_TRUE(p.run([&] { return p.recvs[1][1].done; }, 100000000)) << p.state();
    EXPECT_EQ(p.recvs[1][1].status, -EACCES);
    struct host_conn_info info;

    EXPECT_TRUE(
        p.run([&] { return !host_conn_info(p.a(), p.conn[0], &info) || info.state == HOST_CLOSED; },
              100000000))
        << p.state();
    struct host_connect op = {};

    op.peer = host_get_config(p.a())->address[0];
    op.service = 7;
    EXPECT_EQ(host_connect(p.b(), &op, world_now(p.w)), -EACCES);
    p.close();
}

// A peer with which there are plain connections gets a key, on both hosts. From then on nothing
// goes to it plain: these connections end at once, and the next one is sealed.
TEST_F(Sealed, PlainUntilThereIsAKey)
{
    uint64_t seen = 0;

    o.security = HOST_SECURITY_OFFERED;
    path = [&](uint32_t, rte_mbuf *, const Seen &s, world_fate *) { seen += s.association != 0; };
    Pair p(o);

    for (uint32_t i = 0; i < 2; i++)
        ASSERT_EQ(host_control_set_secured(world_control(p.w, i), nullptr, 0), 0);
    p.wait(1000000);
    p.open();
    uint32_t waiting = static_cast<uint32_t>(host_accept(p.b(), 7, 1, 50));
    p.recv(1000);
    p.send(1000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_GT(plain, 0u);
    EXPECT_EQ(seen, 0u);
    p.recv(100000000);
    p.send(100000000);
    p.wait(1000000);
    for (uint32_t i = 0; i < 2; i++)
        world_forget(p.w, i, 42);
    p.wait(1000000); // packets that were under way
    plain = 0;
    EXPECT_TRUE(p.run([&] { return p.sends[0][1].done && p.recvs[1][1].done; }, 100000000))
        << p.state();
    EXPECT_EQ(p.sends[0][1].status, -ENOTCONN);
    struct host_conn_info info;

    ASSERT_TRUE(host_conn_info(p.b(), waiting, &info));
    EXPECT_EQ(info.state, HOST_WAITING) << "it belongs to no peer";
    host_close(p.b(), waiting, WIRE_END_ABORT, world_now(p.w));
    p.close();
    p.connect();
    p.recv(500);
    p.send(500);
    EXPECT_TRUE(p.run([&] { return p.recvs[1][2].done && p.sends[0][2].done; })) << p.state();
    EXPECT_EQ(p.recvs[1][2].status, 0);
    EXPECT_GT(seen, 0u);
    p.close();
}

// The same for a connection that is over, and whose END was not answered yet.
TEST_F(Sealed, NoPlainEndOnceThereIsAKey)
{
    o.security = HOST_SECURITY_OFFERED;
    Pair p(o);

    for (uint32_t i = 0; i < 2; i++)
        ASSERT_EQ(host_control_set_secured(world_control(p.w, i), nullptr, 0), 0);
    p.wait(1000000);
    p.open();
    p.recv(1000);
    p.send(1000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    path = [](uint32_t, rte_mbuf *, const Seen &, world_fate *fate) { fate->copies = 0; };
    p.close();
    p.wait(10000000);
    const uint64_t before = plain;
    p.wait(100000000);
    EXPECT_GT(plain, before) << "END is not repeated";
    for (uint32_t i = 0; i < 2; i++)
        world_forget(p.w, i, 42);
    p.wait(1000000);
    plain = 0;
    p.wait(5 * CLOCK_NS_PER_S);
    EXPECT_TRUE(p.all_free());
}

// What a peer is called, and the services that it may connect to.
struct assoc_rights rights_of(const char *name, uint16_t first, uint16_t last)
{
    struct assoc_rights r = {};

    snprintf(r.name, sizeof r.name, "%s", name);
    r.n_services = 1;
    r.services[0].first = first;
    r.services[0].last = last;
    return r;
}

// A peer that may not use a service hears the same as if nobody listened there, whether anybody
// does or not. With the right range, the same connection opens.
TEST_F(Sealed, ServiceThatThePeerMayNotUse)
{
    struct assoc_rights others = rights_of("b", 8, 65535), below = rights_of("b", 1, 6),
                        right = rights_of("b", 7, 7);
    std::vector<Seen> answers;
    o.conns = 16;
    Pair p(o);

    ASSERT_EQ(host_listen(p.b(), 7), 0);
    path = [&](uint32_t from, rte_mbuf *, const Seen &s, world_fate *) {
        if (from == 1 && s.type == WIRE_CNTL)
            answers.push_back(s);
    };
    for (const struct assoc_rights *r : {&others, &below}) {
        uint64_t refused = host_counter_named(p.b(), "drop_not_allowed");

        answers.clear();
        world_permit(p.w, 1, 42, r);
        p.connect();
        EXPECT_TRUE(p.run([&] { return p.opened[0] != 1; }, CLOCK_NS_PER_S)) << p.state();
        EXPECT_EQ(p.opened[0], -ECONNREFUSED);
        EXPECT_EQ(p.opened[1], 1) << "the connection that waits goes on waiting";
        EXPECT_EQ(host_counter_named(p.b(), "drop_not_allowed"), refused + 1);
        EXPECT_EQ(answers.size(), 1u);
        p.close();
        p.wait(100000); // until its completions have come
    }
    EXPECT_EQ(host_counter_named(p.b(), "drop_no_listener"), 0u);
    size_t len = answers.empty() ? 0 : answers[0].payload_len;
    host_unlisten(p.b(), 7);
    world_permit(p.w, 1, 42, &right);
    answers.clear();
    struct host_connect op = {};
    op.peer = host_get_config(p.b())->address[0];
    op.service = 7;
    int64_t nobody = host_connect(p.a(), &op, world_now(p.w));
    ASSERT_GE(nobody, 0);
    EXPECT_TRUE(
        p.run([&] { return host_counter_named(p.b(), "drop_no_listener") == 1; }, CLOCK_NS_PER_S));
    p.wait(1000000);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].payload_len, len) << "the two refusals differ";
    host_close(p.a(), (uint32_t)nobody, WIRE_END_ABORT, world_now(p.w));
    ASSERT_EQ(host_listen(p.b(), 7), 0);
    p.connect();
    EXPECT_TRUE(p.run([&] { return p.opened[0] == 0 && p.opened[1] == 0; }, CLOCK_NS_PER_S))
        << p.state();
    p.close();
}

// A reload that takes a service away from a peer ends the connections to it, and no others.
TEST_F(Sealed, ServiceThatIsTakenAway)
{
    struct assoc_rights right = rights_of("b", 7, 7), other = rights_of("b", 8, 8);
    Pair p(o);

    world_permit(p.w, 1, 42, &right);
    p.open();
    p.recv(10);
    ASSERT_TRUE(p.run([&] { return p.opened[0] == 0 && p.opened[1] == 0; }, CLOCK_NS_PER_S));
    world_permit(p.w, 0, 42, &other);
    world_permit(p.w, 1, 42, &right);
    p.wait(100000000);
    EXPECT_FALSE(p.recvs[1][0].done) << "what A's peer may do at A does not concern it";
    world_permit(p.w, 1, 42, &other);
    EXPECT_TRUE(p.run([&] { return p.recvs[1][0].done; }, 100000000)) << p.state();
    EXPECT_EQ(p.recvs[1][0].status, -EACCES);
    p.close();
}

// Each side has its own name for the other, once a packet of it was right. A peer that gets
// another name keeps its connection. A peer that is gone has no name.
TEST_F(Sealed, NameOfThePeer)
{
    struct assoc_rights alice = {}, bob = {}, carol = {};
    Pair p(o);

    snprintf(alice.name, sizeof alice.name, "alice");
    snprintf(bob.name, sizeof bob.name, "bob");
    snprintf(carol.name, sizeof carol.name, "carol");
    world_permit(p.w, 0, 42, &bob);
    world_permit(p.w, 1, 42, &alice);
    p.open();
    EXPECT_STREQ(host_conn_peer_name(p.a(), p.conn[0]), "") << "B has proved nothing yet";
    EXPECT_STREQ(host_conn_peer_name(p.b(), p.conn[1]), "");
    ASSERT_TRUE(p.run([&] { return p.opened[0] == 0 && p.opened[1] == 0; }, CLOCK_NS_PER_S));
    EXPECT_STREQ(host_conn_peer_name(p.a(), p.conn[0]), "bob");
    EXPECT_STREQ(host_conn_peer_name(p.b(), p.conn[1]), "alice");
    world_permit(p.w, 1, 42, &carol);
    p.wait(1000000);
    EXPECT_STREQ(host_conn_peer_name(p.b(), p.conn[1]), "carol");
    ASSERT_EQ(host_control_set_secured(world_control(p.w, 1), nullptr, 0), 0);
    p.wait(100000000);
    EXPECT_STREQ(host_conn_peer_name(p.b(), p.conn[1]), "");
    p.close();
}

// A peer with a key opens a connection from an address that is not configured for it.
TEST_F(Sealed, PeerAtAnotherAddress)
{
    Pair p(o);

    p.open();
    p.recv(10);
    p.send(10);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    for (bool own : {true, false}) {
        struct table *t = &p.a()->table;
        struct table_entry *e = table_current(t, 0, host_now_ns(p.a()));
        uint8_t bytes[WIRE_FIRST_BYTES + WIRE_TRAILER_BYTES];
        wire_first v = {};
        frame_route r = route_between(*host_get_config(p.a()), *host_get_config(p.b()), false);

        ASSERT_NE(e, nullptr);
        v.h = {WIRE_FIRST, WIRE_EARLY, 0, e->remote, own ? 0x1234u : 0x1235u};
        v.unit_max = 1000;
        v.service = 7;
        r.src.b[15] ^= own ? 0 : 0x40;
        struct seal_path path = {&r.src, &r.dst, r.sport, r.dport};
        uint32_t len = seal_state(t, e, &path, bytes, wire_put_first(bytes, &v));
        uint32_t waiting = static_cast<uint32_t>(host_accept(p.b(), 7, 1, 50));
        uint64_t accepted = host_counter_named(p.b(), "conns_accepted");

        world_inject(p.w, 1, mbuf_of(Pools::get().wire, framed(r, bytes, len)));
        p.wait(1000000);
        EXPECT_EQ(host_counter_named(p.b(), "conns_accepted"), accepted + own);
        EXPECT_EQ(host_counter_named(p.b(), "drop_association"), !own);
        host_close(p.b(), waiting, WIRE_END_ABORT, world_now(p.w));
    }
}

// The attacker is on the path to another peer, and sees the number of B's INIT to that peer. With
// it, it answers faster than B reads. A's handshakes get through.
TEST_F(Sealed, AnswersOfAnotherPeerDoNotKeepHandshakesOut)
{
    o.config = [](uint32_t, host_config *h) {
        h->secured_max = 2;
        h->gateway[0] = addr_from_v4(0x0a000001); // the way to the other peer
    };
    Pair p(o);
    frame_route r = second_peer(&p);
    uint64_t number = 0;

    p.wait(2000000); // until the workers know the peers

    struct host_connect other = {};

    other.peer = r.src;
    other.service = 7;
    ASSERT_GE(host_connect(p.b(), &other, world_now(p.w)), 0);
    ASSERT_TRUE(p.run([&] {
        for (uint32_t i = 0; i < 2; i++)
            number = number != 0 ? number : p.b()->peers[i].asked;
        return number != 0;
    }));
    flood(&p, r, [&] {
        std::vector<uint8_t> answer(WIRE_RESPONSE_BYTES);

        wire_put_response(answer.data(), number);
        return answer;
    });
}

} // namespace
