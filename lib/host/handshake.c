/* SPDX-License-Identifier: BSD-3-Clause */
/* FIRST in and out: connections begin. */
#include <string.h>

#include "host/host_internal.h"

#define COOKIE_EPOCH_NS 120000000000ull /* a cookie holds for one to two of these */

/* Until the peer knows its first grant, it has at most FLIGHT_BYTES under way (pacing_flight()),
 * whatever burst its FIRST asked for. */
static void usage_start(struct host *h, struct conn *c)
{
    usage_init(&c->usage, h->cfg.hz, CONN_SILENCE_STEPS * h->silence_step_tsc, h->cfg.mtu,
               (uint64_t)FLIGHT_BYTES + h->cfg.mtu, h->now);
}

/* Gives a connection just taken from the table its parts. The caller has set its state, WAITING or
 * OPENING. */
void conn_start(struct host *h, struct conn *c, uint64_t first_rate_Bps, uint64_t first_burst_bytes)
{
    struct vt_sender_config tx = {
        .ring = h->requests + (size_t)c->index * h->cfg.depth,
        .depth = h->cfg.depth,
        .spans = h->spans + (size_t)c->index * 2 * h->cfg.gaps,
        .gaps = h->cfg.gaps,
        .pages = h->pages + (size_t)c->index * 2 * h->cfg.gaps,
        .page_count = h->cfg.gaps,
        .initial_request = (uint32_t)secret_u64(&h->random),
        .unit_bytes = conn_unit_max(h, &c->peer, c->security.sealed),
        .early = h->cfg.early,
        .ask_max_tsc = conn_silence_step(h),
        .go_back_n = c->go_back_n,
    };
    struct vt_receiver_config rx = {
        .ring = h->buffers + (size_t)c->index * h->cfg.depth,
        .depth = h->cfg.depth,
        .spans = tx.spans + h->cfg.gaps,
        .gaps = h->cfg.gaps,
        .pages = tx.pages + h->cfg.gaps,
        .page_count = h->cfg.gaps,
        .initial_request = (uint32_t)secret_u64(&h->random),
        .go_back_n = c->go_back_n,
    };

    c->unit.peer_max_bytes = WIRE_UNIT_MAX; /* until it says what it takes */
    vt_sender_init(&c->tx, &tx);
    vt_receiver_init(&c->rx, &rx);
    rtt_init(&c->rtt);
    rtt_init(&c->answer);
    c->ecn.state = h->cfg.ecn_off ? ECN_OFF : ECN_TESTING;
    c->pacing.rate_Bps = first_rate_Bps;
    c->pacing.burst_bytes = first_burst_bytes;
    credit_init(&c->pacing.credit, h->cfg.hz, first_rate_Bps, first_burst_bytes, h->now);
    c->pacing.peak_Bps = 0;
    c->pacing.contract = (struct contract){0};
    pacing_contract(h, c);
    conn_rate_apply(h, c);
    pacing_flight(c, 0, 0);
    c->heard_at = c->handshake.begun_at = h->now;
    c->handshake.first_at = c->nak.at = c->cntl.repeat_at = c->alive_at = c->close.linger_at =
        TIME_NEVER;
    c->cntl.held_at = TIME_NEVER;
    c->nexthop.doubt_at = TIME_NEVER;
    c->timer_at = TIME_NEVER;
    counter_set(&c->pub.unit_bytes, tx.unit_bytes);
    counter_set(&c->pub.rx_unit_bytes, tx.unit_bytes);
    usage_start(h, c);
    path_grant_start(c);
    occupancy_grant_start(h, c);
    grant_idle(h, c);
}

struct frame_route route_back(const struct host *h, const struct frame *f)
{
    return (struct frame_route){
        .src_mac = h->cfg.mac,
        .dst_mac = f->src_mac,
        .vlan = h->cfg.vlan,
        .src = f->dst,
        .dst = f->src,
        .sport = f->dport,
        .dport = f->sport,
    };
}

/*
 * Answers a FIRST and keeps nothing of it, in a packet smaller than the FIRST: with a cookie, or
 * with END (cookie 0) if no connection will come of it.
 */
static void first_answer(struct host *h, const struct frame *f, const struct wire_first *v,
                         struct table_entry *e, uint64_t cookie)
{
    struct frame_route route = route_back(h, f);
    struct wire_cntl a;
    uint8_t bytes[WIRE_CNTL_BYTES + WIRE_TRAILER_BYTES];

    memset(&a, 0, sizeof a);
    a.h.key = v->h.key;
    a.h.association = e != NULL ? e->remote : 0;
    a.h.flags = cookie == 0 ? WIRE_END : 0;
    a.end = cookie == 0 ? WIRE_END_NOBODY : WIRE_END_NONE;
    a.cookie = cookie;
    a.own_key = v->h.key;
    a.seq = 1;
    a.unit_max = conn_unit_max(h, &f->src, e != NULL);
    a.ack = a.sent = pos_make(v->initial_request, 0);
    a.posted = v->initial_request;
    a.initial_request = a.close_request = v->answer_request;
    a.echo_ns = v->time_ns;
    uint32_t len = wire_put_cntl(bytes, &a);

