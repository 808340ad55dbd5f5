/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the wheel (wheel.h, wheel.c) that is in the way of every packet, for wheel.c and
 * pacer.c.
 */
#ifndef SLUICE_PACE_WHEEL_SLOT_H
#define SLUICE_PACE_WHEEL_SLOT_H

#include <stdint.h>

#include "base/check.h"
#include "pace/wheel.h"

#define WHEEL_ENTRY_BITS 24
#define WHEEL_TIME_MASK  ((1ull << 40) - 1)
#define WHEEL_SLOT_MASK  (WHEEL_SLOTS - 1)

/* Time above, the entry below. */
static inline uint64_t wheel_word(uint64_t time, uint32_t entry)
{
    return time << WHEEL_ENTRY_BITS | entry;
}

static inline uint32_t wheel_word_entry(uint64_t word)
{
    return (uint32_t)(word & ((1u << WHEEL_ENTRY_BITS) - 1));
}

/* A new line for a slot whose last one is full, or that has none. */
void wheel_slot_grow(struct wheel *w, uint32_t slot);

static inline __attribute__((always_inline)) void wheel_slot_append(struct wheel *w, uint64_t time,
                                                                    uint32_t entry)
{
    uint32_t slot = (uint32_t)(time >> WHEEL_SLOT_BITS(0)) & WHEEL_SLOT_MASK;

    if (time >= w->front[1]) {
        uint32_t level = 1 + (uint32_t)(time >= w->front[2]);

        slot = level * WHEEL_SLOTS + ((uint32_t)(time >> WHEEL_SLOT_BITS(level)) & WHEEL_SLOT_MASK);
    }
    struct chunk_queue *q = &w->slot[slot];

    if (time < w->near)
        w->near = time;
    if (__builtin_expect((q->last & 7) == CHUNK_WORDS, 0))
        wheel_slot_grow(w, slot);
    q->last++;
    w->pool.words[q->last] = wheel_word(time, entry);
    w->position[entry] = q->last;
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
    uint64_t time = wheel_time(w, when_tsc);

    wheel_slot_append(w, time, entry);
}

#endif
