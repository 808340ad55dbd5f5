/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of applications, and their completions. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "host/host_internal.h"

#define LINGER_LOOKS 8u /* connections a poll, of two cache lines each: less than a microsecond */

int host_listen(struct host *h, uint16_t service)
{
    if (service == 0)
        return -EINVAL;
    if (table_service(h, service) != NULL)
        return -EADDRINUSE;
    struct host_service *s = table_service(h, 0);

    if (s == NULL)
        return -ENOSPC;
    s->head = s->tail = NONE;
    counter_set(&s->number, service);
    return 0;
}

void host_unlisten(struct host *h, uint16_t service)
{
    struct host_service *s = service != 0 ? table_service(h, service) : NULL;

    if (s == NULL)
        return;
    while (s->head != NONE) {
        struct conn *c = &h->conns[s->head];

        table_service_remove(h, c);
        conn_over(h, c, -ECANCELED, WIRE_END_ABORT, false);
    }
    counter_set(&s->number, 0);
}

int64_t host_connect(struct host *h, const struct host_connect *op, uint64_t now)
{
    int family = route_family(h, &op->peer);

    host_clock(h, now);
    if (addr_is_unset(&op->peer) || addr_is_multicast(&op->peer) || family < 0 ||
        op->service == 0 || addr_equal(&op->peer, &h->cfg.address[family]))
        return -EINVAL;
    if (op->first_bytes > h->cfg.mtu)
        return -EMSGSIZE;
    if (route_hop(h, family, &op->peer) == NULL)
        return -EHOSTUNREACH;
    if (claim_yields(h, &h->cfg.address[family]))
        return -EADDRNOTAVAIL;
    struct conn *c = table_new(h);

    if (c == NULL)
        return -ENOSPC;
    c->state = HOST_OPENING;
    c->opener = c->handshake.proven = true;
    c->go_back_n = op->go_back_n;
    c->owner = op->owner;
    c->handshake.done.user = op->user;
    c->peer = op->peer;
    c->service = op->service;
    c->handshake.first_bytes = op->first_bytes;
    c->route = (struct frame_route){
        .src_mac = h->cfg.mac,
        .vlan = h->cfg.vlan,
        .src = h->cfg.address[family],
        .dst = op->peer,
        .dport = op->peer_port != 0 ? op->peer_port : WIRE_UDP_PORT,
    };
    int refused = security_connect(h, c);

    if (refused != 0) {
        c->state = HOST_CLOSED;
        table_free(h, c);
        return refused;
    }
    source_choose(h, &c->route);
    route_start(h, c);
    conn_start(h, c, op->first_rate_Bps != 0 ? op->first_rate_Bps : h->cfg.first_rate_Bps,
               op->first_burst_bytes != 0 ? op->first_burst_bytes : h->cfg.first_burst_bytes);
    conn_publish(c);
    c->handshake.first_at = now + clock_cycles(&h->clock, 1000000);
    conn_want(h, c, WANT_FIRST);
    conn_timer_update(h, c);
    return c->index;
}

int64_t host_accept(struct host *h, uint16_t service, uint64_t owner, uint64_t user)
{
    struct host_service *s = service != 0 ? table_service(h, service) : NULL;

    if (s == NULL)
        return -ENOENT;
    struct conn *c = table_new(h);

    if (c == NULL)
        return -ENOSPC;
    c->state = HOST_WAITING;
    c->owner = owner;
    c->handshake.done.user = user;
    c->service = service;
    conn_start(h, c, h->cfg.first_rate_Bps, h->cfg.first_burst_bytes);
    conn_publish(c);
    if (s->head == NONE)
        s->head = c->index;
    else
        h->conns[s->tail].service_next = c->index;
    s->tail = c->index;
    counter_add(&s->waiting, 1);
    return c->index;
}

/* The connection with this number; NULL if it is free or the application has closed it. */
static struct conn *user_conn(struct host *h, uint32_t conn)
{
    struct conn *c = conn < h->cfg.conns ? &h->conns[conn] : NULL;

    return c == NULL || c->state == HOST_FREE || c->released ? NULL : c;
}

