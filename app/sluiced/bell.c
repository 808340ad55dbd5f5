/* SPDX-License-Identifier: BSD-3-Clause */
/* See bell.h. */
#include "sluiced/bell.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_log.h>

#include "base/clock.h"

#define EVENTS_MAX 16

void bell_init(struct bell *b)
{
    *b = (struct bell){.epoll = -1};
}

/* ethdev tells of each queue without interrupts as of an error. */
static int queue_watch(int epoll, uint16_t port, uint16_t queue)
{
    static const char *const talk[] = {"lib.ethdev", "lib.eal"};
    int levels[RTE_DIM(talk)], rc;

    for (size_t i = 0; i < RTE_DIM(talk); i++) {
        levels[i] = rte_log_get_level(rte_log_register(talk[i]));
        rte_log_set_level_pattern(talk[i], RTE_LOG_CRIT);
    }
    rc = rte_eth_dev_rx_intr_ctl_q(port, queue, epoll, RTE_INTR_EVENT_ADD, NULL);
    for (size_t i = 0; i < RTE_DIM(talk); i++)
        if (levels[i] >= 0)
            rte_log_set_level_pattern(talk[i], (uint32_t)levels[i]);
    return rc;
}

bool bell_add(struct bell *b, uint16_t port, uint16_t queue)
{
    struct bell_queue *q = &b->queues[b->n];
    int rc;

    if (b->n == BELL_QUEUES_MAX)
        return false;
    if (b->epoll < 0)
        b->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (b->epoll < 0 || queue_watch(b->epoll, port, queue) != 0)
        return false;
    rc = rte_eth_dev_rx_intr_disable(port, queue);
    if (rc != 0 && rc != -ENOTSUP)
        return false;
    *q = (struct bell_queue){port, queue, rc == 0};
    b->n++;
    return true;
}

static void bell_arm(struct bell *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->queues[i].switched)
            rte_eth_dev_rx_intr_enable(b->queues[i].port, b->queues[i].queue);
    b->armed = true;
}

void bell_disarm(struct bell *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->queues[i].switched)
            rte_eth_dev_rx_intr_disable(b->queues[i].port, b->queues[i].queue);
    b->armed = false;
}

bool bell_wait(struct bell *b, uint64_t most_ns, bool *rung)
{
    const struct timespec most = {(time_t)(most_ns / CLOCK_NS_PER_S),
                                  (long)(most_ns % CLOCK_NS_PER_S)};
    struct epoll_event ready;
    struct rte_epoll_event events[EVENTS_MAX];

    *rung = false;
    if (!b->armed) {
        bell_arm(b);
        return false;
    }
    /* rte_epoll_wait() counts in milliseconds; it only takes what has come. */
    if (epoll_pwait2(b->epoll, &ready, 1, &most, NULL) > 0) {
        rte_epoll_wait(b->epoll, events, EVENTS_MAX, 0);
        b->armed = false; /* interrupts come once */
        *rung = true;
    }
    return true;
}

void bell_close(struct bell *b)
{
    if (b->armed)
        bell_disarm(b);
    if (b->epoll >= 0)
        close(b->epoll);
    b->epoll = -1;
    b->n = 0;
}
