/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing wheel.
 *
 * Slots are found by time alone: slot number = time / width, modulo the ring's slots. Level 0, the
 * near ring, is in wheel_near.c. This file has the other levels, and the walk through all of them.
 *
 * Invariant: front[1] <= front[2]. Both are multiples of the widths of their levels' slots, and not
 * before the slots of `now`. Entries in level 1 are due at front[1] or later, in level 2 at
 * front[2] or later. An entry due at front[1] or later is not returned, though level 0 may have it
 * already. A queued entry goes to level 0 if it is due before near_end, else to level 2 if it is
 * due at front[2] or later, else to level 1. No ring is longer than its slots:
 * front[1] <= near_end <= now + the slots of level 0, front[2] <= now + 2^29, and all times < now +
 * 2^40.
 */
#include "pace/wheel.h"

#include <string.h>

#include "base/clock.h"
#include "pace/wheel_near.h"

#define AHEAD        2u
#define LINES_AHEAD  8u                       /* 64 entries: about the latency of memory */
#define LOOK         (64u << WHEEL_NEAR_BITS) /* units in which the next slot in use is sought */
#define POLL         64u
#define BUDGET(max)  (2 * (max) + 64)
#define SOME         16u /* entries that each poll moves well before they are due */
#define FEW_ENTRIES  8192u
#define MANY_ENTRIES 65536u

/* A slot of level 0 has room for the entries that a core can pace in the slot's time; in a wheel of
 * few entries, for twice as many. */
static uint32_t room_bits(uint32_t capacity)
{
    return capacity <= FEW_ENTRIES ? WHEEL_ROOM_BITS_FEW : WHEEL_ROOM_BITS;
}

/* Level 0 has so many slots that most entries that are queued for their next turn go there at once,
 * but no more than a second-level cache can keep. */
static uint32_t near_slots(uint32_t capacity)
{
    uint32_t most = capacity > MANY_ENTRIES ? WHEEL_NEAR_SLOTS_MAX : WHEEL_NEAR_SLOTS_MAX / 2;
    uint32_t slots = WHEEL_NEAR_SLOTS_MIN;

    while (slots < capacity / 2 && slots < most)
        slots *= 2;
    return slots;
}

/* How many lines the pool needs. A slot in use leaves up to 7 words of its lines unused; one that
 * is being emptied, a line more. A slot of level 0 leaves fewer, since its first entries are not in
 * the pool. The first line is never used. */
static uint32_t pool_lines(uint32_t capacity)
{
    uint32_t slots = (WHEEL_LEVELS - 1) * WHEEL_SLOTS;

    return 2 + (capacity + 7 * (capacity < slots ? capacity : slots)) / CHUNK_WORDS + 2 +
           2 * WHEEL_LEVELS;
}

/* Enough bits for all positions of the pool. */
static uint32_t place_bits(uint32_t capacity)
{
    return 32 - (uint32_t)__builtin_clz(pool_lines(capacity) * CHUNK_WORDS);
}

