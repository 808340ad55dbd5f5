// SPDX-License-Identifier: BSD-3-Clause
// An attacker on the path. It sees every packet, sends what it likes from any address, and knows
// all public keys. What it cannot do: compute with private keys.
#include <functional>

#include "support.hh"

extern "C" {
#include "assoc/mac.h"
}

namespace
{

const uint64_t kEpoch = ASSOC_COOKIE_NS;

// What the attacker makes of an INIT and of the COOKIE that answers it: the same INIT with a
// cookie.
Packet with_cookie(const Packet &init, const Packet &cookie, const Host &responder, uint64_t now)
{
    struct mac_cookie c = {};
    Packet p = init;

    EXPECT_TRUE(mac_cookie_take(&c, responder.self.public_key, init.bytes.data(),
                                cookie.bytes.data(), now));
    mac_put(p.bytes.data(), responder.self.public_key, &c, kEpoch, now);
    return p;
}

// The numbers of the associations that a host has, with the ways in which they are in use.
std::string held(const Host &h)
{
    std::string text;

    for (const auto &[slot, e] : h.table)
        text += std::to_string(e.k.number) + (e.k.outgoing ? " out " : " in ");
    struct assoc_state s = h.state(0);
    return text + std::to_string(s.outgoing) + " " + std::to_string(s.incoming);
}

} // namespace

// Each bit of each packet, under pressure and without: no answer that the true packet would get,
// no association.
TEST(Attack, EveryChangedBit)
{
    for (bool pressed : {false, true}) {
        Two t;
        Packet init = *t.a->want(0);

        if (pressed)
            init = *t.a->take(*t.b->take(init, true));
        for (size_t bit = 0; bit < 8 * init.bytes.size(); bit++) {
            Packet p = init;

            flip(p.bytes, bit);
            std::optional<Packet> answer = t.b->take(p, pressed);
            if (bit / 8 >= WIRE_MAC2_OFF && !pressed) {
                // A wrong mac2 counts as none: there was no need for one.
                ASSERT_TRUE(answer) << bit;
                ASSERT_EQ(type_of(*answer), WIRE_RESPONSE);
            } else if (bit / 8 >= WIRE_MAC2_OFF) {
                ASSERT_TRUE(answer) << bit;
                ASSERT_EQ(type_of(*answer), WIRE_COOKIE);
            } else {
                ASSERT_FALSE(answer) << bit;
            }
        }
        EXPECT_EQ(t.b->count().init_taken, pressed ? 0u : 1u);
        std::optional<Packet> response = t.b->take(init, pressed);
        ASSERT_TRUE(response);
        for (size_t bit = 0; bit < 8 * response->bytes.size(); bit++) {
            Packet p = *response;

            flip(p.bytes, bit);
            // The path id and byte 3 of the header mean nothing, and nothing covers them.
            if (bit / 8 == 2 || bit / 8 == 3)
                continue;
            ASSERT_FALSE(t.a->take(p)) << bit;
            ASSERT_FALSE(t.a->out.install) << bit;
        }
        EXPECT_EQ(t.a->table.size(), 0u);
        t.a->take(*response);
        expect_ends(*t.a, *t.b);
    }
}

TEST(Attack, EveryChangedBitOfCookie)
{
    Two t;
    Packet init = *t.a->want(0), cookie = *t.b->take(init, true);

    for (size_t bit = 0; bit < 8 * cookie.bytes.size(); bit++) {
        Packet p = cookie;

        // Besides what the header does not cover, four reserved bytes lie behind the nonce.
        if (bit / 8 == 2 || bit / 8 == 3 || (bit / 8 >= 28 && bit / 8 < 32))
            continue;
        flip(p.bytes, bit);
        ASSERT_FALSE(t.a->take(p)) << bit;
    }
    EXPECT_EQ(t.a->count().cookie_taken, 0u);
    EXPECT_TRUE(t.a->take(cookie));
}

// The INIT of a handshake that is over: no answer, and nothing changes.
TEST(Attack, InitAgain)
{
    Two t;
    Packet init = *t.a->want(0);

    t.a->take(*t.b->take(init));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    const std::string before = held(*t.b);
    for (int i = 0; i < 300; i++) {
        EXPECT_FALSE(t.b->take(init)) << i;
        EXPECT_EQ(t.b->drain(), 0u);
        t.wait(kSecond / 2);
    }
    EXPECT_EQ(held(*t.b), before);
    EXPECT_EQ(t.b->count().drop_replay, 300u);
    EXPECT_EQ(t.b->count().cookie_sent, 0u);
}

