/* SPDX-License-Identifier: BSD-3-Clause */
/* See session.h: the socket, clients that come and go, the round of the control lcore over them. */
#include "sluiced/session/session.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "base/check.h"
#include "sluiced/session/fd_closer.h"
#include "sluiced/session/session_state.h"

#define SESSION_EVENTS 64

/* ---- the socket ------------------------------------------------------------------------- */

/* Removes a stale socket. It is an error if a daemon serves the socket. */
static int socket_clear(const struct sockaddr_un *a, char *err, size_t err_len)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r;
    struct stat st;

    if (fd < 0) {
        snprintf(err, err_len, "cannot make a socket: %s", strerror(errno));
        return -1;
    }
    r = connect(fd, (const struct sockaddr *)a, sizeof *a) == 0 ? 0 : errno;
    close(fd);
    if (r == 0 || r == EAGAIN) {
        snprintf(err, err_len, "another daemon serves %s: stop it, or give this one its own socket",
                 a->sun_path);
        return -1;
    }
    if (r == ENOENT)
        return 0;
    if (r != ECONNREFUSED || stat(a->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        snprintf(err, err_len, "%s is in the way (%s): remove it, or choose another socket",
                 a->sun_path, strerror(r));
        return -1;
    }
    if (unlink(a->sun_path) < 0) {
        snprintf(err, err_len, "cannot remove the stale socket %s: %s", a->sun_path,
                 strerror(errno));
        return -1;
    }
    return 0;
}

/* Sets *gid to the group whose users may connect. 0, or -1 with a message in err. */
static int socket_group(const struct sessions *s, gid_t *gid, char *err, size_t err_len)
{
    const char *name = s->cfg.socket_group;
    const struct group *g = getgrnam(name);
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    *gid = g != NULL ? g->gr_gid : (gid_t)number;
    if (g != NULL || (name[0] >= '0' && name[0] <= '9' && *end == '\0' && number < (gid_t)-1))
        return 0;
    snprintf(err, err_len,
             "socket_group: there is no group %s: groupadd --system %s, or name another", name,
             name);
    return -1;
}

/* Gives the socket to the group. Nobody can connect before that: the socket does not listen yet. */
static int socket_give(const struct sessions *s, char *err, size_t err_len)
{
    gid_t gid;

    if (s->cfg.socket_group == NULL || s->cfg.socket_group[0] == '\0')
        return 0;
    if (socket_group(s, &gid, err, err_len) != 0)
        return -1;
    /* A daemon in a sandbox may not call chown(), and need not if the group is its own. */
    if (gid == getegid() || chown(s->path, (uid_t)-1, gid) == 0)
        return 0;
    snprintf(err, err_len,
             "cannot give %s to the group %s: %s; start sluiced as root, or with that group as its "
             "own (in the unit: Group=)",
             s->path, s->cfg.socket_group, strerror(errno));
    return -1;
}

static int socket_listen(struct sessions *s, char *err, size_t err_len)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct stat st;

    if (strlen(s->cfg.socket_path) >= sizeof a.sun_path) {
        snprintf(err, err_len, "socket path '%s' is longer than %zu characters", s->cfg.socket_path,
                 sizeof a.sun_path - 1);
        return -1;
    }
    memcpy(a.sun_path, s->cfg.socket_path, strlen(s->cfg.socket_path) + 1);
    if (socket_clear(&a, err, err_len) < 0)
        return -1;
    s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* The mode is set before the name exists, so that the socket is never open to everybody. */
    if (s->listen_fd < 0 || fchmod(s->listen_fd, 0660) < 0 ||
        bind(s->listen_fd, (struct sockaddr *)&a, sizeof a) < 0 || stat(a.sun_path, &st) < 0) {
        snprintf(err, err_len, "cannot bind the socket %s: %s (does its directory exist?)",
                 a.sun_path, strerror(errno));
        return -1;
    }
    memcpy(s->path, a.sun_path, sizeof s->path);
    s->socket_dev = st.st_dev;
    s->socket_ino = st.st_ino;
    if (socket_give(s, err, err_len) != 0)
        return -1;
    if (chmod(a.sun_path, 0660) < 0 || listen(s->listen_fd, 64) < 0) {
        snprintf(err, err_len, "cannot listen on %s: %s", a.sun_path, strerror(errno));
        return -1;
    }
    return 0;
}

