/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host hears and answers on its link: ARP, neighbour discovery, echo.
 *
 * If a port has several queues, the NIC decides which worker hears of a neighbour: RSS spreads
 * ICMPv6 by its addresses, whichever worker asked. So the worker that receives news of a neighbour
 * hands the news to the others: answers, announcements, and what concerns our own addresses.
 */
#include "host/host_internal.h"

bool link_is_ours(const struct host *h, const struct addr *a)
{
    for (int i = 0; i < 2; i++)
        if (!addr_is_unset(a) && addr_equal(a, &h->cfg.address[i]))
            return !claim_yields(h, a);
    return false;
}

static void answer(struct host *h, const struct frame *f, const struct neigh *n)
{
    uint8_t bytes[NEIGH_FRAME_MAX];
    struct rte_ether_addr to = n->has_mac ? n->mac : f->src_mac;
    uint16_t len = neigh_put_reply(bytes, &h->cfg.mac, &n->target, &to, &n->sender, h->cfg.vlan);

    reply_neighbor(h, bytes, len, true);
}

static enum neighbor_word word_of(const struct neigh *n)
{
    if (n->kind != NEIGH_REPLY || !n->solicited)
        return NEIGHBOR_CLAIM;
    return n->override && n->has_mac ? NEIGHBOR_ANSWER : NEIGHBOR_CONFIRM;
}

static void learn(struct host *h, const struct neigh *n)
{
    if (!n->has_mac)
        return;
    if (n->kind == NEIGH_REPLY)
        route_learn(h, &n->target, &n->mac, word_of(n));
    else if (!addr_is_unset(&n->sender))
        route_learn(h, &n->sender, &n->mac, NEIGHBOR_CLAIM);
}

/* May this news of a neighbour go to the other workers? Of a flood of news, what is above the limit
 * goes to none of them. */
static bool share(struct host *h, const struct rte_mbuf *m)
{
    if (h->given || h->cfg.workers == 1)
        return false;
    if (!credit_open(&h->share_credit, h->now)) {
        host_count(h, COUNT_drop_neighbor_limit);
        return false;
    }
    credit_take(&h->share_credit, m->pkt_len);
    return true;
}

static enum link_verdict neighbor_hear(struct host *h, struct rte_mbuf *m, const struct frame *f)
{
    struct neigh n;

    if (neigh_parse(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len, f, &n) == NEIGH_NONE)
        return LINK_OTHER;
    host_count(h, COUNT_rx_neighbor);
    bool conflict = claim_hear(h, &n, f);

    if (!conflict)
        learn(h, &n);
    if (!conflict && n.kind == NEIGH_REQUEST && link_is_ours(h, &n.target)) {
        answer(h, f, &n);
        return LINK_DONE;
    }
    bool announced = addr_equal(&n.sender, &n.target); /* ARP announces in a question */
    bool news = conflict || n.kind == NEIGH_REPLY || announced;

    return news && share(h, m) ? LINK_SHARE : LINK_KERNEL;
}

enum link_verdict link_hear(struct host *h, struct rte_mbuf *m, const struct frame *f)
{
    if (f->kind == FRAME_ARP) {
        host_count(h, COUNT_rx_arp);
    } else if (link_is_ours(h, &f->dst) &&
               neigh_echo(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len, f, &h->cfg.mac)) {
        host_count(h, COUNT_rx_echo);
        m->ol_flags = 0;
        reply_other(h, m);
        return LINK_TAKEN;
    }
    return neighbor_hear(h, m, f);
}
