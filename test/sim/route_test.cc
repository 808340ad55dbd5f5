// SPDX-License-Identifier: BSD-3-Clause
// Routes of packets, and events that may change them: gateways that fail over, strangers that claim
// addresses of others, peers that move.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "peer.hh"
#include "queues.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

rte_ether_addr mac(uint8_t last)
{
    return {{2, 0, 0, 0, 0, last}};
}

bool is(const rte_ether_addr &a, const rte_ether_addr &b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}

addr address(const char *s)
{
    addr a = {};

    EXPECT_EQ(addr_parse(s, &a), 0);
    return a;
}

// Two hosts, each in a network of its own, and a router between them. The router's MAC address on
// either side can change. A frame to another MAC address is lost, as in a switch or at the router's
// NIC.
class Routed
{
  public:
    explicit Routed(bool ipv6) : pair(options(ipv6))
    {
        pair.open();
    }

    // Gives the router other MAC addresses on these sides. announce: the router announces them at
    // once.
    void fail_over(bool side_a, bool side_b, bool announce)
    {
        bool side[2] = {side_a, side_b};

        for (uint32_t i = 0; i < 2; i++) {
            if (!side[i])
                continue;
            router[i] = mac(static_cast<uint8_t>(router[i].addr_bytes[5] + 0x10));
            if (!announce)
                continue;
            const host_config *c = host_get_config(world_host(pair.w, i));
            addr g = c->gateway[pair.opt.ipv6];
            std::vector<uint8_t> f(NEIGH_FRAME_MAX);
            f.resize(pair.opt.ipv6
                         ? neigh_put_reply(f.data(), &router[i], &g, &c->mac, &all, FRAME_VLAN_NONE)
                         : neigh_put_request(f.data(), &router[i], &g, &g, FRAME_VLAN_NONE));
            say.emplace_back(i, f);
        }
    }

    // Runs until done, and returns the longest time in which B received nothing.
    uint64_t longest_gap(const std::function<bool()> &done, uint64_t max_ns)
    {
        uint64_t gap = 0, last = world_now(pair.w), bytes = 0;

        pair.run(
            [&] {
                struct host_conn_info i = {};

                for (auto &x : say)
                    inject(x.first, x.second);
                say.clear();
                host_conn_info(pair.b(), pair.conn[1], &i);
                if (i.rx_bytes != bytes)
                    last = world_now(pair.w);
                bytes = i.rx_bytes;
                gap = std::max(gap, world_now(pair.w) - last);
                return done();
            },
            max_ns);
        return gap;
    }

    rte_ether_addr router[2] = {mac(0xa0), mac(0xb0)};
    unsigned sources_unset = 0, polls = 0, broadcasts = 0;
    Pair pair;

  private:
    PairOptions options(bool ipv6)
    {
        PairOptions o;

        o.ipv6 = ipv6;
        o.rate_first_Bps = 20000000;
        o.config = [ipv6](uint32_t i, host_config *h) {
            h->address[ipv6] = address(ipv6 ? i ? "fd02::1" : "fd01::1"
                                       : i  ? "10.2.0.1"
                                            : "10.1.0.1");
            h->gateway[ipv6] = address(ipv6 ? i ? "fd02::fe" : "fd01::fe"
                                       : i  ? "10.2.0.254"
                                            : "10.1.0.254");
        };
        o.fate = [this](uint32_t from, rte_mbuf *m, uint64_t, world_fate *f) { route(from, m, f); };
        return o;
    }

