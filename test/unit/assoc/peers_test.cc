// SPDX-License-Identifier: BSD-3-Clause
// Peers that are configured, changed and revoked, and the peer of an address.
#include <cerrno>
#include <set>

#include "support.hh"

namespace
{

// A peer with a key of its own, at these networks.
struct assoc_peer peer_of(uint8_t key, const char *network, uint8_t prefix_len,
                          const char *other = "0.0.0.0", uint8_t other_len = 0)
{
    struct assoc_peer p = {};

    std::memset(p.public_key, key, sizeof p.public_key);
    p.address[0] = address_of(network);
    p.prefix_len[0] = prefix_len;
    p.address[1] = address_of(other);
    p.prefix_len[1] = other_len;
    return p;
}

uint32_t at(const Host &h, const char *text)
{
    struct addr a = address_of(text);

    return assoc_peer_of(h.a.get(), &a);
}

} // namespace

TEST(Peers, OfAnAddress)
{
    Clock clock;
    Host h(&clock, 1);

    EXPECT_EQ(at(h, "10.0.0.1"), ASSOC_PEER_NONE);
    ASSERT_EQ(
        h.set_peers({peer_of(0x11, "10.1.0.0", 24, "fd00:1::", 64), peer_of(0x12, "10.1.0.0", 16),
                     peer_of(0x13, "0.0.0.0", 0, "fd00::", 16), peer_of(0x14, "10.2.3.4", 32)}),
        0);
    EXPECT_EQ(at(h, "10.1.0.9"), h.peers[0]) << "the first that fits";
    EXPECT_EQ(at(h, "fd00:1::77"), h.peers[0]);
    EXPECT_EQ(at(h, "10.1.1.9"), h.peers[1]);
    EXPECT_EQ(at(h, "fd00:2::1"), h.peers[2]);
    EXPECT_EQ(at(h, "10.2.3.4"), h.peers[3]);
    for (const char *none : {"10.2.3.5", "10.0.255.255", "fd01::1", "0.0.0.0", "::"})
        EXPECT_EQ(at(h, none), ASSOC_PEER_NONE) << none;
}

TEST(Peers, OrderMayChange)
{
    Clock clock;
    Host h(&clock, 1);
    struct assoc_peer wide = peer_of(0x11, "10.0.0.0", 8), narrow = peer_of(0x12, "10.1.0.0", 16);

    ASSERT_EQ(h.set_peers({wide, narrow}), 0);
    const std::vector<uint32_t> before = h.peers;
    EXPECT_EQ(at(h, "10.1.2.3"), before[0]);
    ASSERT_EQ(h.set_peers({narrow, wide}), 0);
    EXPECT_EQ(h.peers, std::vector<uint32_t>({before[1], before[0]}));
    EXPECT_EQ(at(h, "10.1.2.3"), before[1]);
}

TEST(Peers, KeysMustDiffer)
{
    Clock clock;
    Host h(&clock, 1);
    struct assoc_peer p = peer_of(0x11, "10.0.0.2", 32), same = peer_of(0x11, "10.0.0.3", 32);

    ASSERT_EQ(h.set_peers({p}), 0);
    const std::vector<uint32_t> before = h.peers;
    EXPECT_EQ(h.set_peers({p, same}), -EEXIST);
    EXPECT_EQ(h.set_peers({peer_of(0x12, "10.0.0.4", 32), h.as_peer()}), -EEXIST);
    EXPECT_EQ(at(h, "10.0.0.2"), before[0]) << "what was configured stays";
    EXPECT_EQ(at(h, "10.0.0.4"), ASSOC_PEER_NONE);
}

// A reload that adds and removes others touches no association.
TEST(Peers, OthersComeAndGo)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    const uint32_t number = t.b->newest(0, false)->k.number;
    for (uint8_t i = 0; i < 20; i++) {
        ASSERT_EQ(t.b->set_peers(
                      {peer_of(static_cast<uint8_t>(0x40 + i), "10.9.0.0", 16), t.a->as_peer()}),
                  0);
        EXPECT_EQ(t.b->peers[1], 0u);
        EXPECT_NE(t.b->peers[0], 0u);
        EXPECT_EQ(t.b->drain(), 0u);
    }
    EXPECT_EQ(t.b->newest(0, false)->k.number, number);
    EXPECT_EQ(t.b->state(0).incoming, 1u);
    t.wait(5 * kSecond);
    ASSERT_TRUE(t.handshake(*t.a, *t.b, true));
}

