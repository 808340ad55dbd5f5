/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: opening and closing, services, commands, and what the daemon shows. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client/state.h"

#define SESSION_SQ_ENTRIES    4096  /* per channel */
#define SESSION_CQ_ENTRIES    65536 /* over all channels */
#define SESSION_CQ_MIN        4096  /* per channel */
#define SESSION_CLOSE_WAIT_MS 2000

uint32_t sluice_channels(const struct sluice *s)
{
    return s->limits.channels;
}

uint32_t sluice_depth(const struct sluice *s)
{
    return s->limits.depth;
}

/* Asks for the daemon's limits, and chooses sizes within them. */
static int session_hello(struct sluice *s)
{
    struct protocol_request q = {.type = PROTOCOL_HELLO};
    struct protocol_reply a;
    int err = client_ask(s, &q, -1, &a, NULL, NULL);

    if (err < 0)
        return err;
    s->limits = a.u.limits;
    if (s->limits.channels == 0 || s->limits.channels > PROTOCOL_CHANNELS_MAX ||
        s->limits.handles == 0 || s->limits.handles > PROTOCOL_HANDLES_MAX ||
        !protocol_ring_ok(s->limits.sq_entries, PROTOCOL_RING_MAX) ||
        !protocol_ring_ok(s->limits.cq_entries, PROTOCOL_RING_MAX))
        return client_fail(s, -EPROTO, "invalid limits from the daemon: do versions differ?");
    s->sq_entries =
        s->limits.sq_entries < SESSION_SQ_ENTRIES ? s->limits.sq_entries : SESSION_SQ_ENTRIES;
    s->cq_entries = s->limits.cq_entries;
    while (s->cq_entries > SESSION_CQ_MIN &&
           s->cq_entries * s->limits.channels > SESSION_CQ_ENTRIES)
        s->cq_entries /= 2;
    s->handles = s->limits.handles;
    return 0;
}

/* Gives our rings to the daemon, and gets the descriptor that wakes us. */
static int session_memory(struct sluice *s)
{
    struct protocol_request q = {.type = PROTOCOL_SESSION};
    struct protocol_reply a;
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP};
    int fd, err;

    s->layout = protocol_layout_for(s->limits.channels, s->sq_entries, s->cq_entries, s->handles);
    err = client_memory_map(s->layout.total_bytes, false, &s->memory, &fd);
    if (err < 0)
        return client_fail(s, err, "no memory for a session: %s", strerror(-err));
    q.u.session = (struct protocol_session){.channels = s->limits.channels,
                                            .sq_entries = s->sq_entries,
                                            .cq_entries = s->cq_entries,
                                            .handles = s->handles,
                                            .len_bytes = s->layout.total_bytes};
    err = client_ask(s, &q, fd, &a, &s->wake_fd, NULL);
    close(fd);
    if (err < 0)
        return err;
    if (s->wake_fd < 0)
        return client_fail(s, -EMFILE, "no descriptor arrived: raise the limit of open files");
    e.data.fd = s->sock;
    if (epoll_ctl(s->wake_fd, EPOLL_CTL_ADD, s->sock, &e) < 0) {
        err = errno;
        return client_fail(s, -err, "cannot watch the daemon's socket: %s", strerror(err));
    }
    client_rings_init(s);
    return 0;
}

static int session_tables(struct sluice *s)
{
    uint32_t i;

    s->conns = calloc(s->handles, sizeof *s->conns);
    s->free_handles = calloc(s->handles, sizeof *s->free_handles);
    if (s->conns == NULL || s->free_handles == NULL)
        return client_fail(s, -ENOMEM, "no memory for a session");
    for (i = 0; i < s->handles; i++)
        s->free_handles[i] = i;
    s->free_count = s->handles;
    return 0;
}

int sluice_open(struct sluice **session, const char *socket_path, char *err, size_t err_len)
{
    struct sluice *s = calloc(1, sizeof *s);
    int status;

    *session = NULL;
    if (s == NULL) {
        snprintf(err, err_len, "no memory for a session");
        return -ENOMEM;
    }
    s->sock = s->wake_fd = s->self_fd = -1;
    s->ops_free = CLIENT_NONE;
    if (socket_path == NULL)
        socket_path = getenv("SLUICE_SOCKET");
    if (socket_path == NULL || socket_path[0] == 0)
        socket_path = SLUICE_SOCKET_DEFAULT;
    status = client_socket_open(s, socket_path);
    if (status == 0)
        status = session_hello(s);
    if (status == 0)
        status = session_memory(s);
    if (status == 0)
        status = session_tables(s);
    if (status < 0) {
        snprintf(err, err_len, "%s", s->error);
        sluice_close(s);
        return status;
    }
    *session = s;
    return 0;
}

