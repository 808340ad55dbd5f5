/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of the frames of one port queue, for `sluice capture`: what its worker does. Each capture
 * of the port has one struct capture_queue for each queue, in a list; each has a ring in client
 * memory (client/capture_ring.h). Control adds to the list and removes from it while the worker
 * runs; the worker only follows it.
 *
 * A frame that is received is copied before the host gets it. One that is to be sent is copied
 * before the port gets it, as it may be gone afterwards; but only frames that the port has taken
 * become visible to the client, so a frame that is offered several times is captured once, with
 * the contents that it was sent with:
 *
 *   frames that clients find in the ring + dropped = rx_frames + tx_frames of the queue
 *
 * from the moment at which the capture began. A full ring drops copies, never frames.
 */
#ifndef SLUICED_CAPTURE_H
#define SLUICED_CAPTURE_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "base/clock.h"
#include "client/capture_ring.h"
#include "sluiced/port/exception.h"
#include "sluiced/port/port.h"

#define CAPTURE_OFFER_MAX                                                                          \
    (PORT_BURST + EXCEPTION_BURST) /* frames that the port is offered at once */

/* Makes the time of day of the time that is passed as `now`. */
struct capture_clock {
    struct clock clock; /* set before the workers run */
    uint64_t ahead_ns;  /* time of day - clock_ns(now); written by control, atomic */
};

/* Where the ring ends, as the worker sees it. */
struct capture_end {
    uint64_t tail, at_bytes; /* at: tail modulo size */
    uint64_t dropped;        /* in all */
    uint64_t missing;        /* dropped since the last block */
};

struct capture_queue {
    struct capture_queue *next; /* written by control, atomic */
    const struct capture_clock *clock;
    struct capture_ring *ring;
    uint8_t *data;
    uint64_t size_bytes; /* of the data */
    uint32_t interface, queue, snap_bytes;
    /* Owned by the worker. */
    struct capture_end end;                        /* what the client sees */
    struct capture_end offered[CAPTURE_OFFER_MAX]; /* [i]: if the port takes i + 1 frames */
    uint64_t frames;                               /* visible to the client, or dropped */
};

/* ---- control ------------------------------------------------------------------------------ */

/* Makes a ring of ring_bytes of the memory. c is zero but for clock, interface, queue and
 * snap_bytes. */
void capture_queue_init(struct capture_queue *c, void *memory, uint64_t ring_bytes);
void capture_add(struct capture_queue **list, struct capture_queue *c);
/* The worker may use c until its current iteration has ended. */
void capture_remove(struct capture_queue **list, struct capture_queue *c);
/* To be called about every control interval while there are captures. */
void capture_clock_set(struct capture_clock *c);

/* ---- the worker --------------------------------------------------------------------------- */

/* The first of the list; NULL: nothing is captured. */
static inline struct capture_queue *capture_first(struct capture_queue *const *list)
{
    return __atomic_load_n(list, __ATOMIC_ACQUIRE);
}

/* n frames were received at `now`; n is at most CAPTURE_OFFER_MAX, here and below. */
void capture_rx(struct capture_queue *first, struct rte_mbuf *const *m, uint16_t n, uint64_t now);
/* The port is about to be offered n frames. */
void capture_tx(struct capture_queue *first, struct rte_mbuf *const *m, uint16_t n, uint64_t now);
/* It has taken `sent` of them, from the first on. */
void capture_tx_done(struct capture_queue *first, uint16_t sent);

#endif
