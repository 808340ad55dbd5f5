/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next hop of a connection: its peer, if that is on the link, otherwise the gateway of the
 * family. The neighbour table gives the next hop's MAC address. A connection looks this address up
 * each time that it sends, so that news of a neighbour reaches every connection.
 *
 * A frame's source MAC address is used only if it proves something: in a packet that shows our key
 * and is newer than all before (a replayed one is not), and only for a peer on the link. A frame
 * that comes through a gateway has the MAC address of some router's interface, which need not be
 * the one to send to (VRRP, RFC 5798 8.1.2; two routers). If no gateway is configured, packets go
 * to the MAC address from which the peer's packets came, since nothing else is known.
 */
#include <string.h>

#include "host/host_internal.h"

int route_family(const struct host *h, const struct addr *a)
{
    for (int i = 0; i < 2; i++)
        if (!addr_is_unset(&h->cfg.address[i]) && addr_is_v4(&h->cfg.address[i]) == addr_is_v4(a))
            return i;
    return -1;
}

static bool on_link(const struct host *h, int family, const struct addr *peer)
{
    return addr_same_prefix(peer, &h->cfg.address[family], h->cfg.prefix_len[family]) ||
           addr_is_link_local(peer);
}

/* The next hop to a peer whose family is route_family()'s. NULL: the peer is off the link, and
 * there is no gateway. */
const struct addr *route_hop(const struct host *h, int family, const struct addr *peer)
{
    if (on_link(h, family, peer))
        return peer;
    return addr_is_unset(&h->cfg.gateway[family]) ? NULL : &h->cfg.gateway[family];
}

/* Sends a question about `target` to the station `mac`; mac NULL: to every station. */
static void route_ask(struct host *h, const struct addr *target, const struct rte_ether_addr *mac)
{
    int family = route_family(h, target);
    uint8_t bytes[NEIGH_FRAME_MAX];

    if (family < 0 || claim_yields(h, &h->cfg.address[family]))
        return;
    const struct addr *own = &h->cfg.address[family];
    uint16_t len = mac != NULL ? neigh_put_poll(bytes, &h->cfg.mac, own, target, mac, h->cfg.vlan)
                               : neigh_put_request(bytes, &h->cfg.mac, own, target, h->cfg.vlan);

    host_count(h, COUNT_tx_arp);
    reply_neighbor(h, bytes, len, false);
}

void route_start(struct host *h, struct conn *c)
{
    int family = route_family(h, &c->peer);
    const struct addr *gateway = &h->cfg.gateway[family];

    c->nexthop.direct = on_link(h, family, &c->peer) || addr_is_unset(gateway);
    c->nexthop.addr = c->nexthop.direct ? &c->peer : gateway;
}

void route_refresh(struct host *h, struct conn *c)
{
    if (c->nexthop.known)
        neighbor_at(&h->neighbors, c->nexthop.neighbor, c->nexthop.addr, h->now, &c->route.dst_mac);
}

/* The frame that opens the connection came from `mac`, so the answer goes there at once. The
 * gateway may be another station; its MAC address is asked for meanwhile. */
void route_accept(struct host *h, struct conn *c, const struct rte_ether_addr *mac)
{
    route_start(h, c);
    c->route.dst_mac = *mac;
    c->nexthop.known = true;
    c->nexthop.neighbor = neighbor_slot(&h->neighbors, c->nexthop.addr);
    if (neighbor_fixed(&h->neighbors, c->nexthop.neighbor, c->nexthop.addr))
        route_refresh(h, c);
    if (!c->nexthop.direct && !neighbor_at(&h->neighbors, c->nexthop.neighbor, c->nexthop.addr,
                                           h->now, &c->route.dst_mac)) {
        neighbor_doubt(&h->neighbors, c->nexthop.addr, NULL, h->now);
        c->nexthop.neighbor = neighbor_slot(&h->neighbors, c->nexthop.addr);
    }
}

/* Puts the connection into host.route_waiting: it looks for its next hop again when any neighbour
 * becomes known. If that list is full, it looks again when its timer fires. */
static void route_wait(struct host *h, struct conn *c)
{
    if (c->nexthop.waits || h->route_waiting_count == HOST_ROUTE_WAITING_MAX)
        return;
    c->nexthop.waits = true;
    h->route_waiting[h->route_waiting_count++] = c->index;
}

bool route_resolve(struct host *h, struct conn *c)
{
    bool ask;

    if (c->nexthop.known)
        return true;
    c->nexthop.known =
        neighbor_find(&h->neighbors, c->nexthop.addr, h->now, &c->route.dst_mac, &ask);
    if (ask)
        route_ask(h, c->nexthop.addr, NULL);
    if (!c->nexthop.known) {
        route_wait(h, c);
        return false;
    }
    c->nexthop.neighbor = neighbor_slot(&h->neighbors, c->nexthop.addr);
    c->handshake.crowded = neighbor_was_lost(&h->neighbors, c->nexthop.addr, h->now);
    return true;
}

