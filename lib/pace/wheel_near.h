/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the wheel (wheel.h), for wheel.c, wheel_near.c and, on the path of every packet,
 * pacer.c.
 *
 * A slot of level 0, the near ring, is two or four cache lines. It has 30 or 62 words of 32 bits,
 * for its first entries, and a queue (chunk.h) for entries that come when these are full. Each word
 * is an entry, and above it the lower 9 bits of its time; the slot gives the other bits. An array
 * of bytes counts the words in use of each slot, so it also shows which slots are in use. A count
 * of one more than a slot has words: its queue is in use, too. A slot of the other levels is a
 * queue. A word of a queue is a time above 23 bits of entry; its lower half is the word of the near
 * ring.
 *
 * A position says where an entry is. For the first entries of a near slot it is WHEEL_AT_NEAR +
 * slot. For others it is the position of their word in the pool, and above it bits of their time:
 * from bit 9 on, as many as there is room for. The line of that word knows its owner: the slot in
 * level 0, or WHEEL_NEAR_SLOTS_MAX and more in other levels. An entry that moves down from level 1
 * to level 0 keeps its position, since a change would touch one line of memory for each entry. If
 * its word is not there any more, the entry is in one of the few near slots that these bits of time
 * fit.
 */
#ifndef SLUICE_PACE_WHEEL_NEAR_H
#define SLUICE_PACE_WHEEL_NEAR_H

#include <stdint.h>

#include "base/check.h"
#include "base/clock.h"
#include "pace/wheel.h"

#define WHEEL_ENTRY_BITS 23 /* of an entry's number, in words of queues and of level 0 */
#define WHEEL_SLOT_MASK  (WHEEL_SLOTS - 1)
#define WHEEL_AT_NEAR    (1u << 31)
#define WHEEL_AHEAD      16u /* entries that wheel_peek() returns */

/* A word of a queue: the time above the entry. */
static inline uint64_t wheel_word(uint64_t time, uint32_t entry)
{
    return time << WHEEL_ENTRY_BITS | entry;
}

/* The entry in a word of a queue, or of level 0. */
static inline uint32_t wheel_word_entry(uint64_t word)
{
    return (uint32_t)word & ((1u << WHEEL_ENTRY_BITS) - 1);
}

/* The position of an entry whose word is in the pool, at `at`. */
static inline uint32_t wheel_place(const struct wheel *w, uint32_t at, uint64_t word)
{
    uint32_t time = (uint32_t)(word >> (WHEEL_ENTRY_BITS + WHEEL_NEAR_BITS));

    return at | (time << w->place_bits & ~WHEEL_AT_NEAR);
}

static inline uint32_t wheel_place_at(const struct wheel *w, uint32_t place)
{
    return place & ((1u << w->place_bits) - 1);
}

/* The bits of an entry's time that its position has. They recur after wheel_place_round(). */
static inline uint64_t wheel_place_time(const struct wheel *w, uint32_t place)
{
    return (uint64_t)(place >> w->place_bits) << WHEEL_NEAR_BITS;
}

static inline uint64_t wheel_place_round(const struct wheel *w)
{
    return 1ull << (31 - w->place_bits + WHEEL_NEAR_BITS);
}

/* The number of a slot of level 1 or up. */
static inline uint32_t wheel_slot(uint32_t level, uint64_t time)
{
    return (uint32_t)(time >> WHEEL_SLOT_BITS(level)) & WHEEL_SLOT_MASK;
}

/* ---- the near ring ------------------------------------------------------------------------ */

static inline uint32_t wheel_near_slot(const struct wheel *w, uint64_t time)
{
    return (uint32_t)(time >> WHEEL_NEAR_BITS) & w->near_mask;
}

/* The words of a slot: wheel_near_full() of them for entries, then two with the slot's queue. */
static inline uint32_t *wheel_near_words(const struct wheel *w, size_t slot, uint32_t room_bits)
{
    return (uint32_t *)&w->words[slot << room_bits];
}

static inline uint32_t wheel_near_full(uint32_t room_bits)
{
    return (1u << room_bits) - 2;
}

