/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the wheel (wheel.h), for wheel.c, wheel_near.c and, where it is in the way of every
 * packet, pacer.c.
 *
 * A slot of level 0, the near ring, is a ring of lines of the pool, linked as those of chunk.h: of
 * the last one the next is the first. After its link, a line has up to 14 entries of 32 bits, each
 * its number above the lower 10 bits of its time: the slot has the rest. All but the last line are
 * full; but of the slot of now, entries before wheel.first have been taken, if that is not 0.
 * A slot of the other levels is a queue of chunk.h; its words are times above 24 bits of entry.
 *
 * Who owns a line: of level 0, the slot; of the others, WHEEL_NEAR_SLOTS and more.
 */
#ifndef SLUICE_PACE_WHEEL_SLOT_H
#define SLUICE_PACE_WHEEL_SLOT_H

#include <stdint.h>

#include "base/check.h"
#include "pace/wheel.h"

#define WHEEL_ENTRY_BITS 24
#define WHEEL_SLOT_MASK  (WHEEL_SLOTS - 1)
#define WHEEL_LINE       16u /* 32-bit words of a line */
#define WHEEL_LINE_WORDS 14u /* of them, entries: the last ones */
/* position of the last entry of a slot that is empty: what follows it is in a new line */
#define WHEEL_NEAR_NONE  (WHEEL_LINE - 1)
/* of a time that an entry of level 0 has; a slot has as many or less */
#define WHEEL_NEAR_BITS  10u

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
    return (uint32_t)(time >> w->near_bits) & (WHEEL_NEAR_SLOTS - 1);
}

static inline uint32_t *wheel_near_words(const struct wheel *w)
{
    return (uint32_t *)w->pool.words;
}

static inline uint32_t wheel_near_word(uint64_t time, uint32_t entry)
{
    return entry << WHEEL_NEAR_BITS | (uint32_t)(time & ((1u << WHEEL_NEAR_BITS) - 1));
}

static inline uint32_t wheel_near_entry(uint32_t word)
{
    return word >> WHEEL_NEAR_BITS;
}

/* The lower bits of it. */
static inline uint32_t wheel_near_time(uint32_t word)
{
    return word & ((1u << WHEEL_NEAR_BITS) - 1);
}

static inline bool wheel_near_used(const struct wheel *w, uint32_t slot)
{
    return (w->near_used[slot / 64] >> slot % 64 & 1) != 0;
}

/* A slot that is empty, or whose last line is full, gets a line: what to count the last position
 * from. */
uint32_t wheel_near_grow(struct wheel *w, uint32_t slot);

/* Start of the first slot in use from the slot of `from` on, or TIME_NEVER. */
uint64_t wheel_near_start(const struct wheel *w, uint64_t from);

/* What wheel_take() may write behind the entries that it returns. */
#define WHEEL_SPARE WHEEL_LINE_WORDS

/*
 * Takes entries of slots that end before `until`, as wheel_take(), and moves now to the slot where
 * it stops. Adds how many to *n; true: no slot before `until` has any left.
 */
bool wheel_near_take(struct wheel *w, uint64_t until, uint32_t *entries, uint32_t *n, uint32_t max,
                     uint32_t room);

/* Takes up to max entries that are due of the slot in which now, in units, is. What is not due
 * stays, in its order; near becomes the earliest time of it, or the slot's end. */
uint32_t wheel_near_take_due(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max);

/* Takes the entry at this position out. */
void wheel_near_remove(struct wheel *w, uint32_t slot, uint32_t at);

/* The earliest time in a slot that is in use; any that is not after now will do. */
uint64_t wheel_near_next(const struct wheel *w, uint64_t start);

/* Asks for the lines of the slot's entries; returns how many. */
uint32_t wheel_near_warm(const struct wheel *w, uint32_t slot);

static inline void wheel_near_append(struct wheel *w, uint64_t time, uint32_t entry)
{
    uint32_t slot = wheel_near_slot(w, time), last = w->near_last[slot];

    if (__builtin_expect(last % WHEEL_LINE == WHEEL_LINE - 1, 0))
        last = wheel_near_grow(w, slot);
    last++;
    w->near_last[slot] = last;
    wheel_near_words(w)[last] = wheel_near_word(time, entry);
    w->position[entry] = last;
}

/* ---- all levels --------------------------------------------------------------------------- */

/* Where what is due at near_end or later goes. */
void wheel_far_append(struct wheel *w, uint64_t time, uint32_t entry);

static inline __attribute__((always_inline)) void wheel_slot_append(struct wheel *w, uint64_t time,
                                                                    uint32_t entry)
{
    if (time < w->near)
        w->near = time;
    if (time < w->near_end)
        wheel_near_append(w, time, entry);
    else
        wheel_far_append(w, time, entry);
}

/*
 * wheel_poll(), but for what it does to entries' positions: the caller queues each again or says
 * wheel_forget() before the wheel is used otherwise. room, max or more, is that of entries: with
 * max + WHEEL_SPARE or more it rather takes whole lines of slots than max.
 */
uint32_t wheel_take(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max,
                    uint32_t room);

static inline void wheel_forget(struct wheel *w, uint32_t entry)
{
    w->position[entry] = 0;
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
    wheel_slot_append(w, wheel_time(w, when_tsc), entry);
}

/* wheel_queue() at a time after now, for shift 0. */
static inline __attribute__((always_inline)) void wheel_queue_later(struct wheel *w, uint32_t entry,
                                                                    uint64_t when_tsc)
{
    if (__builtin_expect(when_tsc < w->near_end, 1))
        wheel_slot_append(w, when_tsc, entry);
    else
        wheel_queue(w, entry, when_tsc);
}

#endif
