/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: opening, requests, closing, and their statistics from the daemon. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/probe.h"
#include "client/state.h"

#define CONN_PEERS_MAX 8 /* addresses tried per name */
#define STATUS_SPINS   1000
#define STATUS_NAPS    1000 /* a worker that has lost its core gets it back within some 10 ms */
#define STATUS_NAP_NS  100000

static_assert(SLUICE_PEER_MAX == PROTOCOL_PEER_NAME_MAX, "one limit");

static struct protocol_status *conn_status(const struct sluice_conn *c)
{
    struct sluice *s = c->session;

    return (struct protocol_status *)(s->memory + s->layout.status_offset) + c->handle;
}

static struct sluice_conn *conn_new(struct sluice *s, uint32_t channel)
{
    struct sluice_conn *c;

    if (s->gone)
        return NULL; /* the error message is set already */
    if (s->free_count == 0) {
        client_fail(s, -EMFILE, "the session has %u connections: close some", s->handles);
        return NULL;
    }
    c = calloc(1, sizeof *c);
    if (c == NULL) {
        client_fail(s, -ENOMEM, "no memory for a connection");
        return NULL;
    }
    c->session = s;
    c->channel = channel;
    c->handle = s->free_handles[s->free_first];
    s->free_first = (s->free_first + 1) % s->handles;
    s->free_count--;
    s->conns[c->handle] = c;
    memset(conn_status(c), 0, sizeof(struct protocol_status));
    return c;
}

static void conn_delete(struct sluice_conn *c)
{
    struct sluice *s = c->session;

    s->conns[c->handle] = NULL;
    s->free_handles[(s->free_first + s->free_count) % s->handles] = c->handle;
    s->free_count++;
    free(c);
}

/* Submits the op that opens c; reserves room for the completion of its CLOSE, too. */
static int conn_open(struct sluice_conn *c, struct protocol_submission *e, enum protocol_op kind,
                     uint64_t user, struct sluice_conn **conn)
{
    struct sluice *s = c->session;
    uint32_t op = client_op_take(s, c, kind, user);
    int err;

    if (op == CLIENT_NONE) {
        conn_delete(c);
        return client_fail(s, -ENOMEM, "no memory for a connection");
    }
    e->op = (uint8_t)kind;
    e->handle = c->handle;
    e->user = op;
    err = client_submit(s, c->channel, e, 2);
    if (err < 0) {
        client_op_give(s, op);
        conn_delete(c);
        return err;
    }
    *conn = c;
    return 0;
}

/* Opens a connection; the caller has set what e says besides the peer. */
static int conn_connect(struct sluice *s, const char *host_port, struct protocol_submission *e,
                        uint64_t user, struct sluice_conn **conn)
{
    struct protocol_request q = {.type = PROTOCOL_ROUTE};
    struct protocol_reply a;
    uint8_t peers[CONN_PEERS_MAX][16];
    struct sluice_conn *c;
    uint16_t port;
    int i, n, err = -EHOSTUNREACH;

    *conn = NULL;
    n = client_resolve(s, host_port, peers, CONN_PEERS_MAX, &port);
    if (n < 0)
        return n;
    for (i = 0; i < n && err < 0 && !s->gone; i++) {
        memcpy(q.u.peer, peers[i], sizeof q.u.peer);
        err = client_ask(s, &q, -1, &a, NULL, NULL);
        if (err == 0 && a.u.channel >= s->limits.channels)
            err = client_fail(s, -EPROTO, "the daemon named a channel that it does not have");
    }
    if (err < 0)
        return s->gone ? -ENOTCONN : err;
    c = conn_new(s, a.u.channel);
    if (c == NULL)
        return s->gone ? -ENOTCONN : s->free_count == 0 ? -EMFILE : -ENOMEM;
    memcpy(e->u.connect.peer, peers[i - 1], sizeof e->u.connect.peer);
    e->u.connect.service = port;
    return conn_open(c, e, PROTOCOL_CONNECT, user, conn);
}

int sluice_connect(struct sluice *s, const char *host_port, uint32_t flags, uint64_t user,
                   struct sluice_conn **conn)
{
    struct protocol_submission e = {.flags =
                                        (flags & SLUICE_GO_BACK_N) != 0 ? PROTOCOL_GO_BACK_N : 0};

    *conn = NULL;
    if ((flags & ~(uint32_t)SLUICE_GO_BACK_N) != 0)
        return client_fail(s, -EINVAL, "unknown flag in 0x%x", flags);
    return conn_connect(s, host_port, &e, user, conn);
}

int client_probe(struct sluice *s, const char *host_port, uint32_t packet_bytes,
                 struct sluice_conn **conn)
{
    struct protocol_submission e = {.u.connect.first_bytes = packet_bytes};

    return conn_connect(s, host_port, &e, 0, conn);
}

int sluice_accept(struct sluice *s, uint16_t port, uint32_t channel, uint64_t user,
                  struct sluice_conn **conn)
{
    struct protocol_submission e = {0};
    struct sluice_conn *c;

