/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing wheel.
 *
 * A slot of level l is 2^(6 + 11 l) units wide, so a ring spans 2^(18 + 11 l), twice a slot of the
 * next level. Slots are found by time alone: slot number = time / width mod 4096.
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

#include "base/check.h"
#include "base/clock.h"

#define ENTRY_BITS 24
#define ENTRY_MASK ((1u << ENTRY_BITS) - 1)
#define TIME_MASK  ((1ull << 40) - 1)
#define SLOT_MASK  (WHEEL_SLOTS - 1)
#define NO_SLOT    UINT32_MAX

static uint32_t width_bits(uint32_t level)
{
    return 6 + 11 * level;
}

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
    for (uint32_t l = 0; l < WHEEL_LEVELS; l++) {
        for (uint32_t s = 0; s < WHEEL_SLOTS; s++)
            w->level[l].slot[s] = CHUNK_EMPTY;
        w->front[l] = ((w->now >> width_bits(l)) + 2) << width_bits(l);
    }
    return w;
}

void wheel_warm(struct wheel *w, const void *lines, uint32_t stride_bytes)
{
    w->lines = lines;
    w->stride_bytes = stride_bytes;
}

/* ---- slots -------------------------------------------------------------------------------- */

static uint64_t word_of(uint64_t time, uint32_t entry)
{
    return time << ENTRY_BITS | (entry + 1);
}

static uint32_t word_entry(uint64_t word)
{
    return (uint32_t)(word & ENTRY_MASK) - 1;
}

static uint64_t word_time(const struct wheel *w, uint64_t word)
{
    return w->now + (((word >> ENTRY_BITS) - w->now) & TIME_MASK);
}

static void slot_mark_empty(struct wheel_level *l, uint32_t slot)
{
    l->used[slot / 64] &= ~(1ull << (slot % 64));
    if (l->used[slot / 64] == 0)
        l->summary &= ~(1ull << (slot / 64));
}

static void slot_append(struct wheel *w, uint64_t time, uint64_t word)
{
    uint32_t level = (uint32_t)(time >= w->front[1]) + (uint32_t)(time >= w->front[2]);
    uint32_t slot = (uint32_t)(time >> width_bits(level)) & SLOT_MASK;
    struct wheel_level *l = &w->level[level];

    l->used[slot / 64] |= 1ull << (slot % 64);
    l->summary |= 1ull << (slot / 64);
    w->position[word_entry(word)] =
        chunk_append(&w->pool, &l->slot[slot], word, level * WHEEL_SLOTS + slot);
}

/* Start of the first slot in use from the slot of `from` on, or TIME_NEVER. */
static uint64_t first_start(const struct wheel *w, uint32_t level, uint64_t from)
{
    const struct wheel_level *l = &w->level[level];
    uint64_t at = from >> width_bits(level);
    uint32_t slot = (uint32_t)at & SLOT_MASK, i = slot / 64;
    uint64_t bits = l->used[i] & (~0ull << (slot % 64));

    if (bits == 0) {
        bits = l->summary & (~1ull << i);
        if (bits == 0)
            bits = l->summary; /* round the ring */
        if (bits == 0)
            return TIME_NEVER;
        i = (uint32_t)__builtin_ctzll(bits);
        bits = l->used[i];
        if (i == slot / 64)
            bits &= ~(~0ull << (slot % 64));
    }
    slot = (i * 64 + (uint32_t)__builtin_ctzll(bits) - slot) & SLOT_MASK;
    return (at + slot) << width_bits(level);
}

/* ---- in and out --------------------------------------------------------------------------- */

static void entry_remove(struct wheel *w, uint32_t entry)
{
    uint32_t at = w->position[entry];
    uint32_t owner = (uint32_t)chunk_link(&w->pool, at >> 3)->owner;
    struct wheel_level *l = &w->level[owner / WHEEL_SLOTS];
    struct chunk_queue *q = &l->slot[owner % WHEEL_SLOTS];
    uint64_t moved = chunk_remove(&w->pool, q, at);

    if (moved != 0)
        w->position[word_entry(moved)] = at;
    if (chunk_queue_empty(q))
        slot_mark_empty(l, owner % WHEEL_SLOTS);
    w->position[entry] = 0;
}

void wheel_insert(struct wheel *w, uint32_t entry, uint64_t when_tsc)
{
    uint64_t time = when_tsc >> w->shift;

    CHECK(entry < w->capacity);
    if (when_tsc == TIME_NEVER) {
        wheel_cancel(w, entry);
        return;
    }
    time += time << w->shift != when_tsc;
    if (time < w->now)
        time = w->now;
    if (time > w->now + WHEEL_HORIZON)
        time = w->now + WHEEL_HORIZON;
    if (w->position[entry] != 0) {
        if (w->pool.words[w->position[entry]] == word_of(time, entry))
            return; /* keeps its turn */
        entry_remove(w, entry);
    } else {
        w->queued++;
    }
    slot_append(w, time, word_of(time, entry));
}

void wheel_cancel(struct wheel *w, uint32_t entry)
{
    CHECK(entry < w->capacity);
    if (w->position[entry] == 0)
        return;
    entry_remove(w, entry);
    w->queued--;
}