/* Start of the near slot of a time. */
static inline uint64_t wheel_near_base(uint64_t time)
{
    return time >> WHEEL_NEAR_BITS << WHEEL_NEAR_BITS;
}

/* The time in a word of level 0, or in the lower half of a queue's, from the start of its slot. */
static inline uint32_t wheel_near_time(uint32_t word)
{
    return word >> WHEEL_ENTRY_BITS;
}

/* The queue of a slot that has more entries than words. */
static inline struct chunk_queue *wheel_near_queue(const struct wheel *w, uint32_t slot)
{
    return (struct chunk_queue *)&w->words[((slot + 1) << w->room_bits) - 2];
}

/* Start of the first slot in use, from the slot of `from` on; `until` if none is before it. */
uint64_t wheel_near_start(const struct wheel *w, uint64_t from, uint64_t until);

/* Entries that wheel_take() and wheel_peek() may write behind those that they return. */
#define WHEEL_SPARE (2 * WHEEL_AHEAD + (1u << WHEEL_ROOM_BITS_FEW))

/*
 * Takes entries of slots that end before `until`, as wheel_take() does, and moves `now` to the
 * slot where it stops. Adds to *n how many it took. True: no slot before `until` has any left.
 */
bool wheel_near_take(struct wheel *w, uint64_t until, uint32_t *entries, uint32_t *n, uint32_t max);

/* Writes WHEEL_AHEAD entries: first those that will be taken next, unless others are queued before
 * them; the rest is 0. The caller may prefetch their memory, to have it in the cache when they are
 * taken. */
void wheel_peek(const struct wheel *w, uint32_t *entries);

/* Takes up to max due entries of the slot of `now` (in units). The others stay, in their order;
 * `near` becomes the earliest of their times, or the slot's end. */
uint32_t wheel_near_take_due(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max);

/* The near slot that has the entry in its words, found by the bits of its time in `place`. */
uint32_t wheel_near_find(const struct wheel *w, uint32_t place, uint32_t entry);

/* Removes an entry from the slot's words. */
void wheel_near_remove(struct wheel *w, uint32_t slot, uint32_t entry);

/* Removes the word at this position of the pool from the slot's queue. */
void wheel_near_drop(struct wheel *w, uint32_t slot, uint32_t at);

/* Is the entry in the slot's words, and queued for this time? */
bool wheel_near_has(const struct wheel *w, uint32_t slot, uint64_t time, uint32_t entry);

/* The earliest time of an entry in the slot in use that starts at `start`, or the time of any entry
 * there that is due. */
uint64_t wheel_near_next(const struct wheel *w, uint64_t start);

/* Appends a word to the queue of a slot whose words are all in use. */
void wheel_near_overflow(struct wheel *w, uint32_t slot, uint64_t word);

/* Puts a word into a slot of level 0. False: it is full, and the word must go to its queue. */
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

/* room_bits: that of w; a parameter, since callers may know it at compile time. */
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

/* Adds a line to a slot that is empty, or whose last line is full. */
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
 * As wheel_poll(), but leaves the entries' positions as they are. The caller must next call
 * wheel_queue(), wheel_queue_later() or wheel_forget() for each of them. entries has room for
 * WHEEL_SPARE more.
 */
uint32_t wheel_take(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max);

static inline void wheel_forget(struct wheel *w, uint32_t entry)
{
    *wheel_position(w, entry) = 0;
}

/* The time, in units, at which an entry queued for when_tsc is returned. */
static inline uint64_t wheel_time(const struct wheel *w, uint64_t when_tsc)
{
    uint64_t time = when_tsc >> w->shift;

    time += time << w->shift != when_tsc;
    if (time < w->now)
        return w->now;
    return time - w->now < WHEEL_HORIZON ? time : w->now + WHEEL_HORIZON;
}

/* wheel_insert() of an entry that is not queued, at a time that is not TIME_NEVER. */
static inline void wheel_queue(struct wheel *w, uint32_t entry, uint64_t when_tsc)
{
    wheel_slot_append(w, wheel_time(w, when_tsc), entry, wheel_position(w, entry));
}

/* Prepares for wheel_queue_later(), until another function of the wheel is called: moves `near` to
 * `now` if it is later, so that no entry is queued for a time before `near`. */
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
