/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts packets by their times, exact to the cycle. Packets with equal times leave first in, first
 * out; or, with by_seq, in the order in which they came into the path, so that the order does not
 * depend on which of several flows runs first.
 *
 * Times are cut into buckets of 2^shift cycles. Packets of later buckets wait unsorted. Packets of
 * the current bucket and before are in a binary heap, small enough to stay in the cache. A packet
 * later than all buckets waits in the last one and is placed again from there.
 *
 * Invariant: every packet outside the heap is later than every packet in it.
 */
#ifndef SLUICE_PATH_SORTER_H
#define SLUICE_PATH_SORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "path/fifo.h"

#define SORTER_BUCKETS 4096u
#define SORTER_NONE    UINT32_MAX

struct sorter_node {
    struct path_packet p;
    uint64_t order; /* number of the push */
    uint32_t next;
};

struct sorter {
    struct sorter_node *nodes; /* owned; capacity nodes */
    uint32_t *heap;            /* owned; node numbers */
    struct store *store;       /* the path's */
    uint32_t capacity, count, heaped;
    uint32_t free, fresh; /* list of returned nodes; never used: fresh .. capacity - 1 */
    uint32_t shift;
    bool by_seq;
    uint64_t current;   /* bucket number: at >> shift */
    uint64_t order;     /* of the next push */
    uint64_t order_max; /* largest order popped so far, + 1 */
    uint32_t head[SORTER_BUCKETS];
    uint64_t bitmap[SORTER_BUCKETS / 64];
};

/* Makes room for so many packets. span_cycles: how far apart the times of waiting packets usually
 * are at most. 0 or -ENOMEM. */
int sorter_init(struct sorter *s, uint32_t packets, uint64_t span_cycles, struct store *store);
void sorter_fini(struct sorter *s); /* frees the packets */

/* Adds a packet; there must be room. */
void sorter_push(struct sorter *s, const struct path_packet *p);
/* Takes the earliest packet if its time is not after until. *overtaken: a packet pushed later has
 * already left. */
bool sorter_pop(struct sorter *s, uint64_t until, struct path_packet *p, bool *overtaken);
/* A time not later than the earliest packet's; a pop at that time makes progress. TIME_NEVER if
 * empty. */
uint64_t sorter_next(const struct sorter *s);

#endif
