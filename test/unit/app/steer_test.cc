// SPDX-License-Identifier: BSD-3-Clause
// Steering rules, against a fake NIC. The NIC keeps the rules that it is given, tells which of them
// a frame meets, and refuses those that a test wants it to refuse. Of real NICs, mlx5 takes such
// rules. i40e refuses to spread by a rule that names a port (i40e_hash.c,
// i40e_hash_get_pattern_type()). ixgbe takes the hashed fields of a rule for the whole port,
// whatever the rule names.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <list>
#include <vector>

#include <rte_flow.h>

extern "C" {
#include "sluiced/port/port.h"
#include "wire/frame.h"
}

namespace
{

constexpr uint64_t kFields = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 |
                             RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_TCP;

struct Rule {
    std::vector<rte_flow_item_type> types;
    uint16_t port, mask; // of UDP
    std::vector<uint16_t> queues;
    uint64_t hashed;
    std::vector<uint8_t> key;
};

struct Nic {
    std::list<Rule> rules;
    bool has_rules = true, has_ipv6 = true, has_key = true, takes_created = true;
    unsigned validated = 0;
} nic;

Rule read(const rte_flow_item *items, const rte_flow_action *actions)
{
    Rule r = {};

    for (; items->type != RTE_FLOW_ITEM_TYPE_END; items++) {
        r.types.push_back(items->type);
        if (items->type == RTE_FLOW_ITEM_TYPE_UDP) {
            auto spec = static_cast<const rte_flow_item_udp *>(items->spec);
            auto mask = static_cast<const rte_flow_item_udp *>(items->mask);

            EXPECT_EQ(mask->hdr.src_port, 0) << "any source port";
            r.mask = rte_be_to_cpu_16(mask->hdr.dst_port);
            r.port = rte_be_to_cpu_16(spec->hdr.dst_port);
        } else {
            EXPECT_EQ(items->spec, nullptr);
        }
    }
    EXPECT_EQ(actions[0].type, RTE_FLOW_ACTION_TYPE_RSS);
    EXPECT_EQ(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
    auto rss = static_cast<const rte_flow_action_rss *>(actions[0].conf);

    r.queues.assign(rss->queue, rss->queue + rss->queue_num);
    r.hashed = rss->types;
    if (rss->key != nullptr)
        r.key.assign(rss->key, rss->key + rss->key_len);
    return r;
}

bool takes(const Rule &r)
{
    for (rte_flow_item_type t : r.types)
        if (t == RTE_FLOW_ITEM_TYPE_IPV6 && !nic.has_ipv6)
            return false;
    return nic.has_rules;
}

// The rules that match a UDP packet.
std::vector<const Rule *> met(bool ipv6, bool vlan, uint16_t dport)
{
    std::vector<rte_flow_item_type> layers = {RTE_FLOW_ITEM_TYPE_ETH};
    std::vector<const Rule *> found;

    if (vlan)
        layers.push_back(RTE_FLOW_ITEM_TYPE_VLAN);
    layers.push_back(ipv6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4);
    layers.push_back(RTE_FLOW_ITEM_TYPE_UDP);
    for (const Rule &r : nic.rules)
        if (r.types == layers && ((r.port ^ dport) & r.mask) == 0)
            found.push_back(&r);
    return found;
}

} // namespace

int rte_flow_validate(uint16_t, const rte_flow_attr *attr, const rte_flow_item items[],
                      const rte_flow_action actions[], rte_flow_error *)
{
    nic.validated++;
    EXPECT_TRUE(attr->ingress && !attr->egress && !attr->transfer);
    return takes(read(items, actions)) ? 0 : -ENOTSUP;
}

rte_flow *rte_flow_create(uint16_t, const rte_flow_attr *, const rte_flow_item items[],
                          const rte_flow_action actions[], rte_flow_error *)
{
    if (!nic.takes_created)
        return nullptr; // the NIC has no room for the rule
    nic.rules.push_back(read(items, actions));
    return reinterpret_cast<rte_flow *>(&nic.rules.back());
}

int rte_flow_destroy(uint16_t, rte_flow *flow, rte_flow_error *)
{
    nic.rules.remove_if([&](const Rule &r) { return (const void *)&r == (void *)flow; });
    return 0;
}

int rte_eth_dev_info_get(uint16_t, rte_eth_dev_info *info)
{
    info->hash_key_size = nic.has_key ? 40 : 0;
    return 0;
}

int rte_eth_dev_rss_hash_conf_get(uint16_t, rte_eth_rss_conf *conf)
{
    conf->rss_hf = kFields;
    for (uint8_t i = 0; i < 40; i++)
        conf->rss_key[i] = static_cast<uint8_t>(i * 7);
    return 0;
}

namespace
{

class Steer : public testing::Test
{
  protected:
    void SetUp() override
    {
        nic = Nic();
        cfg.udp_port = 47800;
        cfg.source_ports = {61440, 65535};
        cfg.address[0].addr = addr_from_v4(0x0a000001);
        EXPECT_EQ(addr_parse("fd00::1", &cfg.address[1].addr), 0);
        p.cfg = &cfg;
        p.queues = 4;
        p.scaled = true;
    }
    config_port cfg = {};
    port p = {};
};

TEST_F(Steer, OurUdpPortIsSpreadOverAllQueues)
{
    port_steer(&p);
    EXPECT_TRUE(p.steered);
    for (bool ipv6 : {false, true}) {
        auto rules = met(ipv6, false, 47800);

        ASSERT_EQ(rules.size(), 1u);
        EXPECT_EQ(rules[0]->queues, (std::vector<uint16_t>{0, 1, 2, 3})) << "all queues, in order";
        EXPECT_EQ(rules[0]->hashed, kFields) << "the fields of the port, for both families";
        ASSERT_EQ(rules[0]->key.size(), 40u) << "the key of the port";
        EXPECT_EQ(rules[0]->key[3], 21);
        EXPECT_TRUE(met(ipv6, false, 53).empty()) << "RSS spreads other UDP ports";
    }
    port_unsteer(&p);
    EXPECT_FALSE(p.steered);
    EXPECT_TRUE(nic.rules.empty());
}

// Answers to connections that were opened here arrive at the UDP ports that they were opened from.
TEST_F(Steer, AnswersAreSpreadToo)
{
    port_steer(&p);
    for (bool ipv6 : {false, true}) {
        for (unsigned at = 61440; at <= 65535; at++)
            ASSERT_EQ(met(ipv6, false, static_cast<uint16_t>(at)).size(), 1u) << at;
        EXPECT_TRUE(met(ipv6, false, 61439).empty());
    }
    EXPECT_EQ(nic.rules.size(), 4u) << "each family: udp_port and the range";
}

// Blocks cover any range exactly: each UDP port inside it meets one rule, and no other port does.
TEST_F(Steer, AnyRangeIsCutIntoBlocks)
{
    cfg.udp_port = 0;
    for (config_range range :
         {config_range{1, 65535}, config_range{1, 65534}, config_range{5, 5},
          config_range{49152, 65535}, config_range{32767, 32768}, config_range{40001, 50001}}) {
        nic.rules.clear();
        cfg.source_ports = range;
        port_steer(&p);
        for (unsigned at = 1; at <= 65535; at++)
            ASSERT_EQ(met(false, false, static_cast<uint16_t>(at)).size(),
                      at >= range.first && at <= range.last ? 1u : 0u)
                << at << " of " << range.first << "-" << range.last;
        port_unsteer(&p);
        ASSERT_TRUE(nic.rules.empty());
    }
}

TEST_F(Steer, FramesOfAVlanMeetThemToo)
{
    cfg.vlan = 9;
    nic.has_key = false;
    port_steer(&p);
    EXPECT_EQ(met(true, true, 47800).size(), 1u);
    EXPECT_TRUE(met(false, true, 47800)[0]->key.empty()) << "the driver uses its own key";
}

TEST_F(Steer, OnlyFamiliesThatThePortHas)
{
    cfg.address[0].addr = {};
    port_steer(&p);
    EXPECT_TRUE(p.steered);
    EXPECT_EQ(nic.rules.size(), 2u);
}

TEST_F(Steer, WhatIsRefusedIsNotUsed)
{
    nic.has_ipv6 = false;
    port_steer(&p);
    EXPECT_FALSE(p.steered) << "IPv6 is not steered";
    EXPECT_EQ(nic.rules.size(), 2u);
    port_unsteer(&p);
    nic.has_rules = false;
    port_steer(&p);
    EXPECT_FALSE(p.steered);
    nic.has_rules = true;
    nic.takes_created = false;
    port_steer(&p);
    EXPECT_FALSE(p.steered);
    EXPECT_TRUE(nic.rules.empty());
}

TEST_F(Steer, OneQueueAndPortsInSoftwareNeedNone)
{
    p.queues = 1;
    port_steer(&p);
    p.queues = 4;
    p.traits.software = true;
    port_steer(&p);
    EXPECT_EQ(nic.validated, 0u);
    EXPECT_FALSE(p.steered);
}

} // namespace
