/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in the order of their times, whatever the order they came in; equal times first in, first
 * out. Exact to the cycle.
 *
 * Or, with by_seq, equal times in the order in which packets came into the path, so that it does
 * not depend on which of several flows is run first.
 *
 * Times are cut into buckets of 2^shift cycles. The packets of later buckets wait unsorted; those
 * of the current bucket and before are in a binary heap, small enough to stay in the cache. A
 * packet further away than all buckets waits in the last one and is placed anew from there.
 *
 * Invariant: every packet outside the heap is later than every one in it.
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
    uint64_t order; /* among all that were ever pushed */
    uint32_t next;
};

struct sorter {
    struct sorter_node *nodes; /* own, capacity of them */
    uint32_t *heap;            /* own; node numbers */
    struct store *store;       /* the path's */
    uint32_t capacity, count, heaped;
    uint32_t free, fresh; /* returned nodes; and those never used: fresh .. capacity - 1 */
    uint32_t shift;
    bool by_seq;
    uint64_t current;   /* bucket number: at >> shift */
    uint64_t order;     /* of the next push */
    uint64_t order_max; /* largest order that was popped, + 1 */
    uint32_t head[SORTER_BUCKETS];
    uint64_t bitmap[SORTER_BUCKETS / 64];
};

/* Room for so many packets; span_cycles: how far apart times usually are at most. 0 or -ENOMEM. */
int sorter_init(struct sorter *s, uint32_t packets, uint64_t span_cycles, struct store *store);
void sorter_fini(struct sorter *s); /* frees the packets */

/* There must be room. */
void sorter_push(struct sorter *s, const struct path_packet *p);
/* Takes the earliest if its time is not after until. *overtaken: one that came later left before.
 */
bool sorter_pop(struct sorter *s, uint64_t until, struct path_packet *p, bool *overtaken);
/* Not later than the earliest packet; popping at that time makes progress. TIME_NEVER if empty. */
uint64_t sorter_next(const struct sorter *s);

#endif