// While its answer is pending, an INIT that comes again from elsewhere gets none.
TEST(Attack, PendingInitFromElsewhere)
{
    Two t;
    struct assoc_peer network = t.a->as_peer();

    network.prefix_len[0] = 24;
    ASSERT_EQ(t.b->set_peers({network}), 0);
    Packet init = *t.a->want(0);
    ASSERT_TRUE(t.b->take(init));
    for (const char *from : {"10.0.0.1", "10.0.0.9", "10.0.1.1"}) {
        Packet p = init;

        p.from = address_of(from);
        p.port = static_cast<uint16_t>(p.port + addr_equal(&p.from, &init.from));
        EXPECT_FALSE(t.b->take(p)) << from;
        EXPECT_FALSE(t.b->out.install);
    }
    EXPECT_EQ(t.b->count().drop_replay, 2u);
    EXPECT_EQ(t.b->count().drop_from, 1u);
    EXPECT_TRUE(t.b->take(init));
}

// Old INIT, each with a cookie that the attacker got for it. None of them ends an association, not
// even one that is pending, and none makes a later INIT of the peer look old.
TEST(Attack, OldInitWithACookie)
{
    std::vector<Packet> recorded;
    Two t;

    for (int i = 0; i < 4; i++) {
        recorded.push_back(*t.a->want(0, true));
        t.a->take(*t.b->take(recorded.back()));
        ASSERT_TRUE(t.a->out.install);
        EXPECT_TRUE(t.use(*t.a, *t.b));
        t.a->drain();
        t.b->drain();
        t.wait(5 * kSecond);
    }
    // One more, which the peer has not used yet.
    Packet last = *t.a->want(0, true);
    t.a->take(*t.b->take(last));
    t.a->drain();
    t.b->drain();
    const Entry pending = *t.b->newest(0, false);
    const struct assoc_state state = t.b->state(0);
    const size_t held_before = t.b->table.size();
    uint64_t taken = t.b->count().init_taken;

    for (int i = 0; i < 400; i++) {
        const Packet &old = recorded[static_cast<size_t>(i) % recorded.size()];
        std::optional<Packet> cookie = t.b->take(old);
        if (cookie && type_of(*cookie) == WIRE_COOKIE)
            t.b->take(with_cookie(old, *cookie, *t.b, t.clock.now));
        t.b->drain();
        ASSERT_EQ(t.b->state(0).incoming, state.incoming);
        ASSERT_LE(t.b->table.size(), held_before + 1) << "one of this kind at a time";
        ASSERT_EQ(t.b->table.count(pending.k.slot), 1u) << i;
        ASSERT_EQ(t.b->table[pending.k.slot].k.number, pending.k.number) << i;
        t.wait(50 * kMs);
    }
    // It made us compute once a second, at most.
    EXPECT_LE(t.b->count().init_taken - taken, 21u);
    EXPECT_GE(t.b->count().init_taken - taken, 1u) << "the attack did not get that far";
    // What is pending can still be used, and the next handshake needs no cookie.
    EXPECT_TRUE(t.use(*t.a, *t.b));
    EXPECT_EQ(t.b->state(0).answered_at, t.clock.now);
    uint64_t cookies = t.b->count().cookie_sent;
    ASSERT_TRUE(t.handshake(*t.a, *t.b, true));
    EXPECT_EQ(t.b->count().cookie_sent, cookies);
    expect_ends(*t.a, *t.b);
    EXPECT_TRUE(t.use(*t.a, *t.b));
}

// The same while the peer restarts with its clock set back: it gets through.
TEST(Attack, OldInitWhileThePeerComesBack)
{
    Two t;
    Packet old = *t.a->want(0);

    t.a->take(*t.b->take(old));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    t.wait(5 * kSecond);
    ASSERT_TRUE(t.handshake(*t.a, *t.b, true));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    t.a->wall_offset -= 3600 * kSecond;
    t.restart(t.a);
    bool through = false;
    int ms = 0;

    for (; ms < 3000 && !through; ms += 10) {
        std::optional<Packet> init = t.a->want(0), answer;

        for (int i = 0; init && i < 2; i++) {
            answer = t.b->take(*init);
            init = answer ? t.a->take(*answer) : std::nullopt;
        }
        through = t.use(*t.a, *t.b);
        std::optional<Packet> cookie = t.b->take(old);
        if (cookie && type_of(*cookie) == WIRE_COOKIE)
            t.b->take(with_cookie(old, *cookie, *t.b, t.clock.now));
        t.b->drain();
        t.wait(10 * kMs);
    }
    EXPECT_TRUE(through) << ms;
}

