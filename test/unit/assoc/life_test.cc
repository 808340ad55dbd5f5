// SPDX-License-Identifier: BSD-3-Clause
// The life of associations: renewal, age, slots that run out and come back, hosts that restart,
// clocks that go back.
#include "support.hh"

extern "C" {
#include "assoc/assoc_internal.h"
}

namespace
{

// What the INIT that is under way would give away, if somebody found it in memory.
std::vector<Bytes> secrets(const Host &h)
{
    const struct noise &n = h.a->peers[0].attempt.noise;

    return {Bytes(n.ephemeral, n.ephemeral + DH_BYTES), Bytes(n.chain, n.chain + HASH_BYTES),
            Bytes(n.key, n.key + NOISE_KEY_BYTES)};
}

bool holds(const Host &h, const Bytes &secret)
{
    return memmem(h.a.get(), sizeof *h.a, secret.data(), secret.size()) != nullptr ||
           memmem(h.a->peers, h.a->entries * sizeof *h.a->peers, secret.data(), secret.size()) !=
               nullptr;
}

} // namespace

// Renewed under way: both are kept, the older one until the next renewal.
TEST(Life, Renewed)
{
    std::vector<uint32_t> numbers;
    Two t;

    for (int i = 0; i < 4; i++) {
        ASSERT_TRUE(t.handshake(*t.a, *t.b)) << i;
        EXPECT_TRUE(t.use(*t.a, *t.b));
        expect_ends(*t.a, *t.b);
        EXPECT_EQ(t.a->drain(), i < 2 ? 0u : 1u);
        EXPECT_EQ(t.b->drain(), i < 2 ? 0u : 1u);
        numbers.push_back(t.a->newest(0, true)->k.number);
        ASSERT_EQ(t.a->table.size(), i < 1 ? 1u : 2u);
        EXPECT_EQ(t.a->state(0).outgoing, t.a->table.size());
        EXPECT_EQ(t.b->state(0).incoming, t.b->table.size());
        if (i > 0) {
            EXPECT_EQ(t.a->all(0, true)[1]->k.number, numbers[i - 1]);
            EXPECT_TRUE(ends_match(t.a->all(0, true)[1]->k, t.b->all(0, false)[1]->k));
        }
        t.wait(100 * kSecond);
        EXPECT_FALSE(t.a->want(0));
        t.wait(20 * kSecond);
    }
}

// What is pending replaces what was pending, and nothing else, until it is used.
TEST(Life, PendingReplacesPending)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    const uint32_t current = t.b->newest(0, false)->k.number;
    for (int i = 0; i < 5; i++) {
        t.wait(5 * kSecond);
        ASSERT_TRUE(t.handshake(*t.a, *t.b, true)) << i;
        EXPECT_EQ(t.b->drain(), i == 0 ? 0u : 1u);
        t.a->drain();
        ASSERT_EQ(t.b->table.size(), 2u);
        EXPECT_EQ(t.b->all(0, false)[1]->k.number, current);
        EXPECT_EQ(t.b->state(0).incoming, 1u);
    }
    EXPECT_TRUE(t.use(*t.a, *t.b));
    EXPECT_EQ(t.b->drain(), 0u);
    EXPECT_EQ(t.b->state(0).incoming, 2u);
}

TEST(Life, ConfirmedOnce)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    const Entry e = *t.b->newest(0, false);
    assoc_confirm(t.b->a.get(), e.k.slot, e.k.number + 1, t.clock.now);
    EXPECT_EQ(t.b->state(0).incoming, 0u) << "another number";
    const Entry ours = *t.a->newest(0, true);
    assoc_confirm(t.a->a.get(), ours.k.slot, ours.k.number, t.clock.now);
    EXPECT_EQ(t.a->state(0).incoming, 0u) << "an outgoing one";
    assoc_confirm(t.b->a.get(), e.k.slot, e.k.number, t.clock.now);
    EXPECT_EQ(t.b->state(0).incoming, 1u);
    t.wait(kSecond);
    assoc_confirm(t.b->a.get(), e.k.slot, e.k.number, t.clock.now);
    EXPECT_EQ(t.b->state(0).incoming, 1u);
    EXPECT_EQ(t.b->state(0).answered_at, t.clock.now - kSecond);
    EXPECT_EQ(t.b->drain(), 0u);
}

