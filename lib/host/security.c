/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Associations in a worker. A connection that we open to a peer with a key is sealed, and so is one
 * that begins with a sealed FIRST; it stays so. An opener seals under the peer's newest association
 * (table_current()), an acceptor under the newest of which a packet came. Control makes the
 * associations (association.c), and rekey.c takes them over; messages go both ways (assoc/mail.h).
 */
#include <errno.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "assoc/mac.h"
#include "base/check.h"
#include "host/host_internal.h"
#include "wire/assoc.h"

#define HANDSHAKES_MAX 4u          /* of a peer, in an interval of control */
#define MACS_MAX       64u         /* of INIT, in an interval of control */
#define PEER_MACS_MAX  16u         /* of these, of INIT from the addresses of one peer */
#define WANT_AGAIN_NS  10000000ull /* an association is asked for at most this often */

int security_create(struct host *h)
{
    char name[21];

    if (h->cfg.security == HOST_SECURITY_NONE)
        return 0;
    snprintf(name, sizeof name, "mail%llx", (unsigned long long)(uintptr_t)h);
    h->peers = rte_zmalloc("associations", assoc_numbers(h->cfg.secured_max) * sizeof *h->peers, 0);
    if (h->peers == NULL || mailbox_init(&h->mailbox, name) != 0)
        return -ENOMEM;
    return table_init(&h->table, h->cfg.secured_max, h->cfg.worker);
}

/* Frees what messages that nobody takes any more hold. */
static void mail_free(struct rte_ring *ring)
{
    struct mail m;

    while (ring != NULL && mail_get(ring, &m)) {
        aead_destroy(m.seal);
        aead_destroy(m.open);
        rte_free(m.networks);
    }
}

void security_destroy(struct host *h)
{
    mail_free(h->mailbox.up);
    mail_free(h->mailbox.down);
    mailbox_fini(&h->mailbox);
    table_fini(&h->table);
    rte_free(h->networks);
    rte_free(h->peers);
}

uint32_t security_peer_of(const struct host *h, const struct addr *address)
{
    for (uint32_t i = 0; h->networks != NULL && i < h->networks->n; i++)
        if (assoc_peer_at(h->networks->at[i].address, h->networks->at[i].prefix_len, address))
            return h->networks->at[i].peer;
    return ASSOC_PEER_NONE;
}

int security_connect(struct host *h, struct conn *c)
{
    if (h->cfg.security == HOST_SECURITY_NONE)
        return 0;
    c->security.peer = security_peer_of(h, &c->peer);
    c->security.sealed = c->security.peer != ASSOC_PEER_NONE;
    return c->security.sealed || h->cfg.security == HOST_SECURITY_OFFERED ? 0 : -EACCES;
}

/* Asks control for an association with the connection's peer. */
static void want(struct host *h, const struct conn *c, bool doubt)
{
    uint64_t now_ns = host_now_ns(h), *at = &h->peers[c->security.peer].wanted_ns;
    struct mail m = {
        .up = MAIL_WANT,
        .peer = c->security.peer,
        .conn = c->index,
        .doubt = doubt,
    };

    /* INIT goes by the connection's route, if it is still open */
    if ((c->state != HOST_OPENING && c->state != HOST_OPEN) ||
        (*at != 0 && now_ns - *at < WANT_AGAIN_NS))
        return;
    if (mail_put(h->mailbox.up, &m))
        *at = now_ns == 0 ? 1 : now_ns;
}

bool host_waits_for_control(const struct host *h)
{
    return h->mailbox.up != NULL && mail_waits(h->mailbox.up);
}

bool host_waits_for_worker(const struct host *h)
{
    return h->mailbox.down != NULL && mail_waits(h->mailbox.down);
}

/* ---- sending ---------------------------------------------------------------------------- */

struct table_entry *security_entry(struct host *h, struct conn *c)
{
    struct table_entry *e = NULL;

    if (!c->security.sealed)
        return NULL;
    if (c->opener)
        e = table_current(&h->table, c->security.peer, host_now_ns(h));
    else
        e = table_young(&h->table, c->security.number, host_now_ns(h));
    c->security.waits = e == NULL;
    if (c->opener && (e == NULL || host_now_ns(h) - e->born_ns >= ASSOC_RENEW_NS))
        want(h, c, false);
    return e;
}

