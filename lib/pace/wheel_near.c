/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wheel's near ring (wheel_slot.h).
 *
 * Invariant: a slot's words are without gaps from its first to its last; the first is word 2 of the
 * slot's own line, but of the slot of now it is wheel.first, if that is not 0. A line that all has
 * been taken of is given back, but the slot's own.
 */
#include <string.h>

#include "base/clock.h"
#include "pace/wheel.h"
#include "pace/wheel_slot.h"

#define LINE_WORDS (WHEEL_LINE - 2)
#define WARM_LINES 4u /* of a slot: more would not be in the cache any more */

static uint32_t slot_first(const struct wheel *w, uint32_t slot)
{
    return w->first != 0 && slot == wheel_near_slot(w, w->now) ? w->first : slot * WHEEL_LINE + 2;
}

static uint32_t line_after(const struct wheel *w, uint32_t line)
{
    return line < WHEEL_SLOTS ? wheel_near_words(w)[line * WHEEL_LINE + 1]
                              : (uint32_t)chunk_link(&w->pool, line)->next;
}

static uint32_t position_after(const struct wheel *w, uint32_t at)
{
    return at % WHEEL_LINE == WHEEL_LINE - 1 ? line_after(w, at / WHEEL_LINE) * WHEEL_LINE + 2
                                             : at + 1;
}

static void line_give(struct wheel *w, uint32_t line)
{
    if (line >= WHEEL_SLOTS)
        chunk_give(&w->pool, line);
}

static void slot_clear(struct wheel *w, uint32_t slot)
{
    wheel_near_clear(w, slot);
    if (slot == wheel_near_slot(w, w->now))
        w->first = 0;
}

/* The first of bytes[from .. to) that is not 0, or to; to is a multiple of 8. */
static inline uint32_t byte_first(const uint8_t *bytes, uint32_t from, uint32_t to)
{
    uint64_t word;

    if (from >= to)
        return to;
    memcpy(&word, bytes + from / 8 * 8, 8);
    word = word >> from % 8 * 8 << from % 8 * 8;
    for (from = from / 8 * 8; word == 0; memcpy(&word, bytes + from, 8)) {
        from += 8;
        if (from >= to)
            return to;
    }
    return from + (uint32_t)__builtin_ctzll(word) / 8;
}

/* The first slot in use of groups [from .. to), or the number of slots. */
static uint32_t groups_first(struct wheel *w, uint32_t from, uint32_t to)
{
    for (uint32_t g = from; g < to; g++) {
        uint32_t slot;

        g = byte_first(w->near_groups, g, WHEEL_SLOTS / 64);
        if (g >= to)
            break;
        slot = byte_first(w->near_used, g * 64, g * 64 + 64);
        if (slot < g * 64 + 64)
            return slot;
        w->near_groups[g] = 0;
    }
    return WHEEL_SLOTS;
}

uint64_t wheel_near_search(struct wheel *w, uint64_t from)
{
    uint32_t slot = wheel_near_slot(w, from), group = slot / 64;
    uint32_t at = byte_first(w->near_used, slot, group * 64 + 64);

    if (at == group * 64 + 64) {
        at = groups_first(w, group + 1, WHEEL_SLOTS / 64);
        if (at == WHEEL_SLOTS)
            at = groups_first(w, 0, group + 1); /* round the ring */
        if (at == WHEEL_SLOTS)
            return TIME_NEVER;
    }
    return ((from >> w->near_bits) + ((at - slot) & WHEEL_SLOT_MASK)) << w->near_bits;
}

uint32_t wheel_near_grow(struct wheel *w, uint32_t slot)
{
    uint32_t *words = wheel_near_words(w);
    uint32_t last = words[slot * WHEEL_LINE], line = chunk_take(&w->pool);

    *chunk_link(&w->pool, line) = (struct chunk_link){.prev = last / WHEEL_LINE, .owner = slot};
    if (last / WHEEL_LINE == slot)
        words[slot * WHEEL_LINE + 1] = line;
    else
        chunk_link(&w->pool, last / WHEEL_LINE)->next = line;
    return line * WHEEL_LINE + 1;
}