// 210 s after a handshake nothing of it is left, on either side.
TEST(Life, TooOld)
{
    for (bool used : {false, true}) {
        Two t;

        ASSERT_TRUE(t.handshake(*t.a, *t.b));
        if (used) {
            EXPECT_TRUE(t.use(*t.a, *t.b));
        }
        t.wait(ASSOC_KEEP_NS - 1);
        EXPECT_EQ(t.a->drain() + t.b->drain(), 0u);
        t.wait(1);
        EXPECT_EQ(t.a->drain(), 1u);
        EXPECT_EQ(t.b->drain(), 1u);
        EXPECT_TRUE(t.a->table.empty() && t.b->table.empty());
        EXPECT_EQ(t.a->state(0).outgoing + t.b->state(0).incoming, 0u);
        ASSERT_TRUE(t.handshake(*t.a, *t.b));
        expect_ends(*t.a, *t.b);
    }
}

// An attacker on the path holds a RESPONSE back. Its association must not be current here once the
// peer may have forgotten it, and its ephemeral key must not stay.
TEST(Life, LateResponse)
{
    for (bool expire : {false, true}) {
        for (bool late : {false, true}) {
            Two t;
            std::optional<Packet> response = t.b->take(*t.a->want(0));

            ASSERT_TRUE(response);
            t.wait(2 * ASSOC_ATTEMPT_NS - (late ? 0 : 1));
            if (expire)
                t.a->drain();
            EXPECT_FALSE(t.a->take(*response));
            EXPECT_EQ(t.a->out.install, !late);
            EXPECT_EQ(t.a->count().drop_unasked, late ? 1u : 0u);
            if (!late)
                expect_ends(*t.a, *t.b);
            EXPECT_EQ(t.a->want(0).has_value(), late);
        }
    }
}

// The keys of a handshake are gone from memory when it has ended, well or not.
TEST(Life, NothingIsLeft)
{
    for (const char *end : {"taken", "given up", "revoked", "replaced"}) {
        const std::string how = end;
        Two t;
        std::optional<Packet> init = t.a->want(0);
        const std::vector<Bytes> before = secrets(*t.a);

        for (const Bytes &secret : before)
            EXPECT_TRUE(holds(*t.a, secret));
        if (how == "taken") {
            t.a->take(*t.b->take(*init));
        } else if (how == "given up") {
            t.wait(2 * ASSOC_ATTEMPT_NS - 1);
            t.a->drain();
            EXPECT_TRUE(holds(*t.a, before[0]));
            t.wait(1);
            t.a->drain();
        } else if (how == "revoked") {
            ASSERT_EQ(t.a->set_peers({}), 0);
        } else {
            t.wait(ASSOC_ATTEMPT_NS);
            ASSERT_TRUE(t.a->want(0));
        }
        for (const Bytes &secret : before)
            EXPECT_FALSE(holds(*t.a, secret)) << how;
    }
    // A shared key goes with its peer.
    Two t(0x55);
    EXPECT_TRUE(holds(*t.a, Bytes(NOISE_KEY_BYTES, 0x55)));
    ASSERT_EQ(t.a->set_peers({}), 0);
    EXPECT_FALSE(holds(*t.a, Bytes(NOISE_KEY_BYTES, 0x55)));
}

// A COOKIE that comes too late is not answered either.
TEST(Life, LateCookie)
{
    Two t;
    std::optional<Packet> cookie = t.b->take(*t.a->want(0), true);

    ASSERT_TRUE(cookie);
    t.wait(2 * ASSOC_ATTEMPT_NS);
    EXPECT_FALSE(t.a->take(*cookie));
    EXPECT_EQ(t.a->count().drop_unasked, 1u);
}

// Workers that give nothing back: handshakes stop, and begin again when they do.
TEST(Life, SlotsRunOut)
{
    std::vector<uint32_t> kept;
    unsigned done = 0;
    Two t;

    for (int i = 0; i < 30; i++) {
        done += t.handshake(*t.a, *t.b) && t.use(*t.a, *t.b);
        for (std::optional<uint32_t> slot; (slot = t.a->over());)
            kept.push_back(*slot);
        t.b->drain();
        t.wait(130 * kSecond);
    }
    EXPECT_GE(done, 5u);
    EXPECT_LT(done, 15u);
    EXPECT_GT(t.a->count().drop_full, 0u);
    EXPECT_EQ(kept.size(), done) << "all of them are too old by now";
    for (uint32_t slot : kept)
        t.a->freed(slot);
    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    expect_ends(*t.a, *t.b);
}

