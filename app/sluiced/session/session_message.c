/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads, checks and answers requests of clients. A request that needs memory faulted in, or
 * workers' agreement, stays pending. Until it is answered, nothing more is read from that client.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "base/check.h"
#include "client/fds.h"
#include "sluiced/session/fd_closer.h"
#include "sluiced/session/session_state.h"

void session_heard(struct sessions *s, struct session *x, uint32_t channel,
                   const struct channel_message *m)
{
    CHECK(x->pending.type != 0 && x->pending.waiting > 0);
    x->pending.waiting--;
    if (m->status == 0)
        x->pending.agreed |= 1ull << channel;
    else if (x->pending.status == 0)
        x->pending.status = m->status;
}

/* ---- SESSION ---------------------------------------------------------------------------- */

/* Makes the workers' halves of the session, which point into the client's rings. */
static int session_halves(struct sessions *s, struct session *x)
{
    const struct protocol_session *q = &x->pending.session;
    struct protocol_layout l =
        protocol_layout_for(q->channels, q->sq_entries, q->cq_entries, q->handles);
    uint32_t i;

    x->channels = calloc(s->cfg.n_hosts, sizeof *x->channels);
    x->regions = calloc(PROTOCOL_REGIONS_MAX, sizeof *x->regions);
    if (x->channels == NULL || x->regions == NULL)
        return -ENOMEM;
    for (i = 0; i < PROTOCOL_REGIONS_MAX; i++)
        x->regions[i].fd = -1;
    for (i = 0; i < s->cfg.n_hosts; i++) {
        uint8_t *at = x->memory.base + i * l.channel_bytes;
        struct channel_session *cs = rte_zmalloc(NULL, sizeof *cs, RTE_CACHE_LINE_SIZE);

        if (cs == NULL)
            return -ENOMEM;
        x->channels[i] = cs;
        cs->ring = (struct protocol_channel *)at;
        cs->sq = (struct protocol_submission *)(at + l.sq_offset);
        cs->cq = (struct protocol_completion *)(at + l.cq_offset);
        cs->statuses = (struct protocol_status *)(x->memory.base + l.status_offset);
        cs->sq_mask = q->sq_entries - 1;
        cs->cq_mask = q->cq_entries - 1;
        cs->handle_limit = q->handles;
        cs->wake_fd = x->wake_fd;
        cs->slot = (uint16_t)x->slot;
        cs->user = x->user_rights;
    }
    return 0;
}

static void session_halves_free(struct sessions *s, struct session *x)
{
    uint32_t i;

    for (i = 0; x->channels != NULL && i < s->cfg.n_hosts; i++)
        rte_free(x->channels[i]);
    free(x->channels);
    free(x->regions);
    x->channels = NULL;
    x->regions = NULL;
    if (x->wake_fd >= 0)
        close(x->wake_fd);
    x->wake_fd = -1;
    session_map_close(s, x, &x->memory);
}

static void session_ask_session(struct sessions *s, struct session *x,
                                const struct protocol_request *q, int fd)
{
    const struct protocol_session *p = &q->u.session;
    int err;

    if (x->state != SESSION_NEW || p->channels != s->cfg.n_hosts ||
        !protocol_ring_ok(p->sq_entries, PROTOCOL_RING_MAX) ||
        !protocol_ring_ok(p->cq_entries, PROTOCOL_RING_MAX) || p->handles == 0 ||
        p->handles > s->handles ||
        p->len_bytes != protocol_layout_for(p->channels, p->sq_entries, p->cq_entries, p->handles)
                            .total_bytes) {
        if (fd >= 0)
            fd_closer_add(fd, x->uid);
        session_reply(x, q->type, -EINVAL, "the session's sizes are not within the limits");
        return;
    }
    x->pending = (struct session_pending){.type = q->type, .step = SESSION_STEP_MAP, .session = *p};
    err = session_map_open(s, x, fd, p->len_bytes, &x->memory, x->pending.text);
    if (err < 0)
        session_pending_reply(x, err, x->pending.text);
}