/* Waits until the daemon has unmapped everything: then the quota is free for the next session. */
static void session_wait_end(struct sluice *s)
{
    struct pollfd p = {.fd = s->sock, .events = POLLIN};
    char sink[sizeof(struct protocol_reply)];
    struct timespec t;
    int64_t now, end = 0;

    if (shutdown(s->sock, SHUT_WR) < 0)
        return;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
        if (end == 0)
            end = now + SESSION_CLOSE_WAIT_MS;
        if (now >= end)
            return;
        if (poll(&p, 1, (int)(end - now)) <= 0)
            continue;
        ssize_t n = recv(s->sock, sink, sizeof sink, MSG_DONTWAIT | MSG_TRUNC);

        if (n == 0 || (n < 0 && errno != EAGAIN)) /* 0: the daemon has unmapped everything */
            return;
    }
}

void sluice_close(struct sluice *s)
{
    uint32_t i;

    if (s == NULL)
        return;
    if (s->memory != NULL && !s->gone)
        session_wait_end(s);
    for (i = 0; s->conns != NULL && i < s->handles; i++)
        free(s->conns[i]);
    if (s->self_fd >= 0)
        close(s->self_fd);
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    if (s->sock >= 0)
        close(s->sock);
    client_memory_free_all(s);
    if (s->memory != NULL)
        munmap(s->memory, s->layout.total_bytes);
    free(s->conns);
    free(s->free_handles);
    free(s->ops);
    free(s->ready);
    free(s);
}

int sluice_listen(struct sluice *s, uint16_t port)
{
    struct protocol_request q = {.type = PROTOCOL_LISTEN, .u.service = port};
    struct protocol_reply a;

    return client_ask(s, &q, -1, &a, NULL, NULL);
}

int sluice_unlisten(struct sluice *s, uint16_t port)
{
    struct protocol_request q = {.type = PROTOCOL_UNLISTEN, .u.service = port};
    struct protocol_reply a;

    return client_ask(s, &q, -1, &a, NULL, NULL);
}

/* Gets the part of the text at *offset, and moves *offset on; the first part allocates *text. */
static int show_part(struct sluice *s, const char *what, uint64_t *offset, uint64_t *total,
                     char **text, void *part)
{
    struct protocol_request q = {.type = PROTOCOL_SHOW, .u.show.offset = *offset};
    struct protocol_reply a;
    int err;

    snprintf(q.u.show.what, sizeof q.u.show.what, "%s", what);
    err = client_ask(s, &q, -1, &a, NULL, part);
    if (err < 0)
        return err;
    if (*text == NULL) {
        *total = a.u.part.total_bytes;
        *text = *total < SIZE_MAX - 1 ? malloc(*total + 1) : NULL;
        if (*text == NULL)
            return client_fail(s, -ENOMEM, "no memory for %llu bytes of text",
                               (unsigned long long)*total);
    }
    if (a.u.part.offset != *offset || a.u.part.total_bytes != *total ||
        a.u.part.len_bytes > PROTOCOL_PART_MAX || a.u.part.len_bytes > *total - *offset ||
        (a.u.part.len_bytes == 0 && *total > *offset))
        return client_fail(s, -EPROTO, "invalid text from the daemon: do versions differ?");
    memcpy(*text + *offset, part, a.u.part.len_bytes);
    *offset += a.u.part.len_bytes;
    return 0;
}

int sluice_command(struct sluice *s, const char *line, char *answer, size_t answer_len)
{
    struct protocol_reply a;
    int err = client_ask_command(s, line, &a);

    if (answer_len > 0)
        snprintf(answer, answer_len, "%s", err == 0 ? a.text : "");
    return err;
}

int sluice_show(struct sluice *s, const char *what, char **json)
{
    char *text = NULL, *part = malloc(PROTOCOL_PART_MAX);
    uint64_t offset = 0, total = 0;
    int err;

    *json = NULL;
    if (part == NULL)
        return client_fail(s, -ENOMEM, "no memory for text");
    do
        err = show_part(s, what, &offset, &total, &text, part);
    while (err == 0 && offset < total);
    free(part);
    if (err < 0 || text == NULL) {
        free(text);
        return err;
    }
    text[total] = 0;
    *json = text;
    return 0;
}