    *conn = NULL;
    if (channel >= s->limits.channels)
        return client_fail(s, -EINVAL, "no channel %u: there are %u", channel, s->limits.channels);
    c = conn_new(s, channel);
    if (c == NULL)
        return s->gone ? -ENOTCONN : s->free_count == 0 ? -EMFILE : -ENOMEM;
    e.u.connect.service = port;
    return conn_open(c, &e, PROTOCOL_ACCEPT, user, conn);
}

/* Fills the submission's pieces; counts their regions as used, and notes them in the op. */
static int conn_pieces(struct sluice_conn *c, const struct client_request *r, struct client_op *op,
                       struct protocol_submission *e)
{
    struct sluice *s = c->session;
    int i;

    for (i = 0; i < 2; i++) {
        struct client_region *region;

        if (r->len[i] == 0)
            continue;
        region = client_region_find(s, r->data[i], r->len[i]);
        if (region == NULL)
            return client_fail(s, -EFAULT, "%p, %" PRIu64 " bytes: not memory of sluice_alloc()",
                               r->data[i], r->len[i]);
        e->u.pieces[i].region = region->id;
        e->u.pieces[i].offset = (uint64_t)((uintptr_t)r->data[i] - (uintptr_t)region->base);
        e->u.pieces[i].len = r->len[i];
        op->regions[i] = region->id;
        region->uses++;
    }
    return 0;
}

int client_conn_submit(struct sluice_conn *c, const struct client_request *r)
{
    struct sluice *s = c->session;
    uint32_t *outstanding = r->kind == PROTOCOL_SEND ? &c->sends : &c->recvs;
    struct protocol_submission e = {.op = (uint8_t)r->kind, .handle = c->handle};
    bool provisional = r->tail != NULL && r->len[1] > 0;
    uint32_t index;
    struct client_op *op;
    int err;

    if (s->gone)
        return -ENOTCONN;
    if (r->len[0] > SLUICE_REQUEST_MAX || r->len[1] > SLUICE_REQUEST_MAX - r->len[0])
        return client_fail(s, -EMSGSIZE, "a request has at most %llu bytes", SLUICE_REQUEST_MAX);
    if (*outstanding >= s->limits.depth)
        return client_fail(s, -EAGAIN, "%u requests are outstanding: take completions first",
                           *outstanding);
    index = client_op_take(s, c, r->kind, r->user);
    if (index == CLIENT_NONE)
        return client_fail(s, -ENOMEM, "no memory for a request");
    op = &s->ops[index];
    op->sync = r->tail != NULL;
    op->wait = r->wait;
    op->tail = (uint8_t)(op->sync ? r->tail - c->tails : 0);
    e.user = index;
    e.flags = provisional ? PROTOCOL_PROVISIONAL : 0;
    err = conn_pieces(c, r, op, &e);
    if (err == 0)
        err = client_submit(s, c->channel, &e, provisional ? 2 : 1);
    if (err < 0) {
        client_region_release(s, op->regions[0]);
        client_region_release(s, op->regions[1]);
        client_op_give(s, index);
        return err;
    }
    ++*outstanding;
    c->sync_sends += op->sync;
    return 0;
}

int sluice_send(struct sluice_conn *c, const void *data, uint64_t len, uint64_t user)
{
    struct client_request r = {.data = {data}, .len = {len}, .user = user, .kind = PROTOCOL_SEND};

    return client_conn_submit(c, &r);
}

int sluice_recv(struct sluice_conn *c, void *data, uint64_t len, uint64_t user)
{
    struct client_request r = {.data = {data}, .len = {len}, .user = user, .kind = PROTOCOL_RECV};

    return client_conn_submit(c, &r);
}

/* Submits an op without memory of the application. */
static int conn_submit(struct sluice_conn *c, struct protocol_submission *e, enum protocol_op kind,
                       uint64_t user)
{
    struct sluice *s = c->session;
    uint32_t op = client_op_take(s, c, kind, user);
    int err;

    if (op == CLIENT_NONE)
        return client_fail(s, -ENOMEM, "no memory for a request");
    e->op = (uint8_t)kind;
    e->handle = c->handle;
    e->user = op;
    err = client_submit(s, c->channel, e, 1);
    if (err < 0)
        client_op_give(s, op);
    return err;
}

int sluice_shutdown(struct sluice_conn *c, uint64_t user)
{
    struct protocol_submission e = {0};

    return conn_submit(c, &e, PROTOCOL_SHUTDOWN, user);
}

int sluice_limit(struct sluice_conn *c, uint64_t tx_Bps, uint64_t rx_Bps)
{
    struct protocol_submission e = {.u.limit = {.tx_Bps = tx_Bps, .rx_Bps = rx_Bps}};

    return conn_submit(c, &e, PROTOCOL_LIMIT, 0);
}

static void tails_free(struct sluice_conn *c)
{
    int i;

    for (i = 0; i < CLIENT_TAILS; i++)
        sluice_free(c->session, c->tails[i].data);
}