static void socket_remove(const struct sessions *s)
{
    struct stat st;

    if (s->path[0] != 0 && stat(s->path, &st) == 0 && st.st_dev == s->socket_dev &&
        st.st_ino == s->socket_ino)
        unlink(s->path);
}

static int sessions_watch(struct sessions *s, int fd, uint32_t events, uint32_t data)
{
    struct epoll_event e = {.events = events, .data.u32 = data};

    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e);
}

/* ---- creation --------------------------------------------------------------------------- */

static int sessions_tables(struct sessions *s, char *err, size_t err_len)
{
    uint32_t i, limit = 0;

    s->all = calloc(s->cfg.max_sessions, sizeof *s->all);
    s->users = calloc(s->cfg.max_sessions, sizeof *s->users);
    s->channels = calloc(s->cfg.n_hosts, sizeof *s->channels);
    if (s->all == NULL || s->users == NULL || s->channels == NULL)
        goto no_memory;
    s->depth = UINT32_MAX;
    for (i = 0; i < s->cfg.n_hosts; i++) {
        uint32_t depth = host_get_config(s->cfg.hosts[i])->depth;

        s->channels[i] = channels_create(s->cfg.hosts[i], s->cfg.max_sessions);
        if (s->channels[i] == NULL)
            goto no_memory;
        s->depth = depth < s->depth ? depth : s->depth;
        limit += host_conn_limit(s->cfg.hosts[i]);
    }
    s->handles = limit < PROTOCOL_HANDLES_MAX ? limit : PROTOCOL_HANDLES_MAX;
    for (i = 0; i < s->cfg.max_sessions; i++) {
        s->all[i].slot = i;
        s->all[i].fd = s->all[i].wake_fd = s->all[i].memory.fd = -1;
    }
    return 0;

no_memory:
    snprintf(err, err_len, "no memory for %u client sessions: lower sessions, or give the EAL more",
             s->cfg.max_sessions);
    return -1;
}

struct sessions *sessions_create(const struct sessions_config *cfg, char *err, size_t err_len)
{
    struct sessions *s;

    if (cfg->n_hosts == 0 || cfg->n_hosts > PROTOCOL_CHANNELS_MAX || cfg->max_sessions == 0 ||
        cfg->max_sessions > UINT16_MAX) {
        snprintf(err, err_len, "%u workers and %u sessions: there can be 1 to %u and 1 to %u",
                 cfg->n_hosts, cfg->max_sessions, PROTOCOL_CHANNELS_MAX, UINT16_MAX);
        free(cfg->access);
        return NULL;
    }
    s = calloc(1, sizeof *s);
    if (s == NULL) {
        snprintf(err, err_len, "no memory for client sessions");
        free(cfg->access);
        return NULL;
    }
    s->cfg = *cfg;
    s->access = s->access_given = cfg->access;
    s->listen_fd = -1;
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll_fd < 0)
        snprintf(err, err_len, "cannot make an epoll descriptor: %s", strerror(errno));
    if (s->epoll_fd < 0 || sessions_tables(s, err, err_len) < 0 ||
        socket_listen(s, err, err_len) < 0) {
        sessions_destroy(s);
        return NULL;
    }
    if (sessions_watch(s, s->listen_fd, EPOLLIN, SESSION_NONE) < 0) {
        snprintf(err, err_len, "cannot watch the socket: %s", strerror(errno));
        sessions_destroy(s);
        return NULL;
    }
    session_access_start(s);
    return s;
}

void sessions_destroy(struct sessions *s)
{
    uint32_t i;

    if (s == NULL)
        return;
    socket_remove(s);
    for (i = 0; s->channels != NULL && i < s->cfg.n_hosts; i++)
        channels_destroy(s->channels[i]);
    if (s->listen_fd >= 0)
        close(s->listen_fd);
    if (s->epoll_fd >= 0)
        close(s->epoll_fd);
    session_access_free(s);
    free(s->channels);
    free(s->users);
    free(s->all);
    free(s);
}

int sessions_fd(const struct sessions *s)
{
    return s->epoll_fd;
}

