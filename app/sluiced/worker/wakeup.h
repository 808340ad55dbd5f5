/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What wakes a worker that naps before its nap is over: the receive interrupts of its queues, where
 * a driver has them (NICs, virtio, TAP), or a packet socket on the kernel's interface that a port
 * takes its frames from; and control, for itself and for clients.
 *
 * Invariant: a waiter has looked at its queues once more since interrupts were switched on, so
 * none is missed.
 *
 * Made by control before the worker runs, then the worker's, except that control signals it.
 */
#ifndef SLUICED_WAKEUP_H
#define SLUICED_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

#define WAKEUP_QUEUES_MAX 128

struct wakeup {
    int epoll;      /* of all that wakes it; -1: nothing does */
    int interrupts; /* in that, the EAL's; or -1 */
    int eventfd;    /* in that, control's eventfd; or -1 */
    bool armed;     /* interrupts are on */
    uint32_t n;
    struct wakeup_queue {
        uint16_t port, queue; /* of ethdev */
        bool switched;        /* on and off; others always wake */
        int socket;           /* instead, if it is not -1 */
    } queues[WAKEUP_QUEUES_MAX];
};

void wakeup_init(struct wakeup *b);

/* After the port has started, with receive interrupts. False: that queue cannot wake a worker. */
bool wakeup_add(struct wakeup *b, uint16_t port, uint16_t queue);

/* The same by what comes to an interface of this kernel; index: if_nametoindex()'s. */
bool wakeup_add_interface(struct wakeup *b, uint32_t index);

/* Control can wake it, too; without this wakeup_signal() does nothing. False: no more descriptors.
 */
bool wakeup_add_eventfd(struct wakeup *b);
void wakeup_signal(const struct wakeup *b);

/* Switches interrupts on: look once more at the queues, then wait. And off again. */
void wakeup_arm(struct wakeup *b);
void wakeup_disarm(struct wakeup *b);
/* Waits, at most this long. True: something woke it, and interrupts come only once. */
bool wakeup_wait(struct wakeup *b, uint64_t max_ns);

void wakeup_close(struct wakeup *b);

#endif
