/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the wheel (wheel.h), for wheel.c, wheel_near.c and, where it is in the way of every
 * packet, pacer.c.
 *
 * A slot of level 0, the near ring, is two cache lines: 30 entries of 32 bits, each its number
 * below the lower 9 bits of its time (the slot has the rest), and a queue of chunk.h for those that
 * come when these are full. How many of the 30 there are is in an array of bytes, which also tells
 * what slots are in use; 31: the queue is, too.
 * A slot of the other levels is a queue. Words of queues are times above 24 bits of entry.
 *
 * Where an entry is: of the 30 of a slot, WHEEL_AT_NEAR + slot; else its word's position in the
 * pool, whose line knows its owner: of level 0, the slot; of the others, WHEEL_NEAR_SLOTS_MAX and
 * more.
 */
#ifndef SLUICE_PACE_WHEEL_SLOT_H
#define SLUICE_PACE_WHEEL_SLOT_H

#include <stdint.h>

#include "base/check.h"
#include "base/clock.h"
#include "pace/wheel.h"

#define WHEEL_ENTRY_BITS 24
#define WHEEL_SLOT_MASK  (WHEEL_SLOTS - 1)
#define WHEEL_LINE_WORDS 30u /* of WHEEL_LINE, entries: the first ones */
#define WHEEL_AT_NEAR    (1u << 31)

#define WHEEL_NEAR_ENTRY_BITS (32 - WHEEL_NEAR_BITS_MAX) /* of an entry of level 0 */

/* Time above, the entry below. */
static inline uint64_t wheel_word(uint64_t time, uint32_t entry)
{
    return time << WHEEL_ENTRY_BITS | entry;
}

static inline uint32_t wheel_word_entry(uint64_t word)
{
    return (uint32_t)(word & ((1u << WHEEL_ENTRY_BITS) - 1));
}

/* Of level 1 or up. */
static inline uint32_t wheel_slot(uint32_t level, uint64_t time)
{
    return (uint32_t)(time >> WHEEL_SLOT_BITS(level)) & WHEEL_SLOT_MASK;
}

/* ---- the near ring ------------------------------------------------------------------------ */

static inline uint32_t wheel_near_slot(const struct wheel *w, uint64_t time)
{
    return (uint32_t)(time >> w->near_bits) & w->near_mask;
}

static inline uint64_t wheel_near_base(uint64_t time)
{
    return time >> WHEEL_NEAR_BITS_MAX << WHEEL_NEAR_BITS_MAX;
}

static inline uint32_t wheel_near_word(uint64_t time, uint32_t entry)
{
    return (uint32_t)(time << WHEEL_NEAR_ENTRY_BITS) | entry;
}

static inline uint32_t wheel_near_entry(uint32_t word)
{
    return word & ((1u << WHEEL_NEAR_ENTRY_BITS) - 1);
}

/* It counts from wheel_near_base() of its slot. */
static inline uint32_t wheel_near_time(uint32_t word)
{
    return word >> WHEEL_NEAR_ENTRY_BITS;
}

/* wheel_near_time() of a word of a queue. */
static inline uint32_t wheel_word_near(uint64_t word)
{
    return (uint32_t)(word >> WHEEL_ENTRY_BITS) & ((1u << WHEEL_NEAR_BITS_MAX) - 1);
}

/* The queue of a slot whose count is 31. */
static inline struct chunk_queue *wheel_near_queue(const struct wheel *w, uint32_t slot)
{
    return (struct chunk_queue *)&w->words[slot][WHEEL_LINE_WORDS];
}

/* Start of the first slot in use from the slot of `from` on; until if there is none before. */
uint64_t wheel_near_start(const struct wheel *w, uint64_t from, uint64_t until);

/* What wheel_take() may write behind the entries that it returns. */
#define WHEEL_SPARE WHEEL_LINE

/*
 * Takes entries of slots that end before `until`, as wheel_take(), and moves now to the slot where
 * it stops. Adds how many to *n; true: no slot before `until` has any left.
 */
bool wheel_near_take(struct wheel *w, uint64_t until, uint32_t *entries, uint32_t *n, uint32_t max);

/* Takes up to max entries that are due of the slot in which now, in units, is. What is not due
 * stays, in its order; near becomes the earliest time of it, or the slot's end. */
uint32_t wheel_near_take_due(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max);