int host_send(struct host *h, uint32_t conn, const struct host_send *op, uint64_t now)
{
    struct conn *c = user_conn(h, conn);

    host_clock(h, now);
    if (c == NULL)
        return -ENOTCONN;
    if (c->state == HOST_CLOSED)
        return c->close.status;
    struct vt_send send = {.provisional = op->provisional, .user = op->user, .posted_tsc = now};

    for (unsigned int i = 0; i < 2; i++)
        send.pieces[i] = (struct vt_piece){op->pieces[i].data, op->pieces[i].len};
    int rc = vt_sender_post(&c->tx, &send);

    if (rc != 0)
        return rc;
    counter_set(&c->pub.backlog_bytes, c->tx.backlog_bytes);
    if (c->tx.ask_at == TIME_NEVER && c->state == HOST_OPEN) {
        c->tx.ask_at = now + 2 * conn_wait_tsc(h, c); /* ask even if the peer posts no buffer */
        conn_timer_at(h, c, c->tx.ask_at);
    }
    if (op->provisional && op->pieces[0].len == 0)
        conn_has_completion(h, c);
    conn_has_data(h, c);
    return 0;
}

int host_recv(struct host *h, uint32_t conn, uint8_t *data, uint64_t len, uint64_t user,
              uint64_t now)
{
    struct conn *c = user_conn(h, conn);
    bool ask;

    host_clock(h, now);
    if (c == NULL)
        return -ENOTCONN;
    int rc = vt_receiver_post(&c->rx, data, len, user, &ask);

    if (rc != 0)
        return rc;
    if (c->state == HOST_OPEN)
        conn_want(h, c, WANT_CNTL | (ask ? WANT_FORCE : 0));
    if (c->state == HOST_CLOSED || c->rx.closing)
        conn_has_completion(h, c); /* this receive completes after those posted before */
    return 0;
}

int host_shutdown(struct host *h, uint32_t conn, uint64_t user, uint64_t now)
{
    struct conn *c = user_conn(h, conn);

    host_clock(h, now);
    if (c == NULL)
        return -ENOTCONN;
    if (c->state == HOST_CLOSED)
        return c->close.status;
    if (c->close.asked || c->close.done.due || c->tx.closing)
        return -EPIPE;
    c->tx.closing = true;
    c->close.asked = true;
    c->close.done.user = user;
    if (c->state == HOST_OPEN) {
        conn_want(h, c, WANT_CNTL);
        if (c->tx.ask_at == TIME_NEVER)
            c->tx.ask_at = now + 2 * conn_wait_tsc(h, c);
        conn_timer_update(h, c);
        conn_close_check(h, c);
    }
    return 0;
}

int host_limit(struct host *h, uint32_t conn, uint64_t tx_Bps, uint64_t rx_Bps, uint64_t now)
{
    struct conn *c = user_conn(h, conn);

    host_clock(h, now);
    if (c == NULL)
        return -ENOTCONN;
    c->pacing.limit_Bps = RTE_MIN(tx_Bps, CREDIT_RATE_MAX_BPS);
    counter_set(&c->pub.rx_limit_Bps, rx_Bps);
    if (c->state == HOST_CLOSED)
        return 0;
    conn_rate_apply(h, c);
    path_grant_join(c);
    if (c->state == HOST_OPEN)
        conn_want(h, c, WANT_CNTL);
    return 0;
}

void host_close(struct host *h, uint32_t conn, enum wire_end end, uint64_t now)
{
    CHECK(conn < h->cfg.conns);
    struct conn *c = &h->conns[conn];

    host_clock(h, now);
    if (c->state == HOST_FREE || c->released)
        return;
    c->released = true;
    if (c->state == HOST_WAITING)
        table_service_remove(h, c);
    if (c->state != HOST_CLOSED)
        conn_over(h, c, -ECANCELED, end, true);
    conn_free_check(h, c);
}

