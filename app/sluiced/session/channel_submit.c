/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Submissions: each entry is copied once, checked and started. A malformed entry completes with
 * -EBADMSG. CHANNEL_WRONG_MAX of them, or an index out of range, end the session.
 */
#include <errno.h>
#include <string.h>

#include "sluiced/session/channel.h"

/* Reads client memory once: only this copy counts, whatever the client writes later. */
static struct protocol_submission submit_copy(const struct protocol_submission *from)
{
    union {
        struct protocol_submission e;
        uint64_t words[sizeof(struct protocol_submission) / sizeof(uint64_t)];
    } to;
    const uint64_t *words = (const uint64_t *)from;
    size_t i;

    for (i = 0; i < sizeof to.words / sizeof to.words[0]; i++)
        to.words[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
    return to.e;
}

/* Checks a piece of client memory. *region becomes its region's id + 1, or 0 for an empty piece. */
static int submit_piece(const struct channel_session *cs, const struct protocol_piece *p,
                        struct host_piece *out, uint32_t *region)
{
    const struct channel_region *r;

    *out = (struct host_piece){0};
    *region = 0;
    if (p->zero != 0 || p->len > PROTOCOL_REQUEST_MAX)
        return -EBADMSG;
    if (p->len == 0)
        return 0;
    if (p->region >= PROTOCOL_REGIONS_MAX)
        return -EBADMSG;
    r = &cs->regions[p->region];
    if (r->base == NULL || p->offset > r->len_bytes || p->len > r->len_bytes - p->offset)
        return -EBADMSG;
    out->data = r->base + p->offset;
    out->len = p->len;
    *region = p->region + 1;
    return 0;
}

static void submit_hold(struct channel_session *cs, uint32_t region)
{
    if (region > 0)
        cs->regions[region - 1].refs++;
}

static uint64_t submit_owner(struct channel_session *cs, uint32_t handle)
{
    return (uint64_t)++cs->use << 32 | handle << 16 | cs->slot;
}

/* Marks the handle as in use. conn < 0: opening failed, and the handle has no connection. */
static void submit_activate(struct channels *c, struct channel_session *cs, uint32_t handle,
                            uint64_t owner, int64_t conn)
{
    struct channel_handle *h = &cs->handles[handle];

    *h = (struct channel_handle){
        .owner = owner,
        .status_seq = h->status_seq,
        .conn = conn < 0 ? HOST_CONN_NONE : (uint32_t)conn,
        .outstanding = conn < 0 ? 0 : 1,
        .active_at = (uint16_t)cs->n_active,
        .state = conn < 0 ? CHANNEL_HANDLE_BARE : CHANNEL_HANDLE_OPEN,
    };
    cs->active[cs->n_active++] = (uint16_t)handle;
    channel_status_write(c, cs, handle);
}

static bool submit_listens(const struct channel_session *cs, uint16_t service)
{
    uint8_t i;

    for (i = 0; i < cs->n_services; i++) {
        if (cs->services[i] == service)
            return true;
    }
    return false;
}

static bool submit_zeros(const uint8_t *bytes, size_t n)
{
    uint8_t any = 0;
    size_t i;

    for (i = 0; i < n; i++)
        any |= bytes[i];
    return any == 0;
}

/* A user gets at most three quarters of a host's connections; root can take all. */
static bool submit_allowed(const struct channels *c, const struct channel_session *cs)
{
    uint32_t conns = host_get_config(c->host)->conns, used = 0, i;

    if (cs->user.uid == 0)
        return true;
    for (i = 0; i < c->n_attached; i++)
        used += c->attached[i]->user.uid == cs->user.uid ? c->attached[i]->n_active : 0;
    return used < conns - conns / 4;
}

static int submit_open(struct channels *c, struct channel_session *cs,
                       const struct protocol_submission *e, uint64_t now)
{
    const struct protocol_connect *p = &e->u.connect;
    uint64_t owner;
    int64_t conn;

    if (cs->handles[e->handle].state != CHANNEL_HANDLE_FREE ||
        !submit_zeros(p->zero, sizeof p->zero))
        return -EBADMSG;
    owner = submit_owner(cs, e->handle);
    if (!submit_allowed(c, cs)) {
        conn = -EUSERS;
    } else if (e->op == PROTOCOL_ACCEPT) {
        if (p->udp_port != 0 || p->first_bytes != 0 || !submit_zeros(p->peer, sizeof p->peer))
            return -EBADMSG;
        conn = submit_listens(cs, p->service)
                   ? host_accept(c->host, p->service, owner, channel_cookie(e->user, 0, 0, false))
                   : -ENOENT;
    } else {
        struct host_connect op = {.peer_port = p->udp_port,
                                  .service = p->service,
                                  .first_bytes = p->first_bytes,
                                  .go_back_n = (e->flags & PROTOCOL_GO_BACK_N) != 0,
                                  .owner = owner,
                                  .user = channel_cookie(e->user, 0, 0, false)};

        memcpy(op.peer.b, p->peer, sizeof op.peer.b);
        /* Control has looked already, at ROUTE; but a client may not have asked. */
        conn = access_may_connect(c->access, &cs->user, &op.peer) ? host_connect(c->host, &op, now)
                                                                  : -EACCES;
    }
    submit_activate(c, cs, e->handle, owner, conn);
    return conn < 0 ? (int)conn : 0;
}

static int submit_send(struct channels *c, struct channel_session *cs, struct channel_handle *h,
                       const struct protocol_submission *e, uint64_t now)
{
    struct host_send op = {.provisional = (e->flags & PROTOCOL_PROVISIONAL) != 0};
    uint32_t regions[2];
    int err, i;

    for (i = 0; i < 2; i++) {
        err = submit_piece(cs, &e->u.pieces[i], &op.pieces[i], &regions[i]);
        if (err < 0)
            return err;
    }
    if (op.pieces[0].len + op.pieces[1].len > PROTOCOL_REQUEST_MAX)
        return -EBADMSG;
    op.user = channel_cookie(e->user, regions[0], regions[1], op.provisional);
    err = host_send(c->host, h->conn, &op, now);
    if (err < 0)
        return err;
    submit_hold(cs, regions[0]);
    submit_hold(cs, regions[1]);
    return 0;
}

static int submit_recv(struct channels *c, struct channel_session *cs, struct channel_handle *h,
                       const struct protocol_submission *e, uint64_t now)
{
    struct host_piece piece;
    uint32_t region;
    int err = submit_piece(cs, &e->u.pieces[0], &piece, &region);

    if (err < 0 || e->u.words[3] != 0 || e->u.words[4] != 0 || e->u.words[5] != 0)
        return -EBADMSG;
    err = host_recv(c->host, h->conn, piece.data, piece.len,
                    channel_cookie(e->user, region, 0, false), now);
    if (err == 0)
        submit_hold(cs, region);
    return err;
}

static int submit_limit(struct channels *c, const struct channel_handle *h,
                        const struct protocol_submission *e, uint64_t now)
{
    const struct protocol_limit *l = &e->u.limit;

    if (!submit_zeros((const uint8_t *)l->zero, sizeof l->zero))
        return -EBADMSG;
    return host_limit(c->host, h->conn, l->tx_Bps, l->rx_Bps, now);
}

static uint32_t submit_completions(const struct protocol_submission *e)
{
    return e->op == PROTOCOL_SEND && (e->flags & PROTOCOL_PROVISIONAL) != 0 ? 2 : 1;
}

/* Starts an operation on a handle in use. Returns as submit_start(). A LIMIT is over with that. */
static int submit_use(struct channels *c, struct channel_session *cs,
                      const struct protocol_submission *e, uint64_t now)
{
    struct channel_handle *h = &cs->handles[e->handle];
    int err;

    if (h->state == CHANNEL_HANDLE_FREE || (h->state == CHANNEL_HANDLE_CLOSING && h->close_wanted))
        return -EBADMSG;
    if (e->op == PROTOCOL_CLOSE) {
        h->close_wanted = true;
        h->close_user = e->user;
        channel_handle_close(c, cs, e->handle, WIRE_END_ABORT, now);
        return 0;
    }
    if (h->state != CHANNEL_HANDLE_OPEN)
        return -ENOTCONN;
    if (e->op == PROTOCOL_LIMIT)
        return submit_limit(c, h, e, now);
    if (e->op == PROTOCOL_SEND)
        err = submit_send(c, cs, h, e, now);
    else if (e->op == PROTOCOL_RECV)
        err = submit_recv(c, cs, h, e, now);
    else
        err = host_shutdown(c->host, h->conn, channel_cookie(e->user, 0, 0, false), now);
    if (err == 0)
        h->outstanding += submit_completions(e);
    return err;
}

/* Starts an operation. Returns 0 if its completions come later, or a negative status to complete it
 * with at once. */
static int submit_start(struct channels *c, struct channel_session *cs,
                        const struct protocol_submission *e, uint64_t now)
{
    static const uint8_t flags[PROTOCOL_OPS] = {
        [PROTOCOL_CONNECT] = PROTOCOL_GO_BACK_N,
        [PROTOCOL_SEND] = PROTOCOL_PROVISIONAL,
    };

    if (e->op >= PROTOCOL_OPS || (e->flags & ~flags[e->op]) != 0 || e->zero != 0 || e->zero2 != 0 ||
        e->handle >= cs->handle_limit)
        return -EBADMSG;
    if (e->op == PROTOCOL_CONNECT || e->op == PROTOCOL_ACCEPT)
        return submit_open(c, cs, e, now);
    return submit_use(c, cs, e, now);
}

/* Delivers all completions of an operation that was not started, or is over already. */
static void submit_end(struct channel_session *cs, const struct protocol_submission *e, int status)
{
    struct protocol_completion done = {.user = e->user,
                                       .handle = e->handle,
                                       .status = status,
                                       .op = e->op,
                                       .flags = PROTOCOL_PROVISIONAL};

    if (submit_completions(e) == 2)
        channel_deliver(cs, &done);
    done.flags = 0;
    channel_deliver(cs, &done);
}

uint32_t channel_submit(struct channels *c, struct channel_session *cs, uint64_t now)
{
    uint32_t tail = __atomic_load_n(&cs->ring->sq_tail, __ATOMIC_ACQUIRE);
    uint32_t n = tail - cs->sq_head, taken = 0;

    if (n == 0)
        return 0;
    if (n > cs->sq_mask + 1) {
        channel_fault(c, cs, CHANNEL_FAULT_SQ_INDEX);
        return 0;
    }
    for (; taken < n && taken < CHANNEL_SUBMISSIONS && !cs->faulted; taken++) {
        struct protocol_submission e = submit_copy(&cs->sq[cs->sq_head & cs->sq_mask]);
        int status;

        if (!channel_room(c, cs, submit_completions(&e)))
            break;
        cs->sq_head++;
        cs->owed += submit_completions(&e);
        status = submit_start(c, cs, &e, now);
        if (status < 0 || e.op == PROTOCOL_LIMIT)
            submit_end(cs, &e, status);
        if (status == -EBADMSG && ++cs->wrong >= CHANNEL_WRONG_MAX)
            channel_fault(c, cs, CHANNEL_FAULT_FLOOD);
    }
    if (taken > 0)
        __atomic_store_n(&cs->ring->sq_head, cs->sq_head, __ATOMIC_RELEASE);
    return taken;
}