static void session_go_session(struct sessions *s, struct session *x)
{
    struct protocol_reply a = {.type = PROTOCOL_SESSION};
    struct epoll_event e = {.events = EPOLLIN | EPOLLET};
    int r, fd;

    if (x->pending.step == SESSION_STEP_MAP) {
        r = session_map_step(s, &x->memory, x->pending.text);
        if (r == 0)
            return;
        if (r > 0) {
            x->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
            if (x->wake_fd < 0 || session_halves(s, x) < 0) {
                snprintf(x->pending.text, sizeof x->pending.text,
                         "sluiced has no memory or descriptors for another session");
                r = -ENOMEM;
            }
        }
        if (r < 0) {
            session_halves_free(s, x);
            session_pending_reply(x, r, x->pending.text);
            return;
        }
        session_pending_tell_all(s, x, CHANNEL_ATTACH, NULL);
    }
    if (x->pending.waiting > 0)
        return;
    CHECK(x->pending.status == 0);
    x->state = SESSION_OPEN;
    x->pending.type = 0;
    fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, x->wake_fd, &e) < 0)
        session_end(s, x, WIRE_END_ABORT, -EMFILE, "sluiced has no descriptor for it");
    else
        session_say(x, &a, NULL, 0, fd);
    if (fd >= 0)
        close(fd);
}

/* ---- HELLO, ROUTE, SHOW ----------------------------------------------------------------- */

static void session_ask_hello(struct sessions *s, struct session *x,
                              const struct protocol_request *q, int fd)
{
    struct protocol_reply a = {.type = PROTOCOL_HELLO};

    a.u.limits = (struct protocol_limits){.channels = s->cfg.n_hosts,
                                          .sq_entries = PROTOCOL_RING_MAX,
                                          .cq_entries = PROTOCOL_RING_MAX,
                                          .handles = s->handles,
                                          .regions = PROTOCOL_REGIONS_MAX,
                                          .depth = s->depth,
                                          .quota_bytes = s->cfg.quota_bytes,
                                          .used_bytes = x->user->used_bytes};
    x->greeted = true;
    session_say(x, &a, NULL, 0, -1);
}

static void session_ask_route(struct sessions *s, struct session *x,
                              const struct protocol_request *q, int fd)
{
    struct protocol_reply a = {.type = PROTOCOL_ROUTE};
    char where[ADDR_TEXT_MAX];
    struct addr peer;
    int channel;

    memcpy(peer.b, q->u.peer, sizeof peer.b);
    channel = s->cfg.route(s->cfg.ctx, &peer);
    if (!session_may_connect(s, x, &peer, a.text)) {
        a.status = -EACCES;
    } else if (channel < 0) {
        a.status = channel;
        snprintf(a.text, sizeof a.text,
                 "no port leads to %s (%s): check the address, and gateway and prefix in "
                 "sluiced's configuration",
                 addr_format(&peer, where), strerror(-channel));
    } else {
        CHECK((uint32_t)channel < s->cfg.n_hosts);
        a.u.channel = (uint32_t)channel;
    }
    session_say(x, &a, NULL, 0, -1);
}

/* Sends a part of x->show. */
static void session_show_part(struct session *x, const struct protocol_show *p)
{
    struct protocol_reply a = {.type = PROTOCOL_SHOW};
    uint64_t left;

    if (x->show == NULL || p->offset > x->show_bytes) {
        a.status = -EINVAL;
        snprintf(a.text, sizeof a.text, "'%s' cannot be shown: try conns or ports", p->what);
        session_say(x, &a, NULL, 0, -1);
        return;
    }
    left = x->show_bytes - p->offset;
    a.u.part.offset = p->offset;
    a.u.part.total_bytes = x->show_bytes;
    a.u.part.len_bytes = left < PROTOCOL_PART_MAX ? (uint32_t)left : PROTOCOL_PART_MAX;
    session_say(x, &a, x->show + p->offset, a.u.part.len_bytes, -1);
    if (left <= PROTOCOL_PART_MAX) {
        free(x->show);
        x->show = NULL;
    }
}