    if (e != NULL)
        len = security_seal(h, e, &route, bytes, len);
    reply_other(h, tx_packet(h, &route, bytes, len));
}

/*
 * The cookie that a peer must repeat, to show that its address is not forged. A FIRST needs the
 * cookie while at least as many accepted connections are unproven as still wait for the service. So
 * FIRST packets with forged sources cannot use up all waiting connections.
 *
 * A cookie is for one service at one of our addresses, and for an epoch and the next one. A
 * stranger that had an address once cannot use its cookies for long, nor elsewhere.
 */
static uint64_t cookie_make(const struct host *h, const struct frame *f, const struct wire_first *v,
                            uint64_t epoch)
{
    uint64_t words[7] = {0};

    memcpy(words, &f->src, sizeof f->src);
    memcpy(words + 2, &f->dst, sizeof f->dst);
    words[4] = (uint64_t)v->service << 32 | (uint64_t)f->sport << 16 | f->dport;
    words[5] = v->h.key;
    words[6] = epoch;
    return secret_hash(&h->cookies, words, RTE_DIM(words)) | 1;
}

/* Does the FIRST repeat a cookie of this epoch or the last one? If not, it is answered with one. */
static bool cookie_right(struct host *h, const struct frame *f, const struct wire_first *v)
{
    uint64_t epoch = host_now_ns(h) / COOKIE_EPOCH_NS;
    uint64_t cookie = cookie_make(h, f, v, epoch);

    if (v->cookie == cookie || v->cookie == cookie_make(h, f, v, epoch - 1))
        return true;
    host_count(h, COUNT_drop_no_cookie);
    first_answer(h, f, v, NULL, cookie);
    return false;
}

/* A waiting connection becomes the peer's. */
static void first_accept(struct host *h, struct conn *c, const struct frame *f,
                         const struct wire_first *v, struct table_entry *e)
{
    c->peer = f->src;
    c->peer_key = v->h.key;
    c->go_back_n = v->capabilities & WIRE_CAP_GO_BACK_N;
    c->route = route_back(h, f);
    route_accept(h, c, &f->src_mac);
    c->handshake.allowance = WIRE_FIRST_BYTES;
    if (e != NULL) {
        /* only the peer can have sealed the FIRST, and it is new: the address is not forged */
        c->security = (struct conn_security){.sealed = true, .peer = e->peer};
        security_heard(h, c, e);
        c->handshake.proven = true;
    } else {
        c->handshake.unproven = true;
        h->unproven++;
    }
    vt_receiver_set_initial(&c->rx, v->initial_request);
    vt_sender_set_initial(&c->tx, v->answer_request);
    c->rx.go_back_n = c->tx.go_back_n = c->go_back_n;
    usage_start(h, c);
    c->unit.peer_max_bytes = v->unit_max;
    unit_apply(h, c);
    c->cntl.peer_time_ns = v->time_ns;
    c->cntl.peer_time_at = c->heard_at = c->handshake.begun_at = h->now;
    host_count(h, COUNT_conns_accepted);
    conn_opened(h, c, 0);
    grant_newcomer(h, c);
    conn_want(h, c, WANT_CNTL);
    conn_timer_update(h, c);
}

void first_take(struct host *h, const struct frame *f, const struct wire_first *v,
                struct table_entry *e)
{
    struct conn_early_key key = {f->src, v->h.key, f->sport};
    struct conn *c = table_early_find(h, &key);

    if (c != NULL) {
        if (!security_matches(h, c, e))
            return;
        c->handshake.allowance += WIRE_FIRST_BYTES;
        host_count(h, COUNT_drop_first_duplicate);
        conn_want(h, c, WANT_CNTL);
        return;
    }
    struct host_service *s = table_service(h, v->service);

    /* Before all else: the answer must not depend on whether anybody listens there. */
    if (!security_serves(h, e, v->service)) {
        host_count(h, COUNT_drop_not_allowed);
        first_answer(h, f, v, e, 0);
        return;
    }
    if (s == NULL) {
        host_count(h, COUNT_drop_no_listener);
        first_answer(h, f, v, e, 0);
        return;
    }
    if (s->head == NONE) {
        host_count(h, COUNT_drop_no_accept);
        return;
    }
    if (e == NULL && h->unproven >= s->waiting && !cookie_right(h, f, v))
        return;
    c = &h->conns[s->head];
    if (table_early_add(h, c, &key) != 0) {
        host_count(h, COUNT_conns_full);
        return;
    }
    table_service_remove(h, c);
    first_accept(h, c, f, v, e);
}