// The same for the side that is asked. It does not forget the associations it has.
TEST(Life, SlotsRunOutWhereAsked)
{
    std::vector<uint32_t> kept;
    unsigned done = 0;
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    ASSERT_TRUE(t.use(*t.a, *t.b));
    const uint32_t current = t.b->newest(0, false)->k.number;
    for (int i = 0; i < 12; i++) {
        t.wait(5 * kSecond);
        done += t.handshake(*t.a, *t.b, true);
        t.a->drain();
        for (std::optional<uint32_t> slot; (slot = t.b->over());)
            kept.push_back(*slot);
    }
    EXPECT_LT(done, 8u);
    EXPECT_GT(t.b->count().drop_full, 0u);
    EXPECT_EQ(t.b->state(0).incoming, 1u);
    EXPECT_EQ(t.b->all(0, false).back()->k.number, current);
    for (uint32_t slot : kept)
        t.b->freed(slot);
    t.wait(5 * kSecond);
    ASSERT_TRUE(t.handshake(*t.a, *t.b, true));
    expect_ends(*t.a, *t.b);
}

// The peer has forgotten everything: the host is in doubt, and asks again.
TEST(Life, ResponderRestarts)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    t.restart(t.b);
    EXPECT_FALSE(t.use(*t.a, *t.b));
    t.wait(5 * kSecond);
    ASSERT_TRUE(t.handshake(*t.a, *t.b, true));
    expect_ends(*t.a, *t.b);
    EXPECT_TRUE(t.use(*t.a, *t.b));
}

// The host has forgotten everything, but its clock goes on: its INIT is later than all before.
TEST(Life, InitiatorRestarts)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    t.wait(kMs);
    t.restart(t.a);
    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    expect_ends(*t.a, *t.b);
    EXPECT_EQ(t.b->count().cookie_sent, 0u);
    EXPECT_TRUE(t.use(*t.a, *t.b));
    EXPECT_EQ(t.b->state(0).incoming, 2u);
}

// Its clock went back, too, as that of a machine without a battery does: a cookie is asked for.
TEST(Life, InitiatorRestartsInThePast)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    t.a->wall_offset -= 3600 * kSecond;
    t.restart(t.a);
    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    EXPECT_EQ(t.b->count().cookie_sent, 1u);
    EXPECT_EQ(t.b->count().drop_replay, 1u);
    EXPECT_EQ(t.b->state(0).incoming, 1u);
    expect_ends(*t.a, *t.b);
    EXPECT_TRUE(t.use(*t.a, *t.b));
    EXPECT_EQ(t.b->state(0).incoming, 2u);

    // From now on the earlier time counts: the next INIT needs no cookie, nor a host without one.
    t.wait(kSecond);
    t.restart(t.a);
    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    EXPECT_EQ(t.b->count().cookie_sent, 1u);
    expect_ends(*t.a, *t.b);
}

// While a host runs, its INIT rise, whatever its clock does.
TEST(Life, ClockGoesBackUnderWay)
{
    Two t;

    for (int i = 0; i < 5; i++) {
        ASSERT_TRUE(t.handshake(*t.a, *t.b, true)) << i;
        EXPECT_TRUE(t.use(*t.a, *t.b));
        expect_ends(*t.a, *t.b);
        t.a->wall_offset -= 100 * kSecond;
        t.wait(5 * kSecond);
        t.a->drain();
        t.b->drain();
    }
    EXPECT_EQ(t.b->count().cookie_sent, 0u);
    EXPECT_EQ(t.b->count().drop_replay, 0u);
}

// A lost RESPONSE to an INIT with an earlier time: the same INIT gets the same one.
TEST(Life, ResponseLostInThePast)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    t.a->wall_offset -= 3600 * kSecond;
    t.restart(t.a);
    std::optional<Packet> cookie = t.b->take(*t.a->want(0));
    ASSERT_TRUE(cookie);
    std::optional<Packet> lost = t.b->take(*t.a->take(*cookie));
    ASSERT_TRUE(lost);
    t.wait(250 * kMs);
    std::optional<Packet> again = t.b->take(*t.a->want(0));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->bytes, lost->bytes);
    EXPECT_FALSE(t.b->out.install);
    t.a->take(*again);
    expect_ends(*t.a, *t.b);
    EXPECT_TRUE(t.use(*t.a, *t.b));
}