/* Makes the text, once it is this session's turn: a text of many connections takes a while, in
 * which control does nothing else for anybody. */
static void session_go_show(struct sessions *s, struct session *x)
{
    const struct protocol_show *p = &x->pending.show;

    if (s->texts == 0)
        return;
    s->texts--;
    free(x->show);
    x->show = s->cfg.show != NULL ? s->cfg.show(s->cfg.ctx, p->what, &x->user_rights) : NULL;
    x->show_bytes = x->show != NULL ? strlen(x->show) : 0;
    x->pending.type = 0;
    session_show_part(x, p);
}

static void session_ask_show(struct sessions *s, struct session *x,
                             const struct protocol_request *q, int fd)
{
    struct protocol_show p = q->u.show;

    p.what[sizeof p.what - 1] = 0;
    if (p.offset == 0) /* its step is the first one: the text is not made if the session ends */
        x->pending = (struct session_pending){.type = q->type, .show = p};
    else
        session_show_part(x, &p);
}

static void session_ask_ring(struct sessions *s, struct session *x,
                             const struct protocol_request *q, int fd)
{
    if (q->u.channel < s->cfg.n_hosts)
        channels_ring(s->channels[q->u.channel]);
}

static void session_ask_command(struct sessions *s, struct session *x,
                                const struct protocol_request *q, int fd)
{
    struct protocol_reply a = {.type = PROTOCOL_COMMAND, .status = -EOPNOTSUPP};

    s->line[q->u.command_bytes] = 0;
    if (!x->user_rights.all) {
        a.status = -EPERM;
        snprintf(a.text, sizeof a.text,
                 "only root and the user that runs sluiced may change its settings");
    } else if (s->cfg.command != NULL) {
        a.status = s->cfg.command(s->cfg.ctx, s->line, a.text, sizeof a.text);
    }
    session_say(x, &a, NULL, 0, -1);
}

/* ---- reading ---------------------------------------------------------------------------- */

static const struct session_request {
    /* Answers the request, or makes it pending. Takes over fd (-1: none) if takes_fd. */
    void (*ask)(struct sessions *s, struct session *x, const struct protocol_request *q, int fd);
    /* Continues the request while it is pending. */
    void (*go)(struct sessions *s, struct session *x);
    bool takes_fd, needs_open;
} session_requests[] = {
    [PROTOCOL_HELLO] = {session_ask_hello, NULL, false, false},
    [PROTOCOL_SESSION] = {session_ask_session, session_go_session, true, false},
    [PROTOCOL_REGION] = {session_ask_region, session_go_region, true, true},
    [PROTOCOL_UNREGION] = {session_ask_unregion, session_go_unregion, false, true},
    [PROTOCOL_LISTEN] = {session_ask_listen, session_go_listen, false, true},
    [PROTOCOL_UNLISTEN] = {session_ask_unlisten, session_go_unlisten, false, true},
    [PROTOCOL_ROUTE] = {session_ask_route, NULL, false, false},
    [PROTOCOL_SHOW] = {session_ask_show, session_go_show, false, false},
    [PROTOCOL_COMMAND] = {session_ask_command, NULL, false, false},
    [PROTOCOL_RING] = {session_ask_ring, NULL, false, false},
    [PROTOCOL_CAPTURE] = {session_ask_capture, NULL, false, true},
};

/* Reads one request into *q, and the bytes behind it into s->line. Returns 1; 0 if no request
 * waits; -1 if the client is gone. *fds: how many descriptors came with the request; *fd: the first
 * of them, or -1. The other descriptors are closed. */