    void route(uint32_t from, rte_mbuf *m, world_fate *fate)
    {
        auto *eth = rte_pktmbuf_mtod(m, rte_ether_hdr *);
        struct frame f;
        struct neigh n;

        frame_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, m->pkt_len, &f);
        if (f.kind != FRAME_UDP) {
            fate->copies = 0; // there is no other station
            bool heard = rte_is_multicast_ether_addr(&f.dst_mac) || is(f.dst_mac, router[from]);
            if (neigh_parse(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len, &f, &n) != NEIGH_REQUEST)
                return;
            sources_unset += addr_is_unset(&n.sender);
            (rte_is_multicast_ether_addr(&f.dst_mac) ? broadcasts : polls)++;
            const host_config *c = host_get_config(world_host(pair.w, from));
            if (!heard || !addr_equal(&n.target, &c->gateway[pair.opt.ipv6]))
                return;
            std::vector<uint8_t> r(NEIGH_FRAME_MAX);
            r.resize(neigh_put_reply(r.data(), &router[from], &n.target, &c->mac, &n.sender,
                                     FRAME_VLAN_NONE));
            say.emplace_back(from, r);
            return;
        }
        if (!is(f.dst_mac, router[from])) {
            fate->copies = 0;
            return;
        }
        eth->src_addr = router[1 - from];
        eth->dst_addr = mac(static_cast<uint8_t>(2 - from));
    }

    void inject(uint32_t to, const std::vector<uint8_t> &f)
    {
        rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().wire);

        std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(f.size())), f.data(), f.size());
        world_inject(pair.w, to, m);
    }

    addr all = {};
    std::vector<std::pair<uint32_t, std::vector<uint8_t>>> say;
};

class Route : public WholePools
{
};

// One router takes over from another, with other MAC addresses on one side or both, with or without
// an announcement. Traffic goes on within 300 ms, and the data that arrive are right.
TEST_F(Route, AGatewayThatFailsOverIsFollowed)
{
    for (bool ipv6 : {false, true})
        for (int sides = 1; sides <= 3; sides++)
            for (bool announce : {false, true}) {
                Routed r(ipv6);
                Pair &p = r.pair;

                p.recv(30000000);
                p.send(30000000);
                r.longest_gap([] { return false; }, 300 * kMs);
                ASSERT_FALSE(p.recvs[1][0].done);
                r.fail_over(sides & 1, sides & 2, announce);
                uint64_t gap = r.longest_gap([&] { return p.all_done(); }, 10000 * kMs);
                EXPECT_TRUE(p.all_done()) << p.state();
                EXPECT_LE(gap, 300 * kMs) << ipv6 << " " << sides << " " << announce;
                EXPECT_EQ(r.sources_unset, 0u) << "a question with an unset sender is a probe";
                r.longest_gap([&] { return false; }, 100 * kMs);
            }
}

// Two hosts have IPv6 only, networks of their own, and two workers each. Their ports spread frames
// over queues like NICs, and ICMPv6 by its addresses, so one worker hears all packets of the
// gateway. Nevertheless, every worker opens a connection, and the data that arrive are right.
TEST_F(Route, EveryWorkerHearsOfAGatewayOverIpv6)
{
    Queues *queues = nullptr;
    std::vector<std::pair<uint32_t, std::vector<uint8_t>>> say;
    QueuesOptions o;
    unsigned worst = 0;

    o.ipv6 = true;
    o.workers = 2;
    o.introduced = false;
    o.conns = 4;
    o.config = [](host_config *c) {
        bool b = c->secrets.keys[0] % 2; // odd seeds are side B's: queues.cc
        c->address[1] = address(b ? "fd02::1" : "fd01::1");
        c->gateway[1] = address(b ? "fd02::fe" : "fd01::fe");
        c->prefix_len[1] = 64;
        c->address[0] = {};
    };
    o.fate = [&](uint32_t from, rte_mbuf *m, world_fate *fate) {
        uint32_t side = from / 2;
        const host_config *c = host_get_config(queues->h(side, 0));
        const host_config *other = host_get_config(queues->h(1 - side, 0));
        auto *eth = rte_pktmbuf_mtod(m, rte_ether_hdr *);
        struct frame f;
        struct neigh n;

        frame_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, m->pkt_len, &f);
        eth->src_addr = mac(0xa0);
        eth->dst_addr = other->mac;
        if (f.kind == FRAME_UDP)
            return;
        fate->copies = 0;
        if (neigh_parse(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len, &f, &n) != NEIGH_REQUEST ||
            !addr_equal(&n.target, &c->gateway[1]))
            return;
        rte_ether_addr router = mac(0xa0);
        std::vector<uint8_t> r(NEIGH_FRAME_MAX);
        r.resize(
            neigh_put_reply(r.data(), &router, &n.target, &c->mac, &n.sender, FRAME_VLAN_NONE));
        say.emplace_back(side * 2, r);
    };
    Queues q(o);
    queues = &q;
    for (uint32_t k = 0; k < 4; k++) {
        q.accept(k % 2, 200000);
        q.accept(k % 2, 200000);
        q.connect(k % 2, 200000);
    }
    auto sum = [](const std::vector<uint32_t> &v) { return v[0] + v[1]; };
    q.run(
        [&] {
            for (auto &x : say) {
                rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().wire);

                std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(x.second.size())),
                            x.second.data(), x.second.size());
                world_inject(q.w, x.first, m);
            }
            say.clear();
            return sum(q.done(0)) == 4;
        },
        4000 * kMs);
    EXPECT_EQ(q.done(0), (std::vector<uint32_t>{2, 2})) << q.counters();
    for (const auto &c : q.conns)
        worst += c->side == 0 && c->opened != 0;
    EXPECT_EQ(worst, 0u) << "-EHOSTUNREACH is -113: " << q.conns[2]->opened << " "
                         << q.conns[5]->opened;
}

