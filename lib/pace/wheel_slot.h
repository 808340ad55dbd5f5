/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the wheel (wheel.h), for wheel.c, wheel_near.c and, where it is in the way of every
 * packet, pacer.c.
 *
 * A slot of level 0, the near ring, is two cache lines, or four: 30 or 62 words of 32 bits, each an
 * entry below the lower 9 bits of its time (the slot has the rest), and a queue of chunk.h for
 * those that come when these are full. How many of them there are is in an array of bytes, which
 * also tells what slots are in use; one more than these: the queue is, too. A slot of the other
 * levels is a queue. Words of queues are times above 23 bits of entry: their lower halves are what
 * the near ring has.
 *
 * Where an entry is, its position: of a slot's first ones, WHEEL_AT_NEAR + slot; else its word's
 * position in the pool, and the bits of its time from the 9th on that have room above. That line
 * knows its owner: of level 0, the slot; of the others, WHEEL_NEAR_SLOTS_MAX and more. What moves
 * down from level 1 to level 0 keeps its position, since each would be a line of memory that is
 * touched: if the word is not there any more, the entry is in one of the few near slots that these
 * bits fit.
 */
#ifndef SLUICE_PACE_WHEEL_SLOT_H
#define SLUICE_PACE_WHEEL_SLOT_H

#include <stdint.h>

#include "base/check.h"
#include "base/clock.h"
#include "pace/wheel.h"

#define WHEEL_ENTRY_BITS 23 /* of words of queues, and of level 0 */
#define WHEEL_SLOT_MASK  (WHEEL_SLOTS - 1)
#define WHEEL_AT_NEAR    (1u << 31)
#define WHEEL_AHEAD      16u /* entries that wheel_peek() tells */

/* Time above, the entry below. */
static inline uint64_t wheel_word(uint64_t time, uint32_t entry)
{
    return time << WHEEL_ENTRY_BITS | entry;
}

/* Also of a word of level 0. */
static inline uint32_t wheel_word_entry(uint64_t word)
{
    return (uint32_t)word & ((1u << WHEEL_ENTRY_BITS) - 1);
}

/* The position of an entry whose word is not one of a near slot's first. */
static inline uint32_t wheel_place(const struct wheel *w, uint32_t at, uint64_t word)
{
    uint32_t time = (uint32_t)(word >> (WHEEL_ENTRY_BITS + WHEEL_NEAR_BITS));

    return at | (time << w->place_bits & ~WHEEL_AT_NEAR);
}

static inline uint32_t wheel_place_at(const struct wheel *w, uint32_t place)
{
    return place & ((1u << w->place_bits) - 1);
}

/* The bits of its time that a position has, and the time after which they are the same. */
static inline uint64_t wheel_place_time(const struct wheel *w, uint32_t place)
{
    return (uint64_t)(place >> w->place_bits) << WHEEL_NEAR_BITS;
}

static inline uint64_t wheel_place_round(const struct wheel *w)
{
    return 1ull << (31 - w->place_bits + WHEEL_NEAR_BITS);
}

/* Of level 1 or up. */
static inline uint32_t wheel_slot(uint32_t level, uint64_t time)
{
    return (uint32_t)(time >> WHEEL_SLOT_BITS(level)) & WHEEL_SLOT_MASK;
}

/* ---- the near ring ------------------------------------------------------------------------ */

static inline uint32_t wheel_near_slot(const struct wheel *w, uint64_t time)
{
    return (uint32_t)(time >> WHEEL_NEAR_BITS) & w->near_mask;
}

/* The first ones of a slot, as many as it has room for, and behind them its queue. */
static inline uint32_t *wheel_near_words(const struct wheel *w, size_t slot, uint32_t room_bits)
{
    return (uint32_t *)&w->words[slot << room_bits];
}

static inline uint32_t wheel_near_full(uint32_t room_bits)
{
    return (1u << room_bits) - 2;
}

/* Start of its slot. */
static inline uint64_t wheel_near_base(uint64_t time)
{
    return time >> WHEEL_NEAR_BITS << WHEEL_NEAR_BITS;
}

/* Of a word of level 0, or the lower half of another; it counts from the start of its slot. */
static inline uint32_t wheel_near_time(uint32_t word)
{
    return word >> WHEEL_ENTRY_BITS;
}

/* The queue of a slot that has more than the first ones. */
static inline struct chunk_queue *wheel_near_queue(const struct wheel *w, uint32_t slot)
{
    return (struct chunk_queue *)&w->words[((slot + 1) << w->room_bits) - 2];
}

/* Start of the first slot in use from the slot of `from` on; until if there is none before. */
uint64_t wheel_near_start(const struct wheel *w, uint64_t from, uint64_t until);

/* What wheel_take() and wheel_peek() may write behind the entries that they return. */
#define WHEEL_SPARE (2 * WHEEL_AHEAD + (1u << WHEEL_ROOM_BITS_FEW))

