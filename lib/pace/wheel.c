/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing wheel.
 *
 * Slots are found by time alone: slot number = time / width, modulo the ring's slots. Level 0, the
 * near ring, is in wheel_near.c; this is what lies further away, and the walk.
 *
 * Invariant: front[1] <= front[2], not before the slots of now, multiples of the widths of their
 * levels' slots; what is in level 1 is due at front[1] or later, in level 2 at front[2] or later,
 * and nothing due at front[1] or later is returned, though level 0 may have it already: what is
 * queued goes there if it is due before near_end, at front[2] or later to level 2, else to level 1.
 * No ring is longer than its slots: front[1] <= near_end <= now + 2^24, front[2] <= now + 2^29, and
 * all times < now + 2^40.
 */
#include "pace/wheel.h"

#include <string.h>

#include "base/clock.h"
#include "pace/wheel_slot.h"

#define AHEAD        2u
#define WARM_ENTRIES 48u
#define WARM_FAR     16384u /* units */

static uint32_t pool_lines(uint32_t capacity)
{
    uint32_t slots = WHEEL_NEAR_SLOTS + (WHEEL_LEVELS - 1) * WHEEL_SLOTS;

    /* A slot in use has up to 6 words less than its lines could; one that is being emptied, a line
     * more. In level 0 it is less, since twice as many entries are in a line. The first line is
     * none; behind the last one is room to look beyond it. */
    return 2 + (capacity + 6 * (capacity < slots ? capacity : slots)) / CHUNK_WORDS + 2 +
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

/* Of level 1 and up, the slots of now and of what is due soon are to be in the level below. */
static inline uint64_t front_wanted(const struct wheel *w, uint32_t level)
{
    return ((w->now >> WHEEL_SLOT_BITS(level)) + AHEAD) << WHEEL_SLOT_BITS(level);
}

/* As far as level 0 has slots from that of now on, and of level 1 whole ones. */
static inline uint64_t near_end(const struct wheel *w)
{
    const uint64_t slots = WHEEL_NEAR_SLOTS >> (WHEEL_SLOT_BITS(1) - w->near_bits);

    return ((w->now >> WHEEL_SLOT_BITS(1)) + slots - 1) << WHEEL_SLOT_BITS(1);
}

struct wheel *wheel_init(void *storage, uint32_t capacity, uint32_t shift, uint64_t now)
{
    struct wheel *w = storage;
    char *lines = (char *)storage + align_up(sizeof *w);

    CHECK(capacity <= WHEEL_CAPACITY_MAX && shift <= WHEEL_SHIFT_MAX &&
          (uintptr_t)storage % 64 == 0);
    *w = (struct wheel){.now = now >> shift, .shift = shift, .capacity = capacity, .near_bits = 8};
    chunk_pool_init(&w->pool, lines, pool_lines(capacity) - 1, 1);
    w->position = (uint32_t *)(lines + (size_t)pool_lines(capacity) * 64);
    memset(w->position, 0, capacity * sizeof *w->position);
    for (uint32_t s = 0; s < WHEEL_NEAR_SLOTS; s++)
        w->near_last[s] = WHEEL_NEAR_NONE;
    for (uint32_t l = 1; l < WHEEL_LEVELS; l++) {
        for (uint32_t s = 0; s < WHEEL_SLOTS; s++)
            w->far[l - 1][s] = CHUNK_EMPTY;
        w->front[l] = front_wanted(w, l);
    }
    w->near_end = near_end(w);
    return w;
}

void wheel_warm(struct wheel *w, const void *lines, uint32_t stride_bytes)
{
    w->lines = lines;
    w->stride_bytes = stride_bytes;
}

void wheel_widen(struct wheel *w)
{
    CHECK(wheel_next(w) == TIME_NEVER);
    w->near_bits = WHEEL_NEAR_BITS;
    w->near_end = near_end(w);
}

/* ---- slots -------------------------------------------------------------------------------- */

static __attribute__((noinline)) void far_grow(struct wheel *w, uint32_t level, uint32_t slot)
{
    struct chunk_queue *q = &w->far[level - 1][slot];

    if (chunk_queue_empty(q))
        bits_add(w->used[level - 1], w->summary[level - 1], slot);
    chunk_grow(&w->pool, q, WHEEL_NEAR_SLOTS + (level - 1) * WHEEL_SLOTS + slot);
}

void wheel_far_append(struct wheel *w, uint64_t time, uint32_t entry)
{
    uint32_t level = 1 + (uint32_t)(time >= w->front[2]), slot = wheel_slot(level, time);
    struct chunk_queue *q = &w->far[level - 1][slot];

    if (__builtin_expect((q->last & 7) == CHUNK_WORDS, 0))
        far_grow(w, level, slot);
    w->pool.words[++q->last] = wheel_word(time, entry);
    w->position[entry] = 2 * q->last;
}

/* Start of the first slot in use from the slot of `from` on, or TIME_NEVER. */
static uint64_t first_start(const struct wheel *w, uint32_t level, uint64_t from)
{
    uint32_t slot = wheel_slot(level, from);
    uint32_t next = bits_next_round(w->used[level - 1], w->summary[level - 1], WHEEL_SLOTS, slot);

    if (next == WHEEL_SLOTS)
        return TIME_NEVER;
    return ((from >> WHEEL_SLOT_BITS(level)) + ((next - slot) & WHEEL_SLOT_MASK))
           << WHEEL_SLOT_BITS(level);
}

/* ---- in and out --------------------------------------------------------------------------- */

/* Who owns the line in which an entry that is queued lies. */
static uint32_t owner_at(const struct wheel *w, uint32_t at)
{
    return (uint32_t)chunk_link(&w->pool, at / WHEEL_LINE)->owner;
}

static void far_remove(struct wheel *w, uint32_t level, uint32_t slot, uint32_t at)
{
    struct chunk_queue *q = &w->far[level - 1][slot];

    w->position[wheel_word_entry(chunk_remove(&w->pool, q, at / 2))] = at;
    if (chunk_queue_empty(q))
        bits_drop(w->used[level - 1], w->summary[level - 1], slot);
}

static void entry_remove(struct wheel *w, uint32_t entry)
{
    uint32_t at = w->position[entry], owner = owner_at(w, at);

    if (owner < WHEEL_NEAR_SLOTS)
        wheel_near_remove(w, owner, at);
    else
        far_remove(w, 1 + (owner - WHEEL_NEAR_SLOTS) / WHEEL_SLOTS, owner % WHEEL_SLOTS, at);
    w->position[entry] = 0;
}

/* Does an entry that is queued wait for this time already? */
static bool entry_is_at(const struct wheel *w, uint32_t entry, uint64_t time)
{
    uint32_t at = w->position[entry], owner = owner_at(w, at);

    if (owner >= WHEEL_NEAR_SLOTS)
        return w->pool.words[at / 2] == wheel_word(time, entry);
    return time < w->near_end && owner == wheel_near_slot(w, time) &&
           wheel_near_words(w)[at] == wheel_near_word(time, entry);
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
        if (entry_is_at(w, entry, time))
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

/* ---- down a ring -------------------------------------------------------------------------- */

/* Asks for what moving this line will touch, and for the line after it. */
static void line_warm(const struct wheel *w, uint32_t line)
{
    const uint64_t *words = &w->pool.words[(uint64_t)line * 8];

    if (line == 0)
        return;
    __builtin_prefetch(chunk_link(&w->pool, (uint32_t)chunk_link(&w->pool, line)->next));
    for (uint32_t i = 1; i <= CHUNK_WORDS; i++) {
        uint32_t entry = wheel_word_entry(words[i]); /* where none is yet, any */

        if (entry < w->capacity)
            __builtin_prefetch(&w->position[entry], 1);
    }
}

/* Moves up to max entries of the first line of a slot that starts at `start`; returns how many. */
static inline uint32_t line_cascade(struct wheel *w, struct chunk_queue *q, uint32_t level,
                                    uint64_t start, uint32_t max)
{
    const uint64_t width = 1ull << WHEEL_SLOT_BITS(level);
    uint32_t at = q->first, line = at >> 3, n;
    uint32_t end = line == q->last >> 3 ? q->last : line * 8 + CHUNK_WORDS;

    if ((at & 7) == 1)
        line_warm(w, (uint32_t)chunk_link(&w->pool, line)->next);
    n = end - at + 1 < max ? end - at + 1 : max;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t word = w->pool.words[at + i];
        uint64_t time = start + (word >> WHEEL_ENTRY_BITS & (width - 1));

        if (level == 1)
            wheel_near_append(w, time, wheel_word_entry(word));
        else
            wheel_slot_append(w, time, wheel_word_entry(word));
    }
    q->first = at + n;
    if (q->first <= end)
        return n;
    if (end == q->last)
        *q = CHUNK_EMPTY;
    else
        q->first = (uint32_t)chunk_link(&w->pool, line)->next * 8 + 1;
    chunk_give(&w->pool, line);
    return n;
}

/* Moves the slot at front[level] down, and the front past it, unless the budget is used up. */
static bool slot_cascade(struct wheel *w, uint32_t level, uint32_t *budget)
{
    uint64_t front = w->front[level];
    uint32_t slot = wheel_slot(level, front);
    struct chunk_queue *q = &w->far[level - 1][slot];

    w->front[level] += 1ull << WHEEL_SLOT_BITS(level);
    while (!chunk_queue_empty(q)) {
        if (*budget == 0) {
            w->front[level] = front;
            return false;
        }
        *budget -= level == 1 ? line_cascade(w, q, 1, front, *budget)
                              : line_cascade(w, q, 2, front, *budget);
    }
    bits_drop(w->used[level - 1], w->summary[level - 1], slot);
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
static __attribute__((noinline)) void fronts_advance(struct wheel *w, uint32_t *budget)
{
    w->near_end = near_end(w);
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

/* Start of the slot after that of now. */
static inline uint64_t slot_after(uint32_t level, uint64_t now)
{
    return ((now >> WHEEL_SLOT_BITS(level)) + 1) << WHEEL_SLOT_BITS(level);
}

/* The level above 0 that has the earliest entry, and the start of its slot, TIME_NEVER if none has.
 */
static uint32_t far_start(const struct wheel *w, uint64_t *start)
{
    *start = first_start(w, 1, w->front[1]);
    if (*start < w->front[2])
        return 1;
    *start = first_start(w, 2, w->front[2]);
    return 2;
}

/* now has passed front[1], and level 0 has nothing that is due before that: brings it further,
 * after what comes next in the other levels has been moved down. False: the budget is used up. */
static bool fronts_catch_up(struct wheel *w, uint64_t now, uint32_t *budget)
{
    uint64_t start, until;
    uint32_t level = far_start(w, &start);

    if (w->front[1] > w->now)
        w->now = w->front[1];
    if (start == w->front[1]) {
        w->near_end = near_end(w);
        return slot_cascade(w, level, budget);
    }
    until = time_min(start, slot_after(1, now));
    if (wheel_near_start(w, w->now) < until)
        until = time_min(until, near_end(w));
    else
        w->now = time_min(until, now);
    w->near_end = near_end(w);
    w->front[1] = until;
    if (until > w->front[2])
        w->front[2] = time_min(start, slot_after(2, now));
    return true;
}

/*
 * Asks for the lines of what is due next, once for each slot: of so many entries that the next poll
 * finds its lines, but nothing that is too far away to be of use.
 */
static void lines_warm(struct wheel *w, uint32_t taken)
{
    const uint64_t width = 1u << w->near_bits;
    uint64_t until, at;

    w->ahead = w->ahead > taken ? w->ahead - taken : 0;
    if (w->warm >= w->now + WARM_FAR / 2 || (w->ahead >= WARM_ENTRIES && w->warm > w->now))
        return;
    until = (w->now + WARM_FAR + width) & ~(width - 1);
    if (w->warm <= w->now) {
        w->warm = w->now;
        w->ahead = 0;
    }
    for (at = w->warm; w->ahead < WARM_ENTRIES; at += width) {
        at = wheel_near_start(w, at);
        if (at >= until) {
            w->warm = until;
            return;
        }
        w->ahead += wheel_near_warm(w, wheel_near_slot(w, at));
    }
    w->warm = at;
}

/* Takes what is due of the slot of now, if no earlier one has any left. */
static uint32_t now_take(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max)
{
    uint32_t n = 0;

    if (!wheel_near_used(w, wheel_near_slot(w, now)))
        w->near = time_min(wheel_near_start(w, now), w->front[1]); /* where more may come from */
    else if (now >= w->near)
        n = wheel_near_take_due(w, now, entries, max);
    if (w->near > now)
        w->now = now;
    return n;
}

uint32_t wheel_take(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max,
                    uint32_t room)
{
    uint64_t now = now_tsc >> w->shift, slot = now >> w->near_bits << w->near_bits;
    uint32_t budget = 2 * max + 64, n = 0;

    if (now < w->now ||
        (now < w->near && now >> WHEEL_SLOT_BITS(1) == w->now >> WHEEL_SLOT_BITS(1)))
        return 0;
    while (wheel_near_take(w, time_min(now + 1, w->front[1]), entries, &n, max, room)) {
        if (now < w->front[1]) {
            if (slot > w->now)
                w->now = slot;
            if (n == 0) /* else it is enough for this poll: one look at each entry is saved */
                n = now_take(w, now, entries, max);
            else
                w->near = w->now;
            break;
        }
        if (n == max || !fronts_catch_up(w, now, &budget))
            break;
    }
    if (w->front[1] < front_wanted(w, 1) || w->front[2] < front_wanted(w, 2))
        fronts_advance(w, &budget);
    if (w->lines != NULL)
        lines_warm(w, n);
    return n;
}

uint32_t wheel_poll(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max)
{
    uint32_t n = wheel_take(w, now_tsc, entries, max, max);

    for (uint32_t i = 0; i < n; i++)
        wheel_forget(w, entries[i]);
    return n;
}

uint64_t wheel_next(struct wheel *w)
{
    uint64_t start, time;

    start = wheel_near_start(w, w->now);
    time = start;
    if (start >= w->front[1])
        far_start(w, &time);
    if (start <= time && start != TIME_NEVER)
        time = wheel_near_next(w, start);
    return time > UINT64_MAX >> w->shift ? TIME_NEVER : time << w->shift;
}
