/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception port. Frames that a port receives and that are not Sluice's go to the kernel
 * through a device of their own (a TAP). Frames that the kernel sends to that device leave through
 * the port. The device has as many queues as the port, one for each port queue, so no worker waits
 * for another.
 *
 * Invariants: frames for the kernel wait in waiting[first .. first + n), modulo EXCEPTION_WAIT, and
 * leave in that order. While a queue has work of Sluice's, its worker spends at most one part in
 * EXCEPTION_PART of its time on each direction, and takes at most EXCEPTION_BURST frames at a time:
 * each frame costs a system call, and pacing must not wait for many. A worker that has had no such
 * work for EXCEPTION_IDLE_US gives as many frames at a time as it reads from the port: what arrived
 * while it had lost its core would else be too much for waiting[].
 */
#ifndef SLUICED_EXCEPTION_H
#define SLUICED_EXCEPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "sluiced/port/port.h"

#define EXCEPTION_BURST   4
#define EXCEPTION_PART    16
#define EXCEPTION_GAP_US  20 /* between two polls of a device that had no frame */
#define EXCEPTION_IDLE_US 1000

/* The device of one port; owned by control. */
struct exception {
    bool made, started;
    uint16_t id; /* ethdev's number */
    uint16_t queues;
    struct rte_mempool *pools[HOST_WORKERS_MAX]; /* for frames that the kernel sends, by queue */
};

/* Written by the worker, read by control. */
struct exception_counters {
    uint64_t to_kernel_frames, to_kernel_bytes;
    uint64_t to_kernel_full;    /* frames dropped: EXCEPTION_WAIT frames waited already */
    uint64_t to_kernel_refused; /* frames dropped: the interface is down, or its MTU is smaller */
    uint64_t to_kernel_summed;  /* frames whose partial checksum was completed */
    uint64_t from_kernel_frames, from_kernel_bytes;
};

/* State of one queue; owned by its worker, but control reads the counters. */
struct exception_queue {
    bool on;
    uint16_t port_id, queue;
    uint64_t gap_cycles;
    uint64_t idle_cycles;
    uint64_t busy_at;            /* TSC: when the worker last had work of Sluice's */
    uint64_t give_due, take_due; /* TSC: earliest next run; give_due: only beside other work */
    uint32_t first, n;
    struct rte_mbuf *waiting[EXCEPTION_WAIT];
    struct exception_counters counters;
};

/* ---- control: before the workers start, after they stopped -------------------------------- */

/* Makes and starts the device of an open port. 0, or negative errno with a line in err. */
int exception_open(struct exception *x, const struct port *p, char *err, size_t err_len);
void exception_queue_init(struct exception_queue *e, const struct exception *x, uint16_t queue,
                          uint64_t hz);
void exception_drain(struct exception_queue *e);
/* Order: exception_close(), since the device holds frames of the port; port_close(), since the port
 * holds frames of the pools here; exception_free(), which frees these pools. */
void exception_close(struct exception *x);
void exception_free(struct exception *x);

/* ---- the worker --------------------------------------------------------------------------- */

/* Takes ownership of n frames for the kernel. */
void exception_put(struct exception_queue *e, struct rte_mbuf **m, uint32_t n);
/* Gives the kernel at most EXCEPTION_BURST of the waiting frames, or PORT_BURST if the worker has
 * long been idle; busy: this worker has work of Sluice's. Returns how many it took off the queue.
 */
uint32_t exception_give(struct exception_queue *e, bool busy, uint64_t now);
/* Takes at most EXCEPTION_BURST frames that the kernel sends. The caller owns them. */
uint16_t exception_take(struct exception_queue *e, struct rte_mbuf **m, bool busy);

#endif
