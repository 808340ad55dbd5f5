// SPDX-License-Identifier: BSD-3-Clause
// The elements match and each, and the join behind them.
#include "support.h"

namespace
{

/* A packet from host a of 10.0.0.0/24 to host b of 10.0.1.0/24. */
struct rte_mbuf *flow_packet(unsigned int a, unsigned int b, uint16_t dport = 2000,
                             uint32_t payload = 58)
{
    struct frame_route r = route_make(("10.0.0." + std::to_string(a)).c_str(),
                                      ("10.0.1." + std::to_string(b)).c_str());

    r.dport = dport;
    return udp_make(r, payload);
}

TEST(Match, WhatFitsNothingGoesOnBehindIt)
{
    Line l("match dst 10.0.1.1 ( delay 5ms ) delay 1ms");

    l.push(0, flow_packet(1, 1));
    l.push(0, flow_packet(1, 2));
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{1000000, 1, 100}, {6000000, 0, 100}}));
    EXPECT_EQ(l.counts(2).in_packets, 2u);
}

/* For each packet, whether it took 1 ms and not 0. */
std::vector<bool> matched(const std::string &rule, const std::vector<struct rte_mbuf *> &packets)
{
    Line l("match " + rule + " ( delay 1ms )");
    std::vector<bool> v;

    for (struct rte_mbuf *m : packets)
        l.push(0, m);
    l.finish();
    for (const Out &o : l.by_id())
        v.push_back(o.at == 1000000);
    return v;
}

TEST(Match, Conditions)
{
    auto packets = [] {
        struct frame_route v6 = route_make("fd00::1", "fd00:0:0:1::9"), tagged = v6;
        struct frame_route marked = route_make("10.0.0.1", "10.0.1.1");

        tagged.vlan = 5;
        marked.dscp = 46;
        return std::vector<struct rte_mbuf *>{
            flow_packet(1, 1),         flow_packet(200, 3, 5001), udp_make(v6),
            udp_make(tagged),          udp_make(marked),          packet_make(60),
            flow_packet(1, 1, 80, 900)};
    };
    const struct {
        const char *rule, *want;
    } rules[] = {
        {"src 10.0.0.0/8", "1100101"},
        {"src 10.0.0.1", "1000101"},
        {"src 10.0.0.128/25", "0100000"},
        {"src 0.0.0.0/0", "1100101"},
        {"dst fd00::/16", "0011000"},
        {"dst fd00:0:0:1::/64", "0011000"},
        {"src ::/0", "0011000"},
        {"dport 2000", "1011100"},
        {"dport 5000-5999", "0100000"},
        {"sport 1000", "1111101"},
        {"port 80", "0000001"},
        {"port 1000", "1111101"},
        {"proto udp", "1111101"},
        {"proto 17", "1111101"},
        {"proto tcp", "0000000"},
        {"vlan 5", "0001000"},
        {"dscp 46", "0000100"},
        {"dscp 0", "1111001"},
        {"length 60", "0000010"},
        {"length 900-65535", "0000001"},
        {"src 10.0.0.1 dport 80", "0000001"},
        {"proto udp length 1-100 dscp 0", "1100000"},
    };
    for (auto r : rules) {
        std::string got;

        for (bool b : matched(r.rule, packets()))
            got += b ? '1' : '0';
        EXPECT_EQ(got, r.want) << r.rule;
    }
}

/* Puts a VLAN tag in front of those that the frame has. */
struct rte_mbuf *tag(struct rte_mbuf *m, uint16_t type, uint16_t vlan)
{
    EXPECT_NE(rte_pktmbuf_prepend(m, 4), nullptr);
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

    memmove(p, p + 4, 12);
    p[12] = static_cast<uint8_t>(type >> 8);
    p[13] = static_cast<uint8_t>(type);
    p[14] = static_cast<uint8_t>(vlan >> 8);
    p[15] = static_cast<uint8_t>(vlan);
    return m;
}

TEST(Match, PortsBehindTags)
{
    const std::vector<std::vector<uint16_t>> tags = {
        {}, {0x8100}, {0x88a8}, {0x8100, 0x8100}, {0x8100, 0x88a8}, {0x88a8, 0x88a8}};

    for (const char *rule : {"dport 2000", "port 1000 proto udp", "dport 2000 vlan 7"})
        for (const char *peer : {"10.0.0.1", "fd00::1"})
            for (size_t i = 0; i < tags.size(); i++) {
                struct rte_mbuf *m = udp_make(route_make(peer, peer));

                for (uint16_t type : tags[i])
                    tag(m, type, 7);
                EXPECT_EQ(matched(rule, {m})[0], strstr(rule, "vlan") == nullptr || i > 0)
                    << rule << " " << peer << " " << i;
            }
}

/* Multicast listener reports are IPv6 packets that begin with hop-by-hop options, number 0. */
TEST(Match, HopByHopOptionsAreStillIp)
{
    struct rte_mbuf *m = udp_make(route_make("fd00::1", "fd00::2"));

    uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *) + 14;
    ip[6] = 0;
    ip[40] = 58;
    ip[41] = 0;
    EXPECT_EQ(matched("src fd00::/16", {m}), std::vector<bool>{true});
}

