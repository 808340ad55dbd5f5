/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NIC rules that spread Sluice's packets over the port's queues. See port.h.
 *
 * Receive-side scaling is asked for anyway (port_rss.c), but the driver chooses what it hashes.
 * Some leave out UDP ports, and then all connections between two hosts arrive at one queue.
 * rte_flow rules make the NIC hash packets to our UDP ports with the port's own key, and spread
 * them over its queues in their order. So where scaling hashes the same fields, a packet arrives at
 * the same queue with or without rules. A NIC that has no such rules refuses them, and scaling
 * alone remains.
 *
 * Our UDP ports are udp_port, where connections are accepted, and source_ports, where the answers
 * to connections opened here arrive. A rule matches a port under a mask, so the range is cut into
 * blocks of a power of two, as a range of addresses is cut into prefixes: 61440-65535 is one block.
 * Packets to other ports are not ours.
 */
#include "sluiced/port/port.h"

#include <string.h>

#include <rte_flow.h>

#define KEY_MAX 64 /* bytes; NICs have 40 or 52 */
#define FIELDS                                                                                     \
    (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 |                          \
     RTE_ETH_RSS_NONFRAG_IPV6_UDP)

/* Reads the key and fields that the port hashes by anyway. False: it does not report them, or does
 * not hash. */
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

/* A block of UDP ports: all that equal `port` in the bits of `mask`. Host byte order. */
struct block {
    uint16_t port, mask;
};

/*
 * Makes a rule that spreads packets to a block of our UDP ports over all queues by the port's hash,
 * for IPv4 or IPv6 (`v6`). The rule names the hashed fields of both families: ixgbe ignores the
 * pattern of a rule that spreads, and takes its fields for the whole port (ixgbe_flow.c,
 * ixgbe_parse_rss_filter()). NULL: the NIC refuses the rule.
 */
static struct rte_flow *rule_make(const struct port *p, bool v6, const struct block *b)
{
    const struct rte_flow_attr attr = {.ingress = 1};
    struct rte_flow_item_udp port = {.hdr.dst_port = rte_cpu_to_be_16(b->port)};
    struct rte_flow_item_udp mask = {.hdr.dst_port = rte_cpu_to_be_16(b->mask)};
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

/* The largest block that begins at `port` and ends at `last` or before. */
static struct block block_at(uint32_t port, uint32_t last)
{
    uint32_t size = 1;

    while (port % (2 * size) == 0 && port + 2 * size - 1 <= last)
        size *= 2;
    return (struct block){.port = (uint16_t)port, .mask = (uint16_t)(0x10000 - size)};
}

static unsigned blocks_make(const struct config_port *cfg, struct block blocks[PORT_BLOCKS])
{
    unsigned n = 0;

    blocks[n++] = (struct block){.port = (uint16_t)cfg->udp_port, .mask = 0xffff};
    for (uint32_t at = cfg->source_ports.first; at <= cfg->source_ports.last;) {
        blocks[n] = block_at(at, cfg->source_ports.last);
        at += 0x10000u - blocks[n++].mask;
    }
    return n;
}

void port_steer(struct port *p)
{
    struct block blocks[PORT_BLOCKS];
    unsigned n = 0;

    if (p->queues == 1 || p->traits.software || config_port_wired(p->cfg))
        return;
    n = blocks_make(p->cfg, blocks);
    p->steered = true;
    for (int f = 0; f < 2; f++)
        for (unsigned b = 0; b < n && !addr_is_unset(&p->cfg->address[f].addr); b++) {
            p->rules[f][b] = rule_make(p, f == 1, &blocks[b]);
            p->steered = p->steered && p->rules[f][b] != NULL;
        }
}

void port_unsteer(struct port *p)
{
    struct rte_flow_error error;

    for (int f = 0; f < 2; f++)
        for (unsigned b = 0; b < PORT_BLOCKS; b++) {
            if (p->rules[f][b] != NULL)
                rte_flow_destroy(p->id, p->rules[f][b], &error);
            p->rules[f][b] = NULL;
        }
    p->steered = false;
}