static size_t align_up(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static size_t near_words(uint32_t capacity)
{
    return (size_t)near_slots(capacity) << room_bits(capacity);
}

size_t wheel_placed_bytes(uint32_t capacity)
{
    return sizeof(struct wheel) + near_words(capacity) * sizeof(uint32_t) +
           align_up((size_t)pool_lines(capacity) * CHUNK_LINE_BYTES);
}

size_t wheel_storage_bytes(uint32_t capacity)
{
    return wheel_placed_bytes(capacity) + align_up(capacity * sizeof(uint32_t));
}

/* Where the front of level 1 or up should be: AHEAD slots after the start of the slot of `now`.
 * Entries due before the front belong in the levels below. */
static inline uint64_t front_wanted(const struct wheel *w, uint32_t level)
{
    return ((w->now >> WHEEL_SLOT_BITS(level)) + AHEAD) << WHEEL_SLOT_BITS(level);
}

/* How far the slots of level 0 reach from the slot of `now` on, in whole slots of level 1. */
static inline uint64_t near_end(const struct wheel *w)
{
    const uint64_t slots = (w->near_mask + 1) >> (WHEEL_SLOT_BITS(1) - WHEEL_NEAR_BITS);

    return ((w->now >> WHEEL_SLOT_BITS(1)) + slots - 1) << WHEEL_SLOT_BITS(1);
}

struct wheel *wheel_init_placed(void *storage, uint32_t capacity, uint32_t shift, uint64_t now,
                                uint32_t *position, uint32_t stride_bytes)
{
    struct wheel *w = storage;

    CHECK(capacity <= WHEEL_CAPACITY_MAX && shift <= WHEEL_SHIFT_MAX &&
          (uintptr_t)storage % 64 == 0);
    *w = (struct wheel){.now = now >> shift,
                        .shift = shift,
                        .capacity = capacity,
                        .room_bits = room_bits(capacity),
                        .near_mask = near_slots(capacity) - 1,
                        .place_bits = place_bits(capacity),
                        .position = position,
                        .stride_bytes = stride_bytes,
                        .warm = {{.front = TIME_NEVER}, {.front = TIME_NEVER}}};
    chunk_pool_init(&w->pool, w->words + near_words(capacity), pool_lines(capacity));
    for (uint32_t i = 0; i < capacity; i++)
        wheel_forget(w, i);
    for (uint32_t l = 1; l < WHEEL_LEVELS; l++) {
        for (uint32_t s = 0; s < WHEEL_SLOTS; s++)
            w->far[l - 1][s] = CHUNK_EMPTY;
        w->front[l] = front_wanted(w, l);
    }
    w->near_end = near_end(w);
    return w;
}

struct wheel *wheel_init(void *storage, uint32_t capacity, uint32_t shift, uint64_t now)
{
    uint32_t *position = (uint32_t *)((char *)storage + wheel_placed_bytes(capacity));

    return wheel_init_placed(storage, capacity, shift, now, position, sizeof *position);
}

/* ---- slots -------------------------------------------------------------------------------- */

void wheel_far_grow(struct wheel *w, uint32_t level, uint32_t slot)
{
    struct chunk_queue *q = &w->far[level - 1][slot];

    if (chunk_queue_empty(q))
        bits_add(w->used[level - 1], w->summary[level - 1], slot);
    chunk_grow(&w->pool, q, WHEEL_NEAR_SLOTS_MAX + (level - 1) * WHEEL_SLOTS + slot);
}

/* Start of the first slot in use, from the slot of `from` on, or TIME_NEVER. */
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

/* The queue of a slot, which is numbered as owners of lines are. */
static inline const struct chunk_queue *slot_queue(const struct wheel *w, uint32_t slot)
{
    if (slot < WHEEL_NEAR_SLOTS_MAX)
        return wheel_near_queue(w, slot);
    slot -= WHEEL_NEAR_SLOTS_MAX;
    return &w->far[slot / WHEEL_SLOTS][slot % WHEEL_SLOTS];
}

/* The slot whose queue has the entry's word, numbered as owners of lines are. The entry is queued,
 * and its position says: at `at` of the pool. CHUNK_NO_OWNER: the entry has moved down to the words
 * of a near slot. */
static uint32_t word_slot(const struct wheel *w, uint32_t entry, uint32_t at)
{
    uint32_t line = at / CHUNK_WORDS, slot = (uint32_t)chunk_link(&w->pool, line)->owner;
    const struct chunk_queue *q;

    if (slot == CHUNK_NO_OWNER || wheel_word_entry(w->pool.words[at]) != entry)
        return CHUNK_NO_OWNER;
    q = slot_queue(w, slot);
    /* a word of the line that was taken, or is not in use yet, may look like the entry's, too */
    if ((line == q->first / CHUNK_WORDS && at < q->first) ||
        (line == q->last / CHUNK_WORDS && at > q->last))
        return CHUNK_NO_OWNER;
    return slot;
}

static void far_remove(struct wheel *w, uint32_t level, uint32_t slot, uint32_t at)
{
    struct chunk_queue *q = &w->far[level - 1][slot];
    uint64_t moved = chunk_remove(&w->pool, q, at);

    *wheel_position(w, wheel_word_entry(moved)) = wheel_place(w, at, moved);
    if (chunk_queue_empty(q))
        bits_drop(w->used[level - 1], w->summary[level - 1], slot);
}

static void entry_remove(struct wheel *w, uint32_t entry)
{
    uint32_t place = *wheel_position(w, entry), at = wheel_place_at(w, place), slot;

    if ((place & WHEEL_AT_NEAR) != 0) {
        wheel_near_remove(w, place - WHEEL_AT_NEAR, entry);
    } else {
        slot = word_slot(w, entry, at);
        if (slot == CHUNK_NO_OWNER)
            wheel_near_remove(w, wheel_near_find(w, place, entry), entry);
        else if (slot < WHEEL_NEAR_SLOTS_MAX)
            wheel_near_drop(w, slot, at);
        else
            far_remove(w, 1 + (slot - WHEEL_NEAR_SLOTS_MAX) / WHEEL_SLOTS, slot % WHEEL_SLOTS, at);
    }
    wheel_forget(w, entry);
}

/* Does a queued entry wait for this time already? */
static bool entry_is_at(const struct wheel *w, uint32_t entry, uint64_t time)
{
    uint32_t place = *wheel_position(w, entry), at = wheel_place_at(w, place);

    if ((place & WHEEL_AT_NEAR) == 0 && word_slot(w, entry, at) != CHUNK_NO_OWNER)
        return w->pool.words[at] == wheel_word(time, entry);
    return time < w->near_end && wheel_near_has(w, wheel_near_slot(w, time), time, entry);
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
    if (*wheel_position(w, entry) != 0) {
        if (entry_is_at(w, entry, time))
            return; /* the entry keeps its turn */
        entry_remove(w, entry);
    }
    wheel_slot_append(w, time, entry, wheel_position(w, entry));
}

void wheel_cancel(struct wheel *w, uint32_t entry)
{
    CHECK(entry < w->capacity);
    if (*wheel_position(w, entry) == 0)
        return;
    entry_remove(w, entry);
}

/* ---- down a ring -------------------------------------------------------------------------- */

/* Prefetches the line that is LINES_AHEAD further on; none behind the last. */
static inline void line_ask(const struct wheel *w, struct wheel_warm *warm)
{
    __builtin_prefetch(&w->pool.words[(uint64_t)warm->line * CHUNK_WORDS]);
    warm->line = (uint32_t)chunk_link(&w->pool, warm->line)->next;
}

/* Moves words to level 0. The entries' positions do not change (wheel_near.h), but are prefetched,
 * since their owner will touch them when they are due. */
static __attribute__((noinline)) void words_move_near(struct wheel *w, const uint64_t *words,
                                                      uint32_t n)
{
    const uint32_t room_bits = w->room_bits, mask = w->near_mask;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = (uint32_t)(words[i] >> (WHEEL_ENTRY_BITS + WHEEL_NEAR_BITS)) & mask;

        __builtin_prefetch(wheel_position(w, wheel_word_entry(words[i])), 1);
        if (__builtin_expect(!wheel_near_put(w, slot, words[i], room_bits), 0))
            wheel_near_overflow(w, slot, words[i]);
    }
}

