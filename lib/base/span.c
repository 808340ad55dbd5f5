/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The span set. A change touches one run of neighbouring spans. First room is made for the spans
 * that the run will gain, then the run is rewritten in one pass, then the hole that may be left
 * behind it is closed. The spans before the run or those after it move, whichever are fewer.
 */
#include "base/span.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/seq.h"

#define SPAN_RANGE_MAX (1ull << 62)

void span_set_init(struct span_set *s, struct span *storage, uint32_t capacity)
{
    CHECK(capacity >= 2);
    s->array = storage;
    s->capacity = capacity;
    span_set_clear(s);
}

void span_set_clear(struct span_set *s)
{
    s->start = 0;
    s->count = 0;
}

static void spans_move(struct span_set *s, uint32_t to, uint32_t from, uint32_t n)
{
    memmove(&s->array[to], &s->array[from], n * sizeof(struct span));
}

/*
 * Opens n unused places before index i; count grows by n. If the array has no room beside the
 * window, the window goes back to the array's start, so that later additions at the back are cheap.
 */
static void room_open(struct span_set *s, uint32_t i, uint32_t n)
{
    uint32_t behind = s->count - i;

    if (n == 0)
        return;
    if (i < behind && s->start >= n) {
        spans_move(s, s->start - n, s->start, i);
        s->start -= n;
    } else if (s->capacity - s->start - s->count >= n) {
        spans_move(s, s->start + i + n, s->start + i, behind);
    } else if (s->start < n) {
        spans_move(s, i + n, s->start + i, behind);
        spans_move(s, 0, s->start, i);
        s->start = 0;
    } else {
        spans_move(s, 0, s->start, i);
        spans_move(s, i + n, s->start + i, behind);
        s->start = 0;
    }
    s->count += n;
}

/* Drops the n places from index i on; count shrinks by n. */
static void hole_close(struct span_set *s, uint32_t i, uint32_t n)
{
    uint32_t behind = s->count - i - n;

    if (n == 0)
        return;
    if (i < behind) {
        spans_move(s, s->start + n, s->start, i);
        s->start += n;
    } else {
        spans_move(s, s->start + i, s->start + i + n, behind);
    }
    s->count -= n;
    if (s->count == 0)
        s->start = 0;
}

/* How far a run is rewritten. `open` is the span that may still grow; the new spans before it are
 * complete, and are written from index `at` on. */
struct weave {
    struct span_set *set;
    struct span open;
    bool has_open;
    uint32_t at;       /* index of the first written span */
    uint32_t written;  /* spans written */
    uint32_t consumed; /* old spans read */
    uint32_t ahead;    /* largest written - consumed so far: the room needed, in spans */
    bool dry;          /* count only, write nothing */
};

static void weave_flush(struct weave *w)
{
    if (!w->has_open)
        return;
    if (!w->dry)
        *span_at(w->set, w->at + w->written) = w->open;
    w->written++;
    if (w->written > w->consumed && w->written - w->consumed > w->ahead)
        w->ahead = w->written - w->consumed;
    w->has_open = false;
}

/* Puts x behind the span that was put before; in a run these two touch. */
static void weave_put(struct weave *w, const struct span *x)
{
    if (w->has_open && w->open.stamp == x->stamp && w->open.mark == x->mark) {
        w->open.end = x->end;
        return;
    }
    weave_flush(w);
    w->open = *x;
    w->has_open = true;
}

/* Puts the n old spans from index `from` on, in order, and between them the parts of `add` that
 * they do not cover. */
static void weave_run(struct weave *w, uint32_t from, uint32_t n, const struct span *add)
{
    struct span piece = *add;
    struct span old;

    for (uint32_t i = 0; i < n; i++) {
        old = *span_at(w->set, from + i);
        w->consumed++;
        if (seq64_before(piece.first, old.first)) {
            piece.end = seq64_min(old.first, add->end);
            if (seq64_before(piece.first, piece.end))
                weave_put(w, &piece);
        }
        piece.first = seq64_max(piece.first, old.end);
        weave_put(w, &old);
    }
    piece.end = add->end;
    if (seq64_before(piece.first, piece.end))
        weave_put(w, &piece);
    weave_flush(w);
}

