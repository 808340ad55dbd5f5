/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing wheel.
 *
 * Slots are found by time alone: slot number = time / width mod 4096.
 *
 * Invariant: front[1] <= front[2], not before the slots of now, multiples of the widths of their
 * levels' slots; what is due in [now, front[1]) lies in level 0, [front[1], front[2]) in level 1,
 * the rest in level 2, but that of the slot at a front, part may have been moved down already:
 * nothing of that is returned before the slot is empty and the front has passed it. No ring is
 * longer than its slots: front[1]
 * <= now + 2^18, front[2] <= now + 2^29, all times < now + 2^40.
 *
 * A word is time mod 2^40 above the entry's 24 bits, plus one: words of 0 are none.
 */
#include "pace/wheel.h"

#include "base/clock.h"
#include "pace/wheel_slot.h"

static uint32_t pool_lines(uint32_t capacity)
{
    uint32_t slots = WHEEL_LEVELS * WHEEL_SLOTS;

    /* A slot in use wastes up to 6 words; one that is being emptied, a line more. */
    return (capacity + 6 * (capacity < slots ? capacity : slots)) / CHUNK_WORDS + 2 +
           2 * WHEEL_LEVELS;
}

static size_t align_up(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

size_t wheel_storage_bytes(uint32_t capacity)
{
    return align_up(sizeof(struct wheel)) + (size_t)pool_lines(capacity) * 64 +
           align_up(capacity * sizeof(uint32_t));
}

struct wheel *wheel_init(void *storage, uint32_t capacity, uint32_t shift, uint64_t now)
{
    struct wheel *w = storage;
    char *lines = (char *)storage + align_up(sizeof *w);

    CHECK(capacity < WHEEL_CAPACITY_MAX && shift <= WHEEL_SHIFT_MAX &&
          (uintptr_t)storage % 64 == 0);
    *w = (struct wheel){.now = now >> shift, .shift = shift, .capacity = capacity};
    chunk_pool_init(&w->pool, lines, pool_lines(capacity));
    w->position = (uint32_t *)(lines + (size_t)pool_lines(capacity) * 64);
    for (uint32_t i = 0; i < capacity; i++)
        w->position[i] = 0;
    for (uint32_t s = 0; s < WHEEL_LEVELS * WHEEL_SLOTS; s++)
        w->slot[s] = CHUNK_EMPTY;
    for (uint32_t l = 0; l < WHEEL_LEVELS; l++)
        w->front[l] = ((w->now >> WHEEL_SLOT_BITS(l)) + 2) << WHEEL_SLOT_BITS(l);
    return w;
}

void wheel_warm(struct wheel *w, const void *lines, uint32_t stride_bytes)
{
    w->lines = lines;
    w->stride_bytes = stride_bytes;
}

/* ---- slots -------------------------------------------------------------------------------- */

static uint64_t word_time(const struct wheel *w, uint64_t word)
{
    return w->now + (((word >> WHEEL_ENTRY_BITS) - w->now) & WHEEL_TIME_MASK);
}

static void slot_mark_empty(struct wheel *w, uint32_t slot)
{
    w->used[slot / 64] &= ~(1ull << (slot % 64));
    if (w->used[slot / 64] == 0)
        w->summary[slot / WHEEL_SLOTS] &= ~(1ull << (slot / 64 % 64));
}

void wheel_slot_grow(struct wheel *w, uint32_t slot)
{
    struct chunk_queue *q = &w->slot[slot];

    if (chunk_queue_empty(q)) {
        w->used[slot / 64] |= 1ull << (slot % 64);
        w->summary[slot / WHEEL_SLOTS] |= 1ull << (slot / 64 % 64);
    }
    chunk_grow(&w->pool, q, slot);
}

static uint32_t slot_of(uint32_t level, uint64_t time)
{
    return level * WHEEL_SLOTS + ((uint32_t)(time >> WHEEL_SLOT_BITS(level)) & WHEEL_SLOT_MASK);
}

/* Start of the first slot in use from the slot of `from` on, or TIME_NEVER. */
static inline __attribute__((always_inline)) uint64_t first_start(const struct wheel *w,
                                                                  uint32_t level, uint64_t from)
{
    const uint64_t *used = &w->used[level * WHEEL_SLOTS / 64];
    uint64_t at = from >> WHEEL_SLOT_BITS(level);
    uint32_t slot = (uint32_t)at & WHEEL_SLOT_MASK, i = slot / 64;
    uint64_t bits = used[i] >> (slot % 64);

    if (bits != 0)
        return (at + (uint32_t)__builtin_ctzll(bits)) << WHEEL_SLOT_BITS(level);
    bits = w->summary[level] & (~1ull << i);
    if (bits == 0)
        bits = w->summary[level]; /* round the ring */
    if (bits == 0)
        return TIME_NEVER;
    i = (uint32_t)__builtin_ctzll(bits);
    slot = (i * 64 + (uint32_t)__builtin_ctzll(used[i]) - slot) & WHEEL_SLOT_MASK;
    return (at + slot) << WHEEL_SLOT_BITS(level);
}

/* ---- in and out --------------------------------------------------------------------------- */

static void entry_remove(struct wheel *w, uint32_t entry)
{
    uint32_t at = w->position[entry];
    uint32_t owner = (uint32_t)chunk_link(&w->pool, at >> 3)->owner;
    struct chunk_queue *q = &w->slot[owner];
    uint64_t moved = chunk_remove(&w->pool, q, at);

    w->position[wheel_word_entry(moved)] = at;
    if (chunk_queue_empty(q))
        slot_mark_empty(w, owner);
    w->position[entry] = 0;
}

void wheel_insert(struct wheel *w, uint32_t entry, uint64_t when_tsc)
{
    uint64_t time;

    CHECK(entry < w->capacity);
    if (when_tsc == TIME_NEVER) {
        wheel_cancel(w, entry);
        return;
    }
    time = wheel_time(w, when_tsc);
    if (w->position[entry] != 0) {
        if (w->pool.words[w->position[entry]] == wheel_word(time, entry))
            return; /* keeps its turn */
        entry_remove(w, entry);
    }
    wheel_slot_append(w, time, entry);
}

void wheel_cancel(struct wheel *w, uint32_t entry)
{
    CHECK(entry < w->capacity);
    if (w->position[entry] == 0)
        return;
    entry_remove(w, entry);
}

/* Takes up to max entries of a slot of level 0, all of which are due. */
static uint32_t slot_take(struct wheel *w, uint32_t slot, uint32_t *entries, uint32_t max)
{
    struct chunk_queue *q = &w->slot[slot];
    uint32_t at = q->first, n = 0;

    for (;;) {
        uint32_t entry = wheel_word_entry(w->pool.words[at]), line = at >> 3;

        entries[n++] = entry;
        w->position[entry] = 0;
        if (at == q->last) {
            *q = CHUNK_EMPTY;
            chunk_give(&w->pool, line);
            slot_mark_empty(w, slot);
            break;
        }
        at++;
        if ((at & 7) == 0) {
            at = (uint32_t)chunk_link(&w->pool, line)->next * 8 + 1;
            chunk_give(&w->pool, line);
        }
        if (n == max) {
            q->first = at;
            break;
        }
    }
    return n;
}

static uint32_t position_after(const struct wheel *w, uint32_t at)
{
    return (at & 7) == CHUNK_WORDS ? (uint32_t)chunk_link(&w->pool, at >> 3)->next * 8 + 1 : at + 1;
}

/* The same of the slot in which now is. What is not due moves up, in its order. */
static uint32_t slot_take_due(struct wheel *w, uint32_t slot, uint64_t now, uint32_t *entries,
                              uint32_t max)
{
    struct chunk_queue *q = &w->slot[slot];
    uint32_t n = 0, last = q->last, kept = 0, at, to;

    w->near = ((now >> WHEEL_SLOT_BITS(0)) + 1) << WHEEL_SLOT_BITS(0);
    for (at = q->first;; at = position_after(w, at)) {
        uint64_t word = w->pool.words[at], time = word_time(w, word);

        if (time <= now && n < max) {
            entries[n++] = wheel_word_entry(word);
            w->position[wheel_word_entry(word)] = 0;
        } else {
            w->near = time_min(w->near, time);
            to = kept == 0 ? q->first : position_after(w, kept);
            w->pool.words[to] = word;
            w->position[wheel_word_entry(word)] = kept = to;
        }
        if (at == last)
            break;
    }
    while ((q->last ^ kept) > 7) { /* lines behind the last that is kept; all, if none is */
        uint32_t line = q->last >> 3;

        q->last = (uint32_t)chunk_link(&w->pool, line)->prev * 8 + CHUNK_WORDS;
        chunk_give(&w->pool, line);
        if (line == q->first >> 3)
            break;
    }
    q->last = kept;
    if (kept == 0) {
        *q = CHUNK_EMPTY;
        slot_mark_empty(w, slot);
    }
    return n;
}

/* ---- down a ring -------------------------------------------------------------------------- */

/* Asks for what moving the line after this one will touch, and for the line after that. */
static void line_warm(const struct wheel *w, uint32_t level, uint32_t line)
{
    const uint64_t *words = &w->pool.words[(uint64_t)line * 8];

    if (line == 0)
        return;
    __builtin_prefetch(chunk_link(&w->pool, (uint32_t)chunk_link(&w->pool, line)->next));
    for (uint32_t i = 1; i <= CHUNK_WORDS; i++) {
        uint32_t entry = wheel_word_entry(words[i]); /* where none is yet, any */

        if (entry >= w->capacity)
            continue;
        __builtin_prefetch(&w->position[entry], 1);
        if (level == 1 && w->lines != NULL)
            __builtin_prefetch(w->lines + (size_t)entry * w->stride_bytes, 1);
    }
}

/* Moves the slot at front[level] down, and the front past it, unless the budget is used up. */
static bool slot_cascade(struct wheel *w, uint32_t level, uint32_t *budget)
{
    uint32_t slot = slot_of(level, w->front[level]);
    struct chunk_queue *q = &w->slot[slot];
    uint64_t front = w->front[level];

    w->front[level] += 1ull << WHEEL_SLOT_BITS(level);
    while (!chunk_queue_empty(q)) {
        uint64_t word;

        if (*budget == 0) {
            w->front[level] = front;
            return false;
        }
        --*budget;
        if ((q->first & 7) == 1)
            line_warm(w, level, (uint32_t)chunk_link(&w->pool, q->first >> 3)->next);
        word = chunk_shift(&w->pool, q);
        wheel_slot_append(w, word_time(w, word), wheel_word_entry(word));
    }
    slot_mark_empty(w, slot);
    return true;
}

/* Brings front[level] to `until` at least, or as far as the budget goes. */
static void front_advance(struct wheel *w, uint32_t level, uint64_t until, uint32_t *budget)
{
    while (w->front[level] < until) {
        uint64_t start = first_start(w, level, w->front[level]);

        if (start >= until) {
            w->front[level] = until;
            break;
        }
        w->front[level] = start;
        if (!slot_cascade(w, level, budget))
            return;
    }
}

/* Two slots of this level, that of now included, are to be in the level below. */
static uint64_t front_wanted(const struct wheel *w, uint32_t level)
{
    return ((w->now >> WHEEL_SLOT_BITS(level)) + 2) << WHEEL_SLOT_BITS(level);
}

/* Keeps the fronts so far ahead of now that what is due next is in level 0 already. */
static void fronts_advance(struct wheel *w, uint32_t *budget)
{
    for (uint32_t level = WHEEL_LEVELS - 1; level > 0; level--) {
        uint64_t at = w->now >> WHEEL_SLOT_BITS(level) << WHEEL_SLOT_BITS(level);
        uint64_t until = front_wanted(w, level);

        if (w->front[level] < at)
            w->front[level] = at; /* nothing is due before now: the slots in between are empty */
        if (level + 1 < WHEEL_LEVELS && until > w->front[level + 1])
            until = w->front[level + 1];
        front_advance(w, level, until, budget);
    }
}

/* The level that has the earliest entry, and the start of its slot; TIME_NEVER if none has. */
static inline __attribute__((always_inline)) uint32_t first_level(const struct wheel *w,
                                                                  uint64_t *start)
{
    *start = first_start(w, 0, w->now);
    if (__builtin_expect(*start < w->front[1], 1))
        return 0;
    *start = first_start(w, 1, w->front[1]);
    if (*start < w->front[2])
        return 1;
    *start = first_start(w, 2, w->front[2]);
    return 2;
}

/* Late by more than what is kept ahead: `start`, of the first slot of this level, has come. */
static bool fronts_catch_up(struct wheel *w, uint32_t level, uint64_t start, uint32_t *budget)
{
    if (start > w->now)
        w->now = start;
    for (uint32_t k = 1; k <= level; k++)
        w->front[k] = start > w->front[k] ? start : w->front[k];
    return slot_cascade(w, level, budget);
}

uint32_t wheel_poll(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max)
{
    uint64_t now = now_tsc >> w->shift, start;
    uint32_t budget = 2 * max + 64, n = 0, level, slot;

    if (now < w->now ||
        (now < w->near && now >> WHEEL_SLOT_BITS(1) == w->now >> WHEEL_SLOT_BITS(1)))
        return 0;
    for (;;) {
        level = first_level(w, &start);
        slot = slot_of(0, start);
        if (start > now) {
            w->near = start;
            w->now = now;
            break;
        }
        if (n == max)
            break;
        if (level > 0) {
            if (!fronts_catch_up(w, level, start, &budget))
                return n;
            continue;
        }
        if (start > w->now)
            w->now = start;
        if (now - start >= (1u << WHEEL_SLOT_BITS(0)) - 1) {
            n += slot_take(w, slot, entries + n, max - n);
        } else if (now < w->near) {
            w->now = now;
            break;
        } else if (n > 0) {
            break; /* enough for this poll: one look at each entry of the slot of now is saved */
        } else {
            n = slot_take_due(w, slot, now, entries, max);
            if (w->near > now)
                w->now = now;
            break;
        }
    }
    if (w->front[1] < front_wanted(w, 1) || w->front[2] < front_wanted(w, 2))
        fronts_advance(w, &budget);
    return n;
}

uint64_t wheel_next(const struct wheel *w)
{
    uint64_t start, time = TIME_NEVER;
    uint32_t level, at;
    struct chunk_queue q;

    level = first_level(w, &start);
    if (start == TIME_NEVER || level > 0)
        return start > UINT64_MAX >> w->shift ? TIME_NEVER : start << w->shift;
    q = w->slot[slot_of(0, start)];
    for (at = q.first;; at = position_after(w, at)) {
        time = time_min(time, word_time(w, w->pool.words[at]));
        if (at == q.last || time <= w->now)
            return time > UINT64_MAX >> w->shift ? TIME_NEVER : time << w->shift;
    }
}
