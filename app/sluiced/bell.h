/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What wakes a worker that naps before its nap is over: the receive interrupts of its queues, where
 * a driver has them (NICs, virtio, TAP), or a packet socket on the kernel's interface that a port
 * takes its frames from; and control, for itself and for clients.
 *
 * Invariant: a waiter has looked at its queues once more since interrupts were switched on, so
 * none is missed.
 *
 * Made by control before the worker runs, then the worker's, but that control rings.
 */
#ifndef SLUICED_BELL_H
#define SLUICED_BELL_H

#include <stdbool.h>
#include <stdint.h>

#define BELL_QUEUES_MAX 128

struct bell {
    int epoll;      /* of all that rings; -1: nothing does */
    int interrupts; /* in that, the EAL's; or -1 */
    int hand;       /* in that, control's eventfd; or -1 */
    bool armed;     /* interrupts are on */
    uint32_t n;
    struct bell_queue {
        uint16_t port, queue; /* of ethdev */
        bool switched;        /* on and off; others ring always */
        int socket;           /* instead, if it is not -1 */
    } queues[BELL_QUEUES_MAX];
};

void bell_init(struct bell *b);

/* After the port has started, with receive interrupts. False: that queue does not ring. */
bool bell_add(struct bell *b, uint16_t port, uint16_t queue);

/* The same by what comes to an interface of this kernel; index: if_nametoindex()'s. */
bool bell_add_interface(struct bell *b, uint32_t index);

/* Control can ring, too; without this bell_ring() does nothing. False: no more descriptors. */
bool bell_add_hand(struct bell *b);
void bell_ring(const struct bell *b);

/* Switches interrupts on: look once more at the queues, then wait. And off again. */
void bell_arm(struct bell *b);
void bell_disarm(struct bell *b);
/* Waits, at most this long. True: something rang, and interrupts come only once. */
bool bell_wait(struct bell *b, uint64_t most_ns);

void bell_close(struct bell *b);

#endif