/* wheel_near_take() of a slot that is not but a line, or was taken of, or of less than a line. */
static __attribute__((noinline)) uint32_t lines_take(struct wheel *w, uint32_t slot,
                                                     uint32_t *entries, uint32_t max)
{
    const uint32_t *words = wheel_near_words(w);
    uint32_t at = slot_first(w, slot), last = words[slot * WHEEL_LINE], n = 0;

    for (;;) {
        uint32_t line = at / WHEEL_LINE;
        uint32_t end = line == last / WHEEL_LINE ? last + 1 : (line + 1) * WHEEL_LINE;
        uint32_t k = end - at < max - n ? end - at : max - n;

        for (uint32_t i = 0; i < k; i++)
            entries[n + i] = wheel_near_entry(words[at + i]);
        n += k;
        at += k;
        if (at == last + 1) {
            line_give(w, line);
            slot_clear(w, slot);
            return n;
        }
        if (at == end) {
            at = line_after(w, line) * WHEEL_LINE + 2;
            line_give(w, line);
        }
        if (n == max) {
            w->first = at;
            return n;
        }
    }
}

typedef uint32_t four __attribute__((vector_size(16), aligned(4)));

/* Takes all entries of a slot, or up to max; none if they are all in a line and too many, but there
 * is room to look at them. */
static inline uint32_t slot_take(struct wheel *w, uint32_t slot, uint32_t *entries, uint32_t max,
                                 uint32_t room)
{
    const uint32_t *line = wheel_near_words(w) + (size_t)slot * WHEEL_LINE;
    uint32_t n = line[0] - (slot * WHEEL_LINE + 1);

    if (n > LINE_WORDS || room < LINE_WORDS || (n > max && room == max) || w->first != 0)
        return lines_take(w, slot, entries, max);
    if (n > max)
        return 0;
    /* all the same, how many there are: less to guess for the processor */
    for (uint32_t i = 0; i < LINE_WORDS / 4 * 4; i += 4)
        *(four *)(entries + i) = *(const four *)(line + 2 + i) >> WHEEL_NEAR_BITS;
    for (uint32_t i = LINE_WORDS / 4 * 4; i < LINE_WORDS; i++)
        entries[i] = wheel_near_entry(line[2 + i]);
    wheel_near_clear(w, slot);
    return n;
}

uint32_t wheel_near_take(struct wheel *w, uint64_t until, uint32_t *entries, uint32_t max,
                         uint32_t room, uint64_t *next)
{
    const uint64_t end = until >> w->near_bits;
    uint64_t at = w->now >> w->near_bits, used;
    uint32_t n = 0, slot, more;

    for (;;) {
        slot = (uint32_t)at & WHEEL_SLOT_MASK;
        memcpy(&used, &w->near_used[slot], sizeof used);
        /* the bytes are not read again before they are all done: they were just written */
        for (; used != 0; used &= used - 1) {
            uint32_t k = (uint32_t)__builtin_ctzll(used) / 8;

            if (at + k >= end || n == max) {
                *next = (at + k) << w->near_bits;
                return n;
            }
            if ((at + k) << w->near_bits > w->now)
                w->now = (at + k) << w->near_bits;
            /* of the first slot, some at least */
            more = slot_take(w, slot + k, entries + n, max - n, n > 0 ? room - n : max);
            n += more;
            if (more == 0 || w->first != 0) {
                *next = w->now;
                return n;
            }
        }
        at += slot + 8 < WHEEL_SLOTS ? 8 : WHEEL_SLOTS - slot;
        *next = wheel_near_search(w, at << w->near_bits);
        if (*next == TIME_NEVER || *next >> w->near_bits >= end)
            return n;
        at = *next >> w->near_bits;
    }
}

/* Gives back the lines behind the one of `kept`, all if it is 0. */
static void lines_give_behind(struct wheel *w, uint32_t last, uint32_t kept, uint32_t first)
{
    uint32_t line = last / WHEEL_LINE;

    while (line != kept / WHEEL_LINE && line >= WHEEL_SLOTS) {
        uint32_t prev = (uint32_t)chunk_link(&w->pool, line)->prev;

        chunk_give(&w->pool, line);
        if (line == first / WHEEL_LINE)
            break;
        line = prev;
    }
}

