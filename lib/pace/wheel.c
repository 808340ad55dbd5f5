/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing wheel.
 *
 * Invariant: a tick is a number in base 64. An entry lies at the level of the highest digit in
 * which its tick differs from now_tick (level 0 if none), in the slot of its digit there; so all of
 * a level comes before all of the next level, and within a level in the order of slots. The top
 * level is a ring of the next 63 slots: later entries wait in its last slot and are placed anew
 * when now_tick gets there, with their own tick, thus never early.
 */
#include "pace/wheel.h"

#include "base/check.h"
#include "base/clock.h"

#define DIGIT_BITS 6
#define DIGIT_MASK (WHEEL_SLOTS - 1)
#define TOP_LEVEL  (WHEEL_LEVELS - 1)
#define TOP_BITS   (DIGIT_BITS * TOP_LEVEL)

static uint64_t tick_ceil(const struct wheel *w, uint64_t when_tsc)
{
    uint64_t tick = when_tsc >> w->shift;

    return tick << w->shift == when_tsc ? tick : tick + 1;
}

static uint32_t slot_of(const struct wheel *w, uint64_t tick)
{
    uint64_t differ = tick ^ w->now_tick;
    uint64_t ahead = (tick >> TOP_BITS) - (w->now_tick >> TOP_BITS);
    uint32_t level, digit;

    if (ahead > 0) {
        if (ahead > DIGIT_MASK)
            ahead = DIGIT_MASK;
        level = TOP_LEVEL;
        digit = (uint32_t)((w->now_tick >> TOP_BITS) + ahead) & DIGIT_MASK;
    } else {
        level = (uint32_t)(63 - __builtin_clzll(differ | 1)) / DIGIT_BITS;
        digit = (uint32_t)(tick >> (level * DIGIT_BITS)) & DIGIT_MASK;
    }
    return level * WHEEL_SLOTS + digit;
}

static void slot_append(struct wheel *w, uint32_t slot, uint32_t entry)
{
    struct wheel_entry *e = &w->entries[entry];

    e->slot = slot;
    e->next = WHEEL_NONE;
    e->prev = w->tail[slot];
    if (e->prev == WHEEL_NONE) {
        w->head[slot] = entry;
        w->bitmap[slot / WHEEL_SLOTS] |= 1ull << (slot % WHEEL_SLOTS);
    } else {
        w->entries[e->prev].next = entry;
    }
    w->tail[slot] = entry;
}

static void slot_unlink(struct wheel *w, uint32_t entry)
{
    struct wheel_entry *e = &w->entries[entry];
    uint32_t slot = e->slot;

    if (e->prev == WHEEL_NONE)
        w->head[slot] = e->next;
    else
        w->entries[e->prev].next = e->next;
    if (e->next == WHEEL_NONE)
        w->tail[slot] = e->prev;
    else
        w->entries[e->next].prev = e->prev;
    if (w->head[slot] == WHEEL_NONE)
        w->bitmap[slot / WHEEL_SLOTS] &= ~(1ull << (slot % WHEEL_SLOTS));
    e->slot = WHEEL_NONE;
}

void wheel_init(struct wheel *w, struct wheel_entry *entries, uint32_t capacity, uint32_t shift,
                uint64_t now)
{
    CHECK(capacity < WHEEL_NONE && shift < 32);
    w->entries = entries;
    w->capacity = capacity;
    w->queued = 0;
    w->shift = shift;
    w->now_tick = now >> shift;
    for (uint32_t i = 0; i < capacity; i++)
        entries[i] =
            (struct wheel_entry){.next = WHEEL_NONE, .prev = WHEEL_NONE, .slot = WHEEL_NONE};
    for (uint32_t i = 0; i < WHEEL_LEVELS; i++)
        w->bitmap[i] = 0;
    for (uint32_t i = 0; i < WHEEL_LEVELS * WHEEL_SLOTS; i++) {
        w->head[i] = WHEEL_NONE;
        w->tail[i] = WHEEL_NONE;
    }
}

