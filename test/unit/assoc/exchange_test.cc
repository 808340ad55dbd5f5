// SPDX-License-Identifier: BSD-3-Clause
// Handshakes that nobody disturbs, and those that cannot come about: ciphers, cookies, addresses,
// strangers, keys that differ, packets that are none.
#include "support.hh"

extern "C" {
#include "assoc/mac.h"
}

namespace
{

const char *const kPrologue = "Sluice 2";

// An INIT from `from` to `to` that is right but for its payload.
Packet init_with(const Host &from, const Host &to, const Bytes &payload)
{
    Packet p = {Bytes(WIRE_INIT_BYTES), from.address, from.port};
    const struct mac_cookie none = {};
    const Bytes ephemeral(DH_BYTES, 0x77);
    struct noise n;

    wire_put_init(p.bytes.data(), 1);
    EXPECT_EQ(noise_init_write(&n, &from.self, to.self.public_key, ephemeral.data(), kPrologue,
                               payload.data(), static_cast<uint32_t>(payload.size()),
                               p.bytes.data() + WIRE_NOISE_OFF),
              0);
    mac_put(p.bytes.data(), to.self.public_key, &none, ASSOC_COOKIE_NS, 0);
    return p;
}

// The answer to this INIT that is right but for its payload.
Packet response_with(const Host &from, const Packet &init, const Bytes &payload)
{
    Packet p = {Bytes(WIRE_RESPONSE_BYTES), from.address, from.port};
    const Bytes ephemeral(DH_BYTES, 0x78), psk(NOISE_KEY_BYTES);
    Bytes offer(WIRE_OFFER_BYTES);
    struct noise_keys keys;
    struct noise n;

    wire_put_response(p.bytes.data(), number_of(init));
    EXPECT_EQ(noise_init_read(&n, &from.self, kPrologue, init.bytes.data() + WIRE_NOISE_OFF,
                              WIRE_OFFER_BYTES, offer.data()),
              0);
    EXPECT_EQ(noise_response_write(&n, psk.data(), ephemeral.data(), payload.data(),
                                   static_cast<uint32_t>(payload.size()),
                                   p.bytes.data() + WIRE_NOISE_OFF, &keys),
              0);
    return p;
}

} // namespace

TEST(Exchange, BothWays)
{
    Two t;
    std::optional<Packet> init = t.a->want(0);

    ASSERT_TRUE(init);
    EXPECT_EQ(type_of(*init), WIRE_INIT);
    EXPECT_EQ(init->bytes.size(), 160u);
    EXPECT_TRUE(t.a->table.empty());
    std::optional<Packet> response = t.b->take(*init);
    ASSERT_TRUE(response);
    EXPECT_EQ(type_of(*response), WIRE_RESPONSE);
    EXPECT_EQ(response->bytes.size(), 80u);
    EXPECT_EQ(number_of(*response), number_of(*init));
    ASSERT_TRUE(t.b->out.install);
    EXPECT_FALSE(t.b->out.keys.outgoing);
    EXPECT_FALSE(t.a->take(*response));
    ASSERT_TRUE(t.a->out.install);
    EXPECT_TRUE(t.a->out.keys.outgoing);
    expect_ends(*t.a, *t.b);

    // The other direction has an association of its own.
    ASSERT_TRUE(t.handshake(*t.b, *t.a));
    expect_ends(*t.b, *t.a);
    expect_ends(*t.a, *t.b);
    EXPECT_EQ(t.a->table.size(), 2u);
    EXPECT_EQ(t.b->table.size(), 2u);
    EXPECT_EQ(t.a->count().init_sent, 1u);
    EXPECT_EQ(t.a->count().response_taken, 1u);
    EXPECT_EQ(t.b->count().init_taken, 1u);
    EXPECT_TRUE(t.use(*t.a, *t.b));
    EXPECT_TRUE(t.use(*t.b, *t.a));
}

TEST(Exchange, BothAtOnce)
{
    Two t;
    std::optional<Packet> from_a = t.a->want(0), from_b = t.b->want(0);

    ASSERT_TRUE(from_a && from_b);
    std::optional<Packet> to_a = t.b->take(*from_a), to_b = t.a->take(*from_b);
    ASSERT_TRUE(to_a && to_b);
    EXPECT_FALSE(t.a->take(*to_a));
    EXPECT_FALSE(t.b->take(*to_b));
    expect_ends(*t.a, *t.b);
    expect_ends(*t.b, *t.a);
}

