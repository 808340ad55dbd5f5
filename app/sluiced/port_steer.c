/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of a NIC's that spread Sluice's packets over the port's queues. See port.h.
 *
 * Receive-side scaling is asked for anyway (port.c), but what it hashes is the driver's choice:
 * some leave the ports of UDP out, and then all connections of two hosts come to one queue. A rule
 * of rte_flow says it for our UDP port, with the port's own key and over the queues in their order,
 * so that where scaling hashes the same fields each packet comes to the same queue either way. A
 * NIC that has no such rules, or none of this kind, refuses, and scaling is what there is.
 */
#include "sluiced/port.h"

#include <string.h>

#include <rte_flow.h>

#define KEY_MAX 64 /* bytes; NICs have 40 or 52 */
#define FIELDS                                                                                     \
    (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 |                          \
     RTE_ETH_RSS_NONFRAG_IPV6_UDP)

/* Key and fields that the port hashes by anyway; false: it does not say, or does not hash. */
static bool hash_get(const struct port *p, uint8_t key[KEY_MAX], struct rte_eth_rss_conf *conf)
{
    struct rte_eth_dev_info info;

    memset(&info, 0, sizeof info);
    *conf = (struct rte_eth_rss_conf){.rss_key = key, .rss_key_len = KEY_MAX};
    if (!p->scaled || rte_eth_dev_info_get(p->id, &info) != 0 || info.hash_key_size == 0 ||
        info.hash_key_size > KEY_MAX || rte_eth_dev_rss_hash_conf_get(p->id, conf) != 0)
        return false;
    conf->rss_key_len = info.hash_key_size;
    return true;
}

/*
 * What comes to our UDP port by IPv4 or IPv6 (v6), to all queues of the port by its hash. The
 * fields are the port's for both families: ixgbe does not look at the pattern of a rule that
 * spreads, but takes its fields for the whole port (ixgbe_flow.c, ixgbe_parse_rss_filter()).
 */
static struct rte_flow *rule_make(const struct port *p, bool v6)
{
    const struct rte_flow_attr attr = {.ingress = 1};
    struct rte_flow_item_udp port = {.hdr.dst_port = rte_cpu_to_be_16((uint16_t)p->cfg->udp_port)};
    struct rte_flow_item_udp mask = {.hdr.dst_port = RTE_BE16(0xffff)};
    struct rte_flow_item items[5] = {{.type = RTE_FLOW_ITEM_TYPE_ETH}};
    uint16_t queues[HOST_WORKERS_MAX];
    uint8_t key[KEY_MAX], n = 1;
    struct rte_eth_rss_conf conf;
    bool known = hash_get(p, key, &conf);
    struct rte_flow_action_rss rss = {.types = known ? conf.rss_hf : FIELDS,
                                      .key_len = known ? conf.rss_key_len : 0,
                                      .key = known ? key : NULL,
                                      .queue_num = p->queues,
                                      .queue = queues};
    const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_RSS, .conf = &rss},
                                              {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_error error;

    for (uint16_t q = 0; q < p->queues; q++)
        queues[q] = q;
    if (p->cfg->vlan != 0)
        items[n++].type = RTE_FLOW_ITEM_TYPE_VLAN;
    items[n++].type = v6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4;
    items[n++] =
        (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &port, .mask = &mask};
    items[n].type = RTE_FLOW_ITEM_TYPE_END;
    if (rte_flow_validate(p->id, &attr, items, actions, &error) != 0)
        return NULL;
    return rte_flow_create(p->id, &attr, items, actions, &error);
}

void port_steer(struct port *p)
{
    bool all = true;

    if (p->queues == 1 || p->traits.software || config_port_wired(p->cfg))
        return;
    for (int f = 0; f < 2; f++) {
        if (addr_is_unset(&p->cfg->address[f].addr))
            continue;
        p->rules[f] = rule_make(p, f == 1);
        all = all && p->rules[f] != NULL;
    }
    p->steered = all;
}

void port_unsteer(struct port *p)
{
    struct rte_flow_error error;

    for (int f = 0; f < 2; f++) {
        if (p->rules[f] != NULL)
            rte_flow_destroy(p->id, p->rules[f], &error);
        p->rules[f] = NULL;
    }
    p->steered = false;
}