void security_doubt(struct host *h, struct conn *c)
{
    const struct table_entry *e = c->security.sealed && c->opener
                                      ? table_current(&h->table, c->security.peer, host_now_ns(h))
                                      : NULL;

    /* a peer that is heard was not restarted: it has no application that accepts */
    if (e != NULL && host_now_ns(h) - e->heard_ns >= ASSOC_DOUBT_NS)
        want(h, c, true);
}

static struct seal_path path_of_route(const struct frame_route *r)
{
    return (struct seal_path){&r->src, &r->dst, r->sport, r->dport};
}

uint32_t security_seal(struct host *h, struct table_entry *e, const struct frame_route *route,
                       uint8_t *p, uint32_t len)
{
    struct seal_path path = path_of_route(route);

    return seal_state(&h->table, e, &path, p, len);
}

/* ---- receiving -------------------------------------------------------------------------- */

/*
 * Is this packet of a handshake, from an address of the peer, to be looked at? If not, it is
 * counted as dropped. Control computes at most HANDSHAKES_MAX of a peer in each of its intervals,
 * so that those that come with one peer's address do not keep those of others out. To forge the
 * address is not enough to use these turns up: an INIT needs a right mac1, and answers to our
 * own INIT, which have its number, have turns of their own. A MAC takes a few microseconds, so only
 * MACS_MAX are computed in an interval, and PEER_MACS_MAX of one peer.
 */
static bool handshake_has_turn(struct host *h, struct secured_peer *peer, const uint8_t *p,
                               const struct wire_header *w)
{
    uint64_t interval = counter_get(&h->start.interval);
    bool init = w->type == WIRE_INIT, ours = !init && w->key == peer->asked;
    uint32_t *turns = init ? &peer->inits : ours ? &peer->own_answers : &peer->answers;

    if (h->macs_interval != interval) {
        h->macs_interval = interval;
        h->macs = 0;
    }
    if (peer->interval != interval) {
        peer->interval = interval;
        peer->inits = peer->answers = peer->own_answers = peer->macs = 0;
    }
    if (*turns == HANDSHAKES_MAX ||
        (init && (h->macs == MACS_MAX || peer->macs == PEER_MACS_MAX))) {
        host_count(h, COUNT_drop_handshake_full);
        return false;
    }
    if (!init) { /* not ours: perhaps another worker has asked */
        ++*turns;
        return true;
    }
    h->macs++;
    peer->macs++;
    if (!mac_first_right(p, h->networks->public_key)) {
        host_count(h, COUNT_drop_handshake_mac);
        return false;
    }
    ++*turns;
    return true;
}

void security_handshake(struct host *h, const uint8_t *p, uint32_t len, const struct wire_header *w,
                        const struct frame_route *back)
{
    uint32_t peer = security_peer_of(h, &back->dst);
    struct mail m = {.up = MAIL_HANDSHAKE, .route = *back, .len = len};

    host_count(h, COUNT_rx_handshake);
    if (peer == ASSOC_PEER_NONE) {
        host_count(h, COUNT_drop_handshake_address);
        return;
    }
    if (!handshake_has_turn(h, &h->peers[peer], p, w))
        return;
    memcpy(m.bytes, p, len);
    /* MAIL_REMOVED must find room: rekey.c */
    if (mail_room(h->mailbox.up) < MAIL_MESSAGES / 2 || !mail_put(h->mailbox.up, &m))
        host_count(h, COUNT_drop_handshake_full);
}

bool security_admit(struct host *h, const struct frame *f, const struct wire_header *w,
                    struct frame *inner, struct table_entry **e)
{
    *e = NULL;
    if (w->association == 0) {
        if (h->cfg.security == HOST_SECURITY_NONE ||
            (w->type == WIRE_RCNTL && f->payload_len == WIRE_RCNTL_PROVEN_BYTES) ||
            (h->cfg.security == HOST_SECURITY_OFFERED &&
             security_peer_of(h, &f->src) == ASSOC_PEER_NONE))
            return true;
        /* plain, from the address of a peer with a key: perhaps a forgery */
        host_count(h, COUNT_drop_plain);
        return false;
    }
    *e = table_find(&h->table, w->association);
    if (*e == NULL) {
        host_count(h, COUNT_drop_association);
        return false;
    }
    if (f->payload_len < WIRE_HEADER_BYTES + WIRE_TRAILER_BYTES) {
        host_count(h, COUNT_drop_wire_short);
        return false;
    }
    *inner = *f;
    inner->payload_len -= WIRE_TRAILER_BYTES;
    if (w->type == WIRE_FIRST) /* what is behind its trailer is padding */
        inner->payload_len = RTE_MIN(inner->payload_len, WIRE_FIRST_BYTES);
    return true;
}

