/* SPDX-License-Identifier: BSD-3-Clause */
/* The wheel's near ring (wheel_slot.h). */
#include <string.h>

#include "base/clock.h"
#include "pace/wheel.h"
#include "pace/wheel_slot.h"

#define WARM_LINES 4u /* of a slot: more would not be in the cache any more */

static inline struct chunk_link *line_link(const struct wheel *w, uint32_t line)
{
    return chunk_link(&w->pool, line);
}

/* Position of the first entry of a line. */
static inline uint32_t line_first(uint32_t line)
{
    return line * WHEEL_LINE + WHEEL_LINE - WHEEL_LINE_WORDS;
}

/* Of a slot that is in use. */
static inline uint32_t slot_first(const struct wheel *w, uint32_t slot)
{
    if (w->first != 0 && slot == wheel_near_slot(w, w->now))
        return w->first;
    return line_first((uint32_t)line_link(w, w->near_last[slot] / WHEEL_LINE)->next);
}

static inline uint32_t position_after(const struct wheel *w, uint32_t at)
{
    return at % WHEEL_LINE != WHEEL_LINE - 1
               ? at + 1
               : line_first((uint32_t)line_link(w, at / WHEEL_LINE)->next);
}

/* Its lines have been given back. */
static inline void slot_clear(struct wheel *w, uint32_t slot)
{
    w->near_last[slot] = WHEEL_NEAR_NONE;
    bits_drop(w->near_used, w->near_summary, slot);
    if (slot == wheel_near_slot(w, w->now))
        w->first = 0;
}

uint64_t wheel_near_start(const struct wheel *w, uint64_t from)
{
    uint32_t slot = wheel_near_slot(w, from);
    uint32_t next = bits_next_round(w->near_used, w->near_summary, WHEEL_NEAR_SLOTS, slot);

    if (next == WHEEL_NEAR_SLOTS)
        return TIME_NEVER;
    return ((from >> w->near_bits) + ((next - slot) & (WHEEL_NEAR_SLOTS - 1))) << w->near_bits;
}

uint32_t wheel_near_grow(struct wheel *w, uint32_t slot)
{
    uint32_t tail = w->near_last[slot] / WHEEL_LINE, line = chunk_take(&w->pool);
    struct chunk_link link = {.next = line, .prev = tail, .owner = slot};

    if (w->near_last[slot] == WHEEL_NEAR_NONE) {
        bits_add(w->near_used, w->near_summary, slot);
    } else {
        link.next = line_link(w, tail)->next;
        line_link(w, tail)->next = line;
    }
    *line_link(w, line) = link;
    return line_first(line) - 1;
}

typedef uint32_t four __attribute__((vector_size(16), aligned(4)));

/* Numbers of n entries. With room, a line's worth of them all the same, how many there are: less
 * to guess for the processor. */
static inline void entries_copy(uint32_t *entries, const uint32_t *words, uint32_t n, uint32_t room)
{
    uint32_t i = 0;

    if (__builtin_expect(room >= WHEEL_LINE_WORDS, 1)) {
        for (; i < WHEEL_LINE_WORDS / 4 * 4; i += 4)
            *(four *)(entries + i) = *(const four *)(words + i) >> WHEEL_NEAR_BITS;
        n = WHEEL_LINE_WORDS;
    }
    for (; i < n; i++)
        entries[i] = wheel_near_entry(words[i]);
}

/* Takes of a slot from entry at on; adds how many to *n. True: all of it. Where there is room to
 * spare, a line that is too much is left for the next time, but not if it is the first. */
