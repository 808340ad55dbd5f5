// SPDX-License-Identifier: BSD-3-Clause
// Claims of addresses: hosts that claim the same one, and strangers that defend theirs.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "peer.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

class Claim : public WholePools
{
};

struct host_address own(host *h, bool ipv6)
{
    struct host_address a = {};

    EXPECT_TRUE(host_address(h, ipv6, &a));
    return a;
}

// Counts the host's probes, announcements and answers.
struct Said {
    unsigned probes = 0, announcements = 0, answers = 0;
    uint64_t first_announced = 0;
};

Said said(const Peer &p)
{
    Said s;

    for (const Heard &x : p.heard) {
        struct neigh n;
        auto kind =
            neigh_parse(x.bytes.data(), static_cast<uint32_t>(x.bytes.size()), &x.frame, &n);
        bool announced = (kind == NEIGH_REQUEST && addr_equal(&n.sender, &n.target)) ||
                         (kind == NEIGH_REPLY && !n.solicited);
        s.probes += kind == NEIGH_REQUEST && addr_is_unset(&n.sender);
        s.announcements += announced;
        s.answers += kind == NEIGH_REPLY && n.solicited;
        if (announced && s.first_announced == 0)
            s.first_announced = x.at_ns;
    }
    return s;
}

std::vector<uint8_t> frame(const std::function<uint16_t(uint8_t *)> &put)
{
    std::vector<uint8_t> f(NEIGH_FRAME_MAX);

    f.resize(put(f.data()));
    return f;
}

// No other station has the address. The host sends three probes and two announcements, and uses the
// address from the start.
TEST_F(Claim, AnAddressOfItsOwnIsAnnounced)
{
    for (bool ipv6 : {false, true}) {
        PeerOptions o;
        o.ipv6 = ipv6;
        Peer p(o);
        uint64_t start = p.now();

        p.opt.answer_arp = false;
        host_claim(p.h());
        world_wake(p.w, 0, p.now());
        p.run(kMs);
        p.say_frame(frame([&](uint8_t *f) {
            return neigh_put_request(f, &p.route.src_mac, &p.route.src, &p.route.dst,
                                     FRAME_VLAN_NONE);
        }));
        p.run(kMs);
        EXPECT_EQ(said(p).answers, 1u) << "the host does not answer from the start";
        p.run(5000 * kMs);
        Said s = said(p);
        EXPECT_EQ(s.probes, 3u);
        EXPECT_EQ(s.announcements, 2u);
        EXPECT_NEAR(double(s.first_announced - start) / 1e6, 300, 5);
        EXPECT_TRUE(own(p.h(), ipv6).used);
        EXPECT_EQ(own(p.h(), ipv6).conflicts, 0u);
        EXPECT_EQ(p.drops(), 0u);
    }
}

// A stranger answers the probe. Until the stranger is gone, the host does not use the address, and
// neither announces it nor answers for it.
TEST_F(Claim, AStrangerDefendsItsAddress)
{
    for (bool ipv6 : {false, true}) {
        PeerOptions o;
        o.ipv6 = ipv6;
        Peer p(o);
        auto ask = [&] {
            rte_ether_addr third = {{2, 0, 0, 0, 0, 0x33}};
            addr from;

            addr_parse(ipv6 ? "fd00::33" : "10.0.0.51", &from);
            p.say_frame(frame([&](uint8_t *f) {
                return neigh_put_request(f, &third, &from, &p.route.dst, FRAME_VLAN_NONE);
            }));
            p.run(kMs);
        };

        host_claim(p.h());
        world_wake(p.w, 0, p.now());
        p.run(10 * kMs);
        struct host_address a = own(p.h(), ipv6);
        EXPECT_FALSE(a.used) << ipv6;
        EXPECT_EQ(std::memcmp(&a.other, &p.route.src_mac, 6), 0);
        EXPECT_GE(p.counter("rx_conflict"), 1u);
        ask();
        struct host_connect op = {};
        op.peer = p.route.src;
        op.service = 9;
        EXPECT_EQ(host_connect(p.h(), &op, p.now()), -EADDRNOTAVAIL);
        p.run(30000 * kMs);
        EXPECT_FALSE(own(p.h(), ipv6).used);
        Said s = said(p);
        EXPECT_EQ(s.answers + s.announcements, 0u);
        EXPECT_LE(s.probes, 17u) << "every 2 to 4 s";
        EXPECT_GE(s.probes, 7u);
        p.opt.answer_arp = false; // the stranger is gone
        p.run(5000 * kMs);
        EXPECT_FALSE(own(p.h(), ipv6).used) << "the stranger was heard at most 4 s ago";
        p.run(10000 * kMs);
        EXPECT_TRUE(own(p.h(), ipv6).used);
        EXPECT_EQ(said(p).announcements, 2u);
        ask();
        EXPECT_EQ(said(p).answers, 1u);
    }
}