static int session_read(struct sessions *s, struct session *x, struct protocol_request *q,
                        ssize_t *len, int *fd, uint32_t *fds)
{
    union {
        /* Room for as many descriptors as the kernel passes: recvmsg() would close the others, in
         * this thread. */
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec io[2] = {{.iov_base = q, .iov_len = sizeof *q},
                          {.iov_base = s->line, .iov_len = PROTOCOL_COMMAND_MAX}};
    struct msghdr m = {.msg_iov = io,
                       .msg_iovlen = 2,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct fds taken;
    int one;

    memset(q, 0, sizeof *q);
    *fd = -1;
    *fds = 0;
    *len = recvmsg(x->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (*len < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    taken = fds_of(&m);
    while ((one = fds_next(&taken)) >= 0) {
        if ((*fds)++ == 0)
            *fd = one;
        else
            fd_closer_add(one, x->uid);
    }
    if (*len > 0)
        return 1;
    /* A message without bytes looks like the end, and ends the session. It may bring descriptors.
     */
    if (*fd >= 0)
        fd_closer_add(*fd, x->uid);
    *fd = -1;
    return -1;
}

/* Is the request as long as it says? */
static bool request_whole(const struct protocol_request *q, ssize_t len)
{
    size_t more = q->type == PROTOCOL_COMMAND ? q->u.command_bytes : 0;

    return more <= PROTOCOL_COMMAND_MAX && len == (ssize_t)(sizeof *q + more);
}

/* Why the descriptors that came with a request end the session, or NULL if they do not. */
static const char *descriptors_fault(const struct session *x, const struct session_request *r,
                                     uint32_t fds)
{
    if (fds == 0)
        return NULL;
    if (fds > 1 || r == NULL || !r->takes_fd)
        return "protocol error: unexpected descriptors";
    if (fd_closer_crowded(x->uid))
        return "closing descriptors that this user sent is blocked: end the process that blocks it";
    return NULL;
}

static void session_dispatch(struct sessions *s, struct session *x,
                             const struct protocol_request *q, ssize_t len, int fd, uint32_t fds)
{
    const char *fault;
    const struct session_request *r = NULL;
    char text[SESSION_TEXT_MAX] = "protocol error: the client does not use libsluice";
    bool sane = q->magic == PROTOCOL_MAGIC && request_whole(q, len);

    if (sane && q->version == PROTOCOL_VERSION && q->type < RTE_DIM(session_requests) &&
        session_requests[q->type].ask != NULL && (x->greeted || q->type == PROTOCOL_HELLO))
        r = &session_requests[q->type];
    if (sane && q->version != PROTOCOL_VERSION)
        snprintf(text, sizeof text,
                 "sluiced speaks version %u, the client %u: install the same release",
                 PROTOCOL_VERSION, q->version);
    fault = descriptors_fault(x, r, fds);
    if (fd >= 0 && (r == NULL || fault != NULL || (r->needs_open && x->state != SESSION_OPEN))) {
        fd_closer_add(fd, x->uid);
        fd = -1;
    }
    if (r != NULL && fault != NULL)
        session_end(s, x, WIRE_END_ABORT, -EPROTO, fault);
    else if (r == NULL)
        session_end(s, x, WIRE_END_ABORT, -EPROTO, text);
    else if (r->needs_open && x->state != SESSION_OPEN)
        session_reply(x, q->type, -EINVAL, "that needs a session: send its memory first");
    else
        r->ask(s, x, q, fd);
}

static void session_go(struct sessions *s, struct session *x)
{
    if (x->pending.type != 0 && (!x->end_asked || x->pending.step != SESSION_STEP_MAP))
        session_requests[x->pending.type].go(s, x);
}

void session_serve(struct sessions *s, struct session *x)
{
    uint32_t n;

    session_go(s, x);
    for (n = 0; n < SESSION_REQUESTS && x->readable && x->pending.type == 0 && !x->end_asked; n++) {
        struct protocol_request q;
        ssize_t len;
        uint32_t fds;
        int fd, r = session_read(s, x, &q, &len, &fd, &fds);

        if (r == 0)
            x->readable = false;
        else if (r < 0)
            session_end(s, x, WIRE_END_ABORT, 0, NULL);
        else
            session_dispatch(s, x, &q, len, fd, fds);
        session_go(s, x);
    }
    if (x->hung_up)
        session_end(s, x, WIRE_END_ABORT, 0, NULL);
}
