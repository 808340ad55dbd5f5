/* SPDX-License-Identifier: BSD-3-Clause */
/* The wheel's near ring (wheel_near.h). */
#include "pace/wheel_near.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "pace/wheel.h"

#define PEEK_SLOTS 4u  /* slots that wheel_peek() looks at */
#define GROUP      16u /* words taken together; a slot's room is a multiple of it */

#define LINE 64u /* counts in a cache line */

static_assert(WHEEL_NEAR_SLOTS_MIN % LINE == 0, "the ring is whole lines");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first of eight bytes is the lowest");

typedef uint64_t eight_counts __attribute__((may_alias, aligned(8)));

/* True if no slot of this line of counts is in use. */
static inline bool line_empty(const uint8_t *count)
{
    const eight_counts *words = (const eight_counts *)count;
    uint64_t any = 0;

    for (uint32_t i = 0; i < LINE / 8; i++)
        any |= words[i];
    return any == 0;
}

/* The first slot in use from `at` on, before end, else end. Slots are counted from time 0 on. */
static inline uint64_t slot_next(const struct wheel *w, uint64_t at, uint64_t end)
{
    const uint32_t skip = (uint32_t)at % 8; /* counts are looked at by eights */
    uint64_t next = at - skip, last = next + w->near_mask + 1, counts;

    do {
        memcpy(&counts, w->count + (next & w->near_mask), 8);
        if (next < at)
            counts &= ~0ull << skip * 8;
        if (counts != 0)
            return time_min(next + (uint32_t)__builtin_ctzll(counts) / 8, end);
        next += 8;
        while (next % LINE == 0 && next <= last && next < end &&
               line_empty(w->count + (next & w->near_mask)))
            next += LINE;
    } while (next <= last && next < end);
    return end;
}

static inline uint32_t *slot_words(const struct wheel *w, uint32_t slot)
{
    return wheel_near_words(w, slot, w->room_bits);
}

static inline uint32_t slot_full(const struct wheel *w)
{
    return wheel_near_full(w->room_bits);
}

/* How many words of a slot are in use. */
static inline uint32_t slot_count(const struct wheel *w, uint32_t slot)
{
    return w->count[slot] < slot_full(w) ? w->count[slot] : slot_full(w);
}

uint64_t wheel_near_start(const struct wheel *w, uint64_t from, uint64_t until)
{
    uint64_t at = from >> WHEEL_NEAR_BITS, end = (until >> WHEEL_NEAR_BITS) + 1;

    at = slot_next(w, at, end);
    return at < end ? time_min(at << WHEEL_NEAR_BITS, until) : until;
}

void wheel_near_overflow(struct wheel *w, uint32_t slot, uint64_t word)
{
    struct chunk_queue *q = wheel_near_queue(w, slot);

    if (w->count[slot] == slot_full(w)) {
        *q = CHUNK_EMPTY;
        w->count[slot]++;
    }
    *wheel_position(w, wheel_word_entry(word)) =
        wheel_place(w, chunk_append(&w->pool, q, word, slot), word);
}

/* n of the slot's words are still in use: entries of its queue move up behind them. */
static void slot_fill(struct wheel *w, uint32_t slot, uint32_t n)
{
    bool more = w->count[slot] > slot_full(w);
    struct chunk_queue *q = wheel_near_queue(w, slot);
    uint32_t *words = slot_words(w, slot);

    for (; more && n < slot_full(w); more = !chunk_queue_empty(q)) {
        uint64_t word = chunk_shift(&w->pool, q);

        words[n++] = (uint32_t)word;
        *wheel_position(w, wheel_word_entry(word)) = WHEEL_AT_NEAR | slot;
    }
    w->count[slot] = (uint8_t)(n + more);
}

typedef uint32_t four __attribute__((vector_size(16), aligned(4)));

/* Extracts the entries of n words, and of some more: the processor predicts fewer branches then. */
static inline void words_take(const uint32_t *words, uint32_t n, uint32_t *entries)
{
    for (uint32_t at = 0; at < n; at += GROUP)
        for (uint32_t i = at; i < at + GROUP; i += 4)
            *(four *)(entries + i) = *(const four *)(words + i) & ((1u << WHEEL_ENTRY_BITS) - 1);
}

bool wheel_near_take(struct wheel *w, uint64_t until, uint32_t *entries, uint32_t *n, uint32_t max)
{
    const uint64_t end = until >> WHEEL_NEAR_BITS;
    uint64_t at = w->now >> WHEEL_NEAR_BITS;

    while (at < end) {
        uint32_t slot = (uint32_t)at & w->near_mask, count = w->count[slot], k;
        uint32_t *words = slot_words(w, slot);

        if (count == 0) {
            at = slot_next(w, at, end);
            continue;
        }
        words_take(words, count, entries + *n);
        if (__builtin_expect(count <= slot_full(w) && count <= max - *n, 1)) {
            *n += count;
            w->count[slot] = 0;
            at++;
            continue;
        }
        count = slot_count(w, slot);
        k = count < max - *n ? count : max - *n;
        *n += k;
        memmove(words, words + k, (count - k) * sizeof *words);
        slot_fill(w, slot, count - k);
        if (*n == max) {
            if (at << WHEEL_NEAR_BITS > w->now)
                w->now = at << WHEEL_NEAR_BITS;
            return false;
        }
    }
    return true;
}