void wheel_insert(struct wheel *w, uint32_t entry, uint64_t when_tsc)
{
    struct wheel_entry *e = &w->entries[entry];
    uint64_t tick;

    CHECK(entry < w->capacity);
    if (when_tsc == TIME_NEVER) {
        wheel_cancel(w, entry);
        return;
    }
    tick = tick_ceil(w, when_tsc);
    if (tick < w->now_tick)
        tick = w->now_tick;
    if (e->slot != WHEEL_NONE) {
        if (e->when_tick == tick)
            return; /* keeps its turn */
        slot_unlink(w, entry);
    } else {
        w->queued++;
    }
    e->when_tick = tick;
    slot_append(w, slot_of(w, tick), entry);
}

void wheel_cancel(struct wheel *w, uint32_t entry)
{
    CHECK(entry < w->capacity);
    if (w->entries[entry].slot == WHEEL_NONE)
        return;
    slot_unlink(w, entry);
    w->queued--;
}

bool wheel_queued(const struct wheel *w, uint32_t entry)
{
    CHECK(entry < w->capacity);
    return w->entries[entry].slot != WHEEL_NONE;
}

/* First tick of the first slot in use, and that slot; the wheel must not be empty. */
static uint64_t first_tick(const struct wheel *w, uint32_t *slot)
{
    uint32_t level = 0;
    uint32_t digit, now_digit, below_bits;
    uint64_t rest;

    while (w->bitmap[level] == 0)
        level++;
    below_bits = level * DIGIT_BITS;
    if (level < TOP_LEVEL) {
        digit = (uint32_t)__builtin_ctzll(w->bitmap[level]);
        rest = w->now_tick >> (below_bits + DIGIT_BITS) << DIGIT_BITS | digit;
    } else {
        now_digit = (uint32_t)(w->now_tick >> below_bits) & DIGIT_MASK;
        rest = w->bitmap[level];
        if (now_digit > 0) /* rotate so that the ring starts at now */
            rest = rest >> now_digit | rest << (WHEEL_SLOTS - now_digit);
        rest = (w->now_tick >> below_bits) + (uint32_t)__builtin_ctzll(rest);
        digit = (uint32_t)rest & DIGIT_MASK;
    }
    *slot = level * WHEEL_SLOTS + digit;
    return rest << below_bits;
}

/* now_tick has reached this slot's first tick: its entries go to lower levels, in order. */
static void slot_cascade(struct wheel *w, uint32_t slot)
{
    uint32_t entry = w->head[slot];
    uint32_t next;

    w->head[slot] = WHEEL_NONE;
    w->tail[slot] = WHEEL_NONE;
    w->bitmap[slot / WHEEL_SLOTS] &= ~(1ull << (slot % WHEEL_SLOTS));
    for (; entry != WHEEL_NONE; entry = next) {
        next = w->entries[entry].next;
        slot_append(w, slot_of(w, w->entries[entry].when_tick), entry);
    }
}

static uint32_t slot_drain(struct wheel *w, uint32_t slot, uint32_t *entries, uint32_t max)
{
    uint32_t n = 0;
    uint32_t entry;

    while (n < max && (entry = w->head[slot]) != WHEEL_NONE) {
        slot_unlink(w, entry);
        entries[n++] = entry;
    }
    w->queued -= n;
    return n;
}

uint32_t wheel_poll(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max)
{
    uint64_t until = now >> w->shift;
    uint32_t n = 0;
    uint64_t tick;
    uint32_t slot;

    if (until < w->now_tick)
        return 0;
    while (w->queued > 0) {
        tick = first_tick(w, &slot);
        if (tick > until)
            break;
        if (n == max)
            return n; /* now_tick stays: more is due */
        w->now_tick = tick;
        if (slot < WHEEL_SLOTS)
            n += slot_drain(w, slot, entries + n, max - n);
        else
            slot_cascade(w, slot);
    }
    w->now_tick = until;
    return n;
}

uint64_t wheel_next(const struct wheel *w)
{
    uint64_t tick;
    uint32_t slot;

    if (w->queued == 0)
        return TIME_NEVER;
    tick = first_tick(w, &slot);
    return tick > UINT64_MAX >> w->shift ? TIME_NEVER : tick << w->shift;
}