/* Moves words of a slot of level 2, which starts at `start`. */
static void words_move(struct wheel *w, const uint64_t *words, uint32_t n, uint64_t start)
{
    const uint64_t width = 1ull << WHEEL_SLOT_BITS(2);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t time = start + (words[i] >> WHEEL_ENTRY_BITS & (width - 1));
        uint32_t entry = wheel_word_entry(words[i]);

        wheel_slot_append(w, time, entry, wheel_position(w, entry));
    }
}

/* Moves down up to max entries of the first line of the slot that starts at `start`; returns how
 * many. */
static inline uint32_t line_cascade(struct wheel *w, struct chunk_queue *q, uint32_t level,
                                    uint64_t start, uint32_t max)
{
    uint32_t at = q->first, line = at / CHUNK_WORDS, n;
    uint32_t end = line == q->last / CHUNK_WORDS ? q->last : line * CHUNK_WORDS + CHUNK_WORDS - 1;

    if (at % CHUNK_WORDS == 0)
        line_ask(w, &w->warm[level - 1]);
    n = end - at + 1 < max ? end - at + 1 : max;
    if (level == 1)
        words_move_near(w, &w->pool.words[at], n);
    else
        words_move(w, &w->pool.words[at], n, start);
    q->first = at + n;
    if (q->first <= end)
        return n;
    if (end == q->last)
        *q = CHUNK_EMPTY;
    else
        q->first = (uint32_t)chunk_link(&w->pool, line)->next * CHUNK_WORDS;
    chunk_give(&w->pool, line);
    return n;
}

