/* SPDX-License-Identifier: BSD-3-Clause */
/* See fake_host.h. */
#include "unit/client/fake_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "host/host.h"

struct fake_op {
    struct host_piece pieces[2];
    uint64_t user;
    uint32_t wait; /* rounds until it continues */
    bool provisional, first_done;
};

struct fake_queue {
    struct fake_op *ops; /* ring of depth */
    uint32_t head, count;
};

struct fake_conn {
    enum host_state state;
    struct addr address; /* of the peer, as host_connect() was told */
    uint64_t owner, open_user, shut_user;
    uint32_t peer; /* HOST_CONN_NONE: no peer, or no longer one */
    uint16_t service;
    bool opener, shut, shut_done, peer_done, closed;
    bool refreshed;                      /* host_conn_refresh() was called */
    uint64_t tx_limit_Bps, rx_limit_Bps; /* host_limit() */
    uint32_t linger;                     /* closed: rounds until gone */
    uint32_t pending;                    /* completions not taken yet */
    struct fake_queue sends, recvs;
    uint64_t tx_bytes, rx_bytes;
};

struct host {
    struct fake_host_config cfg;
    struct host_config shown;
    struct rng rng;
    struct fake_conn *conns;
    struct host_completion *done; /* ring */
    uint32_t done_size, done_head, done_count;
    uint16_t services[HOST_SERVICES_MAX];
    struct fake_counts counts;
    volatile uint64_t checksum;
};

