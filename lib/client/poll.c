/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves completions from the rings to the calls that wait for them. Sleeps until there are some.
 *
 * Invariant while sluice_fd() is in use: when a call that takes completions returns, either wake_fd
 * is readable, or every ring is empty and armed.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "client/state.h"

static void pump_sync(struct sluice *s, uint32_t index, const struct protocol_completion *e)
{
    struct client_op *op = &s->ops[index];
    struct sluice_conn *c = op->conn;

    c->sends--;
    c->sync_sends--;
    c->tails[op->tail].busy = false;
    if (op->wait != NULL)
        *op->wait = (struct client_wait){.free = true, .status = e->status};
    else if (e->status < 0 && c->sync_error == 0)
        c->sync_error = e->status;
}

static void pump_final(struct sluice *s, uint32_t index, const struct protocol_completion *e)
{
    struct client_op *op = &s->ops[index];
    struct sluice_conn *c = op->conn;

    client_region_release(s, op->regions[0]);
    client_region_release(s, op->regions[1]);
    if (op->sync) {
        pump_sync(s, index, e);
    } else if (op->kind == PROTOCOL_CLOSE) {
        c->closed = true;
    } else if (op->kind != PROTOCOL_LIMIT) { /* of a limit, applications hear no more */
        struct sluice_completion done = {.user = op->user,
                                         .len = e->len,
                                         .conn = c,
                                         .status = e->status,
                                         .op = (enum sluice_op)op->kind};

        if (op->kind == PROTOCOL_SEND)
            c->sends--;
        if (op->kind == PROTOCOL_RECV)
            c->recvs--;
        if (!c->closing)
            client_ready_put(s, &done);
    }
    client_op_give(s, index);
}

static void pump_one(struct sluice *s, const struct protocol_completion *e)
{
    struct client_op *op;

    if (e->user >= s->ops_size || !s->ops[e->user].used) {
        client_gone(s,
                    "the daemon completed a request that was never submitted: do versions differ?");
        return;
    }
    op = &s->ops[e->user];
    if ((e->flags & PROTOCOL_PROVISIONAL) == 0) {
        pump_final(s, e->user, e);
        return;
    }
    /* The first piece is free; the copied tail is still being sent. */
    client_region_release(s, op->regions[0]);
    op->regions[0] = CLIENT_NONE;
    if (op->wait != NULL && e->status == 0) { /* a failure is reported by the second completion */
        op->wait->free = true;
        op->wait = NULL;
    }
}

void client_pump(struct sluice *s)
{
    struct protocol_completion e;
    bool gone = s->gone;
    uint32_t i;

    /* Completions that the daemon wrote before it ended still count: the rings are read after
     * `gone`. */
    for (i = 0; i < s->limits.channels; i++)
        while (client_take(s, i, &e))
            pump_one(s, &e);
    if (gone)
        client_op_abandon(s);
}

static int64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits up to timeout_ms for events of wake_fd, and handles them. Returns 0 or -EINTR. */
static int events_take(struct sluice *s, int timeout_ms)
{
    struct epoll_event e[4];
    int i, n = epoll_wait(s->wake_fd, e, 4, timeout_ms);

    if (n < 0)
        return -errno;
    for (i = 0; i < n; i++) {
        if (e[i].data.fd == s->sock)
            client_socket_check(s);
    }
    return 0;
}

int client_sleep(struct sluice *s, int timeout_ms)
{
    if (s->gone || !client_arm(s))
        return 0;
    return events_take(s, timeout_ms);
}

void client_wait_some(struct sluice *s)
{
    uint64_t count;
    ssize_t n;

    /* self_fd keeps wake_fd readable for the caller's event loop, and would keep us awake, too.
     * client_watch_settle() sets self_fd again. */
    if (s->self_fd >= 0) {
        n = read(s->self_fd, &count, sizeof count);
        (void)n; /* EAGAIN: self_fd was not set */
    }
    client_sleep(s, -1);
    client_pump(s);
}

void client_watch_settle(struct sluice *s)
{
    uint64_t count = 1;
    ssize_t n;

    if (s->self_fd < 0)
        return;
    while (!client_arm(s))
        client_pump(s);
    if (s->ready_count > 0)
        n = write(s->self_fd, &count, sizeof count);
    else
        n = read(s->self_fd, &count, sizeof count);
    (void)n; /* EAGAIN: self_fd was set or clear already */
}

/* Takes ready completions; waits for them until deadline (by clock_ms(); -1: no limit, 0: does not
 * wait). */
static int poll_wait(struct sluice *s, struct sluice_completion *out, size_t size_bytes,
                     uint32_t max, int64_t deadline)
{
    for (;;) {
        int64_t left = -1;
        uint32_t n;

        client_pump(s);
        n = client_ready_take(s, out, size_bytes, max);
        if (n > 0 || max == 0)
            return (int)n;
        if (s->gone) {
            client_pump(s); /* the daemon may have ended while we read the rings */
            n = client_ready_take(s, out, size_bytes, max);
            return n > 0 ? (int)n : -ENOTCONN;
        }
        if (deadline == 0) {
            /* Notices a dead daemon at little cost. */
            if (++s->idle_polls % 256 == 0)
                client_socket_check(s);
            return 0;
        }
        if (deadline > 0) {
            left = deadline - clock_ms();
            if (left <= 0)
                return 0;
        }
        if (client_sleep(s, (int)left) == -EINTR)
            return 0;
    }
}

int sluice_poll_sized(struct sluice *s, struct sluice_completion *out, size_t size_bytes,
                      uint32_t max, int timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? -1 : timeout_ms == 0 ? 0 : clock_ms() + timeout_ms;
    int n;

    if (size_bytes == 0)
        return client_fail(s, -EINVAL,
                           "a completion of 0 bytes: pass sizeof(struct "
                           "sluice_completion)");
    if (max > INT32_MAX)
        max = INT32_MAX;
    if (s->self_fd >= 0)
        events_take(s, 0);
    n = poll_wait(s, out, size_bytes, max, deadline);
    client_watch_settle(s);
    return n;
}

int sluice_fd(struct sluice *s)
{
    struct epoll_event e = {.events = EPOLLIN};
    int err;

    if (s->self_fd >= 0)
        return s->wake_fd;
    s->self_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (s->self_fd < 0) {
        err = errno;
        return client_fail(s, -err, "cannot make an eventfd: raise the limit of open files");
    }
    e.data.fd = s->self_fd;
    if (epoll_ctl(s->wake_fd, EPOLL_CTL_ADD, s->self_fd, &e) < 0) {
        err = errno;
        close(s->self_fd);
        s->self_fd = -1;
        return client_fail(s, -err, "cannot watch an eventfd");
    }
    client_watch_settle(s);
    return s->wake_fd;
}