// Everything of a revoked peer ends at once: associations, our INIT to it, its INIT to us.
TEST(Peers, Revoked)
{
    Two t;

    ASSERT_TRUE(t.handshake(*t.a, *t.b));
    EXPECT_TRUE(t.use(*t.a, *t.b));
    ASSERT_TRUE(t.handshake(*t.b, *t.a));
    t.wait(5 * kSecond);
    Packet theirs = *t.a->want(0, true), ours = *t.b->want(0, true);
    Packet response = *t.a->take(ours);
    ASSERT_EQ(t.b->set_peers({}), 0);
    EXPECT_FALSE(t.b->take(theirs));
    EXPECT_EQ(t.b->count().drop_stranger, 1u);
    EXPECT_FALSE(t.b->take(response));
    EXPECT_FALSE(t.b->out.install);
    EXPECT_EQ(t.b->count().drop_unasked, 1u);
    EXPECT_FALSE(t.b->want(0));
    EXPECT_EQ(assoc_peer_of(t.b->a.get(), &t.a->address), ASSOC_PEER_NONE);
    EXPECT_EQ(t.b->drain(), 2u);
    EXPECT_TRUE(t.b->table.empty());

    // Configured again, it begins from nothing.
    ASSERT_EQ(t.b->set_peers({t.a->as_peer()}), 0);
    t.wait(kSecond);
    ASSERT_TRUE(t.handshake(*t.a, *t.b, true));
    expect_ends(*t.a, *t.b, 0, t.b->peers[0]);
}

// Another shared key, or another address: the peer is a new one.
TEST(Peers, Changed)
{
    for (bool key : {false, true}) {
        Two t;
        struct assoc_peer changed = t.a->as_peer(key ? 9 : 0);

        if (!key)
            changed.prefix_len[0] = 31;
        ASSERT_TRUE(t.handshake(*t.a, *t.b));
        EXPECT_TRUE(t.use(*t.a, *t.b));
        ASSERT_EQ(t.b->set_peers({changed}), 0);
        EXPECT_NE(t.b->peers[0], 0u) << "the old number has associations that workers have";
        EXPECT_EQ(t.b->drain(), 1u);
        t.wait(5 * kSecond);
        EXPECT_EQ(t.handshake(*t.a, *t.b, true), !key);
    }
}

// Reload after reload, each with other peers, while the workers keep what is over: there is no room
// until they give it back, and the peers of before stay.
TEST(Peers, NoRoomUntilWorkersGiveBack)
{
    Two t;
    std::vector<uint32_t> kept;
    int rc = 0, reloads = 0;

    for (uint8_t shared = 1; rc == 0 && reloads < 20; shared++, reloads++) {
        ASSERT_EQ(t.a->set_peers({t.b->as_peer(shared)}), 0);
        rc = t.b->set_peers({t.a->as_peer(shared)});
        if (rc != 0)
            break;
        std::optional<Packet> init = t.a->want(t.a->peers[0]);
        ASSERT_TRUE(init);
        ASSERT_TRUE(t.b->take(*init)) << reloads;
        for (std::optional<uint32_t> slot; (slot = t.b->over());)
            kept.push_back(*slot);
        t.wait(5 * kSecond);
    }
    EXPECT_EQ(rc, -EBUSY);
    EXPECT_GE(reloads, 4);
    EXPECT_EQ(assoc_peer_of(t.b->a.get(), &t.a->address), t.b->peers[0]) << "it is still known";
    for (uint32_t slot : kept)
        t.b->freed(slot);
    EXPECT_EQ(t.b->set_peers({t.a->as_peer(99)}), 0);
}