static inline bool slot_take(struct wheel *w, uint32_t slot, uint32_t at, uint32_t *entries,
                             uint32_t *n, uint32_t max, uint32_t room)
{
    const uint32_t *words = wheel_near_words(w);
    uint32_t last = w->near_last[slot], tail = last / WHEEL_LINE;

    for (;;) {
        uint32_t line = at / WHEEL_LINE, next = (uint32_t)line_link(w, line)->next;
        uint32_t end = line == tail ? last + 1 : (line + 1) * WHEEL_LINE, k = end - at;

        if (__builtin_expect(k > max - *n, 0)) {
            if (*n > 0 && room > max)
                return false;
            k = max - *n;
        }
        entries_copy(entries + *n, words + at, k, room - *n);
        *n += k;
        if (__builtin_expect(at + k != end, 0)) {
            w->first = at + k;
            return false;
        }
        chunk_give(&w->pool, line);
        if (line == tail) {
            w->near_last[slot] = WHEEL_NEAR_NONE;
            bits_drop(w->near_used, w->near_summary, slot);
            w->first = 0;
            return true;
        }
        line_link(w, tail)->next = next;
        at = line_first(next);
        w->first = 0;
    }
}

bool wheel_near_take(struct wheel *w, uint64_t until, uint32_t *entries, uint32_t *n, uint32_t max,
                     uint32_t room)
{
    const uint64_t end = until >> w->near_bits;
    uint64_t at = w->now >> w->near_bits;
    uint32_t first = w->first, slot;

    while (at < end) {
        slot = (uint32_t)at & (WHEEL_NEAR_SLOTS - 1);
        if (!wheel_near_used(w, slot)) {
            uint64_t start = wheel_near_start(w, at << w->near_bits);

            if (start == TIME_NEVER || start >> w->near_bits >= end)
                return true;
            at = start >> w->near_bits;
            slot = (uint32_t)at & (WHEEL_NEAR_SLOTS - 1);
        }
        if (first == 0)
            first = line_first((uint32_t)line_link(w, w->near_last[slot] / WHEEL_LINE)->next);
        if (!slot_take(w, slot, first, entries, n, max, room)) {
            if (at << w->near_bits > w->now)
                w->now = at << w->near_bits;
            return false;
        }
        first = 0;
        at++;
    }
    return true;
}

/* Gives back the lines from the last to the one after that of `kept`, or to the first. */
static void lines_give_behind(struct wheel *w, uint32_t last, uint32_t kept, uint32_t first)
{
    uint32_t line = last / WHEEL_LINE;

    while (line != kept / WHEEL_LINE) {
        uint32_t prev = (uint32_t)line_link(w, line)->prev;

        chunk_give(&w->pool, line);
        if (line == first / WHEEL_LINE)
            break;
        line = prev;
    }
}

/* wheel_near_take_due() of a slot of several lines, or that was taken of, or with less room. */
static __attribute__((noinline)) uint32_t lines_take_due(struct wheel *w, uint32_t slot,
                                                         uint32_t due, uint32_t *entries,
                                                         uint32_t max, uint32_t *soonest)
{
    uint32_t *words = wheel_near_words(w), kept = 0, n = 0, at;
    uint32_t first = slot_first(w, slot), last = w->near_last[slot];

    for (at = first;; at = position_after(w, at)) {
        uint32_t word = words[at], time = wheel_near_time(word);

        if (time <= due && n < max) {
            entries[n++] = wheel_near_entry(word);
        } else {
            *soonest = time < *soonest ? time : *soonest;
            kept = kept == 0 ? first : position_after(w, kept);
            words[kept] = word;
            w->position[wheel_near_entry(word)] = kept;
        }
        if (at == last)
            break;
    }
    lines_give_behind(w, last, kept, first);
    if (kept == 0) {
        slot_clear(w, slot);
    } else {
        w->near_last[slot] = kept;
        line_link(w, kept / WHEEL_LINE)->next = first / WHEEL_LINE;
    }
    return n;
}