static void count_add(uint64_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

struct host *fake_host_create(const struct fake_host_config *cfg)
{
    struct host *h = calloc(1, sizeof *h);
    uint32_t i;

    CHECK(h != NULL);
    h->cfg = *cfg;
    h->shown.hz = 1000000000;
    h->shown.depth = cfg->depth;
    h->shown.conns = cfg->conns;
    rng_init(&h->rng, cfg->seed);
    h->conns = calloc(cfg->conns, sizeof *h->conns);
    h->done_size = cfg->conns * (4 * cfg->depth + 8);
    h->done = calloc(h->done_size, sizeof *h->done);
    CHECK(h->conns != NULL && h->done != NULL);
    for (i = 0; i < cfg->conns; i++) {
        h->conns[i].sends.ops = calloc(cfg->depth, sizeof(struct fake_op));
        h->conns[i].recvs.ops = calloc(cfg->depth, sizeof(struct fake_op));
        CHECK(h->conns[i].sends.ops != NULL && h->conns[i].recvs.ops != NULL);
    }
    return h;
}

void fake_host_destroy(struct host *h)
{
    uint32_t i;

    for (i = 0; i < h->cfg.conns; i++) {
        free(h->conns[i].sends.ops);
        free(h->conns[i].recvs.ops);
    }
    free(h->conns);
    free(h->done);
    free(h);
}

void fake_host_counts(const struct host *h, struct fake_counts *out)
{
    int i;

    out->conns = __atomic_load_n(&h->counts.conns, __ATOMIC_RELAXED);
    out->services = __atomic_load_n(&h->counts.services, __ATOMIC_RELAXED);
    out->operations = __atomic_load_n(&h->counts.operations, __ATOMIC_RELAXED);
    for (i = 0; i < 8; i++)
        out->ends[i] = __atomic_load_n(&h->counts.ends[i], __ATOMIC_RELAXED);
}

const struct host_config *host_get_config(const struct host *h)
{
    return &h->shown;
}

uint32_t host_conn_limit(const struct host *h)
{
    return h->cfg.conns;
}

static uint32_t fake_wait(struct host *h)
{
    return h->cfg.linger > 0 ? (uint32_t)rng_below(&h->rng, h->cfg.linger + 1) : 0;
}

static struct fake_conn *fake_conn(struct host *h, uint32_t conn)
{
    CHECK(conn < h->cfg.conns && h->conns[conn].state != HOST_FREE);
    return &h->conns[conn];
}

static void fake_done(struct host *h, struct fake_conn *c, enum host_op op, uint64_t user,
                      uint64_t len, int status, bool provisional)
{
    CHECK(h->done_count < h->done_size);
    h->done[(h->done_head + h->done_count++) % h->done_size] =
        (struct host_completion){.user = user,
                                 .owner = c->owner,
                                 .len = len,
                                 .conn = (uint32_t)(c - h->conns),
                                 .status = status,
                                 .op = (uint8_t)op,
                                 .provisional = provisional};
    c->pending++;
}

/* ---- operations ------------------------------------------------------------------------- */

int host_listen(struct host *h, uint16_t service)
{
    uint32_t i, used = 0, at = HOST_SERVICES_MAX;

    for (i = 0; i < HOST_SERVICES_MAX; i++) {
        if (h->services[i] == service)
            return -EADDRINUSE;
        if (h->services[i] == 0)
            at = i;
        else
            used++;
    }
    if (used >= h->cfg.services_max || at == HOST_SERVICES_MAX)
        return -ENOSPC;
    h->services[at] = service;
    __atomic_store_n(&h->counts.services, used + 1, __ATOMIC_RELAXED);
    return 0;
}

static bool fake_listens(const struct host *h, uint16_t service)
{
    uint32_t i;

    for (i = 0; i < HOST_SERVICES_MAX; i++) {
        if (service != 0 && h->services[i] == service)
            return true;
    }
    return false;
}

static int64_t fake_open(struct host *h, uint16_t service, uint64_t owner, uint64_t user)
{
    uint32_t i;

    /* The lowest free number, so that numbers are reused at once. */
    for (i = 0; i < h->cfg.conns && h->conns[i].state != HOST_FREE; i++)
        ;
    if (i == h->cfg.conns)
        return -ENOSPC;
    h->conns[i] = (struct fake_conn){.state = HOST_WAITING,
                                     .owner = owner,
                                     .open_user = user,
                                     .address = addr_from_v4(0x0a000001 + i),
                                     .peer = HOST_CONN_NONE,
                                     .service = service,
                                     .sends.ops = h->conns[i].sends.ops,
                                     .recvs.ops = h->conns[i].recvs.ops};
    __atomic_fetch_add(&h->counts.conns, 1, __ATOMIC_RELAXED);
    count_add(&h->counts.operations);
    return i;
}

int64_t host_connect(struct host *h, const struct host_connect *op, uint64_t now)
{
    int64_t i;

    if (addr_is_unset(&op->peer) || addr_is_multicast(&op->peer))
        return -EINVAL;
    i = fake_open(h, op->service, op->owner, op->user);
    if (i >= 0) {
        h->conns[i].state = HOST_OPENING;
        h->conns[i].opener = true;
        h->conns[i].address = op->peer;
    }
    return i;
}

int64_t host_accept(struct host *h, uint16_t service, uint64_t owner, uint64_t user)
{
    return fake_listens(h, service) ? fake_open(h, service, owner, user) : -ENOENT;
}

static int fake_put(struct host *h, struct fake_conn *c, struct fake_queue *q,
                    const struct fake_op *op)
{
    if (c->state == HOST_CLOSED || c->closed)
        return -ENOTCONN;
    if (q->count == h->cfg.depth)
        return -ENOBUFS;
    q->ops[(q->head + q->count++) % h->cfg.depth] = *op;
    count_add(&h->counts.operations);
    return 0;
}

int host_send(struct host *h, uint32_t conn, const struct host_send *op, uint64_t now)
{
    struct fake_conn *c = fake_conn(h, conn);
    struct fake_op f = {.pieces = {op->pieces[0], op->pieces[1]},
                        .user = op->user,
                        .wait = fake_wait(h),
                        .provisional = op->provisional};

    return c->shut ? -EPIPE : fake_put(h, c, &c->sends, &f);
}

int host_recv(struct host *h, uint32_t conn, uint8_t *data, uint64_t len, uint64_t user,
              uint64_t now)
{
    struct fake_conn *c = fake_conn(h, conn);
    struct fake_op f = {.pieces = {{.data = data, .len = len}}, .user = user};

    return fake_put(h, c, &c->recvs, &f);
}

int host_shutdown(struct host *h, uint32_t conn, uint64_t user, uint64_t now)
{
    struct fake_conn *c = fake_conn(h, conn);

    if (c->state == HOST_CLOSED || c->closed)
        return -ENOTCONN;
    if (c->shut)
        return -EPIPE;
    c->shut = true;
    c->shut_user = user;
    return 0;
}

int host_limit(struct host *h, uint32_t conn, uint64_t tx_Bps, uint64_t rx_Bps, uint64_t now)
{
    struct fake_conn *c = fake_conn(h, conn);

    c->tx_limit_Bps = tx_Bps;
    c->rx_limit_Bps = rx_Bps;
    return 0;
}

uint64_t host_port_rate(const struct host *h)
{
    return 10 * h->cfg.tx_rate_Bps;
}

/* ---- the round -------------------------------------------------------------------------- */

static struct fake_op *queue_first(const struct fake_queue *q)
{
    return q->count > 0 ? &q->ops[q->head] : NULL;
}

static void queue_drop(struct host *h, struct fake_queue *q)
{
    q->head = (q->head + 1) % h->cfg.depth;
    q->count--;
}

/* Completes all that is outstanding, with status. The operations stay in their rings for
 * fake_read(). */
static void fake_cancel(struct host *h, struct fake_conn *c, int status)
{
    uint32_t i;

    if (c->state == HOST_OPENING)
        fake_done(h, c, HOST_CONNECT, c->open_user, 0, status, false);
    if (c->state == HOST_WAITING)
        fake_done(h, c, HOST_ACCEPT, c->open_user, 0, status, false);
    for (i = 0; i < c->sends.count; i++) {
        struct fake_op *op = &c->sends.ops[(c->sends.head + i) % h->cfg.depth];

        if (op->provisional && !op->first_done)
            fake_done(h, c, HOST_SEND, op->user, 0, status, true);
        fake_done(h, c, HOST_SEND, op->user, 0, status, false);
    }
    for (i = 0; i < c->recvs.count; i++)
        fake_done(h, c, HOST_RECV, c->recvs.ops[(c->recvs.head + i) % h->cfg.depth].user, 0, status,
                  false);
    if (c->shut && !c->shut_done)
        fake_done(h, c, HOST_SHUTDOWN, c->shut_user, 0, status, false);
    c->shut_done = true;
    c->state = HOST_CLOSED;
}

void host_unlisten(struct host *h, uint16_t service)
{
    uint32_t i, used = 0;

    CHECK(fake_listens(h, service));
    for (i = 0; i < HOST_SERVICES_MAX; i++) {
        if (h->services[i] == service)
            h->services[i] = 0;
        used += h->services[i] != 0;
    }
    __atomic_store_n(&h->counts.services, used, __ATOMIC_RELAXED);
    for (i = 0; i < h->cfg.conns; i++) {
        struct fake_conn *c = &h->conns[i];

        if (c->state == HOST_WAITING && c->service == service && !c->closed) {
            fake_cancel(h, c, -ECANCELED);
            c->sends.count = c->recvs.count = 0;
        }
    }
}

void host_close(struct host *h, uint32_t conn, enum wire_end end, uint64_t now)
{
    struct fake_conn *c = fake_conn(h, conn);

    CHECK(!c->closed);
    c->closed = true;
    c->linger = fake_wait(h);
    count_add(&h->counts.ends[end]);
    if (c->peer != HOST_CONN_NONE) {
        struct fake_conn *p = &h->conns[c->peer];

        p->peer = HOST_CONN_NONE;
        if (p->state != HOST_CLOSED && !(p->shut_done && c->shut_done)) {
            fake_cancel(h, p, -ECONNRESET);
            p->sends.count = p->recvs.count = 0;
        }
        p->peer_done = true;
        c->peer = HOST_CONN_NONE;
    }
    if (c->state != HOST_CLOSED)
        fake_cancel(h, c, -ECANCELED);
}

void host_deny(struct host *h, uint32_t conn, uint64_t now)
{
    struct fake_conn *c = fake_conn(h, conn);

    if (c->state == HOST_CLOSED)
        return;
    if (c->peer != HOST_CONN_NONE) {
        struct fake_conn *p = &h->conns[c->peer];

        p->peer = HOST_CONN_NONE;
        fake_cancel(h, p, -ECONNRESET);
        p->sends.count = p->recvs.count = 0;
        c->peer = HOST_CONN_NONE;
    }
    fake_cancel(h, c, -EACCES);
    c->sends.count = c->recvs.count = 0;
}

const char *host_conn_peer_name(const struct host *h, uint32_t conn)
{
    return h->cfg.peer_name != NULL && !h->conns[conn].opener ? h->cfg.peer_name : "";
}

bool host_conn_gone(const struct host *h, uint32_t conn)
{
    CHECK(conn < h->cfg.conns);
    return h->conns[conn].state == HOST_FREE;
}

/* A port may still read the data of a closed connection's sends. */
static void fake_read(struct host *h, const struct fake_conn *c)
{
    uint32_t i, k;

    for (i = 0; i < c->sends.count; i++) {
        const struct fake_op *op = &c->sends.ops[(c->sends.head + i) % h->cfg.depth];

        for (k = 0; k < 2; k++) {
            if (op->pieces[k].len > 0)
                h->checksum += op->pieces[k].data[0] + op->pieces[k].data[op->pieces[k].len - 1];
        }
    }
}

static void fake_free(struct host *h, struct fake_conn *c)
{
    c->sends.count = c->recvs.count = 0;
    c->state = HOST_FREE;
    __atomic_fetch_sub(&h->counts.conns, 1, __ATOMIC_RELAXED);
}

static void fake_step_open(struct host *h, struct fake_conn *c)
{
    uint32_t i;

    if (!fake_listens(h, c->service)) {
        fake_cancel(h, c, -ECONNREFUSED);
        c->sends.count = c->recvs.count = 0;
        return;
    }
    for (i = 0; i < h->cfg.conns; i++) {
        struct fake_conn *p = &h->conns[i];

        if (p->state != HOST_WAITING || p->closed || p->service != c->service)
            continue;
        p->peer = (uint32_t)(c - h->conns);
        c->peer = i;
        p->state = c->state = HOST_OPEN;
        fake_done(h, p, HOST_ACCEPT, p->open_user, 0, 0, false);
        fake_done(h, c, HOST_CONNECT, c->open_user, 0, 0, false);
        return;
    }
}

/* The first piece moves, then the second (some rounds later if provisional). memmove(), because the
 * buffers of a hostile client may overlap. */
static void fake_step_send(struct host *h, struct fake_conn *c, struct fake_conn *p)
{
    struct fake_op *s = queue_first(&c->sends), *r = queue_first(&p->recvs);
    uint64_t len;

    if (s == NULL || r == NULL)
        return;
    if (s->wait > 0) {
        s->wait--;
        return;
    }
    len = s->pieces[0].len + s->pieces[1].len;
    if (len > r->pieces[0].len) {
        if (s->provisional)
            fake_done(h, c, HOST_SEND, s->user, 0, -EMSGSIZE, true);
        fake_done(h, c, HOST_SEND, s->user, 0, -EMSGSIZE, false);
        fake_done(h, p, HOST_RECV, r->user, 0, -EMSGSIZE, false);
    } else {
        if (!s->first_done && s->pieces[0].len > 0)
            memmove(r->pieces[0].data, s->pieces[0].data, s->pieces[0].len);
        if (s->provisional && !s->first_done) {
            s->first_done = true;
            s->wait = fake_wait(h);
            fake_done(h, c, HOST_SEND, s->user, s->pieces[0].len, 0, true);
            return;
        }
        if (s->pieces[1].len > 0)
            memmove(r->pieces[0].data + s->pieces[0].len, s->pieces[1].data, s->pieces[1].len);
        c->tx_bytes += len;
        p->rx_bytes += len;
        fake_done(h, c, HOST_SEND, s->user, len, 0, false);
        fake_done(h, p, HOST_RECV, r->user, len, 0, false);
    }
    queue_drop(h, &c->sends);
    queue_drop(h, &p->recvs);
}

static void fake_step_shut(struct host *h, struct fake_conn *c, struct fake_conn *p)
{
    if (c->shut && !c->shut_done && c->sends.count == 0) {
        c->shut_done = true;
        fake_done(h, c, HOST_SHUTDOWN, c->shut_user, 0, 0, false);
    }
    if (c->shut_done && queue_first(&p->recvs) != NULL) {
        fake_done(h, p, HOST_RECV, queue_first(&p->recvs)->user, 0, -ENODATA, false);
        queue_drop(h, &p->recvs);
    }
}

static void fake_step(struct host *h, struct fake_conn *c)
{
    if (c->closed) {
        fake_read(h, c);
        if (c->linger > 0)
            c->linger--;
        else if (c->pending == 0)
            fake_free(h, c);
        return;
    }
    if (c->state == HOST_OPENING)
        fake_step_open(h, c);
    if (c->state == HOST_OPEN && c->peer_done && queue_first(&c->recvs) != NULL) {
        fake_done(h, c, HOST_RECV, queue_first(&c->recvs)->user, 0, -ENODATA, false);
        queue_drop(h, &c->recvs);
    }
    if (c->state == HOST_OPEN && c->peer != HOST_CONN_NONE) {
        fake_step_send(h, c, &h->conns[c->peer]);
        fake_step_shut(h, c, &h->conns[c->peer]);
    }
}

uint32_t host_completions(struct host *h, struct host_completion *out, uint32_t max)
{
    uint32_t i, n = 0;

    for (i = 0; i < h->cfg.conns; i++) {
        if (h->conns[i].state != HOST_FREE)
            fake_step(h, &h->conns[i]);
    }
    for (; n < max && h->done_count > 0; n++) {
        out[n] = h->done[h->done_head];
        h->done_head = (h->done_head + 1) % h->done_size;
        h->done_count--;
        h->conns[out[n].conn].pending--;
    }
    return n;
}

void host_conn_refresh(struct host *h, uint32_t conn, uint64_t now)
{
    (void)now;
    h->conns[conn].refreshed = true;
}

const char *host_reason_name(uint16_t reason)
{
    return reason == 9 ? "queue" : "capacity";
}

bool host_conn_info(const struct host *h, uint32_t conn, struct host_conn_info *out)
{
    const struct fake_conn *c = &h->conns[conn];

    CHECK(conn < h->cfg.conns);
    if (c->state == HOST_FREE)
        return false;
    *out = (struct host_conn_info){.state = c->state,
                                   .peer = c->address,
                                   .peer_port = 47800,
                                   .service = c->service,
                                   .owner = c->owner,
                                   .opener = c->opener,
                                   .unit_bytes = 1400,
                                   .tx_rate_Bps =
                                       c->tx_limit_Bps != 0 ? c->tx_limit_Bps : h->cfg.tx_rate_Bps,
                                   .rx_rate_Bps = c->rx_limit_Bps,
                                   .tx_reason = 9,
                                   .rx_reason = 2,
                                   .tx_app_limited_ns = c->refreshed ? 1000 : 0,
                                   .tx_peer_limited_ns = c->refreshed ? 2000 : 0,
                                   .tx_rate_limited_ns = c->refreshed ? 3000 : 0,
                                   .rtt_ns = h->cfg.rtt_ns,
                                   .tx_bytes = c->tx_bytes,
                                   .rx_bytes = c->rx_bytes};
    return true;
}
