/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out what happens next: a fixed set of events, each with at most one time, in a binary heap.
 * The position of each event in the heap is known, so that moving one costs O(log n).
 *
 * Among events of the same time the lowest number comes first, so the order never depends on when
 * they were set. Invariant: heap[i] is not after heap[2i + 1] nor heap[2i + 2]; heap[place[e]] == e
 * for every e that has a time.
 */
#ifndef SLUICE_SIM_SCHEDULE_H
#define SLUICE_SIM_SCHEDULE_H

#include <stdint.h>

struct schedule {
    uint64_t *at;    /* by event; TIME_NEVER: none */
    uint32_t *place; /* by event: its index in the heap */
    uint32_t *heap;
    uint32_t count;
};

/* Storage for so many events: at, place and heap. */
#define SCHEDULE_BYTES(events) ((events) * (sizeof(uint64_t) + 2 * sizeof(uint32_t)))

/* storage: SCHEDULE_BYTES(events), aligned to 8. */
void schedule_init(struct schedule *s, void *storage, uint32_t events);
/* Moves an event; TIME_NEVER takes it out. */
void schedule_set(struct schedule *s, uint32_t event, uint64_t at);
/* When the first event is due; TIME_NEVER if there is none. */
uint64_t schedule_next(const struct schedule *s);
/* Number of the first event; there must be one. */
uint32_t schedule_first(const struct schedule *s);

#endif