TEST(Exchange, State)
{
    Two t;
    struct assoc_state s = t.a->state(0);

    EXPECT_EQ(s.asked_at + s.answered_at + s.outgoing + s.incoming + s.failures, 0u);
    std::optional<Packet> init = t.a->want(0);
    EXPECT_EQ(t.a->state(0).asked_at, t.clock.now);
    EXPECT_EQ(t.a->state(0).answered_at, 0u);
    t.wait(40 * kMs);
    std::optional<Packet> response = t.b->take(*init);
    EXPECT_EQ(t.b->state(0).answered_at, 0u) << "nothing shows yet that a has the answer";
    EXPECT_EQ(t.b->state(0).incoming, 0u);
    t.wait(40 * kMs);
    t.a->take(*response);
    EXPECT_EQ(t.a->state(0).answered_at, t.clock.now);
    EXPECT_EQ(t.a->state(0).outgoing, 1u);
    EXPECT_EQ(t.a->state(0).incoming, 0u);
    t.wait(40 * kMs);
    EXPECT_TRUE(t.use(*t.a, *t.b));
    EXPECT_EQ(t.b->state(0).answered_at, t.clock.now);
    EXPECT_EQ(t.b->state(0).incoming, 1u);
    EXPECT_EQ(t.b->state(0).outgoing, 0u);
}

// The responder chooses: what it prefers, else what both can.
TEST(Exchange, Ciphers)
{
    struct Case {
        uint16_t asker, answerer;
        enum aead_cipher prefers, expect;
    };
    const uint16_t gcm128 = 1u << AEAD_AES_128_GCM, gcm256 = 1u << AEAD_AES_256_GCM,
                   chacha = 1u << AEAD_CHACHA20_POLY1305;

    for (const Case &c : std::vector<Case>{
             {kCiphers, kCiphers, AEAD_AES_128_GCM, AEAD_AES_128_GCM},
             {kCiphers, kCiphers, AEAD_AES_256_GCM, AEAD_AES_256_GCM},
             {kCiphers, kCiphers, AEAD_CHACHA20_POLY1305, AEAD_CHACHA20_POLY1305},
             {gcm256, kCiphers, AEAD_AES_128_GCM, AEAD_AES_256_GCM},
             {chacha, kCiphers, AEAD_AES_128_GCM, AEAD_CHACHA20_POLY1305},
             {kCiphers, chacha, AEAD_CHACHA20_POLY1305, AEAD_CHACHA20_POLY1305},
             {gcm128 | chacha, gcm256 | chacha, AEAD_AES_256_GCM, AEAD_CHACHA20_POLY1305},
             {gcm128, chacha, AEAD_CHACHA20_POLY1305, AEAD_CIPHERS},
         }) {
        enum aead_cipher asked = c.asker & gcm128   ? AEAD_AES_128_GCM
                                 : c.asker & gcm256 ? AEAD_AES_256_GCM
                                                    : AEAD_CHACHA20_POLY1305;
        Clock clock;
        Host a(&clock, 1, 0, c.asker, asked), b(&clock, 2, 0, c.answerer, c.prefers);

        ASSERT_EQ(a.set_peers({b.as_peer()}), 0);
        ASSERT_EQ(b.set_peers({a.as_peer()}), 0);
        std::optional<Packet> response = b.take(*a.want(0));
        if (c.expect == AEAD_CIPHERS) {
            EXPECT_FALSE(response);
            EXPECT_TRUE(b.table.empty());
            EXPECT_EQ(b.count().drop_cipher, 1u);
            continue;
        }
        ASSERT_TRUE(response);
        a.take(*response);
        expect_ends(a, b);
        EXPECT_EQ(a.newest(0, true)->k.cipher, c.expect);
    }
}