static bool range_ok(const struct span_set *s, uint64_t first, uint64_t end)
{
    uint64_t low = first;
    uint64_t high = end;

    if (end - first > SPAN_RANGE_MAX)
        return false;
    if (s->count == 0)
        return true;
    low = seq64_min(low, span_at(s, 0)->first);
    high = seq64_max(high, span_at(s, s->count - 1)->end);
    return high - low <= SPAN_RANGE_MAX;
}

int span_add(struct span_set *s, uint64_t first, uint64_t end, uint64_t stamp, uint64_t mark)
{
    const struct span add = {.first = first, .end = end, .stamp = stamp, .mark = mark};
    struct weave w = {.set = s, .dry = true};
    uint32_t from, n, ahead;

    if (first == end)
        return 0;
    if (!range_ok(s, first, end))
        return -ERANGE;

    /* The run: every span that overlaps or touches [first, end). */
    from = span_index(s, first);
    if (from > 0 && span_at(s, from - 1)->end == first)
        from--;
    n = span_index(s, end) - from;
    if (from + n < s->count && !seq64_before(end, span_at(s, from + n)->first))
        n++;

    weave_run(&w, from, n, &add);
    ahead = w.ahead;
    if (s->count + ahead > s->capacity)
        return -ENOSPC;
    room_open(s, from, ahead);
    w = (struct weave){.set = s, .at = from};
    weave_run(&w, from + ahead, n, &add);
    hole_close(s, from + w.written, n + ahead - w.written);
    return 0;
}

int64_t span_remove(struct span_set *s, uint64_t first, uint64_t end)
{
    uint64_t removed = 0;
    struct span *x;
    uint32_t from, to;

    if (!seq64_before(first, end))
        return 0;
    from = span_index(s, first);
    if (from == s->count || !seq64_before(span_at(s, from)->first, end))
        return 0;

    x = span_at(s, from);
    if (seq64_before(x->first, first) && seq64_before(end, x->end)) {
        if (s->count == s->capacity)
            return -ENOSPC;
        room_open(s, from + 1, 1);
        *span_at(s, from + 1) = *span_at(s, from);
        span_at(s, from)->end = first;
        span_at(s, from + 1)->first = end;
        return (int64_t)(end - first);
    }
    if (seq64_before(x->first, first)) {
        removed += x->end - first;
        x->end = first;
        from++;
    }
    for (to = from; to < s->count; to++) {
        x = span_at(s, to);
        if (seq64_before(end, x->end))
            break;
        removed += x->end - x->first;
    }
    if (to < s->count && seq64_before(span_at(s, to)->first, end)) {
        x = span_at(s, to);
        removed += end - x->first;
        x->first = end;
    }
    hole_close(s, from, to - from);
    return (int64_t)removed;
}

uint32_t span_index(const struct span_set *s, uint64_t pos)
{
    uint32_t low = 0;
    uint32_t high = s->count;

    /* Most look-ups are of the newest or the oldest position. */
    if (high == 0 || !seq64_before(pos, span_at(s, high - 1)->end))
        return high;
    if (seq64_before(pos, span_at(s, 0)->end))
        return 0;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (seq64_before(pos, span_at(s, mid)->end))
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

struct span *span_find(const struct span_set *s, uint64_t pos)
{
    uint32_t i = span_index(s, pos);

    if (i == s->count || seq64_before(pos, span_at(s, i)->first))
        return NULL;
    return span_at(s, i);
}

uint64_t span_total(const struct span_set *s)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < s->count; i++)
        total += span_at(s, i)->end - span_at(s, i)->first;
    return total;
}