int sluice_conn_close(struct sluice_conn *c)
{
    struct sluice *s = c->session;
    struct protocol_submission e = {.op = PROTOCOL_CLOSE, .handle = c->handle};

    c->closing = true;
    client_ready_drop(s, c);
    e.user = client_op_take(s, c, PROTOCOL_CLOSE, 0);
    if (e.user == CLIENT_NONE) {
        c->closing = false;
        return client_fail(s, -ENOMEM, "no memory for a request");
    }
    if (client_submit(s, c->channel, &e, 0) < 0)
        client_op_give(s, e.user); /* the daemon is gone, and holds no memory */
    else
        while (!c->closed)
            client_wait_some(s);
    if (s->gone)
        client_pump(s); /* completes the connection's ops before it is freed */
    tails_free(c);
    conn_delete(c);
    client_watch_settle(s);
    return 0;
}

/* False: the words are not of one moment, because the daemon died while it wrote them. A worker
 * that lost its core while it wrote them is waited for. */
static bool conn_words(const struct sluice_conn *c, uint64_t w[PROTOCOL_WORDS])
{
    const struct timespec nap = {.tv_nsec = STATUS_NAP_NS};
    uint32_t tries;

    for (tries = 0; tries < STATUS_SPINS + STATUS_NAPS; tries++) {
        if (protocol_status_read(conn_status(c), w))
            return true;
        if (tries >= STATUS_SPINS)
            nanosleep(&nap, NULL);
    }
    return false;
}

int sluice_peer(const struct sluice_conn *c, char *name, size_t name_len)
{
    uint64_t w[PROTOCOL_WORDS];
    char text[PROTOCOL_PEER_NAME_MAX];

    memset(text, 0, sizeof text);
    if (conn_words(c, w))
        memcpy(text, &w[PROTOCOL_PEER_NAME], sizeof text - 1);
    if (name_len > 0)
        name[0] = '\0';
    if (text[0] == '\0')
        return -ENOENT; /* an answer, not a failure: the session's message stays */
    if (strlen(text) >= name_len)
        return client_fail(c->session, -EMSGSIZE, "the peer's name takes %zu bytes: give it room",
                           strlen(text) + 1);
    memcpy(name, text, strlen(text) + 1);
    return 0;
}

static void conn_stats(const struct sluice_conn *c, struct sluice_stats *out)
{
    uint64_t w[PROTOCOL_WORDS];
    char text[INET6_ADDRSTRLEN] = "";
    uint8_t peer[16];
    uint32_t port;
    bool v4;

    conn_words(c, w);
    memset(out, 0, sizeof *out);
    out->tx_rate_Bps = w[PROTOCOL_TX_RATE_BPS];
    out->tx_burst_bytes = w[PROTOCOL_TX_BURST_BYTES];
    out->rx_rate_Bps = w[PROTOCOL_RX_RATE_BPS];
    out->rx_burst_bytes = w[PROTOCOL_RX_BURST_BYTES];
    out->rtt_ns = w[PROTOCOL_RTT_NS];
    out->tx_bytes = w[PROTOCOL_TX_BYTES];
    out->tx_units = w[PROTOCOL_TX_UNITS];
    out->tx_repeats = w[PROTOCOL_TX_REPEATS];
    out->rx_bytes = w[PROTOCOL_RX_BYTES];
    out->rx_units = w[PROTOCOL_RX_UNITS];
    out->rx_lost = w[PROTOCOL_RX_LOST];
    out->rx_momentary_Bps = w[PROTOCOL_RX_MOMENTARY_BPS];
    out->unit_bytes = (uint32_t)w[PROTOCOL_UNIT_STATE];
    out->state = (uint32_t)(w[PROTOCOL_UNIT_STATE] >> 48);
    port = (uint16_t)(w[PROTOCOL_UNIT_STATE] >> 32);
    out->tx_app_limited_ns = w[PROTOCOL_TX_APP_LIMITED_NS];
    out->tx_peer_limited_ns = w[PROTOCOL_TX_PEER_LIMITED_NS];
    out->tx_rate_limited_ns = w[PROTOCOL_TX_RATE_LIMITED_NS];
    memcpy(out->tx_why, &w[PROTOCOL_TX_WHY], sizeof out->tx_why - 1);
    memcpy(out->rx_why, &w[PROTOCOL_RX_WHY], sizeof out->rx_why - 1);
    out->port_Bps = w[PROTOCOL_PORT_BPS];
    memcpy(peer, &w[PROTOCOL_PEER], sizeof peer);
    if ((w[PROTOCOL_PEER] | w[PROTOCOL_PEER_REST]) == 0)
        return;
    v4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)peer);
    inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? peer + 12 : peer, text, sizeof text);
    snprintf(out->peer, sizeof out->peer, v4 ? "%s:%u" : "[%s]:%u", text, port);
}

void sluice_conn_stats_sized(const struct sluice_conn *c, struct sluice_stats *out,
                             size_t size_bytes)
{
    struct sluice_stats stats;

    conn_stats(c, &stats);
    client_sized_copy(out, size_bytes, &stats, sizeof stats);
}