// An INIT is sent again as it is; after five seconds there is a new one.
TEST(Exchange, Repeated)
{
    Two t;
    std::optional<Packet> first = t.a->want(0), again;

    uint64_t due = 15, gap = 15, sent = 1;

    ASSERT_TRUE(first);
    for (uint64_t ms = 1; ms < 5000; ms++) {
        t.wait(kMs);
        again = t.a->want(0);
        ASSERT_EQ(again.has_value(), ms == due) << ms;
        if (!again)
            continue;
        ASSERT_EQ(again->bytes, first->bytes) << ms;
        sent++;
        gap = std::min<uint64_t>(2 * gap, 480);
        due += gap;
    }
    EXPECT_EQ(t.a->count().init_sent, sent);
    t.wait(kMs);
    again = t.a->want(0);
    ASSERT_TRUE(again);
    EXPECT_NE(number_of(*again), number_of(*first));
    EXPECT_EQ(t.a->count().init_sent, sent + 1);

    // Both reach the peer, in their order: the second replaces the first.
    std::optional<Packet> late = t.b->take(*first), response = t.b->take(*again);
    ASSERT_TRUE(late && response);
    EXPECT_FALSE(t.a->take(*late));
    EXPECT_FALSE(t.a->out.install);
    EXPECT_EQ(t.a->count().drop_unasked, 1u);
    EXPECT_FALSE(t.a->take(*response));
    expect_ends(*t.a, *t.b);
    EXPECT_EQ(t.b->drain(), 1u);
    EXPECT_EQ(t.b->table.size(), 1u);
}

// A lost RESPONSE: the same INIT gets the same one, and no second association.
TEST(Exchange, ResponseLost)
{
    Two t;
    std::optional<Packet> lost = t.b->take(*t.a->want(0));

    ASSERT_TRUE(lost);
    t.wait(250 * kMs);
    std::optional<Packet> again = t.b->take(*t.a->want(0));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->bytes, lost->bytes);
    EXPECT_FALSE(t.b->out.install);
    EXPECT_EQ(t.b->count().init_again, 1u);
    EXPECT_EQ(t.b->table.size(), 1u);
    t.a->take(*again);
    EXPECT_TRUE(t.a->out.install);
    expect_ends(*t.a, *t.b);
}

TEST(Exchange, NotWantedWithoutNeed)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    for (bool doubt : {false, true})
        EXPECT_FALSE(t.a->want(0, doubt));
    t.wait(ASSOC_DOUBT_NS - 1);
    for (bool doubt : {false, true})
        EXPECT_FALSE(t.a->want(0, doubt));
    t.wait(1);
    EXPECT_FALSE(t.a->want(0, false));
    EXPECT_TRUE(t.a->want(0, true)) << "the peer does not answer";
    t.wait(ASSOC_RENEW_NS - ASSOC_DOUBT_NS - 1);
    EXPECT_FALSE(t.a->want(0, false));
    t.wait(1);
    EXPECT_TRUE(t.a->want(0, false)) << "120 s old";
    EXPECT_FALSE(t.a->want(1)) << "there is no such peer";
}

// Under pressure an INIT must bring a cookie. The peer gets one, and its association.
TEST(Exchange, CookieUnderPressure)
{
    Two t;
    std::optional<Packet> init = t.a->want(0), cookie = t.b->take(*init, true);

    ASSERT_TRUE(cookie);
    EXPECT_EQ(type_of(*cookie), WIRE_COOKIE);
    EXPECT_EQ(cookie->bytes.size(), 64u);
    EXPECT_EQ(number_of(*cookie), number_of(*init));
    EXPECT_TRUE(t.b->table.empty());
    std::optional<Packet> second = t.a->take(*cookie);
    ASSERT_TRUE(second);
    EXPECT_EQ(Bytes(second->bytes.begin(), second->bytes.begin() + WIRE_MAC2_OFF),
              Bytes(init->bytes.begin(), init->bytes.begin() + WIRE_MAC2_OFF));
    EXPECT_FALSE(t.a->take(*cookie)) << "a doubled COOKIE is not answered twice";
    std::optional<Packet> response = t.b->take(*second, true);
    ASSERT_TRUE(response);
    EXPECT_FALSE(t.a->take(*response));
    expect_ends(*t.a, *t.b);
    EXPECT_EQ(t.b->count().drop_no_cookie, 1u);
    EXPECT_EQ(t.b->count().cookie_sent, 1u);
    EXPECT_EQ(t.a->count().cookie_taken, 1u);
    EXPECT_EQ(t.a->count().drop_unasked, 1u);

    // The cookie is good for later handshakes, too, for two minutes.
    t.wait(115 * kSecond);
    std::optional<Packet> later = t.a->want(0, true);
    ASSERT_TRUE(later);
    response = t.b->take(*later, true);
    ASSERT_TRUE(response);
    EXPECT_EQ(type_of(*response), WIRE_RESPONSE);
    t.a->take(*response);
    expect_ends(*t.a, *t.b);
}

