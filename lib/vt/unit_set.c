/* SPDX-License-Identifier: BSD-3-Clause */
#include "vt/unit_set.h"

#include <string.h>

#include "base/seq.h"

void unit_set_init(struct unit_set *a, struct unit_set_page *pages, uint32_t capacity)
{
    *a = (struct unit_set){.pages = pages, .capacity = capacity};
}

static uint64_t page_of(uint64_t pos)
{
    return pos & ~(uint64_t)(UNIT_SET_PAGE_UNITS - 1);
}

/* Index of the first page that begins at `first` or later. */
static uint32_t page_index(const struct unit_set *a, uint64_t first)
{
    uint32_t low = 0, high = a->count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (seq64_before(a->pages[mid].first, first))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool page_is(const struct unit_set *a, uint32_t i, uint64_t first)
{
    return i < a->count && a->pages[i].first == first;
}

bool unit_set_has(const struct unit_set *a, uint64_t pos)
{
    uint32_t i = page_index(a, page_of(pos)), bit = pos % UNIT_SET_PAGE_UNITS;

    return page_is(a, i, page_of(pos)) && (a->pages[i].bits[bit / 64] >> bit % 64 & 1) != 0;
}

static bool room_for(const struct unit_set *a, uint64_t first, uint64_t last)
{
    uint32_t need = 0;

    for (uint64_t p = first;; p += UNIT_SET_PAGE_UNITS) {
        need += !page_is(a, page_index(a, p), p);
        if (need > a->capacity - a->count)
            return false;
        if (p == last)
            return true;
    }
}

/* Mask of the 64 positions from `word` on that lie in [first, end). */
static uint64_t word_mask(uint64_t word, uint64_t first, uint64_t end)
{
    int64_t from = (int64_t)(first - word), to = (int64_t)(end - word);
    uint64_t not_before = from <= 0 ? UINT64_MAX : from < 64 ? UINT64_MAX << from : 0;
    uint64_t not_after = to >= 64 ? UINT64_MAX : to > 0 ? ~(UINT64_MAX << to) : 0;

    return not_before & not_after;
}

bool unit_set_add(struct unit_set *a, uint64_t pos, uint32_t units)
{
    uint64_t end = pos + units;

    if (units == 0)
        return true;
    if (!room_for(a, page_of(pos), page_of(end - 1)))
        return false;
    for (uint64_t p = page_of(pos); seq64_before(p, end); p += UNIT_SET_PAGE_UNITS) {
        uint32_t i = page_index(a, p);

        if (!page_is(a, i, p)) {
            memmove(&a->pages[i + 1], &a->pages[i], (a->count - i) * sizeof *a->pages);
            a->pages[i] = (struct unit_set_page){.first = p};
            a->count++;
        }
        for (uint32_t k = 0; k < UNIT_SET_PAGE_UNITS / 64; k++)
            a->pages[i].bits[k] |= word_mask(p + k * 64, pos, end);
    }
    return true;
}

/* Clears the page's bits in [first, end); true if none is left. */
static bool page_clear(struct unit_set_page *p, uint64_t first, uint64_t end)
{
    uint64_t all = 0;

    for (uint32_t k = 0; k < UNIT_SET_PAGE_UNITS / 64; k++) {
        p->bits[k] &= ~word_mask(p->first + k * 64, first, end);
        all |= p->bits[k];
    }
    return all == 0;
}

void unit_set_remove(struct unit_set *a, uint64_t first, uint64_t end)
{
    uint32_t i = page_index(a, page_of(first)), kept = i;

    if (i == a->count || !seq64_before(first, end) || !seq64_before(a->pages[i].first, end))
        return;
    for (; i < a->count; i++) {
        struct unit_set_page *p = &a->pages[i];

        if (kept == i && !seq64_before(p->first, end))
            return;
        if (!seq64_before(p->first, end) || !page_clear(p, first, end)) {
            if (kept != i)
                a->pages[kept] = *p;
            kept++;
        }
    }
    a->count = kept;
}

uint64_t unit_set_next(const struct unit_set *a, uint64_t pos, uint64_t end)
{
    for (uint32_t i = page_index(a, page_of(pos)); i < a->count; i++) {
        const struct unit_set_page *p = &a->pages[i];
        uint32_t bit = p->first == page_of(pos) ? pos % UNIT_SET_PAGE_UNITS : 0;

        for (uint32_t k = bit / 64; k < UNIT_SET_PAGE_UNITS / 64; k++, bit = 0) {
            uint64_t word = p->bits[k] >> bit % 64 << bit % 64;

            if (word != 0)
                return seq64_min(end, p->first + k * 64 + (uint32_t)__builtin_ctzll(word));
        }
        if (!seq64_before(p->first, end))
            break;
    }
    return end;
}
