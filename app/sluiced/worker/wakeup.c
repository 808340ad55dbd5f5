/* SPDX-License-Identifier: BSD-3-Clause */
/* See wakeup.h. */
#include "sluiced/worker/wakeup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include "base/clock.h"
#include "common/hush.h"

#define EVENTS_MAX 16
#define DRAIN_MAX  16 /* frames read from a socket, whose buffer holds few */

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

static bool wakeup_watch(struct wakeup *w, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    if (w->epoll < 0)
        w->epoll = epoll_create1(EPOLL_CLOEXEC);
    return w->epoll >= 0 && epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static bool interrupts_open(struct wakeup *w)
{
    if (w->interrupts >= 0)
        return true;
    w->interrupts = epoll_create1(EPOLL_CLOEXEC);
    return w->interrupts >= 0 && wakeup_watch(w, w->interrupts);
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
    w->queues[w->n++] = (struct wakeup_queue){port, queue, rc == 0, -1};
    return true;
}

/* ---- packet sockets ----------------------------------------------------------------------- */

/* Sets the socket's filter: on, it passes the first byte of each frame; off, nothing. */
static bool socket_switch(int fd, bool on)
{
    struct sock_filter ret = BPF_STMT(BPF_RET | BPF_K, on);
    const struct sock_fprog program = {1, &ret};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

static void socket_drain(int fd)
{
    char byte;

    for (int i = 0; i < DRAIN_MAX && recv(fd, &byte, sizeof byte, 0) >= 0; i++)
        ;
}

static bool socket_open(int fd, uint32_t index)
{
    const struct sockaddr_ll at = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)index};
    const int one = 1, least = 0;

    return socket_switch(fd, false) &&
           setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least) == 0 &&
           bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
}

bool wakeup_add_interface(struct wakeup *w, uint32_t index)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return false;
    if (w->n == WAKEUP_QUEUES_MAX || !socket_open(fd, index) || !wakeup_watch(w, fd)) {
        close(fd);
        return false;
    }
    w->queues[w->n++] = (struct wakeup_queue){.switched = true, .socket = fd};
    return true;
}

/* ---- control ------------------------------------------------------------------------------ */

bool wakeup_add_eventfd(struct wakeup *w)
{
    w->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (w->eventfd >= 0 && wakeup_watch(w, w->eventfd))
        return true;
    if (w->eventfd >= 0)
        close(w->eventfd);
    w->eventfd = -1;
    return false;
}

void wakeup_signal(const struct wakeup *w)
{
    uint64_t one = 1;

    if (w->eventfd >= 0) /* if it is full, it is signalled already */
        (void)!write(w->eventfd, &one, sizeof one);
}

/* ---- the worker --------------------------------------------------------------------------- */

static void wakeup_switch(struct wakeup *w, bool on)
{
    uint64_t count;

    for (uint32_t i = 0; i < w->n; i++) {
        const struct wakeup_queue *q = &w->queues[i];

        if (q->socket >= 0)
            socket_switch(q->socket, on);
        else if (q->switched && on)
            rte_eth_dev_rx_intr_enable(q->port, q->queue);
        else if (q->switched)
            rte_eth_dev_rx_intr_disable(q->port, q->queue);
        if (q->socket >= 0 && !on)
            socket_drain(q->socket);
    }
    if (w->eventfd >= 0 && !on)
        (void)!read(w->eventfd, &count, sizeof count);
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

bool wakeup_wait(struct wakeup *w, uint64_t max_ns)
{
    const struct timespec most = {(time_t)(max_ns / CLOCK_NS_PER_S),
                                  (long)(max_ns % CLOCK_NS_PER_S)};
    struct epoll_event ready;
    struct rte_epoll_event events[EVENTS_MAX];

    if (epoll_pwait2(w->epoll, &ready, 1, &most, NULL) <= 0)
        return false;
    if (w->interrupts >= 0) /* timeouts of rte_epoll_wait() are in ms: only fetch what has come */
        rte_epoll_wait(w->interrupts, events, EVENTS_MAX, 0);
    return true;
}

void wakeup_close(struct wakeup *w)
{
    if (w->armed)
        wakeup_disarm(w);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->queues[i].socket >= 0)
            close(w->queues[i].socket);
    if (w->eventfd >= 0)
        close(w->eventfd);
    if (w->interrupts >= 0)
        close(w->interrupts);
    if (w->epoll >= 0)
        close(w->epoll);
    wakeup_init(w);
}