// A cookie that has become too old is followed by a new one.
TEST(Exchange, CookieTooOld)
{
    Two t;
    std::optional<Packet> cookie = t.b->take(*t.a->want(0), true);
    std::optional<Packet> init = t.a->take(*cookie);

    ASSERT_TRUE(init);
    t.wait(240 * kSecond);
    std::optional<Packet> again = t.b->take(*init, true);
    ASSERT_TRUE(again);
    EXPECT_EQ(type_of(*again), WIRE_COOKIE);
    std::optional<Packet> fresh = t.a->want(0);
    ASSERT_TRUE(fresh);
    EXPECT_EQ(Bytes(fresh->bytes.begin() + WIRE_MAC2_OFF, fresh->bytes.end()), Bytes(16));
    cookie = t.b->take(*fresh, true);
    ASSERT_TRUE(cookie);
    init = t.a->take(*cookie);
    ASSERT_TRUE(init);
    std::optional<Packet> response = t.b->take(*init, true);
    ASSERT_TRUE(response);
    EXPECT_EQ(type_of(*response), WIRE_RESPONSE);
}

// A cookie is for one address and one UDP port.
TEST(Exchange, CookieFromElsewhere)
{
    Two t;
    std::optional<Packet> cookie = t.b->take(*t.a->want(0), true);
    std::optional<Packet> init = t.a->take(*cookie), moved = init, other = init;

    moved->port++;
    other->from = address_of("10.0.0.77");
    for (const Packet &p : {*moved, *other}) {
        std::optional<Packet> answer = t.b->take(p, true);
        ASSERT_TRUE(answer);
        EXPECT_EQ(type_of(*answer), WIRE_COOKIE);
    }
    EXPECT_TRUE(t.b->table.empty());
    EXPECT_EQ(type_of(*t.b->take(*init, true)), WIRE_RESPONSE);
}

TEST(Exchange, WrongAddress)
{
    Two t;
    std::optional<Packet> init = t.a->want(0), moved = init;

    moved->from = address_of("10.0.1.1");
    EXPECT_FALSE(t.b->take(*moved));
    EXPECT_EQ(t.b->count().drop_from, 1u);
    EXPECT_TRUE(t.b->table.empty());
    moved->from = t.a->address;
    moved->port++; // a NAT may change the port
    EXPECT_TRUE(t.b->take(*moved));
    EXPECT_TRUE(t.b->out.install);
}

// A host that knows our public key, but is no peer of ours. It gets no answer. Without the right
// mac1, it gets no COOKIE under pressure either.
TEST(Exchange, Stranger)
{
    Two t;
    Host c(&t.clock, 3);

    ASSERT_EQ(c.set_peers({t.b->as_peer()}), 0);
    EXPECT_FALSE(t.b->take(*c.want(0)));
    EXPECT_EQ(t.b->count().drop_stranger, 1u);
    EXPECT_EQ(t.b->count().drop_mac, 0u);
    EXPECT_TRUE(t.b->table.empty());

    // It has another public key for us: mac1 is wrong.
    struct assoc_peer wrong = t.b->as_peer();
    wrong.public_key[5] ^= 1;
    ASSERT_EQ(c.set_peers({wrong}), 0);
    t.wait(kSecond);
    std::optional<Packet> init = c.want(c.peers[0]);
    ASSERT_TRUE(init);
    EXPECT_FALSE(t.b->take(*init, true));
    EXPECT_EQ(t.b->count().drop_mac, 1u);
    EXPECT_EQ(t.b->count().cookie_sent, 0u);
}

// The responder cannot see that the shared keys differ. The initiator does, and counts it.
TEST(Exchange, SharedKeysDiffer)
{
    Two t(7);

    ASSERT_EQ(t.b->set_peers({t.a->as_peer(8)}), 0);
    for (int i = 1; i <= 3; i++) {
        std::optional<Packet> init = t.a->want(0);
        ASSERT_TRUE(init) << i;
        std::optional<Packet> response = t.b->take(*init);
        ASSERT_TRUE(response);
        EXPECT_FALSE(t.a->take(*response));
        EXPECT_FALSE(t.a->out.install);
        EXPECT_EQ(t.a->state(0).failures, static_cast<uint64_t>(i));
        EXPECT_EQ(t.a->count().drop_response, static_cast<uint64_t>(i));
        t.b->drain();
        t.wait(5 * kSecond);
    }
    EXPECT_TRUE(t.a->table.empty());
    EXPECT_EQ(t.b->table.size(), 1u);

    // Corrected on one side, the next handshake works.
    ASSERT_EQ(t.b->set_peers({t.a->as_peer(7)}), 0);
    t.b->drain();
    std::optional<Packet> response = t.b->take(*t.a->want(0));
    ASSERT_TRUE(response);
    t.a->take(*response);
    expect_ends(*t.a, *t.b, 0, t.b->peers[0]);
}

