/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hierarchical timing wheel for everything of one worker that waits for a time: many flows and
 * many timers, found by bitmap, without allocation.
 *
 * Entries are numbers 0 .. capacity-1, chosen by the caller; an entry is queued at most once.
 * Level l has 64 slots of 64^l ticks; a tick is 2^shift cycles. An entry is never returned before
 * its time; it is returned by the first wheel_poll() with now >= its time (times are rounded up to
 * whole ticks, so up to one tick late). Insert, move and cancel are O(1). A poll visits only slots
 * that are in use, however long ago the last one was, and an entry cascades once per level at most;
 * times more than 63 top-level slots away (2^48 ticks) wait in the last of these and are placed
 * anew from there. Entries of one tick come out first in, first out if they were queued at the same
 * distance; moving an entry to the tick it has already keeps its turn.
 *
 * An insert may come between polls with any time. A poll with an earlier now than an earlier poll
 * returns nothing.
 *
 * Written and read by the worker that owns it.
 */
#ifndef SLUICE_PACE_WHEEL_H
#define SLUICE_PACE_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEEL_LEVELS 8
#define WHEEL_SLOTS  64
#define WHEEL_NONE   UINT32_MAX

struct wheel_entry {
    uint64_t when_tick; /* due time, in ticks */
    uint32_t next, prev;
    uint32_t slot; /* level * WHEEL_SLOTS + index, or WHEEL_NONE when not queued */
};

struct wheel {
    struct wheel_entry *entries; /* capacity of them, the caller's storage */
    uint32_t capacity;
    uint32_t queued;   /* entries in the wheel */
    uint32_t shift;    /* log2 of cycles per tick */
    uint64_t now_tick; /* everything due before this tick has been returned */
    uint64_t bitmap[WHEEL_LEVELS];
    uint32_t head[WHEEL_LEVELS * WHEEL_SLOTS];
    uint32_t tail[WHEEL_LEVELS * WHEEL_SLOTS]; /* appended at the tail: first in, first out */
};

/* Bytes of entry storage for this many entries. */
static inline size_t wheel_storage_bytes(uint32_t capacity)
{
    return capacity * sizeof(struct wheel_entry);
}

void wheel_init(struct wheel *w, struct wheel_entry *entries, uint32_t capacity, uint32_t shift,
                uint64_t now);

/* Queues or moves an entry; a time in the past is due at once. TIME_NEVER cancels. */
void wheel_insert(struct wheel *w, uint32_t entry, uint64_t when_tsc);
void wheel_cancel(struct wheel *w, uint32_t entry);
bool wheel_queued(const struct wheel *w, uint32_t entry);

/*
 * Takes up to max entries due at now off the wheel, in order of their slots, and returns how many.
 * If it returns max, more may be due: call again.
 */
uint32_t wheel_poll(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max);

/*
 * A time not later than the earliest entry's due time as rounded up to whole ticks, and exactly
 * that if it falls into the current 64 ticks; TIME_NEVER when empty. Polling at that time always
 * makes progress: it returns an entry or brings one a level closer, so WHEEL_LEVELS polls reach the
 * first (more only while some entry queued for beyond 2^48 ticks waits to be placed anew).
 */
uint64_t wheel_next(const struct wheel *w);

#endif