/* Is all due that is in a slot of level 0 which starts at start <= now? */
static bool slot_over(uint64_t start, uint64_t now)
{
    return now - start >= (1u << width_bits(0)) - 1;
}

/* Of a slot of level 0 that starts at `start`, takes what is due at now, up to max. What is not is
 * put behind, in its order. */
static uint32_t slot_drain(struct wheel *w, uint64_t start, uint64_t now, uint32_t *entries,
                           uint32_t max)
{
    uint32_t slot = (uint32_t)(start >> width_bits(0)) & SLOT_MASK, n = 0, last, at;
    struct wheel_level *l = &w->level[0];
    struct chunk_queue *q = &l->slot[slot];
    bool whole = slot_over(start, now);

    if (start > w->now)
        w->now = start;
    last = q->last;
    do {
        uint64_t word;

        at = q->first;
        word = chunk_shift(&w->pool, q);
        if (whole || word_time(w, word) <= now) {
            entries[n++] = word_entry(word);
            w->position[word_entry(word)] = 0;
        } else {
            w->position[word_entry(word)] = chunk_append(&w->pool, q, word, slot);
        }
    } while (at != last && n < max);
    if (chunk_queue_empty(q))
        slot_mark_empty(l, slot);
    w->queued -= n;
    return n;
}

/* ---- down a ring -------------------------------------------------------------------------- */

/* Moves the slot at front[level] down, and the front past it, unless the budget is used up. */
static bool slot_cascade(struct wheel *w, uint32_t level, uint32_t *budget)
{
    uint32_t slot = (uint32_t)(w->front[level] >> width_bits(level)) & SLOT_MASK;
    struct wheel_level *l = &w->level[level];
    struct chunk_queue *q = &l->slot[slot];
    uint64_t front = w->front[level];

    w->front[level] += 1ull << width_bits(level);
    while (!chunk_queue_empty(q)) {
        uint64_t word;

        if (*budget == 0) {
            w->front[level] = front;
            return false;
        }
        --*budget;
        if ((q->first & 7) == 1)
            __builtin_prefetch(
                chunk_link(&w->pool, (uint32_t)chunk_link(&w->pool, q->first >> 3)->next));
        word = chunk_shift(&w->pool, q);
        if (level == 1 && w->lines != NULL)
            __builtin_prefetch(w->lines + (size_t)word_entry(word) * w->stride_bytes, 1);
        slot_append(w, word_time(w, word), word);
    }
    slot_mark_empty(l, slot);
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

/* Keeps the fronts so far ahead of now that what is due next is in level 0 already. */
static void fronts_advance(struct wheel *w, uint32_t *budget)
{
    for (uint32_t level = WHEEL_LEVELS - 1; level > 0; level--) {
        uint64_t at = w->now >> width_bits(level) << width_bits(level);
        uint64_t until = at + (2ull << width_bits(level));

        if (w->front[level] < at)
            w->front[level] = at; /* nothing is due before now: the slots in between are empty */
        if (level + 1 < WHEEL_LEVELS && until > w->front[level + 1])
            until = w->front[level + 1];
        front_advance(w, level, until, budget);
    }
}

/* The level that has the earliest entry, and the start of its slot; TIME_NEVER if none has. */
static uint32_t first_level(const struct wheel *w, uint64_t *start)
{
    uint32_t level;

    *start = first_start(w, 0, w->now);
    for (level = 0; level + 1 < WHEEL_LEVELS; level++) {
        if (*start < w->front[level + 1])
            return level;
        *start = first_start(w, level + 1, w->front[level + 1]);
    }
    return level;
}

uint32_t wheel_poll(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max)
{
    uint64_t now = now_tsc >> w->shift, start;
    uint32_t budget = 2 * max + 64, n = 0;

    if (now < w->now)
        return 0;
    while (w->queued > 0 && n < max) {
        uint32_t level = first_level(w, &start);

        if (start > now)
            break;
        if (level == 0) {
            n += slot_drain(w, start, now, entries + n, max - n);
            if (!slot_over(start, now))
                break; /* the slot of now: what is left is not due */
            continue;
        }
        /* Late by more than what is kept ahead. Nothing is due before this slot. */
        if (start > w->now)
            w->now = start;
        for (uint32_t k = 1; k <= level; k++)
            w->front[k] = start > w->front[k] ? start : w->front[k];
        if (!slot_cascade(w, level, &budget))
            return n;
    }
    if (n < max) {
        w->now = now;
        fronts_advance(w, &budget);
    }
    return n;
}

uint64_t wheel_next(const struct wheel *w)
{
    uint64_t start, time = TIME_NEVER;
    uint32_t level, at;
    struct chunk_queue q;

    if (w->queued == 0)
        return TIME_NEVER;
    level = first_level(w, &start);
    if (level > 0)
        return start << w->shift;
    q = w->level[0].slot[(start >> width_bits(0)) & SLOT_MASK];
    for (at = q.first;; at = (at & 7) == CHUNK_WORDS
                                 ? (uint32_t)chunk_link(&w->pool, at >> 3)->next * 8 + 1
                                 : at + 1) {
        time = time_min(time, word_time(w, w->pool.words[at]));
        if (at == q.last || time <= w->now)
            return time > UINT64_MAX >> w->shift ? TIME_NEVER : time << w->shift;
    }
}