struct channels *sessions_channels(struct sessions *s, uint32_t i)
{
    return s->channels[i];
}

/* ---- coming and going ------------------------------------------------------------------- */

static struct session_user *session_user_get(struct sessions *s, uid_t uid)
{
    struct session_user *unused = NULL;
    uint32_t i;

    for (i = 0; i < s->cfg.max_sessions; i++) {
        struct session_user *u = &s->users[i];

        if (u->sessions > 0 && u->uid == uid)
            return u;
        if (u->sessions == 0)
            unused = u;
    }
    CHECK(unused != NULL); /* there are as many entries as sessions */
    *unused = (struct session_user){.uid = uid};
    return unused;
}

/* A user gets at most three quarters of the sessions; root can take all. */
static bool session_allowed(const struct sessions *s, const struct session_user *u)
{
    uint32_t most = s->cfg.max_sessions - s->cfg.max_sessions / 4;

    return u->uid == 0 || u->sessions < most;
}

static void session_turn_away(int fd, uid_t uid, const char *text)
{
    struct protocol_reply a = {.type = PROTOCOL_BYE, .status = -EUSERS};
    struct session x = {.fd = fd};

    snprintf(a.text, sizeof a.text, "%s", text);
    session_say(&x, &a, NULL, 0, -1);
    fd_closer_add(fd, uid);
}

static void session_welcome(struct sessions *s, int fd)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof peer;
    struct session_user *u;
    struct session *x = NULL;
    uint32_t i, n_groups;
    gid_t *groups;

    for (i = 0; i < s->cfg.max_sessions && x == NULL; i++) {
        if (s->all[i].state == SESSION_FREE)
            x = &s->all[i];
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || x == NULL) {
        session_turn_away(
            fd, peer.uid,
            "sluiced serves its maximum number of clients: raise sessions in its configuration");
        return;
    }
    if (fd_closer_crowded(peer.uid)) {
        session_turn_away(
            fd, peer.uid,
            "closing descriptors that this user sent is blocked: end the process that blocks it");
        return;
    }
    u = session_user_get(s, peer.uid);
    if (!session_allowed(s, u)) {
        session_turn_away(fd, peer.uid, "this user has three quarters of all sessions: close some");
        return;
    }
    groups = access_groups(fd, peer.gid, &n_groups);
    if (groups == NULL || sessions_watch(s, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, x->slot) < 0) {
        session_turn_away(fd, peer.uid, "sluiced cannot watch another socket");
        free(groups);
        return;
    }
    u->sessions++;
    *x = (struct session){.state = SESSION_NEW,
                          .slot = x->slot,
                          .fd = fd,
                          .uid = peer.uid,
                          .pid = peer.pid,
                          .groups = groups,
                          .user_rights = {.all = peer.uid == 0 || peer.uid == geteuid(),
                                          .uid = peer.uid,
                                          .n_groups = n_groups,
                                          .groups = groups},
                          .readable = true,
                          .wake_fd = -1,
                          .user = u,
                          .memory.fd = -1};
}

static void sessions_accept(struct sessions *s)
{
    int i;

    for (i = 0; i < SESSION_ACCEPTS; i++) {
        int fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            return;
        session_welcome(s, fd);
    }
}

/* Frees a session of which the workers hold nothing any more. */
static void session_free(struct sessions *s, struct session *x)
{
    uid_t uid = x->uid;
    uint32_t i;
    int fd;

    session_captures_free(s, x);
    for (i = 0; x->regions != NULL && i < PROTOCOL_REGIONS_MAX; i++)
        session_map_close(s, x, &x->regions[i]);
    session_map_close(s, x, &x->memory);
    for (i = 0; i < x->n_services; i++)
        s->owners[x->services[i]] = 0;
    for (i = 0; x->channels != NULL && i < s->cfg.n_hosts; i++)
        rte_free(x->channels[i]);
    free(x->regions);
    free(x->channels);
    free(x->show);
    free(x->groups);
    if (x->wake_fd >= 0)
        close(x->wake_fd);
    CHECK(x->user->sessions > 1 || x->user->used_bytes == 0);
    x->user->sessions--;
    fd = x->fd;
    *x = (struct session){.slot = x->slot, .fd = -1, .wake_fd = -1, .memory.fd = -1};
    epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    fd_closer_add(fd, uid); /* last: a client that sees the hang-up finds everything returned */
}