/* wheel_near_take_due() of a slot that is not but a line, or was taken of. */
static __attribute__((noinline)) uint32_t lines_take_due(struct wheel *w, uint32_t slot,
                                                         uint32_t due, uint32_t *entries,
                                                         uint32_t max, uint32_t *soonest)
{
    uint32_t *words = wheel_near_words(w), kept = 0, n = 0, at;
    uint32_t first = slot_first(w, slot), last = words[slot * WHEEL_LINE];

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
    if (kept == 0)
        slot_clear(w, slot);
    else
        words[slot * WHEEL_LINE] = kept;
    return n;
}

/* The same of a slot of one line, with nothing to guess for the processor. */
static inline uint32_t line_take_due(struct wheel *w, uint32_t slot, uint32_t due,
                                     uint32_t *entries, uint32_t *soonest)
{
    uint32_t *line = wheel_near_words(w) + (size_t)slot * WHEEL_LINE, *position = w->position;
    uint32_t count = line[0] - (slot * WHEEL_LINE + 1), n = 0, kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = line[2 + i], entry = wheel_near_entry(word), time = wheel_near_time(word);
        uint32_t stays = time > due, left = stays ? time : *soonest;

        entries[n] = entry;
        line[2 + kept] = word;
        position[entry] = slot * WHEEL_LINE + 2 + kept;
        n += !stays;
        kept += stays;
        *soonest = left < *soonest ? left : *soonest;
    }
    line[0] = slot * WHEEL_LINE + 1 + kept;
    w->near_used[slot] = kept > 0;
    return n;
}

uint32_t wheel_near_take_due(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max)
{
    uint64_t base = now >> WHEEL_NEAR_BITS << WHEEL_NEAR_BITS; /* what entries' times count from */
    uint64_t end = ((now >> w->near_bits) + 1) << w->near_bits;
    uint32_t slot = wheel_near_slot(w, now), due = (uint32_t)(now - base), n;
    uint32_t soonest = (uint32_t)(end - base);

    if (max < LINE_WORDS || w->first != 0 ||
        wheel_near_words(w)[slot * WHEEL_LINE] / WHEEL_LINE != slot)
        n = lines_take_due(w, slot, due, entries, max, &soonest);
    else
        n = line_take_due(w, slot, due, entries, &soonest);
    w->near = base + soonest;
    return n;
}

void wheel_near_remove(struct wheel *w, uint32_t slot, uint32_t at)
{
    uint32_t *words = wheel_near_words(w), last = words[slot * WHEEL_LINE];
    uint32_t line = last / WHEEL_LINE;

    w->position[wheel_near_entry(words[last])] = at;
    words[at] = words[last];
    if (last == slot_first(w, slot)) {
        line_give(w, line);
        slot_clear(w, slot);
    } else if (last % WHEEL_LINE == 2 && line >= WHEEL_SLOTS) {
        words[slot * WHEEL_LINE] =
            (uint32_t)chunk_link(&w->pool, line)->prev * WHEEL_LINE + WHEEL_LINE - 1;
        chunk_give(&w->pool, line);
    } else {
        words[slot * WHEEL_LINE] = last - 1;
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
        if (at == words[slot * WHEEL_LINE] || base + soonest <= w->now)
            return base + soonest;
    }
}

uint32_t wheel_near_warm(const struct wheel *w, uint32_t slot)
{
    const uint32_t *words = wheel_near_words(w), *end;
    uint32_t last = words[slot * WHEEL_LINE], at = slot_first(w, slot), line = at / WHEEL_LINE;
    uint32_t n = 0;

    for (uint32_t lines = 0; lines < WARM_LINES; lines++) {
        end = line == last / WHEEL_LINE ? &words[last] : &words[line * WHEEL_LINE + WHEEL_LINE - 1];
        for (const uint32_t *word = &words[at]; word <= end; word++)
            /* into the second-level cache: who works now needs the first one's fill buffers */
            __builtin_prefetch(w->lines + (size_t)wheel_near_entry(*word) * w->stride_bytes, 1, 2);
        n += (uint32_t)(end - &words[at]) + 1;
        if (end == &words[last])
            break;
        line = line_after(w, line);
        at = line * WHEEL_LINE + 2;
    }
    return n;
}