void security_proof_note(struct conn *c, uint64_t proof)
{
    c->security.proofs[c->security.n_proofs++ % CONN_PROOFS] = proof;
}

bool security_router_right(struct host *h, const struct conn *c, const struct wire_rcntl *v)
{
    uint32_t n = RTE_MIN(c->security.n_proofs, CONN_PROOFS);

    if (!c->security.sealed)
        return true;
    for (uint32_t i = 0; i < n && v->proven; i++)
        if (c->security.proofs[i] == v->proof)
            return true;
    host_count(h, COUNT_drop_rcntl_proof);
    return false;
}

bool security_matches(struct host *h, const struct conn *c, const struct table_entry *e)
{
    bool right =
        e == NULL ? !c->security.sealed
                  : c->security.sealed && c->security.peer == e->peer && c->opener == e->outgoing;

    if (!right)
        host_count(h, COUNT_drop_association);
    return right;
}

bool security_serves(const struct host *h, const struct table_entry *e, uint16_t service)
{
    const struct assoc_rights *rights = e != NULL ? h->peers[e->peer].rights : NULL;

    return e == NULL || (rights != NULL && assoc_rights_allow(rights, service));
}

const char *host_conn_peer_name(const struct host *h, uint32_t conn)
{
    const struct conn *c = &h->conns[conn];
    const struct assoc_rights *rights = NULL;

    if (c->state != HOST_FREE && c->security.sealed && c->security.heard)
        rights = h->peers[c->security.peer].rights;
    return rights != NULL ? rights->name : "";
}

static struct seal_path path_of_frame(const struct frame *f)
{
    return (struct seal_path){&f->src, &f->dst, f->sport, f->dport};
}

/* Is a FIRST, which is right, new, and does it come from an address of its peer? */
static bool first_right(struct host *h, struct table_entry *e, uint64_t number,
                        const struct frame *f)
{
    if (e->outgoing || security_peer_of(h, &f->src) != e->peer) {
        host_count(h, COUNT_drop_association);
        return false;
    }
    /* one that another worker handed over has been new there */
    if (h->given || table_first_new(e, number))
        return true;
    host_count(h, COUNT_drop_replay);
    return false;
}

bool security_state_right(struct host *h, struct table_entry *e, const uint8_t *p,
                          const struct frame *f)
{
    struct seal_path path = path_of_frame(f);

    if (!seal_state_right(e, &path, p, f->payload_len)) {
        host_count(h, COUNT_drop_seal);
        return false;
    }
    return (p[0] & 0xf) != WIRE_FIRST ||
           first_right(h, e, wire_parse_trailer(p + f->payload_len), f);
}

const uint8_t *security_data_open(struct host *h, const struct data_seal *seal,
                                  const struct rte_mbuf *m, const struct frame *f)
{
    const uint8_t *clear = seal_data_open(&h->table, seal->e, seal->header, m, f->payload_off,
                                          f->payload_len - WIRE_DATA_BYTES);

    if (clear == NULL)
        host_count(h, COUNT_drop_seal);
    return clear;
}

void security_heard(struct host *h, struct conn *c, struct table_entry *e)
{
    struct mail m = {.up = MAIL_CONFIRM, .number = e->number};

    m.slot = e->number % h->table.slots;
    e->heard_ns = host_now_ns(h);
    c->security.heard = true;
    if (!e->outgoing && !e->confirmed)
        e->confirmed = mail_put(h->mailbox.up, &m);
    if (!c->opener && (c->security.number == 0 || e->born_ns > c->security.number_ns)) {
        c->security.number = e->number;
        c->security.number_ns = e->born_ns;
    }
}