/* Ends a session whose end was asked for, as far as is possible now. */
static void session_retire(struct sessions *s, struct session *x)
{
    struct channel_message m = {
        .type = CHANNEL_DETACH, .slot = (uint16_t)x->slot, .id = (uint32_t)x->end};
    uint32_t i;

    if (x->state == SESSION_FREE || !x->end_asked)
        return;
    if (x->state != SESSION_ENDING) {
        /* Waits for answers that workers owe. A half-populated mapping need not be completed: it is
         * unmapped with the rest. */
        if (x->pending.type != 0 && x->pending.step != SESSION_STEP_MAP)
            return;
        x->pending.type = 0;
        session_captures_end(s, x);
        if (x->state == SESSION_OPEN) {
            for (i = 0; i < s->cfg.n_hosts; i++)
                channels_tell(s->channels[i], &m);
            x->detaching = s->cfg.n_hosts;
        }
        x->state = SESSION_ENDING;
    }
    if (x->detaching == 0)
        session_free(s, x);
}

void sessions_stop(struct sessions *s, enum wire_end end)
{
    uint32_t i;

    if (!s->stopping)
        epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->listen_fd, NULL);
    s->stopping = true;
    for (i = 0; i < s->cfg.max_sessions; i++)
        session_end(s, &s->all[i], end, -ESHUTDOWN, "sluiced is stopping; start it again");
}

void sessions_set_quota(struct sessions *s, uint64_t quota_bytes, uint64_t quota_total_bytes)
{
    s->cfg.quota_bytes = quota_bytes;
    s->cfg.quota_total_bytes = quota_total_bytes;
}

bool sessions_idle(const struct sessions *s)
{
    uint32_t i;

    for (i = 0; i < s->cfg.max_sessions; i++) {
        if (s->all[i].state != SESSION_FREE)
            return false;
    }
    return true;
}

/* ---- the round -------------------------------------------------------------------------- */

static void session_fault(struct sessions *s, struct session *x, int why)
{
    static const char *const texts[] = {
        [CHANNEL_FAULT_NONE] = "protocol error",
        [CHANNEL_FAULT_SQ_INDEX] = "protocol error: invalid index of the submission ring",
        [CHANNEL_FAULT_CQ_INDEX] = "protocol error: invalid index of the completion ring",
        [CHANNEL_FAULT_FLOOD] = "protocol error: too many invalid submissions",
    };

    session_end(s, x, WIRE_END_ABORT, -EPROTO, texts[why]);
}

static void sessions_hear(struct sessions *s)
{
    struct channel_message m;
    uint32_t i;

    for (i = 0; i < s->cfg.n_hosts; i++) {
        while (channels_hear(s->channels[i], &m)) {
            struct session *x = &s->all[m.slot];

            if (m.type == CHANNEL_ACCESS) {
                session_access_heard(s);
                continue;
            }
            CHECK(m.slot < s->cfg.max_sessions && x->state != SESSION_FREE);
            if (m.type == CHANNEL_FAULT)
                session_fault(s, x, m.status);
            else if (m.type == CHANNEL_DETACH)
                x->detaching--;
            else
                session_heard(s, x, i, &m);
        }
    }
}

void sessions_poll(struct sessions *s)
{
    struct epoll_event events[SESSION_EVENTS];
    int i, n = epoll_wait(s->epoll_fd, events, SESSION_EVENTS, 0);
    uint32_t k;

    for (i = 0; i < n; i++) {
        if (events[i].data.u32 == SESSION_NONE)
            sessions_accept(s);
        else
            s->all[events[i].data.u32].readable = true;
    }
    fd_closer_tend();
    sessions_hear(s);
    s->slice = SESSION_SLICE;
    s->texts = SESSION_TEXTS;
    for (k = 0; k < s->cfg.max_sessions; k++) {
        struct session *x = &s->all[(s->serve_at + k) % s->cfg.max_sessions];

        if (x->state == SESSION_NEW || x->state == SESSION_OPEN)
            session_serve(s, x);
        session_retire(s, x);
    }
    if (++s->serve_at >= s->cfg.max_sessions)
        s->serve_at = 0;
}