/* Takes an entry of the slot out. */
void wheel_near_remove(struct wheel *w, uint32_t slot, uint32_t entry);

/* Is an entry of the slot's first ones queued for this time? */
bool wheel_near_has(const struct wheel *w, uint32_t slot, uint64_t time, uint32_t entry);

/* The earliest time in a slot that is in use; any that is not after now will do. */
uint64_t wheel_near_next(const struct wheel *w, uint64_t start);

/* To the queue of a slot that is full. */
void wheel_near_overflow(struct wheel *w, uint32_t slot, uint64_t time, uint32_t entry);

static inline __attribute__((always_inline)) void
wheel_near_append(struct wheel *w, uint64_t time, uint32_t entry, uint32_t *position)
{
    size_t slot = wheel_near_slot(w, time), n = w->count[slot];

    if (__builtin_expect(n >= WHEEL_LINE_WORDS, 0)) {
        wheel_near_overflow(w, (uint32_t)slot, time, entry);
        return;
    }
    w->words[slot][n] = wheel_near_word(time, entry);
    w->count[slot] = (uint8_t)(n + 1);
    *position = WHEEL_AT_NEAR | (uint32_t)slot;
}

/* ---- all levels --------------------------------------------------------------------------- */

/* A slot that is empty, or whose last line is full, gets a line. */
void wheel_far_grow(struct wheel *w, uint32_t level, uint32_t slot);

/* Where what is due at near_end or later goes. */
static inline __attribute__((always_inline)) void
wheel_far_append(struct wheel *w, uint64_t time, uint32_t entry, uint32_t *position)
{
    uint32_t level = 1 + (uint32_t)(time >= w->front[2]), slot = wheel_slot(level, time);
    struct chunk_queue *q = &w->far[level - 1][slot];

    if (__builtin_expect(chunk_queue_full(q), 0))
        wheel_far_grow(w, level, slot);
    w->pool.words[++q->last] = wheel_word(time, entry);
    *position = q->last;
}

static inline __attribute__((always_inline)) void
wheel_slot_append(struct wheel *w, uint64_t time, uint32_t entry, uint32_t *position)
{
    if (time < w->near)
        w->near = time;
    if (time < w->near_end)
        wheel_near_append(w, time, entry, position);
    else
        wheel_far_append(w, time, entry, position);
}

/*
 * wheel_poll(), but for what it does to entries' positions: the caller queues each again or says
 * wheel_forget() before the wheel is used otherwise. entries has room for WHEEL_SPARE more.
 */
uint32_t wheel_take(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max);

static inline void wheel_forget(struct wheel *w, uint32_t entry)
{
    *wheel_position(w, entry) = 0;
}

/* The time, in units, at which an entry that is queued for this one is returned. */
static inline uint64_t wheel_time(const struct wheel *w, uint64_t when_tsc)
{
    uint64_t time = when_tsc >> w->shift;

    time += time << w->shift != when_tsc;
    if (time < w->now)
        return w->now;
    return time - w->now < WHEEL_HORIZON ? time : w->now + WHEEL_HORIZON;
}

/* wheel_insert() of what is not queued, at a time that is not TIME_NEVER. */
static inline void wheel_queue(struct wheel *w, uint32_t entry, uint64_t when_tsc)
{
    wheel_slot_append(w, wheel_time(w, when_tsc), entry, wheel_position(w, entry));
}

/* For wheel_queue_later(), until the wheel is used otherwise: none is queued for a time before. */
static inline void wheel_hold(struct wheel *w)
{
    w->near = time_min(w->near, w->now);
}

/* wheel_queue_later() at near_end or later. */
static inline __attribute__((always_inline)) void
wheel_queue_far(struct wheel *w, uint32_t entry, uint64_t when_tsc, uint32_t *position)
{
    if (__builtin_expect(when_tsc < w->now + (1ull << 38), 1))
        wheel_far_append(w, when_tsc, entry, position);
    else
        wheel_queue(w, entry, when_tsc);
}

/* wheel_queue() at a time after now, for shift 0, after wheel_hold(). */
static inline __attribute__((always_inline)) void
wheel_queue_later(struct wheel *w, uint32_t entry, uint64_t when_tsc, uint32_t *position)
{
    if (when_tsc < w->near_end)
        wheel_near_append(w, when_tsc, entry, position);
    else
        wheel_queue_far(w, entry, when_tsc, position);
}

#endif
