/* SPDX-License-Identifier: BSD-3-Clause */
/* What control has decided about associations, and what follows for connections: new keys, old ones
 * that are over, peers that came and went. */
#include <errno.h>

#include "base/check.h"
#include "host/host_internal.h"
#include "wire/assoc.h"

/* Something may have become possible for the connections of this peer. */
static void peer_wake(struct host *h, uint32_t peer)
{
    for (uint32_t i = 0; i < h->cfg.conns; i++) {
        struct conn *c = &h->conns[i];

        if (c->state == HOST_FREE || c->state == HOST_WAITING || !c->security.sealed ||
            c->security.peer != peer || (c->state == HOST_OPEN && !c->security.waits))
            continue;
        if (c->state == HOST_OPENING)
            c->handshake.tries = 0; /* FIRST was never sent, or not under these keys */
        conn_want(h, c, c->state == HOST_OPENING ? WANT_FIRST : WANT_CNTL);
        conn_has_data(h, c);
    }
}

/* Does the connection's peer still have the key, or lack of one, with which it began, and may it
 * still use the service? */
static bool conn_stays(const struct host *h, const struct conn *c)
{
    const struct assoc_rights *rights;

    if (c->state == HOST_FREE || c->state == HOST_WAITING) /* there is no peer yet */
        return true;
    if (!c->security.sealed)
        return security_peer_of(h, &c->peer) == ASSOC_PEER_NONE;
    rights = h->peers[c->security.peer].rights;
    return rights != NULL && (c->opener || assoc_rights_allow(rights, c->service));
}

/* Nothing goes plain to this connection's peer any more, not even END. */
static void plain_end(struct host *h, struct conn *c)
{
    conn_over(h, c, -ENOTCONN, WIRE_END_ABORT, false);
    c->want = 0; /* if it was over before */
    c->handshake.first_at = TIME_NEVER;
    conn_timer_update(h, c);
}

/* Ends the connections of peers that are gone, or have other keys, and those to services that their
 * peer may not use any more, while there are keys to say so; and the plain ones of peers that have
 * a key now. */
static void networks_take(struct host *h, struct mail_networks *networks)
{
    h->networks = networks;
    for (uint32_t i = 0; i < assoc_numbers(h->cfg.secured_max); i++)
        h->peers[i].rights = NULL;
    for (uint32_t i = 0; i < networks->n; i++)
        h->peers[networks->at[i].peer].rights = &networks->at[i].rights;
    for (uint32_t i = 0; i < h->cfg.conns; i++) {
        struct conn *c = &h->conns[i];

        if (c->state == HOST_CLOSED)
            c->security.heard = false; /* its peer's number may be another peer's now */
        if (conn_stays(h, c))
            continue;
        if (c->security.sealed)
            conn_over(h, c, -EACCES, WIRE_END_ABORT, true);
        else
            plain_end(h, c);
    }
}

/* Is the packet of MAIL_ASK still wanted, and is it known where it goes? */
static bool ask_wanted(const struct host *h, const struct mail *m)
{
    const struct conn *c = &h->conns[m->conn];

    return (c->state == HOST_OPENING || c->state == HOST_OPEN) && c->security.sealed &&
           c->security.peer == m->peer && c->nexthop.known;
}

/* Takes what control has decided, and returns to it what it must free. */
static void decision_take(struct host *h, struct mail *m)
{
    struct mail back = {0};

    if (m->down == MAIL_INSTALL) {
        table_install(&h->table, &m->keys, m->seal, m->open, m->firsts, host_now_ns(h));
        if (m->keys.outgoing)
            peer_wake(h, m->keys.peer);
        return;
    }
    if (m->down == MAIL_REMOVE) {
        back.up = MAIL_REMOVED;
        back.slot = m->slot;
        table_remove(&h->table, m->slot, &back.seal, &back.open);
    } else {
        back.up = MAIL_NETWORKS_OLD;
        back.networks = h->networks;
        networks_take(h, m->networks);
    }
    CHECK(mail_put(h->mailbox.up, &back));
}

/* An INIT goes the way of the connection that wants it. A repeated one goes from the port that it
 * was first sent from, though it may be for another connection by then: the peer answers a repeated
 * INIT only to where it came from. */
static void init_route(struct host *h, struct mail *m)
{
    struct secured_peer *peer = &h->peers[m->peer];
    uint64_t number = wire_init_number(m->bytes);

    m->route = h->conns[m->conn].route;
    if (peer->asked == number)
        m->route.sport = peer->asked_sport;
    peer->asked = number;
    peer->asked_sport = m->route.sport;
}

bool rekey_run(struct host *h, struct mail *m)
{
    /* an answer to control needs room */
    while (host_waits_for_worker(h) && mail_room(h->mailbox.up) > 0 &&
           mail_get(h->mailbox.down, m)) {
        if (m->down != MAIL_ANSWER && m->down != MAIL_ASK) {
            decision_take(h, m);
            continue;
        }
        if (m->down == MAIL_ASK) {
            if (!ask_wanted(h, m))
                continue;
            init_route(h, m);
        }
        host_count(h, COUNT_tx_handshake);
        return true;
    }
    return false;
}
