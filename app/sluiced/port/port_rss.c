/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive-side scaling of a port. The port is asked what it does; nothing is assumed, because
 * drivers have keys and tables of their own. Some drivers (memif, TAP, AF_PACKET) can tell neither:
 * then workers hand over the frames of other workers.
 */
#include "sluiced/port/port.h"

#include <string.h>

#include "common/say.h"

void port_rss_want(const struct port *p, const struct rte_eth_dev_info *info,
                   struct rte_eth_conf *conf)
{
    uint64_t want = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_IPV6 |
                    RTE_ETH_RSS_NONFRAG_IPV6_UDP;

    want &= info->flow_type_rss_offloads;
    if (p->queues == 1 || want == 0)
        return;
    conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf->rx_adv_conf.rss_conf.rss_hf = want;
}

/* Asks for the key, and for the fields that are hashed. */
static bool key_ask(const struct port *p, const struct rte_eth_dev_info *info, struct host_rss *rss)
{
    struct rte_eth_rss_conf conf = {.rss_key = rss->key, .rss_key_len = info->hash_key_size};

    if (info->hash_key_size < HOST_RSS_KEY_MIN || info->hash_key_size > sizeof rss->key ||
        rte_eth_dev_rss_hash_conf_get(p->id, &conf) != 0)
        return false;
    rss->udp4 = (conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP) != 0;
    rss->udp6 = (conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV6_UDP) != 0;
    return rss->udp4 || rss->udp6;
}

static bool table_ask(const struct port *p, const struct rte_eth_dev_info *info,
                      struct host_rss *rss)
{
    struct rte_eth_rss_reta_entry64 groups[HOST_RSS_RETA_MAX / RTE_ETH_RETA_GROUP_SIZE];
    uint32_t i;

    if (info->reta_size == 0 || info->reta_size > HOST_RSS_RETA_MAX)
        return false;
    memset(groups, 0, sizeof groups);
    for (i = 0; i < RTE_DIM(groups); i++)
        groups[i].mask = UINT64_MAX;
    if (rte_eth_dev_rss_reta_query(p->id, groups, info->reta_size) != 0)
        return false;
    for (i = 0; i < info->reta_size; i++)
        rss->reta[i] = groups[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
    return true;
}

void port_rss_ask(struct port *p)
{
    struct rte_eth_dev_info info;

    memset(&p->rss, 0, sizeof p->rss);
    memset(&info, 0, sizeof info);
    if (p->queues == 1 || !p->started || config_port_wired(p->cfg) ||
        rte_eth_dev_info_get(p->id, &info) != 0)
        return;
    if (key_ask(p, &info, &p->rss) && table_ask(p, &info, &p->rss))
        p->rss.reta_size = info.reta_size;
    else
        say_port(SAY_WARNING, p->cfg->name,
                 "%s does not report how it chooses queues, so workers hand over packets that "
                 "arrive in the wrong one",
                 p->driver);
}