void host_deny(struct host *h, uint32_t conn, uint64_t now)
{
    struct conn *c = user_conn(h, conn);

    host_clock(h, now);
    if (c != NULL && (c->state == HOST_OPENING || c->state == HOST_OPEN))
        conn_over(h, c, -EACCES, WIRE_END_ABORT, true);
}

bool host_conn_gone(const struct host *h, uint32_t conn)
{
    const struct conn *c = &h->conns[conn];

    return c->state == HOST_FREE || (c->state == HOST_CLOSED && vt_sender_idle(&c->tx));
}

void host_conn_refresh(struct host *h, uint32_t conn, uint64_t now)
{
    struct conn *c = user_conn(h, conn);

    host_clock(h, now);
    if (c != NULL)
        conn_limited(h, c);
}

/* A completion of what was sent, received or shut down; false if none is ready. */
static bool transfer_next(const struct host *h, struct conn *c, struct host_completion *out)
{
    struct vt_received r;
    struct vt_sent s;

    if (vt_receiver_complete(&c->rx, &r)) {
        out->op = HOST_RECV;
        out->user = r.user;
        out->len = r.len;
        out->status = r.status;
        return true;
    }
    if (vt_sender_complete(&c->tx, &s)) {
        out->op = HOST_SEND;
        out->user = s.user;
        out->len = s.status == 0 ? s.len : 0;
        out->status = s.status;
        out->provisional = s.provisional;
        if (!s.provisional && s.status == 0 && h->now >= s.posted_tsc)
            spread_add(&c->pub.spread.latency_ns, clock_ns(&h->clock, h->now - s.posted_tsc));
        return true;
    }
    if (c->close.done.due && c->tx.base == c->tx.tail) {
        c->close.done.due = false;
        out->op = HOST_SHUTDOWN;
        out->user = c->close.done.user;
        out->status = c->close.done.status;
        return true;
    }
    return false;
}

/*
 * The connection's next completion; false if none is ready. Until a peer has proved its address,
 * all that comes from it may be forged, so no request completes. If the proof never comes, all
 * requests fail, even those that were placed or acknowledged.
 */
static bool completion_next(const struct host *h, struct conn *c, struct host_completion *out)
{
    *out = (struct host_completion){.owner = c->owner, .conn = c->index};
    if (c->handshake.done.due) {
        c->handshake.done.due = false;
        out->op = c->opener ? HOST_CONNECT : HOST_ACCEPT;
        out->user = c->handshake.done.user;
        out->status = c->handshake.done.status;
        return true;
    }
    if (!c->handshake.proven && c->state == HOST_OPEN)
        return false;
    if (!transfer_next(h, c, out))
        return false;
    if (!c->handshake.proven) {
        out->len = 0;
        out->status = c->close.status;
    }
    return true;
}

/* A connection's turn in host_completions(): takes its completions, at most max. */
static uint32_t completions_take(struct host *h, struct conn *c, struct host_completion *out,
                                 uint32_t max)
{
    uint32_t n = 0;

    while (n < max && completion_next(h, c, &out[n]))
        n++;
    if (n == max)
        conn_has_completion(h, c);
    else if (vt_sender_lingers(&c->tx))
        conn_lingers(h, c);
    else
        conn_free_check(h, c);
    return n;
}

/* A port does not tell when the last mbuf that refers to a request's memory is free. So the
 * connections that wait for this are checked a few at a time, in turn. A poll's work does not grow
 * with the number of such connections. */
uint32_t host_completions(struct host *h, struct host_completion *out, uint32_t max)
{
    uint32_t last = h->done_list.tail; /* each connection has one turn a call */
    uint32_t n = 0;

    while (n < max && h->done_list.head != NONE) {
        struct conn *c = LIST_POP(h, done_list, done_link);

        n += completions_take(h, c, out + n, max - n);
        if (c->index == last)
            break;
    }
    last = h->linger_list.tail;
    for (uint32_t i = 0; i < LINGER_LOOKS && n < max && h->linger_list.head != NONE; i++) {
        struct conn *c = LIST_POP(h, linger_list, linger_link);

        n += completions_take(h, c, out + n, max - n);
        if (c->index == last)
            break;
    }
    return n;
}