TEST(Exchange, SharedKeysAgree)
{
    Two t(7);

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    expect_ends(*t.a, *t.b);
}

// A peer that seals what is no offer, or a choice that it was not offered.
TEST(Exchange, WrongPayloads)
{
    const Bytes offer = from_hex("0000000000000001 00000009 0007 0000");
    Two t;

    EXPECT_FALSE(t.b->take(init_with(*t.a, *t.b, from_hex("0000000000000001 00000000 0007 0000"))));
    EXPECT_EQ(t.b->count().drop_unreadable, 1u);
    for (const char *none :
         {"0000000000000001 00000009 0000 0000", "0000000000000001 00000009 fff8 0000"})
        EXPECT_FALSE(t.b->take(init_with(*t.a, *t.b, from_hex(none)))) << none;
    EXPECT_EQ(t.b->count().drop_cipher, 2u);
    EXPECT_TRUE(t.b->take(init_with(*t.a, *t.b, offer)));
    EXPECT_EQ(t.b->table.size(), 1u);
    EXPECT_EQ(t.b->out.keys.remote, 9u);

    uint64_t dropped = 0;
    for (const char *wrong : {"0000000000000000 00000000 0000 0000", // no association
                              "0000000000000000 00000009 0003 0000", // no cipher
                              "0000000000000000 00000009 ffff 0000"}) {
        std::optional<Packet> init = t.a->want(0);
        ASSERT_TRUE(init) << wrong;
        EXPECT_FALSE(t.a->take(response_with(*t.b, *init, from_hex(wrong)))) << wrong;
        EXPECT_FALSE(t.a->out.install);
        EXPECT_TRUE(secret_unset(&t.a->out.keys.keys, sizeof t.a->out.keys.keys)) << wrong;
        EXPECT_EQ(t.a->count().drop_cipher, ++dropped);
    }
    for (int i = 0; i < 20; i++) // no slot is lost
        t.a->take(response_with(*t.b, *t.a->want(0), from_hex("00000000000000000000000000000000")));
    EXPECT_EQ(t.a->count().drop_full, 0u);
    std::optional<Packet> init = t.a->want(0);
    t.a->take(response_with(*t.b, *init, from_hex("0000000000000000 00000009 0001 0000")));
    EXPECT_TRUE(t.a->out.install);
    EXPECT_EQ(t.a->out.keys.cipher, AEAD_AES_256_GCM);
}

// One of the few public keys that share the same secret with everybody: there is nothing to ask.
TEST(Exchange, PeerWithoutAKey)
{
    Two t;
    struct assoc_peer p = t.b->as_peer();

    std::memset(p.public_key, 0, sizeof p.public_key);
    ASSERT_EQ(t.a->set_peers({p}), 0);
    for (int i = 0; i < 20; i++) {
        EXPECT_FALSE(t.a->want(t.a->peers[0]));
        t.wait(kSecond);
    }
    EXPECT_EQ(t.a->count().drop_full, 0u);
    EXPECT_EQ(t.a->count().init_sent, 0u);
}

// Any bytes may come: each is counted and changes nothing.
TEST(Exchange, NoPackets)
{
    Random r;
    Two t;
    uint64_t sent = 0;

    for (size_t len : {0, 1, 15, 16, 17, 63, 64, 65, 79, 80, 81, 159, 160, 161, 1500}) {
        for (int i = 0; i < 50; i++) {
            Packet p = {r.bytes(len), t.a->address, 1};

            if (len > 8 && i % 2) {
                p.bytes[0] = static_cast<uint8_t>(0x15 + i / 2 % 3); // INIT, RESPONSE, COOKIE
                std::fill_n(p.bytes.begin() + 1, 7, 0);
            }
            EXPECT_FALSE(t.b->take(p, i % 3 == 0));
            EXPECT_FALSE(t.b->out.install);
            sent++;
        }
    }
    const struct assoc_counters &c = t.b->count();
    EXPECT_EQ(c.drop_unreadable + c.drop_mac + c.drop_unasked, sent);
    EXPECT_GE(c.drop_mac, 8u);
    EXPECT_GE(c.drop_unasked, 16u);
    EXPECT_TRUE(t.handshake(*t.a, *t.b));
}