/* Moves the slot at front[level] down, and the front past it. False: the budget is used up. */
static bool slot_cascade(struct wheel *w, uint32_t level, uint32_t *budget)
{
    uint64_t front = w->front[level];
    uint32_t slot = wheel_slot(level, front);
    struct chunk_queue *q = &w->far[level - 1][slot];

    w->front[level] += 1ull << WHEEL_SLOT_BITS(level);
    if (w->warm[level - 1].front != front) {
        w->warm[level - 1] = (struct wheel_warm){front, q->first / CHUNK_WORDS};
        for (uint32_t i = 0; i < LINES_AHEAD; i++)
            line_ask(w, &w->warm[level - 1]);
    }
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

/* Advances front[level] to `until` at least, or as far as the budget allows. */
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

/* Keeps the fronts so far ahead of `now` that the entries due next are in level 0 already. A poll
 * moves some more entries than it took; there is time for later polls to move the rest. */
static __attribute__((noinline)) void fronts_advance(struct wheel *w, uint32_t taken,
                                                     uint32_t *budget)
{
    uint32_t some = 2 * taken + SOME < *budget ? 2 * taken + SOME : *budget, left = some;

    w->near_end = near_end(w);
    for (uint32_t level = WHEEL_LEVELS - 1; level > 0; level--) {
        uint64_t at = w->now >> WHEEL_SLOT_BITS(level) << WHEEL_SLOT_BITS(level);
        uint64_t until = front_wanted(w, level);

        if (w->front[level] < at)
            w->front[level] = at; /* no entry is due before now: the slots in between are empty */
        if (level + 1 < WHEEL_LEVELS && until > w->front[level + 1])
            until = w->front[level + 1];
        front_advance(w, level, until, &left);
    }
    *budget -= some - left;
    w->behind = left == 0;
}

/* Start of the slot after that of `now`. */
static inline uint64_t slot_after(uint32_t level, uint64_t now)
{
    return ((now >> WHEEL_SLOT_BITS(level)) + 1) << WHEEL_SLOT_BITS(level);
}

/* Returns the level above 0 that has the earliest entry. *start: where its slot starts; TIME_NEVER:
 * there is no entry. */
static uint32_t far_start(const struct wheel *w, uint64_t *start)
{
    *start = first_start(w, 1, w->front[1]);
    if (*start < w->front[2])
        return 1;
    *start = first_start(w, 2, w->front[2]);
    return 2;
}

/* For a `now` that has passed front[1], when level 0 has no entry due before front[1]. Moves down
 * the next entries of the other levels, then advances front[1]. False: the budget is used up. */
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
    if (wheel_near_start(w, w->now, until) < until)
        until = time_min(until, near_end(w));
    else
        w->now = time_min(until, now);
    w->near_end = near_end(w);
    w->front[1] = until;
    if (until > w->front[2])
        w->front[2] = time_min(start, slot_after(2, now));
    return true;
}

/* Takes the due entries of the slot of `now`; no earlier slot has any left. */
static uint32_t now_take(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max)
{
    uint32_t n = 0;

    if (w->count[wheel_near_slot(w, now)] != 0 && now >= w->near)
        n = wheel_near_take_due(w, now, entries, max);
    if (w->count[wheel_near_slot(w, now)] == 0) /* more entries may move down from front[1] on */
        w->near = wheel_near_start(w, now, time_min(w->front[1], now + LOOK));
    if (w->near > now)
        w->now = now;
    return n;
}

/* wheel_take() that moves at most *budget entries down a ring. */
static inline uint32_t take(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max,
                            uint32_t *budget)
{
    uint64_t now = now_tsc >> w->shift, slot = wheel_near_base(now);
    uint32_t n = 0;

    if (now < w->now)
        return 0;
    if (now < w->near && now >> WHEEL_SLOT_BITS(1) == w->now >> WHEEL_SLOT_BITS(1)) {
        if (w->behind)
            fronts_advance(w, 0, budget);
        return 0;
    }
    while (wheel_near_take(w, time_min(now + 1, w->front[1]), entries, &n, max)) {
        if (now < w->front[1]) {
            if (slot > w->now)
                w->now = slot;
            if (n == 0) /* else this poll has enough, and the slot of `now` can wait */
                n = now_take(w, now, entries, max);
            else
                w->near = w->now;
            break;
        }
        if (n == max || !fronts_catch_up(w, now, budget))
            break;
    }
    if (w->front[1] < front_wanted(w, 1) || w->front[2] < front_wanted(w, 2))
        fronts_advance(w, n, budget);
    return n;
}

uint32_t wheel_take(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max)
{
    uint32_t budget = BUDGET(max);

    return take(w, now_tsc, entries, max, &budget);
}

uint32_t wheel_poll(struct wheel *w, uint64_t now_tsc, uint32_t *entries, uint32_t max)
{
    uint32_t some[POLL + WHEEL_SPARE], budget = BUDGET(max), n = 0, k;

    do {
        k = take(w, now_tsc, some, max - n < POLL ? max - n : POLL, &budget);
        for (uint32_t i = 0; i < k; i++) {
            wheel_forget(w, some[i]);
            entries[n++] = some[i];
        }
    } while (k > 0 && n < max);
    return n;
}

uint64_t wheel_next(struct wheel *w)
{
    uint64_t from = w->near > w->now ? time_min(w->near, w->near_end) : w->now, start;
    uint64_t time = TIME_NEVER;

    start = wheel_near_start(w, from, w->near_end);
    if (start >= w->front[1])
        far_start(w, &time);
    if (start <= time && start < w->near_end)
        time = time_min(time, wheel_near_next(w, start));
    return time > UINT64_MAX >> w->shift ? TIME_NEVER : time << w->shift;
}
