/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ends a worker's nap early: the receive interrupts of its queues, where a driver has them
 * (NICs, virtio, TAP); or the sockets that drivers take frames of the kernel's interfaces from
 * (AF_PACKET, AF_XDP); and control, for itself and for clients.
 *
 * Invariant: between switching interrupts on and waiting, a worker looks at its queues once more,
 * so it misses no frame.
 *
 * Made by control before the worker runs, then owned by the worker. Afterwards control only calls
 * wakeup_signal().
 */
#ifndef SLUICED_WAKEUP_H
#define SLUICED_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

#define WAKEUP_QUEUES_MAX 128

struct wakeup {
    int epoll;      /* watches all that wakes the worker; -1: nothing does */
    int interrupts; /* epoll descriptor of the EAL's interrupts, watched by `epoll`; -1: none */
    int eventfd;    /* signalled by control, watched by `epoll`; -1: none */
    bool armed;     /* interrupts are on */
    uint32_t n;
    struct wakeup_queue {
        uint16_t port, queue; /* ethdev's numbers */
        bool switched;        /* can be switched on and off; false: always wakes the worker */
    } queues[WAKEUP_QUEUES_MAX];
};

void wakeup_init(struct wakeup *w);

/* Adds a queue of a port started with receive interrupts. False: it cannot wake a worker. */
bool wakeup_add(struct wakeup *w, uint16_t port, uint16_t queue);

/* Adds a socket, which stays its driver's: frames that wait in it wake the worker. */
bool wakeup_add_socket(struct wakeup *w, int fd);

/* Lets control wake the worker: before this call, wakeup_signal() does nothing. False: out of
 * descriptors. */
bool wakeup_add_eventfd(struct wakeup *w);
void wakeup_signal(const struct wakeup *w);

/* wakeup_arm() switches interrupts on; the worker looks at its queues once more before it waits.
 * wakeup_disarm() switches them off. */
void wakeup_arm(struct wakeup *w);
void wakeup_disarm(struct wakeup *w);
/* Waits at most max_ns. True: something woke the worker. Each interrupt comes only once until the
 * next wakeup_arm(). */
bool wakeup_wait(struct wakeup *w, uint64_t max_ns);

void wakeup_close(struct wakeup *w);

#endif
