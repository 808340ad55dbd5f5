/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts packets by their times, exact to the cycle. Packets with equal times leave first in, first
 * out; or, with `by_seq`, in the order in which they came into the path, so that the order does not
 * depend on which of several flows runs first.
 *
 * Times are cut into buckets of 2^shift cycles. Packets of later buckets wait unsorted. Packets of
 * the current bucket and before are in a binary heap, small enough to stay in the cache. Packets
 * later than all buckets wait in a list of their own. When the bucket of the earliest of them
 * becomes current, all of them are placed again. So it does not matter how far away they are.
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
    uint64_t order; /* how many pushes came before this one */
    uint32_t next;
};

struct sorter {
    struct sorter_node *nodes; /* owned; capacity nodes */
    uint32_t *heap;            /* owned; indices of nodes */
    struct store *store;       /* the path's */
    uint32_t capacity, count, heaped;
    /* head of the list of returned nodes; fresh .. capacity - 1 were never used */
    uint32_t free, fresh;
    /* head of the list of packets later than all buckets; the bucket of the earliest of them,
     * UINT64_MAX: there are none */
    uint32_t far;
    uint64_t far_bucket;
    uint32_t shift;
    bool by_seq;
    /* number of the current bucket; a packet belongs to bucket at >> shift */
    uint64_t current;
    uint64_t order;     /* pushes so far */
    uint64_t order_max; /* 1 + the largest `order` of a node popped so far */
    uint32_t head[SORTER_BUCKETS];
    uint64_t bitmap[SORTER_BUCKETS / 64];
};

/* Makes room for `packets` packets. span_cycles: the times of waiting packets usually lie within so
 * many cycles. Returns 0 or -ENOMEM. */
int sorter_init(struct sorter *s, uint32_t packets, uint64_t span_cycles, struct store *store);
void sorter_fini(struct sorter *s); /* frees the packets */

/* Adds a packet; there must be room. */
void sorter_push(struct sorter *s, const struct path_packet *p);
/* Takes the earliest packet if its time is not after `until`; else returns false. *overtaken: a
 * packet pushed later has already left. */
bool sorter_pop(struct sorter *s, uint64_t until, struct path_packet *p, bool *overtaken);
/* Returns a time that is not later than the earliest packet's. If sorter_pop() at that time finds
 * no packet, sorter_next() then returns a later one. TIME_NEVER if the sorter is empty. */
uint64_t sorter_next(const struct sorter *s);

#endif