void route_heard(struct host *h, struct conn *c, const struct rte_ether_addr *mac)
{
    if (!c->nexthop.direct || (c->nexthop.proved && rte_is_same_ether_addr(&c->route.dst_mac, mac)))
        return;
    c->nexthop.proved = true;
    if (neighbor_fixed(&h->neighbors, c->nexthop.neighbor, c->nexthop.addr))
        return;
    c->route.dst_mac = *mac;
    c->nexthop.known = true;
    route_learn(h, c->nexthop.addr, mac, NEIGHBOR_PROOF);
    c->nexthop.neighbor = neighbor_slot(&h->neighbors, c->nexthop.addr);
}

void route_doubt(struct host *h, struct conn *c)
{
    if (!c->nexthop.known)
        return;
    route_refresh(h, c);
    /* Until the peer has proved itself, anybody may have sent the FIRST that the MAC address is
     * from: then it is asked of all stations. */
    neighbor_doubt(&h->neighbors, c->nexthop.addr, c->nexthop.proved ? &c->route.dst_mac : NULL,
                   h->now);
    c->nexthop.neighbor = neighbor_slot(&h->neighbors, c->nexthop.addr);
    c->nexthop.doubt_at = h->now + neighbor_quick(&h->neighbors);
    conn_timer_at(h, c, c->nexthop.doubt_at);
}

/* Looks whether the next hop has another MAC address. If so, the connection sends there at once:
 * its timers may be far away, since each wait for an answer is longer than the last one. */
void route_again(struct host *h, struct conn *c)
{
    struct rte_ether_addr before = c->route.dst_mac;

    c->nexthop.doubt_at = TIME_NEVER;
    route_refresh(h, c);
    if (!rte_is_same_ether_addr(&before, &c->route.dst_mac)) {
        c->nexthop.unanswered_at = c->nexthop.unseen_at = 0;
        conn_want(h, c, c->state == HOST_OPENING ? WANT_FIRST : WANT_CNTL | WANT_SREQ | WANT_FORCE);
        conn_has_data(h, c);
    } else if (neighbor_doubted(&h->neighbors, c->nexthop.neighbor)) {
        c->nexthop.doubt_at = h->now + neighbor_quick(&h->neighbors);
    }
}

/* Is an answer overdue to what was sent at `at` (0: nothing was)? While DATA flow, a peer may leave
 * its repeat_us between two CNTL. The peer does not advertise its repeat_us, so ours is taken in
 * its place. */
static bool overdue(const struct host *h, const struct conn *c, uint64_t at)
{
    if (at == 0 || h->now - at <= neighbor_quick(&h->neighbors))
        return false;
    uint64_t repeat = clock_cycles(&h->clock, h->cfg.repeat_us * 1000ull);

    return h->now - at > 2 * (conn_wait_tsc(h, c) + repeat);
}

void route_say(struct host *h, struct conn *c, bool asks)
{
    if (overdue(h, c, c->nexthop.unanswered_at))
        route_doubt(h, c);
    if (asks && c->nexthop.unanswered_at == 0)
        c->nexthop.unanswered_at = h->now;
    if (c->nexthop.unseen_at == 0)
        c->nexthop.unseen_at = h->now;
}

void route_seen(struct host *h, struct conn *c, uint32_t cntl, uint64_t packets)
{
    bool newer = cntl != 0 && seq32_before(c->nexthop.seen_cntl, cntl);

    if (!newer && packets <= c->nexthop.seen_packets) {
        if (overdue(h, c, c->nexthop.unseen_at))
            route_doubt(h, c);
        return;
    }
    if (newer) {
        c->nexthop.seen_cntl = cntl;
        conn_release_cntl(h, c);
    }
    c->nexthop.seen_packets = RTE_MAX(c->nexthop.seen_packets, packets);
    c->nexthop.unanswered_at = c->nexthop.unseen_at = 0;
}

void route_learn(struct host *h, const struct addr *a, const struct rte_ether_addr *mac,
                 enum neighbor_word word)
{
    uint32_t n = h->route_waiting_count;

    if (!neighbor_learn(&h->neighbors, a, mac, word, h->now))
        return;
    h->route_waiting_count = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct conn *c = &h->conns[h->route_waiting[i]];

        c->nexthop.waits = false;
        if (c->state == HOST_OPENING && !c->nexthop.known)
            conn_want(h, c, WANT_FIRST);
    }
}

void route_run(struct host *h)
{
    struct neighbor_question q;

    while (neighbor_ask(&h->neighbors, h->now, &q))
        route_ask(h, &q.addr, q.all ? NULL : &q.mac);
}
