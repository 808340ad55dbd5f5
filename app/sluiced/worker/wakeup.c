/* SPDX-License-Identifier: BSD-3-Clause */
/* See wakeup.h. */
#include "sluiced/worker/wakeup.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include "base/clock.h"
#include "common/hush.h"

#define EVENTS_MAX 16

void wakeup_init(struct wakeup *w)
{
    *w = (struct wakeup){.epoll = -1, .interrupts = -1, .eventfd = -1};
}

/* Silences ethdev, which logs an error for each queue without interrupts. */
static int queue_watch(int epoll, uint16_t port, uint16_t queue)
{
    int ethdev = hush("lib.ethdev"), eal = hush("lib.eal");
    int rc = rte_eth_dev_rx_intr_ctl_q(port, queue, epoll, RTE_INTR_EVENT_ADD, NULL);

    unhush("lib.ethdev", ethdev);
    unhush("lib.eal", eal);
    return rc;
}

static bool wakeup_watch(struct wakeup *w, int fd, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.fd = fd};

    if (w->epoll < 0)
        w->epoll = epoll_create1(EPOLL_CLOEXEC);
    return w->epoll >= 0 && epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static bool interrupts_open(struct wakeup *w)
{
    if (w->interrupts >= 0)
        return true;
    w->interrupts = epoll_create1(EPOLL_CLOEXEC);
    return w->interrupts >= 0 && wakeup_watch(w, w->interrupts, EPOLLIN);
}

bool wakeup_add(struct wakeup *w, uint16_t port, uint16_t queue)
{
    int rc;

    if (w->n == WAKEUP_QUEUES_MAX || !interrupts_open(w) ||
        queue_watch(w->interrupts, port, queue) != 0)
        return false;
    rc = rte_eth_dev_rx_intr_disable(port, queue);
    if (rc != 0 && rc != -ENOTSUP)
        return false;
    w->queues[w->n++] = (struct wakeup_queue){port, queue, rc == 0};
    return true;
}

bool wakeup_add_socket(struct wakeup *w, int fd)
{
    if (w->n == WAKEUP_QUEUES_MAX || !wakeup_watch(w, fd, EPOLLIN))
        return false;
    w->queues[w->n++] = (struct wakeup_queue){0};
    return true;
}

/* ---- control ------------------------------------------------------------------------------ */

bool wakeup_add_eventfd(struct wakeup *w)
{
    w->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    /* by its edges, so that nobody must read it */
    if (w->eventfd >= 0 && wakeup_watch(w, w->eventfd, EPOLLIN | EPOLLET))
        return true;
    if (w->eventfd >= 0)
        close(w->eventfd);
    w->eventfd = -1;
    return false;
}

void wakeup_signal(const struct wakeup *w)
{
    uint64_t one = 1;

    if (w->eventfd >= 0)
        (void)!write(w->eventfd, &one, sizeof one);
}

/* ---- the worker --------------------------------------------------------------------------- */

static void wakeup_switch(struct wakeup *w, bool on)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const struct wakeup_queue *q = &w->queues[i];

        if (q->switched && on)
            rte_eth_dev_rx_intr_enable(q->port, q->queue);
        else if (q->switched)
            rte_eth_dev_rx_intr_disable(q->port, q->queue);
    }
    w->armed = on;
}

void wakeup_arm(struct wakeup *w)
{
    wakeup_switch(w, true);
}

void wakeup_disarm(struct wakeup *w)
{
    wakeup_switch(w, false);
}

static void socket_error_take(int fd)
{
    int error;
    socklen_t len = sizeof error;

    (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
}

bool wakeup_wait(struct wakeup *w, uint64_t max_ns)
{
    const struct timespec most = {(time_t)(max_ns / CLOCK_NS_PER_S),
                                  (long)(max_ns % CLOCK_NS_PER_S)};
    struct epoll_event ready;
    struct rte_epoll_event events[EVENTS_MAX];

    if (epoll_pwait2(w->epoll, &ready, 1, &most, NULL) <= 0)
        return false;
    /* An interface that went down leaves an error, which would end each nap until it is taken. */
    if ((ready.events & EPOLLERR) != 0)
        socket_error_take(ready.data.fd);
    if (w->interrupts >= 0) /* timeouts of rte_epoll_wait() are in ms: only fetch what has come */
        rte_epoll_wait(w->interrupts, events, EVENTS_MAX, 0);
    return true;
}

void wakeup_close(struct wakeup *w)
{
    if (w->armed)
        wakeup_disarm(w);
    if (w->eventfd >= 0)
        close(w->eventfd);
    if (w->interrupts >= 0)
        close(w->interrupts);
    if (w->epoll >= 0)
        close(w->epoll);
    wakeup_init(w);
}