/* The same of a slot of one line, with nothing to guess for the processor. */
static inline uint32_t line_take_due(struct wheel *w, uint32_t slot, uint32_t due,
                                     uint32_t *entries, uint32_t *soonest)
{
    uint32_t last = w->near_last[slot], first = line_first(last / WHEEL_LINE), n = 0, kept = 0;
    uint32_t *words = wheel_near_words(w) + first, *position = w->position;
    uint32_t count = last + 1 - first;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = words[i], entry = wheel_near_entry(word), time = wheel_near_time(word);
        uint32_t stays = time > due, left = stays ? time : *soonest;

        entries[n] = entry;
        words[kept] = word;
        position[entry] = first + kept;
        n += !stays;
        kept += stays;
        *soonest = left < *soonest ? left : *soonest;
    }
    if (kept > 0) {
        w->near_last[slot] = first + kept - 1;
    } else {
        chunk_give(&w->pool, last / WHEEL_LINE);
        slot_clear(w, slot);
    }
    return n;
}

uint32_t wheel_near_take_due(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max)
{
    uint64_t base = now >> WHEEL_NEAR_BITS << WHEEL_NEAR_BITS; /* what entries' times count from */
    uint64_t end = ((now >> w->near_bits) + 1) << w->near_bits;
    uint32_t slot = wheel_near_slot(w, now), due = (uint32_t)(now - base), n;
    uint32_t soonest = (uint32_t)(end - base), line = w->near_last[slot] / WHEEL_LINE;

    if (max < WHEEL_LINE_WORDS || w->first != 0 || line_link(w, line)->next != line)
        n = lines_take_due(w, slot, due, entries, max, &soonest);
    else
        n = line_take_due(w, slot, due, entries, &soonest);
    w->near = base + soonest;
    return n;
}

void wheel_near_remove(struct wheel *w, uint32_t slot, uint32_t at)
{
    uint32_t *words = wheel_near_words(w), last = w->near_last[slot], line = last / WHEEL_LINE;

    w->position[wheel_near_entry(words[last])] = at;
    words[at] = words[last];
    if (last == slot_first(w, slot)) {
        chunk_give(&w->pool, line);
        slot_clear(w, slot);
    } else if (last == line_first(line)) {
        uint32_t prev = (uint32_t)line_link(w, line)->prev;

        line_link(w, prev)->next = line_link(w, line)->next;
        w->near_last[slot] = prev * WHEEL_LINE + WHEEL_LINE - 1;
        chunk_give(&w->pool, line);
    } else {
        w->near_last[slot] = last - 1;
    }
}

uint64_t wheel_near_next(const struct wheel *w, uint64_t start)
{
    const uint32_t *words = wheel_near_words(w);
    uint32_t slot = wheel_near_slot(w, start), soonest = UINT32_MAX, at;
    uint64_t base = start >> WHEEL_NEAR_BITS << WHEEL_NEAR_BITS;

    for (at = slot_first(w, slot);; at = position_after(w, at)) {
        uint32_t time = wheel_near_time(words[at]);

        soonest = time < soonest ? time : soonest;
        if (at == w->near_last[slot] || base + soonest <= w->now)
            return base + soonest;
    }
}

uint32_t wheel_near_warm(const struct wheel *w, uint32_t slot)
{
    const uint32_t *words = wheel_near_words(w), *end;
    uint32_t last = w->near_last[slot], at = slot_first(w, slot), n = 0;

    for (uint32_t lines = 0; lines < WARM_LINES; lines++) {
        uint32_t line = at / WHEEL_LINE;

        end = line == last / WHEEL_LINE ? &words[last] : &words[line * WHEEL_LINE + WHEEL_LINE - 1];
        for (const uint32_t *word = &words[at]; word <= end; word++)
            /* into the second-level cache: who works now needs the first one's fill buffers */
            __builtin_prefetch(w->lines + (size_t)wheel_near_entry(*word) * w->stride_bytes, 1, 2);
        n += (uint32_t)(end - &words[at]) + 1;
        if (end == &words[last])
            break;
        at = line_first((uint32_t)line_link(w, line)->next);
    }
    return n;
}
