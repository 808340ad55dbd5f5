/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides when a receiver asks its peer for the units of a gap (NAK): the first time, and again.
 *
 * A gap is first asked for once more than `tolerance` packets have come behind it: reordering lets
 * no more overtake. With `force`, a gap is also asked for once it has waited as long as a late unit
 * may take. If no repeat comes within again_tsc, the gap is asked for again. Repeats come in order:
 * a repeat that fills an earlier gap restarts the wait of later gaps. Go-back-N asks for all from
 * the edge on.
 */
#include "vt/receiver.h"

#include "base/clock.h"

/* Go-back-N: all units before the position returned were sent and have a buffer. */
static uint64_t go_back_end(const struct vt_receiver *r)
{
    return seq64_min(r->announced, pos_make(r->tail, 0));
}

/* Go-back-N asks for everything from the edge on, at most once in again_tsc. */
static uint32_t nak_go_back(struct vt_receiver *r, uint64_t now, uint64_t again_tsc,
                            struct wire_span *span)
{
    uint64_t end = go_back_end(r);

    if (!seq64_before(r->edge, end))
        return 0;
    if (vt_receiver_go_back_asked(r) && now - r->asked_at < again_tsc)
        return 0;
    r->asked_at = now > 0 ? now : 1;
    r->asked_end = end;
    r->naks++;
    *span = (struct wire_span){r->edge, end};
    return 1;
}

/* Have more packets come behind the gap than reordering lets overtake? */
static bool overtaken(const struct vt_receiver *r, const struct span *gap)
{
    return r->packet_end >= gap->mark + r->tolerance;
}

/* When the wait for the repeat of this gap began; the gap was asked for. */
static uint64_t late_since(const struct vt_receiver *r, const struct span *gap)
{
    bool behind = r->repeat_at > gap->stamp && seq64_before(r->repeat_pos, gap->first);

    return behind ? r->repeat_at : gap->stamp;
}

/* Moves `settled`: gaps with a mark up to there have waited long enough for late units. Without
 * reordering, all gaps have. */
static void settled_update(struct vt_receiver *r, uint64_t now, uint64_t again_tsc)
{
    if (now - r->settles_at >= again_tsc) {
        r->settled = r->settles;
        r->settles = r->packet_end;
        r->settles_at = now;
    }
    if (r->tolerance == 0)
        r->settled = r->settles = r->packet_end;
}

uint32_t vt_receiver_naks(struct vt_receiver *r, uint64_t now, uint64_t again_tsc, bool force,
                          struct wire_span *spans, uint32_t max)
{
    uint32_t n = 0;

    r->again_tsc = again_tsc;
    if (r->go_back_n)
        return max > 0 ? nak_go_back(r, now, again_tsc, spans) : 0;
    settled_update(r, now, again_tsc);
    for (uint32_t i = 0; i < r->gaps.count && n < max; i++) {
        struct span *gap = span_at(&r->gaps, i);
        bool due = gap->stamp != 0 ? now - late_since(r, gap) >= again_tsc
                                   : (force && gap->mark <= r->settled) || overtaken(r, gap);

        if (!due)
            continue;
        uint64_t first = gap->first, end, stamp = now > 0 ? now : 1;

        n += vt_receiver_gap_spans(r, i, spans + n, max - n, &end);
        if (end == gap->end || r->gaps.count == r->gaps.capacity) {
            gap->stamp = stamp;
            gap->mark = r->packet_end;
        } else { /* the list is full, in the middle of a joined gap */
            span_remove(&r->gaps, first, end);
            span_add(&r->gaps, first, end, stamp, r->packet_end);
        }
    }
    r->naks += n;
    return n;
}

bool vt_receiver_unasked(const struct vt_receiver *r)
{
    if (r->go_back_n)
        return seq64_before(r->edge, go_back_end(r)) && !vt_receiver_go_back_asked(r);
    for (uint32_t i = 0; i < r->gaps.count; i++) {
        const struct span *gap = span_at(&r->gaps, i);

        if (gap->stamp == 0 && overtaken(r, gap))
            return true;
    }
    return false;
}

uint64_t vt_receiver_next(const struct vt_receiver *r, uint64_t now, uint64_t again_tsc,
                          uint64_t wait_tsc)
{
    uint64_t next = TIME_NEVER;

    if (r->go_back_n) {
        if (!seq64_before(r->edge, go_back_end(r)))
            return TIME_NEVER;
        return vt_receiver_go_back_asked(r) ? r->asked_at + again_tsc : now + wait_tsc;
    }
    if (r->tolerance > 0)
        wait_tsc = again_tsc;
    for (uint32_t i = 0; i < r->gaps.count; i++) {
        const struct span *gap = span_at(&r->gaps, i);

        next = time_min(next, gap->stamp != 0 ? late_since(r, gap) + again_tsc : now + wait_tsc);
    }
    return next;
}