// A stranger takes an address that was ours for long. The host announces it again, at most once in
// 10 s, and the connection does not suffer.
TEST_F(Claim, WhatIsHeldIsDefended)
{
    for (bool ipv6 : {false, true}) {
        PeerOptions o;
        o.ipv6 = ipv6;
        Peer p(o);
        rte_ether_addr stranger = {{2, 0, 0, 0, 0, 0x66}};

        p.opt.answer_arp = false;
        host_claim(p.h());
        world_wake(p.w, 0, p.now());
        p.run(5000 * kMs);
        p.opt.answer_arp = true;
        p.open_by_host();
        p.opt.answer_arp = false;
        p.heard.clear();
        for (int i = 0; i < 150; i++) {
            p.say_frame(frame([&](uint8_t *f) {
                return neigh_put_announce(f, &stranger, &p.route.dst, FRAME_VLAN_NONE);
            }));
            p.say(p.state());
            p.run(100 * kMs);
        }
        EXPECT_TRUE(own(p.h(), ipv6).used);
        EXPECT_EQ(own(p.h(), ipv6).conflicts, 150u);
        EXPECT_EQ(said(p).announcements, 2u) << "in 15 s, at most one in 10 s";
        EXPECT_EQ(p.info().state, HOST_OPEN);
        p.heard.clear();
        p.say_frame(frame([&](uint8_t *f) { // a newcomer's probe is a question like others
            addr none = {};
            return neigh_put_request(f, &stranger, &none, &p.route.dst, FRAME_VLAN_NONE);
        }));
        p.run(kMs);
        EXPECT_EQ(own(p.h(), ipv6).conflicts, 150u);
        EXPECT_EQ(said(p).answers + said(p).announcements, 1u);
    }
}

// A switch may send our frame back, and a NIC may hear its own. Neither is another station.
TEST_F(Claim, OurOwnProbeIsNoConflict)
{
    Peer p;
    addr none = {};

    p.opt.answer_arp = false;
    host_claim(p.h());
    world_wake(p.w, 0, p.now());
    p.run(kMs);
    p.say_frame(frame([&](uint8_t *f) {
        return neigh_put_request(f, &p.route.dst_mac, &none, &p.route.dst, FRAME_VLAN_NONE);
    }));
    p.say_frame(frame([&](uint8_t *f) {
        return neigh_put_announce(f, &p.route.dst_mac, &p.route.dst, FRAME_VLAN_NONE);
    }));
    p.run(1000 * kMs);
    EXPECT_TRUE(own(p.h(), false).used);
    EXPECT_EQ(own(p.h(), false).conflicts, 0u);
}

// Two of our hosts with one address.
class Twins
{
  public:
    explicit Twins(bool ipv6) : pair(options(ipv6))
    {
    }
    void claim(uint32_t i)
    {
        host_claim(world_host(pair.w, i));
        world_wake(pair.w, i, world_now(pair.w));
    }
    bool used(uint32_t i)
    {
        return own(world_host(pair.w, i), pair.opt.ipv6).used;
    }
    bool cut[2] = {false, false}; // its frames are lost
    Pair pair;

  private:
    PairOptions options(bool ipv6)
    {
        PairOptions o;

        o.ipv6 = ipv6;
        o.config = [ipv6](uint32_t, host_config *h) {
            EXPECT_EQ(addr_parse(ipv6 ? "fd00::1" : "10.0.0.1", &h->address[ipv6]), 0);
        };
        o.fate = [this](uint32_t from, rte_mbuf *, uint64_t, world_fate *f) {
            if (cut[from])
                f->copies = 0;
        };
        return o;
    }
};

TEST_F(Claim, OfTwoHostsTheFirstKeepsTheAddress)
{
    for (bool ipv6 : {false, true})
        for (uint32_t first : {0u, 1u}) {
            Twins t(ipv6);

            t.cut[1 - first] = true; // it is not on the link yet
            t.claim(first);
            t.pair.wait(3000 * kMs);
            t.cut[1 - first] = false;
            t.claim(1 - first);
            t.pair.wait(20000 * kMs);
            EXPECT_TRUE(t.used(first)) << ipv6;
            EXPECT_FALSE(t.used(1 - first)) << ipv6;
        }
}

TEST_F(Claim, OfTwoAtTheSameTimeOneHasIt)
{
    for (bool ipv6 : {false, true})
        for (uint64_t between : {uint64_t(0), 20 * kMs, 150 * kMs}) {
            Twins t(ipv6);

            t.claim(1);
            t.pair.wait(between);
            t.claim(0);
            t.pair.wait(20000 * kMs);
            EXPECT_TRUE(t.used(0)) << ipv6 << " " << between;
            EXPECT_FALSE(t.used(1)) << ipv6 << " " << between;
            t.cut[0] = true;
            t.pair.wait(15000 * kMs);
            EXPECT_TRUE(t.used(1)) << "the other host is gone, but its address stays unused";
        }
}

} // namespace