// A steady transfer raises no doubt about the next hop, so the host hardly asks for its address.
TEST_F(Route, NobodyIsAskedWhileAnswersCome)
{
    Routed r(false);

    r.pair.recv(30000000);
    r.pair.send(30000000);
    r.longest_gap([&] { return r.pair.all_done(); }, 10000 * kMs);
    EXPECT_TRUE(r.pair.all_done()) << r.pair.state();
    EXPECT_LE(r.polls, 4u);
    EXPECT_LE(r.broadcasts, 4u);
    unsigned before = r.polls + r.broadcasts;
    r.longest_gap([] { return false; }, 20000 * kMs);
    EXPECT_LE(r.polls + r.broadcasts - before, 2u) << "an idle connection asks for the next hop";
}

// The MAC addresses to which the host sent Sluice packets since the last call.
std::vector<rte_ether_addr> destinations(Peer &p)
{
    std::vector<rte_ether_addr> out;

    for (const Heard &x : p.heard)
        if (x.type != 0)
            out.push_back(x.frame.dst_mac);
    p.heard.clear();
    return out;
}

bool all_to(const std::vector<rte_ether_addr> &to, const rte_ether_addr &m)
{
    return !to.empty() &&
           std::all_of(to.begin(), to.end(), [&](const rte_ether_addr &a) { return is(a, m); });
}

// Another station on the link replays a CNTL of the peer, from a MAC address of its own.
TEST_F(Route, AReplayedCntlDivertsNothing)
{
    for (bool opener : {false, true}) {
        Peer p;

        opener ? p.open_to_host() : p.open_by_host();
        wire_cntl old = p.state();
        p.say(old);
        p.say(p.state());
        p.run(kMs);
        rte_ether_addr own = p.route.src_mac;
        p.heard.clear();
        p.route.src_mac = mac(0x66);
        old.h.flags |= WIRE_SREQ;
        p.say(old);
        p.run(kMs);
        EXPECT_TRUE(all_to(destinations(p), own)) << opener;
        p.route.src_mac = own;
    }
}

// A peer is beyond the gateway, so the source of its frames is the interface of some router.
TEST_F(Route, ARoutersOwnAddressIsNotTheGateways)
{
    for (bool opener : {false, true}) {
        PeerOptions o;
        o.gateway = true;
        Peer p(o);
        rte_ether_addr gateway = p.route.src_mac;

        opener ? p.open_to_host() : p.open_by_host();
        p.run(kMs);
        p.heard.clear();
        p.route.src_mac = mac(0x66);
        p.say(p.state(WIRE_SREQ));
        p.run(kMs);
        EXPECT_TRUE(all_to(destinations(p), gateway)) << opener;
        p.route.src_mac = gateway;
    }
}

// A newer CNTL with our key comes from another MAC address on the link: the peer itself has moved.
TEST_F(Route, APeerThatMovesIsFollowed)
{
    for (bool opener : {false, true}) {
        Peer p;

        opener ? p.open_to_host() : p.open_by_host();
        p.say(p.state());
        p.run(kMs);
        p.heard.clear();
        p.route.src_mac = mac(0x77);
        p.say(p.state(WIRE_SREQ));
        p.run(kMs);
        EXPECT_TRUE(all_to(destinations(p), p.route.src_mac)) << opener;
    }
}

