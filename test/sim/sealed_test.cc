// SPDX-License-Identifier: BSD-3-Clause
// Connections whose packets are sealed under associations: what passes, what an attacker on the
// path can do, renewal, peers that forget.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "../unit/base/seed.h"
#include "framed.hh"
#include "pool.hh"
#include "sealed.hh"

extern "C" {
#include "assoc/assoc.h"
#include "assoc/mac.h"
#include "assoc/seal.h"
#include "base/rng.h"
#include "crypto/secret.h"
#include "host/host_internal.h"
}

namespace
{

TEST_F(Sealed, Transfer)
{
    transfer();
}

TEST_F(Sealed, OtherCiphers)
{
    for (aead_cipher cipher : {AEAD_AES_256_GCM, AEAD_CHACHA20_POLY1305}) {
        o.cipher = cipher;
        ledger.clear();
        transfer();
    }
}

TEST_F(Sealed, V6CopiedWithoutChecksums)
{
    o.ipv6 = true;
    o.attach = false;
    o.sum = HOST_SUM_NONE;
    transfer();
}

TEST_F(Sealed, GoBackNWithTag)
{
    o.go_back_n = true;
    o.vlan = 77;
    transfer();
}

TEST_F(Sealed, JumboUnits)
{
    o.mtu = 9000;
    transfer(250);
}

// Frames longer than a buffer of the pool lie in several. The trailer lies in one: behind the
// payload, or alone in the next. Each number of bytes is left for it, from more than enough to 0.
TEST_F(Sealed, ShortBuffers)
{
    constexpr uint16_t kRoom = 1100;
    static rte_mempool *pool = pool_make("short", 4095, RTE_PKTMBUF_HEADROOM + kRoom);
    uint64_t longer = 0;

    o.mtu = 9000;
    o.config = [](uint32_t, host_config *h) { h->copy_pool = pool; };
    path = [&](uint32_t, rte_mbuf *m, const Seen &s, world_fate *) {
        longer += s.association != 0 && m->pkt_len > kRoom;
    };
    transfer(250);
    EXPECT_GT(longer, 200u);
    ledger.clear();
    Pair p(o);

    p.open();
    for (uint64_t left = 0; left <= WIRE_TRAILER_BYTES + 8; left++) {
        uint64_t len = 2 * kRoom - (14 + 20 + 8 + WIRE_DATA_BYTES) - left;

        p.recv(len);
        p.send(len);
        EXPECT_TRUE(p.run([&] { return p.all_done(); })) << left << " bytes left: " << p.state();
    }
    EXPECT_TRUE(p.finish()) << p.state();
    EXPECT_TRUE(rte_mempool_full(pool));
}

// Packets without a UDP checksum are dropped, sealed or not; of DATA, the tag covers all. The first
// two of each type have none.
TEST_F(Sealed, WithoutChecksums)
{
    std::map<int, uint64_t> sent;
    uint64_t dropped = 0;

    path = [&](uint32_t, rte_mbuf *m, const Seen &s, world_fate *) {
        if (s.payload_len == 0 || sent[s.type] == 2)
            return;
        memset(rte_pktmbuf_mtod_offset(m, uint8_t *, s.payload_off - 2), 0, 2);
        sent[s.type]++;
    };
    Pair p(o);

    p.open();
    p.recv(100000);
    p.send(100000);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    for (host *h : {p.a(), p.b()})
        dropped += host_counter_named(h, "drop_no_sum");
    for (int type : {WIRE_INIT, WIRE_RESPONSE, WIRE_FIRST, WIRE_CNTL, WIRE_DATA})
        EXPECT_EQ(sent[type], 2u) << type;
    EXPECT_EQ(dropped, 8u);
    EXPECT_TRUE(p.finish()) << p.state();
}

// The first INIT and the first RESPONSE get lost: both are repeated.
TEST_F(Sealed, HandshakeLost)
{
    int inits = 0, responses = 0;

    path = [&](uint32_t, rte_mbuf *, const Seen &s, world_fate *fate) {
        if ((s.type == WIRE_INIT && ++inits == 1) || (s.type == WIRE_RESPONSE && ++responses == 1))
            fate->copies = 0;
    };
    Pair p(o);

    p.open();
    p.recv(1000);
    p.send(1000);
    EXPECT_TRUE(p.run([&] { return p.all_done(); }, CLOCK_NS_PER_S)) << p.state();
    EXPECT_GE(inits, 2);
    EXPECT_EQ(responses, 2);
    EXPECT_TRUE(p.finish()) << p.state();
}

// The answer is lost, and by the time that it is asked for again, the connection that wanted it is
// over, and another one waits for it, from another port.
TEST_F(Sealed, ResponseLostAndAnotherConnectionWaits)
{
    int responses = 0;

    o.config = [](uint32_t, host_config *h) {
        h->source_first = 61440;
        h->source_last = 65535;
    };
    path = [&](uint32_t, rte_mbuf *, const Seen &s, world_fate *fate) {
        if (s.type == WIRE_RESPONSE && ++responses == 1)
            fate->copies = 0;
    };
    Pair p(o);

    p.connect();
    p.wait(10000000);
    EXPECT_EQ(responses, 1);
    host_close(p.a(), p.conn[0], WIRE_END_ABORT, world_now(p.w));
    p.wait(2000000);
    p.open();
    EXPECT_TRUE(p.run([&] { return p.opened[0] == 0; }, CLOCK_NS_PER_S)) << p.state();
    EXPECT_EQ(responses, 2);
    p.close();
}

// A second connection needs no handshake, and its first request comes right behind FIRST.
TEST_F(Sealed, EarlyDataAtOnce)
{
    Pair p(o);

    p.open();
    p.recv(1000);
    p.send(1000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();

    uint64_t begun = world_now(p.w), done = 0;

    p.connect();
    p.recv(1000);
    p.send(1000);
    p.run([&] {
        if (done == 0 && p.recvs[1][1].done)
            done = world_now(p.w);
        return p.all_done();
    });
    EXPECT_EQ(host_counter_named(p.b(), "rx_handshake"), 1u);
    ASSERT_NE(done, 0u);
    EXPECT_LT(done - begun, 2 * o.delay_ns + 100000) << "the request waited for a round trip";
    p.close();
}

// Each frame may have a bit flipped on its way. None of those has an effect but a counter.
TEST_F(Sealed, FlippedBits)
{
    uint64_t seed = test_seed(), flipped = 0;
    struct rng rng;

    rng_init(&rng, seed);
    path = [&](uint32_t, rte_mbuf *m, const Seen &s, world_fate *) {
        if (s.association == 0 || rng_below(&rng, 4) != 0)
            return;
        uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *) + s.payload_off;
        uint64_t bit = rng_below(&rng, s.payload_len * 8);

        p[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
        flipped++;
    };
    Pair p(o);

    p.open();
    for (int i = 0; i < 16; i++) {
        p.recv(100000);
        p.send(100000);
    }
    EXPECT_TRUE(p.run([&] { return p.all_done(); }, 300 * CLOCK_NS_PER_S))
        << p.state() << " SLUICE_SEED=" << seed;
    EXPECT_GT(flipped, 300u);
    EXPECT_GT(host_counter_named(p.b(), "drop_seal"), flipped / 3);
    path = nullptr;
    EXPECT_TRUE(p.finish()) << p.state();
}

// An attacker on the path sends everything again: at once, and after the connection has ended.
TEST_F(Sealed, Replays)
{
    std::vector<std::pair<uint32_t, std::vector<uint8_t>>> heard;

    path = [&](uint32_t from, rte_mbuf *m, const Seen &s, world_fate *) {
        const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

        if (s.type != 0)
            heard.push_back({from, std::vector<uint8_t>(p, p + m->data_len)});
    };
    Pair p(o);

    auto replay = [&] {
        auto frames = heard;

        path = nullptr;
        for (const auto &[from, bytes] : frames) {
            world_inject(p.w, 1 - from, mbuf_of(Pools::get().wire, bytes));
            p.wait(10000);
        }
    };

    p.open();
    p.recv(50000);
    p.send(50000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    uint64_t accepted = host_counter_named(p.b(), "conns_accepted");

    replay();
    p.wait(10000000);
    EXPECT_TRUE(p.all_done()) << p.state();
    // a replayed FIRST finds a connection that waits
    uint32_t waiting = static_cast<uint32_t>(host_accept(p.b(), 7, 1, 50));
    p.recv(20);
    p.send(20);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    p.close();
    p.wait(5 * CLOCK_NS_PER_S);
    replay();
    p.wait(100000000);
    host_close(p.b(), waiting, WIRE_END_ABORT, world_now(p.w));
    EXPECT_EQ(host_counter_named(p.b(), "conns_accepted"), accepted);
    EXPECT_GE(host_counter_named(p.b(), "drop_replay"), 1u);
}

// A CNTL that came before, with SREQ, is sent again. In a plain connection it would be answered.
TEST_F(Sealed, OldSreqIsNotAnswered)
{
    std::vector<std::vector<uint8_t>> asking;

    path = [&](uint32_t from, rte_mbuf *m, const Seen &s, world_fate *) {
        const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

        if (from == 0 && s.type == WIRE_CNTL && p[s.payload_off + 1] & WIRE_SREQ)
            asking.push_back(std::vector<uint8_t>(p, p + m->data_len));
    };
    Pair p(o);

    p.open();
    p.recv(1000);
    p.send(1000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    p.wait(400000000); // a quarter of the silence limit has an `alive`
    ASSERT_FALSE(asking.empty());
    const auto old = asking;
    const uint64_t sent = host_counter_named(p.b(), "tx_frames"),
                   dropped = host_counter_named(p.b(), "drop_cntl_old");

    for (const auto &bytes : old)
        world_inject(p.w, 1, mbuf_of(Pools::get().wire, bytes));
    p.wait(1000000);
    EXPECT_EQ(host_counter_named(p.b(), "drop_cntl_old"), dropped + old.size());
    EXPECT_EQ(host_counter_named(p.b(), "tx_frames"), sent);
    EXPECT_TRUE(p.finish()) << p.state();
}

// A stranger has opened a plain connection, where that is `offered`. A peer with a key seals a
// packet for it, from the stranger's address: it belongs to no connection of the peer's.
TEST_F(Sealed, PlainConnectionTakesNothingSealed)
{
    o.security = HOST_SECURITY_OFFERED;
    Pair p(o);

    p.open();
    p.recv(10);
    p.send(10);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    uint32_t waiting = static_cast<uint32_t>(host_accept(p.b(), 7, 1, 50));
    uint8_t bytes[WIRE_CNTL_BYTES + WIRE_TRAILER_BYTES];
    wire_first v = {};
    wire_cntl end = {};
    frame_route r = route_between(*host_get_config(p.a()), *host_get_config(p.b()), false);
    struct table_entry *e = table_current(&p.a()->table, 0, host_now_ns(p.a()));
    struct seal_path from = {&r.src, &r.dst, r.sport, r.dport};
    struct host_conn_info info;

    ASSERT_NE(e, nullptr);
    r.src.b[15] ^= 0x40;
    v.h = {WIRE_FIRST, WIRE_EARLY, 0, 0, 0x1234};
    v.unit_max = 1000;
    v.service = 7;
    uint64_t accepted = host_counter_named(p.b(), "conns_accepted");
    world_inject(p.w, 1, mbuf_of(Pools::get().wire, framed(r, bytes, wire_put_first(bytes, &v))));
    p.wait(1000000);
    ASSERT_EQ(host_counter_named(p.b(), "conns_accepted"), accepted + 1);
    end.h = {WIRE_CNTL, WIRE_EARLY | WIRE_END, 0, e->remote, 0x1234};
    end.own_key = 0x1234;
    end.seq = 1;
    end.unit_max = 1000;
    end.end = WIRE_END_ABORT;
    uint32_t len = seal_state(&p.a()->table, e, &from, bytes, wire_put_cntl(bytes, &end));
    uint64_t before = host_counter_named(p.b(), "drop_association");
    world_inject(p.w, 1, mbuf_of(Pools::get().wire, framed(r, bytes, len)));
    p.wait(1000000);
    EXPECT_EQ(host_counter_named(p.b(), "drop_association"), before + 1);
    ASSERT_TRUE(host_conn_info(p.b(), waiting, &info));
    EXPECT_EQ(info.state, HOST_OPEN);
    host_close(p.b(), waiting, WIRE_END_ABORT, world_now(p.w));
    p.close();
    p.wait(5 * CLOCK_NS_PER_S);
    EXPECT_GT(plain, 0u) << "nothing answered the stranger";
    plain = 0;
}

// A host without a key gets no answer, whatever it sends. It is not even told that nothing listens.
TEST_F(Sealed, SilentToPlain)
{
    Pair p(o);
    uint64_t sent = host_counter_named(p.b(), "tx_frames");
    uint8_t bytes[256];
    wire_first v = {};
    frame_route r = route_between(*host_get_config(p.a()), *host_get_config(p.b()), false);

    v.h = {WIRE_FIRST, WIRE_EARLY, 0, 0, 0x1234};
    v.unit_max = 1000;
    v.service = 9;
    for (int association : {0, 1, 0x7fffffff}) {
        v.h.association = static_cast<uint32_t>(association);
        uint32_t len = wire_put_first(bytes, &v);

        world_inject(p.w, 1, mbuf_of(Pools::get().wire, framed(r, bytes, len)));
        p.wait(1000000);
    }
    EXPECT_EQ(host_counter_named(p.b(), "drop_plain"), 1u);
    EXPECT_EQ(host_counter_named(p.b(), "drop_association"), 2u);
    EXPECT_EQ(host_counter_named(p.b(), "tx_frames"), sent);
}

// Requests go on for minutes: associations are renewed, old ones are forgotten.
TEST_F(Sealed, Renewal)
{
    std::set<uint32_t> numbers;

    path = [&](uint32_t from, rte_mbuf *, const Seen &s, world_fate *) {
        if (from == 0 && s.association != 0)
            numbers.insert(s.association);
    };
    Pair p(o);

    p.open();
    for (uint64_t s = 0; s < 400; s++) {
        p.recv(3000);
        p.send(3000);
        p.recv_back(3000);
        p.send_back(3000);
        p.wait(CLOCK_NS_PER_S);
        ASSERT_TRUE(p.all_done()) << "after " << s << " s: " << p.state();
    }
    EXPECT_EQ(numbers.size(), 4u) << "400 s, renewed each 120 s";
    EXPECT_TRUE(p.finish()) << p.state();
    EXPECT_EQ(host_counter_named(p.b(), "drop_association"), 0u);
    struct assoc_state state;

    host_control_secured(world_control(p.w, 1), 0, &state);
    EXPECT_LE(state.incoming, 2u);
    p.wait(ASSOC_KEEP_NS + CLOCK_NS_PER_S);
    host_control_secured(world_control(p.w, 1), 0, &state);
    EXPECT_EQ(state.incoming, 0u);
}

// B forgets its associations, as after a restart. What A sends is lost, and its connection ends;
// the next one finds out by itself that there must be a new association.
TEST_F(Sealed, PeerForgets)
{
    Pair p(o);

    p.open();
    p.recv(1000);
    p.send(1000);
    ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    p.wait(6 * CLOCK_NS_PER_S);
    world_forget(p.w, 1, 42);
    p.wait(100000000);
    EXPECT_GT(host_counter_named(p.b(), "conns_failed"), 0u); // with -EACCES
    p.close();
    p.connect();
    p.recv(500);
    p.send(500);
    EXPECT_TRUE(p.run([&] { return p.sends[0][1].done && p.recvs[1][1].done; }, CLOCK_NS_PER_S))
        << p.state();
    EXPECT_EQ(p.recvs[1][1].status, 0);
    p.close();
}

// With a log, control tells of each association once at each end, with the keys under which packets
// then go: what one end seals with, the other one opens with.
TEST_F(Sealed, KeysAreLogged)
{
    struct Ends {
        std::vector<assoc_keys> keys[2];
    } ends;
    Pair p(o);

    host_control_set_key_log(
        world_control(p.w, 0),
        [](void *ctx, const assoc_keys *k) { static_cast<Ends *>(ctx)->keys[0].push_back(*k); },
        &ends);
    host_control_set_key_log(
        world_control(p.w, 1),
        [](void *ctx, const assoc_keys *k) { static_cast<Ends *>(ctx)->keys[1].push_back(*k); },
        &ends);
    p.open();
    p.recv(100000);
    p.send(100000);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    ASSERT_EQ(ends.keys[0].size(), 1u);
    ASSERT_EQ(ends.keys[1].size(), 1u);
    const assoc_keys &a = ends.keys[0][0], &b = ends.keys[1][0];
    EXPECT_TRUE(a.outgoing && !b.outgoing);
    EXPECT_EQ(a.cipher, b.cipher);
    EXPECT_EQ(a.remote, b.number);
    EXPECT_EQ(b.remote, a.number);
    EXPECT_EQ(memcmp(a.keys.seal, b.keys.open, NOISE_KEY_BYTES), 0);
    EXPECT_EQ(memcmp(a.keys.open, b.keys.seal, NOISE_KEY_BYTES), 0);
    EXPECT_FALSE(secret_unset(a.keys.seal, NOISE_KEY_BYTES));
    for (const auto &[from, number, count] : ledger)
        EXPECT_EQ(number, from == 0 ? a.remote : b.remote);
    EXPECT_TRUE(p.finish()) << p.state();
}

// An attacker changes the bytes of CNTL that are for routers: that can lower a rate, no more.
TEST_F(Sealed, RouterBytes)
{
    path = [&](uint32_t from, rte_mbuf *m, const Seen &s, world_fate *) {
        if (from == 1 && s.type == WIRE_CNTL)
            wire_lower_cntl(rte_pktmbuf_mtod(m, uint8_t *) + s.payload_off, 10000000, 0, 1000);
    };
    o.sum = HOST_SUM_NONE;
    Pair p(o);
    uint64_t begun;

    p.open();
    p.recv(1000000);
    p.send(1000000);
    begun = world_now(p.w);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_GT(world_now(p.w) - begun, 80000000u);
    EXPECT_TRUE(p.finish()) << p.state();
}

// The tag does not cover what routers write, but the checksum does: a bit that flips on the way
// does not slow a sender down.
TEST_F(Sealed, RouterBytesThatNoRouterWrote)
{
    uint64_t cntl = 0, flipped = 0;

    path = [&](uint32_t from, rte_mbuf *m, const Seen &s, world_fate *) {
        if (from == 0 || s.type != WIRE_CNTL || ++cntl % 4 != 0)
            return;
        rte_pktmbuf_mtod(m, uint8_t *)[s.payload_off + 167] ^= 128; // a rate of 128 B/s
        flipped++;
    };
    Pair p(o);

    p.open();
    p.recv(1000000);
    p.send(1000000);
    EXPECT_TRUE(p.run([&] { return p.all_done(); }, 100000000)) << p.state();
    EXPECT_GT(flipped, 0u);
    EXPECT_EQ(host_counter_named(p.a(), "drop_sum"), flipped);
    path = nullptr;
    EXPECT_TRUE(p.finish()) << p.state();
}

// Tells A that a router limits its connection to a little more than the time before. Does A
// believe it?
bool limits(Pair &p, wire_rcntl *v, uint64_t proof)
{
    frame_route r = route_between(*host_get_config(p.b()), *host_get_config(p.a()), false);
    uint8_t bytes[WIRE_RCNTL_PROVEN_BYTES];
    struct host_conn_info info;

    v->proof = proof;
    v->rate_Bps++;
    v->time_ns++;
    world_inject(p.w, 0, mbuf_of(Pools::get().wire, framed(r, bytes, wire_put_rcntl(bytes, v))));
    p.wait(10000);
    EXPECT_TRUE(host_conn_info(p.a(), p.conn[0], &info));
    return info.tx_rate_Bps == v->rate_Bps;
}

// A router shows by the tag of one of the last 8 CNTL to A that it is on the path. Nobody else
// can.
TEST_F(Sealed, RouterProvesThatItIsOnThePath)
{
    constexpr size_t kLast = 8;
    std::vector<uint64_t> proofs[2]; // [i]: of CNTL from host i
    wire_rcntl v = {};
    uint64_t tries = 0;

    path = [&](uint32_t from, rte_mbuf *m, const Seen &s, world_fate *) {
        const uint8_t *b = rte_pktmbuf_mtod(m, const uint8_t *) + s.payload_off;
        wire_header h;

        if (s.type != WIRE_CNTL || wire_parse_header(b, s.payload_len, &h) != WIRE_OK)
            return;
        proofs[from].push_back(wire_parse_proof(b + s.payload_len - WIRE_TRAILER_BYTES));
        if (from == 1)
            v.h.key = h.key;
    };
    Pair p(o);

    p.open();
    for (int i = 0; i < 40; i++) {
        p.recv(1000);
        p.send(1000);
        p.wait(5000000);
    }
    ASSERT_TRUE(p.all_done()) << p.state();
    p.wait(20000000);
    ASSERT_GT(proofs[1].size(), 20u);
    ASSERT_GT(proofs[0].size(), 1u);
    const std::vector<uint64_t> to_a = proofs[1];

    v.rate_Bps = 5000000;
    v.expiry_ms = 1000;
    v.proven = true;
    for (int bit = 0; bit < 64; bit++, tries++)
        EXPECT_FALSE(limits(p, &v, to_a.back() ^ 1ull << bit)) << bit;
    for (size_t i = 0; i + kLast < to_a.size(); i++, tries++)
        EXPECT_FALSE(limits(p, &v, to_a[i])) << "an old CNTL, " << i;
    for (size_t i = 0; i < proofs[0].size(); i++, tries++)
        EXPECT_FALSE(limits(p, &v, proofs[0][i])) << "of the other direction";
    EXPECT_EQ(host_counter_named(p.a(), "drop_rcntl_proof"), tries);
    v.proven = false;
    EXPECT_FALSE(limits(p, &v, 0));
    EXPECT_EQ(host_counter_named(p.a(), "drop_plain"), 1u);
    v.proven = true;
    for (size_t i = to_a.size() - kLast; i < to_a.size(); i++)
        EXPECT_TRUE(limits(p, &v, to_a[i])) << i;
    EXPECT_EQ(host_counter_named(p.a(), "drop_rcntl_proof"), tries);
    EXPECT_EQ(proofs[1].size(), to_a.size()) << "a CNTL came in between";
    EXPECT_TRUE(p.finish()) << p.state();
}

// An attacker sends B a million INIT a second from random addresses and, 50,000 of them, from
// A's. It knows B's public key, and a thousand are so right that B has to compute. A connects
// all the same.
TEST_F(Sealed, HandshakeFlood)
{
    uint64_t seed = test_seed();
    struct rng rng;
    Pair p(o);
    std::vector<uint8_t> init(WIRE_INIT_BYTES);
    frame_route r = route_between(*host_get_config(p.a()), *host_get_config(p.b()), false);
    bool open = false;
    uint8_t key[DH_BYTES];

    world_public_key(p.w, 1, 42, key);
    rng_init(&rng, seed);
    for (int us = 0; us < 1000000 && !open; us++) {
        r.src = us % 20 == 0
                    ? host_get_config(p.a())->address[0]
                    : addr_from_v4(0x0b000000 + static_cast<uint32_t>(rng_below(&rng, 1 << 24)));
        r.sport = static_cast<uint16_t>(1 + rng_below(&rng, 65535));
        wire_put_init(init.data(), rng_u64(&rng) | 1);
        for (size_t i = WIRE_NOISE_OFF; i < WIRE_MAC1_OFF; i++)
            init[i] = static_cast<uint8_t>(rng_u64(&rng));
        if (us % 1000 == 0) { // the others are not looked at
            struct mac_cookie none = {};

            mac_put(init.data(), key, &none, 1, 1);
        }
        world_inject(p.w, 1, mbuf_of(Pools::get().wire, framed(r, init.data(), WIRE_INIT_BYTES)));
        if (us == 100000)
            p.open();
        p.wait(1000);
        open = us > 100000 && p.opened[0] == 0;
    }
    EXPECT_TRUE(open) << p.state() << " SLUICE_SEED=" << seed;
    EXPECT_GT(host_counter_named(p.b(), "drop_handshake_address"), 90000u);
    p.recv(1000);
    p.send(1000);
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_TRUE(p.finish()) << p.state();
}

// The attacker has the address of another peer, and its INIT come faster than B computes MACs. They
// are right in no way, and do not keep A's out.
TEST_F(Sealed, HandshakeFloodOfAnotherPeer)
{
    o.config = [](uint32_t, host_config *h) { h->secured_max = 2; };
    Pair p(o);
    uint64_t number = 0;

    flood(&p, second_peer(&p), [&] { // so all MACs of an interval are computed in its first 4 us
        std::vector<uint8_t> init(WIRE_INIT_BYTES);

        wire_put_init(init.data(), ++number);
        return init;
    });
}

} // namespace