TEST(Match, FragmentsHaveNoPorts)
{
    struct rte_mbuf *m = flow_packet(1, 1);

    rte_pktmbuf_mtod(m, uint8_t *)[14 + 6] |= 0x20;
    EXPECT_EQ(matched("dport 0-65535", {m}), std::vector<bool>{false});
}

TEST(Match, FirstThatFitsOrElse)
{
    Line l("match dport 1 ( delay 1ms ) or dport 1-2 ( delay 2ms ) else ( delay 3ms )");

    for (uint16_t port : {2, 1, 3})
        l.push(0, flow_packet(1, 1, port));
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{1000000, 1, 100}, {2000000, 0, 100}, {3000000, 2, 100}}));
    EXPECT_EQ(l.element(1).depth, 1u);
    EXPECT_STREQ(l.element(2).text, "delay 2ms");
    EXPECT_STREQ(l.element(0).kind, "match");
}

TEST(Each, EveryFlowHasAQueueOfItsOwn)
{
    // the number of queues, by the key that separates flows
    const struct {
        const char *key;
        uint32_t n;
    } keys[] = {{"flow", 4}, {"src", 2}, {"dst", 2}, {"vlan", 1}, {"dscp", 1}, {"mac", 1}};

    for (auto k : keys) {
        Line l(std::string("each ") + k.key + " ( rate 800kbit )"); // 1 ms for each packet
        for (unsigned int a : {1, 2})
            for (unsigned int b : {1, 2})
                l.push(0, flow_packet(a, b));
        l.finish();
        EXPECT_EQ(l.out.back().at, 4 / k.n * 1000000u) << k.key;
        EXPECT_EQ(l.counts().shared, 0u);
    }
}

TEST(Each, BeyondItsMaxFlowsShare)
{
    Line l("each src max 3 ( delay 1ms )");

    for (unsigned int round = 0; round < 2; round++)
        for (unsigned int a = 1; a <= 10; a++)
            l.push(0, flow_packet(a, 1));
    EXPECT_EQ(l.counts().shared, 14u);
    uint64_t in = 0;
    for (uint32_t i = 1; i <= 3; i++) {
        EXPECT_EQ(l.element(i).instance, i - 1);
        EXPECT_EQ(l.counts(i).in_packets % 2, 0u); // a flow stays in its queue
        in += l.counts(i).in_packets;
    }
    EXPECT_EQ(in, 20u);
}

/* The fates of 64 packets of each of four flows differ. */
TEST(Each, FlowsHaveNumbersOfTheirOwn)
{
    for (const char *spec :
         {"each flow max 4 ( loss 50% )", "each src max 2 ( each dst max 2 ( loss 50% ) )"}) {
        Line l(spec);
        std::vector<uint64_t> fate(4, 0);

        for (uint64_t i = 0; i < 64; i++)
            for (unsigned int f = 0; f < 4; f++)
                l.push(i, flow_packet(1 + f / 2, 1 + f % 2));
        l.finish();
        for (const Out &o : l.out)
            fate[o.id % 4] |= 1ull << o.id / 4;
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < a; b++)
                EXPECT_NE(fate[(size_t)a], fate[(size_t)b]) << spec << " " << a << " " << b;
    }
}

TEST(Each, NestedTimesAndMixes)
{
    Line l("each src max 2 ( match dport 1 ( rate 800kbit ) else ( delay 5ms ) ) rate 80mbit");

    for (uint16_t port : {1, 2, 1})
        for (unsigned int a : {1, 2})
            l.push(0, flow_packet(a, 1, port));
    l.finish();
    EXPECT_EQ(l.out, (std::vector<Out>{{1010000, 0, 100},
                                       {1020000, 1, 100},
                                       {2010000, 4, 100},
                                       {2020000, 5, 100},
                                       {5010000, 2, 100},
                                       {5020000, 3, 100}}));
}

/* With equal times, packets that were in the path go first, flow by flow. Polls in between make no
 * difference. */
TEST(Join, EqualTimesWhateverThePolls)
{
    const char *spec = "match dst 10.0.1.1 ( ) or dst 10.0.1.2 ( delay 2ms ) else ( delay 1ms )";
    Line polled(spec), lazy(spec);

    for (Line *l : {&polled, &lazy}) {
        const struct {
            uint64_t at;
            unsigned int dst;
        } arrivals[] = {{0, 2}, {1000000, 3}, {2000000, 1}, {2000000, 2}, {2000000, 1}};

        for (auto a : arrivals) {
            struct rte_mbuf *m = flow_packet(1, a.dst);
            mbuf_id(m) = l->pushed++;
            if (l == &polled)
                l->poll(a.at);
            path_push(l->p, &m, 1, a.at);
            if (l == &polled)
                l->poll(a.at);
        }
        l->poll(9000000);
    }
    std::vector<uint32_t> order;
    for (const Out &o : polled.out)
        order.push_back(o.id);
    EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 4, 3}));
    order.clear();
    for (const Out &o : lazy.out)
        order.push_back(o.id);
    EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 4, 3}));
}

} // namespace
