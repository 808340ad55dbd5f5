/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of spans [first, end) over wrapping 64-bit positions (base/seq.h), in ascending order.
 *
 * Invariant: for all i, first[i] < end[i], and end[i] <= first[i+1] (wrap-safe); spans that touch
 * are merged when their stamp and mark are equal, and only then. All positions of a set lie within
 * 2^62 of each other.
 *
 * Storage is the caller's and fixed: a set never allocates. The spans live in a sliding window of
 * the array, so removal at the front and insertion at the back are O(1) (amortised while at most
 * half of the capacity is in use: the window returns to the array's start when it meets its end);
 * elsewhere they move O(n) spans of 32 B. Look-up is a binary search. Used for the receiver's gaps
 * and the sender's repeat queue.
 *
 * The owner may write stamp and mark of a span in place. Touching spans whose stamps and marks
 * become equal that way merge when a span_add() next touches both.
 */
#ifndef SLUICE_BASE_SPAN_H
#define SLUICE_BASE_SPAN_H

#include <stdbool.h>
#include <stdint.h>

struct span {
    uint64_t first; /* first position in the span */
    uint64_t end;   /* first position after the span */
    uint64_t stamp; /* the owner's: when the span was last asked for; 0: never */
    uint64_t mark;  /* the owner's: packet number when the span was added or last asked for */
};

struct span_set {
    struct span *array; /* the caller's storage, for `capacity` spans */
    uint32_t capacity;
    uint32_t start; /* spans in use are array[start .. start + count) */
    uint32_t count;
};

/* Takes storage for `capacity` (>= 2) spans; the set starts empty. */
void span_set_init(struct span_set *s, struct span *storage, uint32_t capacity);
void span_set_clear(struct span_set *s);

static inline bool span_set_empty(const struct span_set *s)
{
    return s->count == 0;
}

static inline struct span *span_at(const struct span_set *s, uint32_t i)
{
    return &s->array[s->start + i];
}

/*
 * Adds the parts of [first, end) that are not in the set yet, with stamp and mark; parts that are
 * in the set keep theirs. Returns 0, or with the set unchanged: -ENOSPC if the result could exceed
 * capacity, -ERANGE if its positions would not lie within 2^62 (or if end is before first).
 */
int span_add(struct span_set *s, uint64_t first, uint64_t end, uint64_t stamp, uint64_t mark);

/*
 * Removes [first, end) from the set; what was not in it is ignored. Returns the number of positions
 * removed, or -ENOSPC with the set unchanged if a span would have to split and the set is full.
 */
int64_t span_remove(struct span_set *s, uint64_t first, uint64_t end);

/* The span that contains pos, or NULL. Valid until the next change of the set. */
struct span *span_find(const struct span_set *s, uint64_t pos);

/* Index of the first span whose end is after pos (count if none). */
uint32_t span_index(const struct span_set *s, uint64_t pos);

/* Sum of end - first over all spans. */
uint64_t span_total(const struct span_set *s);

#endif
