/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket to the daemon: one request at a time, each answered once. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/fds.h"
#include "client/state.h"

void client_gone(struct sluice *s, const char *why)
{
    if (s->gone)
        return;
    s->gone = true;
    client_fail(s, -ENOTCONN, "%s", why);
}

int client_socket_open(struct sluice *s, const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int err;

    if (strlen(path) >= sizeof a.sun_path)
        return client_fail(s, -ENAMETOOLONG, "socket path '%s' is longer than %zu characters", path,
                           sizeof a.sun_path - 1);
    memcpy(a.sun_path, path, strlen(path) + 1);
    memcpy(s->path, path, strlen(path) + 1);
    s->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (s->sock < 0) {
        err = errno;
        return client_fail(s, -err, "cannot make a socket: %s", strerror(err));
    }
    if (connect(s->sock, (struct sockaddr *)&a, sizeof a) == 0)
        return 0;
    err = errno;
    if (err == ENOENT || err == ECONNREFUSED)
        return client_fail(
            s, -err, "no daemon at %s: start sluiced, or name its socket in SLUICE_SOCKET", path);
    if (err == EACCES || err == EPERM)
        return client_fail(s, -err,
                           "no permission for %s: join the group that sluiced's socket_group names",
                           path);
    return client_fail(s, -err, "cannot connect to %s: %s", path, strerror(err));
}

static int socket_send(struct sluice *s, const struct protocol_request *q, int fd, const char *line)
{
    union fds_control control;
    struct iovec io[2] = {
        {.iov_base = (void *)(uintptr_t)q, .iov_len = sizeof *q},
        {.iov_base = (void *)(uintptr_t)line, .iov_len = line != NULL ? q->u.command_bytes : 0}};
    struct msghdr m = {.msg_iov = io, .msg_iovlen = line != NULL ? 2 : 1};
    ssize_t n;

    if (fd >= 0)
        fds_put(&m, &control, fd);
    do
        n = sendmsg(s->sock, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* Takes the descriptors of a message: *got gets the first one, the others are closed. */
static void socket_descriptors(struct msghdr *m, int *got)
{
    struct fds fds = fds_of(m);
    int fd;

    while ((fd = fds_next(&fds)) >= 0) {
        if (got != NULL && *got < 0)
            *got = fd;
        else
            close(fd);
    }
}

/* Receives one message of the daemon. Returns its length, 0 at the end, or negative errno. */
static ssize_t socket_receive(struct sluice *s, struct protocol_reply *a, int *got, void *part,
                              int flags)
{
    char sink[PROTOCOL_PART_MAX];
    union {
        char bytes[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec io[2] = {{.iov_base = a, .iov_len = sizeof *a},
                          {.iov_base = part != NULL ? part : sink, .iov_len = PROTOCOL_PART_MAX}};
    struct msghdr m = {.msg_iov = io,
                       .msg_iovlen = 2,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n;

    memset(a, 0, sizeof *a);
    do
        n = recvmsg(s->sock, &m, flags | MSG_CMSG_CLOEXEC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET)); /* PROTOCOL_BYE may follow */
    if (n < 0)
        return -errno;
    socket_descriptors(&m, got);
    if (n > 0 && (n < 16 + PROTOCOL_TEXT_MAX || a->magic != PROTOCOL_MAGIC)) {
        client_gone(s, "invalid answer from the daemon: is this the socket of sluiced?");
        return -EPROTO;
    }
    a->text[PROTOCOL_TEXT_MAX - 1] = 0;
    return n;
}

static void socket_ended(struct sluice *s)
{
    char why[CLIENT_ERROR_MAX];

    snprintf(why, sizeof why, "the daemon at %.100s is gone: check its log, then open again",
             s->path);
    client_gone(s, why);
}

/* Waits for the answer to a request of the given type. */
static int socket_answer(struct sluice *s, uint16_t type, struct protocol_reply *a, int *got,
                         void *part)
{
    struct pollfd p = {.fd = s->sock, .events = POLLIN};

    for (;;) {
        ssize_t n;
        int ready = poll(&p, 1, CLIENT_REPLY_WAIT_MS);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0) {
            client_gone(s, "the daemon does not answer: check whether it hangs");
            return -ETIMEDOUT;
        }
        n = socket_receive(s, a, got, part, MSG_DONTWAIT);
        if (n == -EAGAIN)
            continue;
        if (n <= 0) {
            socket_ended(s);
            return -ENOTCONN;
        }
        if (a->type == PROTOCOL_BYE) {
            client_gone(s, a->text);
            return -ENOTCONN;
        }
        if (a->type != type) {
            client_gone(s, "the daemon's answer does not match the request: do versions differ?");
            return -EPROTO;
        }
        return n >= (ssize_t)sizeof *a ? 0 : -EPROTO;
    }
}

static int socket_ask(struct sluice *s, struct protocol_request *q, int fd, const char *line,
                      struct protocol_reply *a, int *got, void *part)
{
    int r;

    if (s->gone)
        return -ENOTCONN;
    q->magic = PROTOCOL_MAGIC;
    q->version = PROTOCOL_VERSION;
    r = socket_send(s, q, fd, line);
    if (r < 0 && r != -EPIPE && r != -ECONNRESET)
        return client_fail(s, r, "cannot ask the daemon: %s", strerror(-r));
    /* After EPIPE, PROTOCOL_BYE may still be there to read, and say why the daemon closed. */
    r = socket_answer(s, q->type, a, got, part);
    if (r < 0)
        return r;
    if (a->status < 0)
        return client_fail(s, a->status, "%s", a->text);
    return 0;
}

int client_ask(struct sluice *s, struct protocol_request *q, int fd, struct protocol_reply *a,
               int *got, void *part)
{
    return socket_ask(s, q, fd, NULL, a, got, part);
}

int client_ask_command(struct sluice *s, const char *line, struct protocol_reply *a)
{
    struct protocol_request q = {.type = PROTOCOL_COMMAND};
    size_t len = strlen(line);

    if (len > PROTOCOL_COMMAND_MAX)
        return client_fail(s, -EMSGSIZE, "a command of %zu bytes is longer than %d; shorten it",
                           len, PROTOCOL_COMMAND_MAX);
    q.u.command_bytes = (uint32_t)len;
    return socket_ask(s, &q, -1, line, a, NULL, NULL);
}

/* Errors do not matter. If the socket is full, control is awake and reads it, and wakes the worker.
 * If the socket is closed, control ends our session. */
void client_ring(struct sluice *s, uint32_t channel)
{
    const struct protocol_request q = {.magic = PROTOCOL_MAGIC,
                                       .version = PROTOCOL_VERSION,
                                       .type = PROTOCOL_RING,
                                       .u.channel = channel};

    (void)!send(s->sock, &q, sizeof q, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void client_socket_check(struct sluice *s)
{
    struct protocol_reply a;
    ssize_t n;

    if (s->gone)
        return;
    n = socket_receive(s, &a, NULL, NULL, MSG_DONTWAIT);
    if (n == -EAGAIN)
        return;
    if (n > 0 && a.type == PROTOCOL_BYE)
        client_gone(s, a.text);
    else
        socket_ended(s);
}