// A RESPONSE comes again, later, and for another attempt.
TEST(Attack, ResponseAgain)
{
    Two t;
    Packet response = *t.b->take(*t.a->want(0));

    t.a->take(response);
    ASSERT_TRUE(t.a->out.install);
    const std::string before = held(*t.a);
    for (int i = 0; i < 3; i++) {
        EXPECT_FALSE(t.a->take(response));
        EXPECT_FALSE(t.a->out.install);
        t.a->drain();
        EXPECT_EQ(held(*t.a), before);
        t.wait(5 * kSecond);
        ASSERT_TRUE(t.a->want(0, true)); // an attempt is under way
    }
    EXPECT_EQ(t.a->count().drop_unasked, 3u);

    // With the number of this attempt, it is one that cannot be read.
    Packet forged = response;
    t.wait(kSecond);
    Packet init = *t.a->want(0, true);
    std::copy_n(init.bytes.begin() + 8, 8, forged.bytes.begin() + 8);
    EXPECT_FALSE(t.a->take(forged));
    EXPECT_FALSE(t.a->out.install);
    EXPECT_EQ(t.a->count().drop_response, 1u);
    t.a->take(*t.b->take(init));
    EXPECT_TRUE(t.a->out.install);
}

// Forged cookies: the host sends them, and gets a good one when there is need for one.
TEST(Attack, ForgedCookie)
{
    Two t;
    struct drbg random;
    struct mac_secret secret = {};
    const uint8_t seed[DRBG_SEED_BYTES] = {1};
    Packet init = *t.a->want(0), forged = {Bytes(WIRE_COOKIE_BYTES), t.b->address, t.b->port};

    drbg_init(&random, seed);
    wire_put_cookie(forged.bytes.data(), number_of(init));
    mac_cookie_put(&secret, &random, t.b->self.public_key, init.bytes.data(), &t.a->address,
                   t.a->port, kEpoch, t.clock.now, forged.bytes.data());
    std::optional<Packet> second = t.a->take(forged);
    ASSERT_TRUE(second);
    std::optional<Packet> cookie = t.b->take(*second, true);
    ASSERT_TRUE(cookie);
    ASSERT_EQ(type_of(*cookie), WIRE_COOKIE);
    std::optional<Packet> third = t.a->take(*cookie);
    ASSERT_TRUE(third);
    EXPECT_EQ(type_of(*t.b->take(*third, true)), WIRE_RESPONSE);
}

// A host of ours that is an attacker: it says it has the private key of another.
TEST(Attack, AnotherName)
{
    Two t;
    Host c(&t.clock, 3);

    ASSERT_EQ(t.b->set_peers({t.a->as_peer(), c.as_peer()}), 0);
    ASSERT_EQ(c.set_peers({t.b->as_peer()}), 0);
    // c's packet from a's address: the key is c's, and that belongs to another address.
    Packet init = *c.want(0);
    init.from = t.a->address;
    EXPECT_FALSE(t.b->take(init));
    EXPECT_EQ(t.b->count().drop_from, 1u);
    // a's INIT from c's address.
    const Packet ours = *t.a->want(0);
    init = ours;
    init.from = c.address;
    EXPECT_FALSE(t.b->take(init));
    EXPECT_EQ(t.b->count().drop_from, 2u);
    // c answers a's INIT, which it has seen: it cannot even read it.
    EXPECT_FALSE(c.take(ours));
    EXPECT_TRUE(t.b->table.empty());
    EXPECT_TRUE(c.table.empty());
}

// A flood of INIT that a recorded one was changed into, while a host shakes hands: under pressure
// nothing is computed for them, and the host gets through by its cookie.
TEST(Attack, Flood)
{
    Random r;
    Two t;
    Packet recorded = *t.a->want(0);
    bool through = false;

    for (int i = 0; i < 5000; i++) {
        Packet p = recorded;

        // Anybody with the public key can make mac1 right.
        p.bytes[WIRE_NOISE_OFF + r.below(112)] ^= static_cast<uint8_t>(1 + r.below(255));
        p.port = static_cast<uint16_t>(r.u64());
        p.from = address_of("192.0.2.1");
        const struct mac_cookie none = {};
        mac_put(p.bytes.data(), t.b->self.public_key, &none, kEpoch, t.clock.now);
        std::optional<Packet> answer = t.b->take(p, true);
        ASSERT_TRUE(answer);
        ASSERT_EQ(type_of(*answer), WIRE_COOKIE);
        if (i == 2500) {
            std::optional<Packet> cookie = t.b->take(recorded, true);
            ASSERT_TRUE(cookie);
            std::optional<Packet> response = t.b->take(*t.a->take(*cookie), true);
            ASSERT_TRUE(response);
            t.a->take(*response);
            through = t.a->out.install && t.use(*t.a, *t.b);
        }
        t.wait(kMs / 1000);
    }
    EXPECT_TRUE(through);
    EXPECT_EQ(t.b->count().drop_unreadable, 0u);
    EXPECT_EQ(t.b->count().drop_no_cookie, 5001u);
}