/*
 * Takes entries of slots that end before `until`, as wheel_take(), and moves now to the slot where
 * it stops. Adds how many to *n; true: no slot before `until` has any left.
 */
bool wheel_near_take(struct wheel *w, uint64_t until, uint32_t *entries, uint32_t *n, uint32_t max);

/* WHEEL_AHEAD entries, of which the first ones are those that will be taken next, unless others
 * come before; the rest is 0. If the caller prefetches their memory now, it is there by then. */
void wheel_peek(const struct wheel *w, uint32_t *entries);

/* Takes up to max entries that are due of the slot in which now, in units, is. What is not due
 * stays, in its order; near becomes the earliest time of it, or the slot's end. */
uint32_t wheel_near_take_due(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max);

/* Of an entry that is one of a near slot's first, and the last bits of whose time are in place: the
 * slot. */
uint32_t wheel_near_find(const struct wheel *w, uint32_t place, uint32_t entry);

/* Takes the entry, one of the slot's first, out of it. */
void wheel_near_remove(struct wheel *w, uint32_t slot, uint32_t entry);

/* Takes the word at this position of the pool out of the slot's queue. */
void wheel_near_drop(struct wheel *w, uint32_t slot, uint32_t at);

/* Is the entry one of the slot's first, and queued for this time? */
bool wheel_near_has(const struct wheel *w, uint32_t slot, uint64_t time, uint32_t entry);

/* The earliest time in a slot that is in use; any that is not after now will do. */
uint64_t wheel_near_next(const struct wheel *w, uint64_t start);

/* To the queue of a slot that is full. */
void wheel_near_overflow(struct wheel *w, uint32_t slot, uint64_t word);

/* Into a slot of level 0; false: it is full, and the word must go to the queue. */
static inline __attribute__((always_inline)) bool wheel_near_put(struct wheel *w, size_t slot,
                                                                 uint64_t word, uint32_t room_bits)
{
    size_t n = w->count[slot];

    if (__builtin_expect(n >= wheel_near_full(room_bits), 0))
        return false;
    wheel_near_words(w, slot, room_bits)[n] = (uint32_t)word;
    w->count[slot] = (uint8_t)(n + 1);
    return true;
}

/* room_bits: w's, of which the caller may know when it is compiled. */
static inline __attribute__((always_inline)) void wheel_near_append(struct wheel *w, uint64_t time,
                                                                    uint32_t entry,
                                                                    uint32_t *position,
                                                                    uint32_t room_bits)
{
    uint64_t word = wheel_word(time, entry);
    uint32_t slot = wheel_near_slot(w, time);

    if (wheel_near_put(w, slot, word, room_bits))
        *position = WHEEL_AT_NEAR | slot;
    else
        wheel_near_overflow(w, slot, word);
}

/* ---- all levels --------------------------------------------------------------------------- */

/* A slot that is empty, or whose last line is full, gets a line. */
void wheel_far_grow(struct wheel *w, uint32_t level, uint32_t slot);

static inline __attribute__((always_inline)) void
wheel_far_append(struct wheel *w, uint32_t level, uint64_t time, uint32_t entry, uint32_t *position)
{
    uint32_t slot = wheel_slot(level, time);
    struct chunk_queue *q = &w->far[level - 1][slot];
    uint64_t word = wheel_word(time, entry);

    if (__builtin_expect(chunk_queue_full(q), 0))
        wheel_far_grow(w, level, slot);
    w->pool.words[++q->last] = word;
    *position = wheel_place(w, q->last, word);
}

static inline __attribute__((always_inline)) void
wheel_slot_append(struct wheel *w, uint64_t time, uint32_t entry, uint32_t *position)
{
    if (time < w->near)
        w->near = time;
    if (time < w->near_end)
        wheel_near_append(w, time, entry, position, w->room_bits);
    else
        wheel_far_append(w, time < w->front[2] ? 1 : 2, time, entry, position);
}

/*
 * wheel_poll(), but for what it does to entries' positions: what the caller does next with each of
 * these is wheel_queue(), wheel_queue_later() or wheel_forget(). entries has room for WHEEL_SPARE
 * more.
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

/* wheel_queue() at a time after now, for shift 0, after wheel_hold(). */
static inline __attribute__((always_inline)) void wheel_queue_later(struct wheel *w, uint32_t entry,
                                                                    uint64_t when_tsc,
                                                                    uint32_t *position,
                                                                    uint32_t room_bits)
{
    if (when_tsc < w->near_end)
        wheel_near_append(w, when_tsc, entry, position, room_bits);
    else if (__builtin_expect(when_tsc < w->front[2], 1))
        wheel_far_append(w, 1, when_tsc, entry, position);
    else
        wheel_queue(w, entry, when_tsc);
}

#endif