void wheel_peek(const struct wheel *w, uint32_t *entries)
{
    uint64_t at = w->now >> WHEEL_NEAR_BITS, end = at + PEEK_SLOTS;
    uint32_t n = 0;

    for (; n < WHEEL_AHEAD && at < end; at++) {
        uint32_t slot = (uint32_t)at & w->near_mask, count = slot_count(w, slot);

        words_take(slot_words(w, slot), count, entries + n);
        n += count;
    }
    memset(entries + n, 0, WHEEL_AHEAD * sizeof *entries);
}

/* wheel_near_take_due() of the slot's queue. */
static __attribute__((noinline)) uint32_t queue_take_due(struct wheel *w, uint32_t slot,
                                                         uint32_t due, uint32_t *entries,
                                                         uint32_t max, uint32_t *soonest)
{
    struct chunk_queue *q = wheel_near_queue(w, slot);
    uint32_t n = 0, last = q->last;
    bool more = true;

    while (more) {
        uint64_t word = w->pool.words[q->first];
        uint32_t entry = wheel_word_entry(word), time = wheel_near_time((uint32_t)word);

        more = q->first != last;
        chunk_shift(&w->pool, q);
        if (time <= due && n < max) {
            entries[n++] = entry;
            continue;
        }
        *soonest = time < *soonest ? time : *soonest;
        *wheel_position(w, entry) = wheel_place(w, chunk_append(&w->pool, q, word, slot), word);
    }
    return n;
}

uint32_t wheel_near_take_due(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max)
{
    const uint64_t base = wheel_near_base(now);
    uint32_t slot = wheel_near_slot(w, now), due = (uint32_t)(now - base);
    uint32_t n = 0, kept = 0, least = 1u << WHEEL_NEAR_BITS;
    uint32_t *words = slot_words(w, slot);
    const uint32_t count = slot_count(w, slot);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = words[i], time = wheel_near_time(word);
        uint32_t stays = (time > due) | (n >= max), left = stays ? time : least;

        entries[n] = wheel_word_entry(word);
        words[kept] = word;
        n += !stays;
        kept += stays;
        least = left < least ? left : least;
    }
    if (w->count[slot] > slot_full(w)) {
        n += queue_take_due(w, slot, due, entries + n, max - n, &least);
        if (chunk_queue_empty(wheel_near_queue(w, slot)))
            w->count[slot] = (uint8_t)slot_full(w);
        slot_fill(w, slot, kept);
    } else {
        w->count[slot] = (uint8_t)kept;
    }
    w->near = base + least;
    return n;
}

/* The entry's index in the slot's words, or slot_count() if it is not there. */
static uint32_t slot_find(const struct wheel *w, uint32_t slot, uint32_t entry)
{
    const uint32_t *words = slot_words(w, slot);
    uint32_t n = slot_count(w, slot), i = 0;

    while (i < n && wheel_word_entry(words[i]) != entry)
        i++;
    return i;
}

uint32_t wheel_near_find(const struct wheel *w, uint32_t place, uint32_t entry)
{
    const uint64_t round = wheel_place_round(w);
    uint64_t time = (w->now & ~(round - 1)) + wheel_place_time(w, place);

    for (; time < w->near_end; time += round) {
        uint32_t slot = wheel_near_slot(w, time);

        if (slot_find(w, slot, entry) < slot_count(w, slot))
            return slot;
    }
    CHECK(!"an entry is where its position says");
    return 0;
}

bool wheel_near_has(const struct wheel *w, uint32_t slot, uint64_t time, uint32_t entry)
{
    uint32_t i = slot_find(w, slot, entry);

    return i < slot_count(w, slot) && slot_words(w, slot)[i] == (uint32_t)wheel_word(time, entry);
}

void wheel_near_remove(struct wheel *w, uint32_t slot, uint32_t entry)
{
    uint32_t *words = slot_words(w, slot);
    uint32_t n = slot_count(w, slot), i = slot_find(w, slot, entry);

    CHECK(i < n);
    memmove(words + i, words + i + 1, (n - i - 1) * sizeof *words);
    slot_fill(w, slot, n - 1);
}

void wheel_near_drop(struct wheel *w, uint32_t slot, uint32_t at)
{
    struct chunk_queue *q = wheel_near_queue(w, slot);
    uint64_t moved = chunk_remove(&w->pool, q, at);

    *wheel_position(w, wheel_word_entry(moved)) = wheel_place(w, at, moved);
    if (chunk_queue_empty(q))
        w->count[slot] = (uint8_t)slot_full(w);
}

uint64_t wheel_near_next(const struct wheel *w, uint64_t start)
{
    const uint64_t base = wheel_near_base(start);
    uint64_t soonest = TIME_NEVER;
    uint32_t slot = wheel_near_slot(w, start), count = slot_count(w, slot);
    const uint32_t *words = slot_words(w, slot);

    for (uint32_t i = 0; i < count; i++)
        soonest = time_min(soonest, base + wheel_near_time(words[i]));
    if (w->count[slot] > slot_full(w)) {
        const struct chunk_queue *q = wheel_near_queue(w, slot);

        for (uint32_t at = q->first;; at++) {
            soonest = time_min(soonest, base + wheel_near_time((uint32_t)w->pool.words[at]));
            if (at == q->last || soonest <= w->now)
                break;
            if ((at & 7) == 7)
                at = (uint32_t)chunk_link(&w->pool, at >> 3)->next * 8 - 1;
        }
    }
    return soonest;
}