// A stranger announces the peer's address. The host asks the known MAC address, gets an answer, and
// keeps it. A flood of announcements brings no flood of questions.
TEST_F(Route, AStrangersAnnouncementDivertsNothing)
{
    for (bool ipv6 : {false, true}) {
        PeerOptions o;
        o.ipv6 = ipv6;
        Peer p(o);
        rte_ether_addr stranger = mac(0x66);
        std::vector<uint8_t> f(NEIGH_FRAME_MAX);

        p.open_by_host();
        p.run(1000 * kMs);
        p.say(p.state(WIRE_SREQ));
        f.resize(neigh_put_announce(f.data(), &stranger, &p.route.src, FRAME_VLAN_NONE));
        p.heard.clear();
        for (int i = 0; i < 1000; i++) {
            p.say_frame(f);
            p.run(kMs / 10);
            if (i % 100 == 0)
                p.say(p.state(WIRE_SREQ));
        }
        unsigned questions = 0;
        for (const Heard &x : p.heard)
            questions += x.kind == FRAME_ARP || x.kind == FRAME_ICMP6;
        EXPECT_GE(questions, 2u);
        EXPECT_LE(questions, 5u) << "once in 25 ms at most";
        EXPECT_TRUE(all_to(destinations(p), p.route.src_mac)) << ipv6;
    }
}

// A MAC address that is configured is never asked for, and nothing that comes from the link changes
// it: no announcement, no answer, no packet of the connection from elsewhere, no silence.
TEST_F(Route, AFixedNeighbourStaysWhereItIs)
{
    for (int kind = 0; kind < 8; kind++) {
        PeerOptions o;
        o.ipv6 = kind & 1;
        o.gateway = kind & 2;
        o.fixed = true;
        o.answer_arp = false;
        Peer p(o);
        const rte_ether_addr known = p.route.src_mac, stranger = mac(0x66);
        const addr next = o.gateway ? host_get_config(p.h())->gateway[o.ipv6] : p.route.src;
        std::vector<uint8_t> announce(NEIGH_FRAME_MAX), answer(NEIGH_FRAME_MAX);

        if (kind & 4) {
            p.route.src_mac = stranger; // FIRST already comes from elsewhere
            p.open_to_host();
        } else {
            p.open_by_host();
            p.route.src_mac = stranger;
        }
        announce.resize(neigh_put_announce(announce.data(), &stranger, &next, FRAME_VLAN_NONE));
        answer.resize(neigh_put_reply(answer.data(), &stranger, &next, &p.route.dst_mac,
                                      &p.route.dst, FRAME_VLAN_NONE));
        for (int i = 0; i < 20; i++) {
            p.say_frame(announce);
            p.say_frame(answer);
            p.say(p.state(WIRE_SREQ));
            p.run(kMs);
        }
        p.run(p.opt.silence_ms / 2 * kMs);
        for (const Heard &x : p.heard) {
            EXPECT_TRUE(x.kind != FRAME_ARP && x.kind != FRAME_ICMP6) << "a question, " << kind;
            EXPECT_TRUE(rte_is_same_ether_addr(&x.frame.dst_mac, &known)) << kind;
        }
        EXPECT_GT(p.heard_type(WIRE_CNTL), 20u) << kind;
        EXPECT_EQ(p.counter("tx_arp"), 0u) << kind;
    }
}

// The announcement comes from the neighbour's heir, and the old MAC address no longer answers.
TEST_F(Route, AnHeirIsFoundByItsAnnouncement)
{
    Peer p;
    std::vector<uint8_t> f(NEIGH_FRAME_MAX);

    p.open_by_host();
    p.run(100 * kMs);
    p.route.src_mac = mac(0x77);
    f.resize(neigh_put_announce(f.data(), &p.route.src_mac, &p.route.src, FRAME_VLAN_NONE));
    p.say_frame(f);
    p.run(110 * kMs);
    p.heard.clear();
    p.post_recv(10, 5);
    p.run(kMs);
    EXPECT_TRUE(all_to(destinations(p), p.route.src_mac));
}

} // namespace
