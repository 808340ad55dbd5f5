/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception port: what a port receives that is not Sluice's goes to the kernel through a device
 * of its own (a TAP), and what the kernel sends there leaves through the port. Its queues are the
 * port's: a queue has one of each, so no worker waits for another.
 *
 * Invariants: frames for the kernel wait in waiting[first .. first + n), modulo EXCEPTION_WAIT, and
 * leave in that order. While a queue has work of Sluice's, its worker spends at most one part in
 * EXCEPTION_PART of its time on each direction, and at most EXCEPTION_BURST frames at a time: a
 * frame costs a system call, and pacing must not wait for many.
 */
#ifndef SLUICED_EXCEPTION_H
#define SLUICED_EXCEPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "sluiced/port/port.h"

#define EXCEPTION_BURST  4
#define EXCEPTION_PART   16
#define EXCEPTION_GAP_US 20 /* between two looks at a device that has nothing */

/* Of a port; control's. */
struct exception {
    bool made, started;
    uint16_t id; /* of ethdev */
    uint16_t queues;
    struct rte_mempool *pools[HOST_WORKERS_MAX]; /* what the kernel sends, by queue */
};

/* Written by the worker, read by control. */
struct exception_counters {
    uint64_t to_kernel_frames, to_kernel_bytes;
    uint64_t to_kernel_full;    /* frames dropped: EXCEPTION_WAIT waited already */
    uint64_t to_kernel_refused; /* frames dropped: the interface is down, or its MTU smaller */
    uint64_t to_kernel_summed;  /* frames whose partial checksum was completed */
    uint64_t from_kernel_frames, from_kernel_bytes;
};

/* Of a queue; its worker's, but for the counters. */
struct exception_queue {
    bool on;
    uint16_t port_id, queue;
    uint64_t gap_cycles;
    uint64_t give_due, take_due; /* TSC; not before, but give_due holds only beside other work */
    uint32_t first, n;
    struct rte_mbuf *waiting[EXCEPTION_WAIT];
    struct exception_counters counters;
};

/* ---- control: before the workers start, after they stopped -------------------------------- */

/* Makes and starts the device of a port that is open. 0, or negative errno with a line in err. */
int exception_open(struct exception *x, const struct port *p, char *err, size_t err_len);
void exception_queue_init(struct exception_queue *e, const struct exception *x, uint16_t queue,
                          uint64_t hz);
void exception_drain(struct exception_queue *e);
/* The device goes first: it holds the port's frames. Then the port; then the pools, whose frames
 * that one held. */
void exception_close(struct exception *x);
void exception_free(struct exception *x);

/* ---- the worker --------------------------------------------------------------------------- */

/* Takes ownership of n frames for the kernel. */
void exception_put(struct exception_queue *e, struct rte_mbuf **m, uint32_t n);
/* Gives the kernel some of those that wait; busy: this worker has other work. How many. */
uint32_t exception_give(struct exception_queue *e, bool busy);
/* Frames from the kernel to send, at most EXCEPTION_BURST. The caller owns them. */
uint16_t exception_take(struct exception_queue *e, struct rte_mbuf **m, bool busy);

#endif
