/* SPDX-License-Identifier: BSD-3-Clause */
#include "vt/receiver.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include "base/check.h"
#include "base/clock.h"

#define REQUESTS_AHEAD_MAX 0x1000000u   /* a request number further ahead is nonsense */
#define PACKETS_AHEAD_MAX  (1ull << 32) /* packets lost in a row: minutes at any rate */
#define PACKETS_MAX        (1ull << 62) /* so many packets are not sent in a thousand years */
#define TOLERANCE_MAX      (1u << 24)   /* packets: five seconds of 1500 bytes each at 40 Gbit/s */
#define TOLERANCE_REPAIRS  16u          /* recoveries until `tolerance` shrinks (RFC 8985, 6.2) */
#define JOIN_RUN_MAX       32768u       /* gaps with more units between them are not joined */
#define MARK_NOW           0u           /* a gap with this mark waits for no further packets */

static struct vt_buffer *buffer_at(const struct vt_receiver *r, uint32_t number)
{
    return &r->ring[(number - r->origin) & r->mask];
}

/* Position after the unit: the last unit of a request is followed by the next request. */
static uint64_t data_end(const struct wire_data *d)
{
    uint64_t units = wire_units(d->request_len, d->unit_bytes);

    return d->unit + 1 == units ? pos_make(d->request + 1, 0) : pos_make(d->request, d->unit + 1);
}

void vt_receiver_init(struct vt_receiver *r, const struct vt_receiver_config *cfg)
{
    CHECK(cfg->depth > 0 && (cfg->depth & (cfg->depth - 1)) == 0);
    *r = (struct vt_receiver){.ring = cfg->ring,
                              .mask = cfg->depth - 1,
                              .origin = cfg->initial_request,
                              .base = cfg->initial_request,
                              .tail = cfg->initial_request,
                              .edge = pos_make(cfg->initial_request, 0),
                              .announced = pos_make(cfg->initial_request, 0),
                              .go_back_n = cfg->go_back_n};
    span_set_init(&r->gaps, cfg->spans, cfg->gaps);
    unit_set_init(&r->arrived, cfg->pages, cfg->page_count);
}

void vt_receiver_set_initial(struct vt_receiver *r, uint32_t initial_request)
{
    uint32_t shift = initial_request - r->base;

    CHECK(span_set_empty(&r->gaps) && r->edge == pos_make(r->base, 0) && r->packets == 0);
    r->origin += shift;
    r->base += shift;
    r->tail += shift;
    r->edge = r->announced = pos_make(initial_request, 0);
}

/* ---- gaps that are joined ---------------------------------------------------------------- */

/* Units of a request; 0: unknown, none has come. */
static uint32_t request_units(const struct vt_receiver *r, uint32_t number)
{
    const struct vt_buffer *b = buffer_at(r, number);

    return b->unit_bytes == 0 ? 0 : (uint32_t)wire_units(b->request_len, b->unit_bytes);
}

/* Units of pos's request in [pos, end), all of which have come. */
static uint32_t request_run(const struct vt_receiver *r, uint64_t pos, uint64_t end)
{
    uint32_t number = pos_request(pos);
    uint32_t to = number == pos_request(end) ? pos_unit(end) : request_units(r, number);

    return to > pos_unit(pos) ? to - pos_unit(pos) : 0;
}

/* How many units came between gap i and the next one; if more than `most`, any number above it. */
static uint64_t run_between(const struct vt_receiver *r, uint32_t i, uint64_t most)
{
    uint64_t pos = span_at(&r->gaps, i)->end, end = span_at(&r->gaps, i + 1)->first, n = 0;

    for (uint64_t requests = 0; seq64_before(pos, end) && n <= most; requests++) {
        n += requests > most ? most + 1 : request_run(r, pos, end);
        pos = pos_make(pos_request(pos) + 1, 0);
    }
    return n;
}

/* Were gap i and the next one asked for at about the same time, or both not yet? */
static bool gaps_alike(const struct vt_receiver *r, uint32_t i)
{
    uint64_t a = span_at(&r->gaps, i)->stamp, b = span_at(&r->gaps, i + 1)->stamp;

    if (a == 0 || b == 0)
        return a == b;
    return (a > b ? a - b : b - a) <= r->again_tsc / 8;
}

/* Joins gap i and the next one, and notes the units between them in `arrived`. False: too few pages
 * are free there. */
static bool gap_join(struct vt_receiver *r, uint32_t i)
{
    struct span *a = span_at(&r->gaps, i), b = *span_at(&r->gaps, i + 1);
    struct span joined = {a->first, b.end, RTE_MAX(a->stamp, b.stamp), RTE_MIN(a->mark, b.mark)};

    if (a->stamp == 0) /* neither was asked for: wait as long as for the newer gap */
        joined.mark = RTE_MAX(a->mark, b.mark);
    for (uint64_t pos = a->end; seq64_before(pos, b.first); pos = pos_make(pos_request(pos) + 1, 0))
        if (!unit_set_add(&r->arrived, pos, request_run(r, pos, b.first))) {
            unit_set_remove(&r->arrived, a->end, b.first);
            return false;
        }
    CHECK(span_remove(&r->gaps, b.first, b.end) > 0); /* no gap is empty */
    *span_at(&r->gaps, i) = joined;
    return true;
}

/* Makes room for one more gap, if there is none: joins neighbouring gaps, those with the fewest
 * units between them first, until an eighth of the spans is free. True if there is room now. */
static bool gaps_room(struct vt_receiver *r)
{
    uint32_t enough = r->gaps.capacity - r->gaps.capacity / 8 - 1;
    bool pages = r->arrived.capacity > 0;

    if (r->gaps.count + 1 < r->gaps.capacity)
        return true;
    for (uint64_t run = 8; pages && run <= JOIN_RUN_MAX && r->gaps.count >= enough; run *= 8)
        for (uint32_t i = 0; pages && i + 1 < r->gaps.count && r->gaps.count >= enough;)
            if (!gaps_alike(r, i) || run_between(r, i, run) > run)
                i++;
            else
                pages = gap_join(r, i);
    return r->gaps.count + 1 < r->gaps.capacity;
}

/* Is the unit at pos, before the edge, missing? */
static bool missing(const struct vt_receiver *r, uint64_t pos)
{
    return span_find(&r->gaps, pos) != NULL && !unit_set_has(&r->arrived, pos);
}

/* Where the run of units that have come, from pos on, ends; at most `end`. */
static uint64_t arrived_run_end(const struct vt_receiver *r, uint64_t pos, uint64_t end)
{
    while (seq64_before(pos, end) && unit_set_has(&r->arrived, pos)) {
        bool last = pos_unit(pos) + 1 == request_units(r, pos_request(pos));

        pos = last ? pos_make(pos_request(pos) + 1, 0) : pos + 1;
    }
    return seq64_min(pos, end);
}

/* Restores the invariant of the gap that holds pos: its first unit is missing. */
static void gap_trim(struct vt_receiver *r, uint64_t pos)
{
    struct span *gap = span_find(&r->gaps, pos);

    if (gap == NULL || !unit_set_has(&r->arrived, gap->first))
        return;
    uint64_t first = gap->first, end = arrived_run_end(r, first, gap->end);

    CHECK(span_remove(&r->gaps, first, end) >= 0);
    unit_set_remove(&r->arrived, first, end);
}

uint32_t vt_receiver_gap_spans(const struct vt_receiver *r, uint32_t i, struct wire_span *spans,
                               uint32_t max, uint64_t *end)
{
    const struct span *gap = span_at(&r->gaps, i);
    uint64_t pos = gap->first;
    uint32_t n = 0;

    while (n < max && seq64_before(pos, gap->end)) {
        uint64_t stop = unit_set_next(&r->arrived, pos, gap->end);

        if (stop != pos)
            spans[n++] = (struct wire_span){pos, stop};
        pos = arrived_run_end(r, stop, gap->end);
    }
    *end = pos;
    return n;
}

/* ---- posting, and where a unit goes -------------------------------------------------------- */

/* Moves the edge to `to`, at most to the end of what is posted; what it passes becomes a gap. */
static bool edge_advance(struct vt_receiver *r, uint64_t to, uint64_t mark)
{
    uint64_t limit = pos_make(r->tail, 0);

    to = seq64_min(to, limit);
    if (r->go_back_n || !seq64_before(r->edge, to))
        return false;
    gaps_room(r); /* room_for() keeps the last span free for what the peer says it has sent */
    if (span_add(&r->gaps, r->edge, to, 0, mark) != 0)
        return false; /* no span free: the next unit or SREQ shows the gap again */
    r->edge = to;
    return true;
}

int vt_receiver_post(struct vt_receiver *r, uint8_t *data, uint64_t len, uint64_t user, bool *ask)
{
    *ask = false;
    if (r->tail - r->base > r->mask)
        return -ENOBUFS;
    *buffer_at(r, r->tail) = (struct vt_buffer){.data = data, .len = len, .user = user};
    r->tail++;
    if (seq64_before(r->edge, r->announced)) {
        edge_advance(r, r->announced, MARK_NOW);
        *ask = true;
    }
    return 0;
}

/* How many units of d's size make one unit of the request's former size? 1: the size is the same,
 * or no unit of the request came yet; 0: d's size does not divide the former one. */
static uint32_t unit_parts(const struct vt_buffer *b, const struct wire_data *d)
{
    if (b->unit_bytes == 0)
        return 1;
    return b->unit_bytes % d->unit_bytes == 0 ? b->unit_bytes / d->unit_bytes : 0;
}

/* Does the unit agree with what is known of its request? */
static enum vt_verdict check_request(const struct vt_buffer *b, const struct wire_data *d,
                                     uint64_t ack)
{
    if (b->unit_bytes != 0 &&
        (d->request_len != b->request_len || d->unit_bytes != b->unit_bytes)) {
        /* smaller units begin a new attempt, if nothing of the old one was acknowledged */
        bool anew = d->unit_bytes < b->unit_bytes && !seq64_before(pos_make(d->request, 0), ack);

        if (d->request_len != b->request_len || (!anew && unit_parts(b, d) == 0))
            return VT_MISMATCH;
    }
    return d->request_len > b->len ? VT_TOO_LONG : VT_PLACE;
}

/* Where pos is after request `number` was split: each unit becomes `parts` new ones, `units` in
 * all. */
static uint64_t pos_split(uint64_t pos, uint32_t number, uint32_t parts, uint32_t units)
{
    uint64_t unit = (uint64_t)pos_unit(pos) * parts;

    if (pos_request(pos) != number)
        return pos;
    return unit < units ? pos_make(number, (uint32_t)unit) : pos_make(number + 1, 0);
}

/*
 * Is there room for the gap that unit d may leave before itself? That must be known before the unit
 * is placed: a unit that is placed and cannot be accounted for would be written again. Therefore
 * gaps_room() makes room in advance, after each change. `parts` is unit_parts() of d, and pos is
 * d's position in units of the size that counts until d is committed.
 *
 * A unit that begins where a gap or the edge begins needs no room. If units shrink, the beginning
 * is that of d's first byte: the second half of a missing unit leaves a gap before itself. A new
 * attempt begins with its request, unless the edge is before that (where a request was split, units
 * are forgotten, but not their size), and there is room if no gap remains before it.
 */
static bool room_for(const struct vt_receiver *r, const struct wire_data *d, uint64_t pos,
                     uint32_t parts)
{
    if (r->gaps.count + 1 < r->gaps.capacity)
        return true;
    if (parts == 0) {
        uint64_t start = pos_make(d->request, 0);

        return (d->unit == 0 && !seq64_before(r->edge, start)) || vt_receiver_ack(r) == start;
    }
    if (d->unit % parts != 0)
        return false;
    struct span *gap = span_find(&r->gaps, pos);

    return pos == r->edge || (gap != NULL && gap->first == pos);
}

enum vt_verdict vt_receiver_check(const struct vt_receiver *r, const struct wire_data *d,
                                  uint8_t **dst)
{
    uint64_t pos = pos_make(d->request, d->unit);
    uint64_t ack = vt_receiver_ack(r);

    if (seq64_before(pos, ack))
        return VT_DUPLICATE;
    if (r->over || d->request - pos_request(ack) > REQUESTS_AHEAD_MAX)
        return VT_BEYOND;
    if (r->closing && seq64_before(pos_make(r->close_request, 0), data_end(d)))
        return VT_BEYOND;
    if (!seq32_before(d->request, r->tail))
        return r->go_back_n && pos != r->edge ? VT_OUT_OF_ORDER : VT_UNPOSTED;

    const struct vt_buffer *b = buffer_at(r, d->request);
    enum vt_verdict v = check_request(b, d, ack);

    if (b->status != 0)
        return VT_DUPLICATE; /* the request was refused already */
    if (v == VT_MISMATCH)
        return v;
    uint32_t parts = unit_parts(b, d);

    if (parts > 1) /* d is a part of an old unit; positions still count old units */
        pos = pos_make(d->request, d->unit / parts);
    if (parts > 0 && seq64_before(pos, r->edge) && !missing(r, pos))
        return VT_DUPLICATE;
    if (r->go_back_n && (pos != r->edge || (parts > 1 && d->unit % parts != 0)))
        return VT_OUT_OF_ORDER;
    if (!room_for(r, d, pos, parts))
        return VT_NO_ROOM;
    if (v == VT_TOO_LONG)
        return r->refused_count < WIRE_REFUSED_MAX ? VT_TOO_LONG : VT_NO_ROOM;
    *dst = b->data + (uint64_t)d->unit * d->unit_bytes;
    return VT_PLACE;
}

bool vt_receiver_anew(const struct vt_receiver *r, const struct wire_data *d)
{
    const struct vt_buffer *b = buffer_at(r, d->request);

    return b->unit_bytes != 0 && b->unit_bytes != d->unit_bytes;
}

static bool number_came(const struct vt_receiver *r, uint64_t packet)
{
    return r->came[packet % VT_WINDOW / 64] >> packet % 64 & 1;
}

/* Moves the window of remembered packet numbers, so that it ends before `packet`. Numbers passed
 * over have not come. */
static void window_move(struct vt_receiver *r, uint64_t packet)
{
    if (packet - r->packet_end >= VT_WINDOW)
        memset(r->came, 0, sizeof r->came);
    else
        for (uint64_t n = r->packet_end; n != packet; n++)
            r->came[n % VT_WINDOW / 64] &= ~(1ull << n % 64);
}

enum vt_number vt_receiver_number(const struct vt_receiver *r, uint64_t packet)
{
    if (packet >= r->packet_end)
        return packet >= PACKETS_MAX || packet - r->packet_end > PACKETS_AHEAD_MAX
                   ? VT_NUMBER_ABSURD
                   : VT_NUMBER_NEW;
    if (r->packet_end - packet > VT_WINDOW)
        return VT_NUMBER_LATE;
    return number_came(r, packet) ? VT_NUMBER_CAME : VT_NUMBER_NEW;
}

/* Counts a packet number that came: numbers passed over count as lost until they come late. */
static void packet_count(struct vt_receiver *r, uint64_t packet)
{
    if (vt_receiver_number(r, packet) != VT_NUMBER_NEW)
        return;
    if (packet >= r->packet_end) {
        if (packet > r->packet_end && !r->recovering) {
            r->recovering = true;
            r->run_seq = 0;
            r->loss_runs++;
        }
        window_move(r, packet);
        r->lost += packet - r->packet_end;
        r->packet_end = packet + 1;
    } else {
        r->lost--;
    }
    r->came[packet % VT_WINDOW / 64] |= 1ull << packet % 64;
    r->packets++;
}

/* After each packet: clears `recovering` once all losses are repaired. */
static void recovery_check(struct vt_receiver *r)
{
    uint64_t end = seq64_min(r->announced, pos_make(r->tail, 0));

    if (r->recovering && span_set_empty(&r->gaps) && !seq64_before(r->edge, end))
        r->recovering = false;
    else if (!r->recovering)
        r->clean++;
}

/* A repeat filled a gap that was asked for when `mark` was the next packet number. */
static void tolerance_repaired(struct vt_receiver *r, uint64_t mark)
{
    if (mark < r->repair_end)
        return; /* a repair in this round trip was counted already */
    r->repair_end = r->packet_end;
    if (++r->repairs < TOLERANCE_REPAIRS)
        return;
    r->tolerance = r->reached;
    r->reached = r->repairs = 0;
}

/* A unit fills a gap. An original that was only late shows how far this path reorders. */
static void gap_learn(struct vt_receiver *r, uint64_t pos, uint64_t packet, uint64_t now)
{
    struct span *gap = span_find(&r->gaps, pos);

    if (gap == NULL)
        return;
    if (packet >= gap->mark) {
        if (gap->stamp == 0)
            return;
        r->repeat_pos = pos;
        r->repeat_at = now;
        tolerance_repaired(r, gap->mark);
        return;
    }
    uint32_t distance = (uint32_t)RTE_MIN(r->packet_end - 1 - packet, (uint64_t)TOLERANCE_MAX);

    r->reached = RTE_MAX(r->reached, distance);
    if (gap->stamp != 0 && distance > r->tolerance) { /* the gap's NAK was needless */
        r->tolerance = distance;
        r->repairs = 0;
    }
}

/* Drops the refusals of request `number` and later ones: these requests are checked again. */
static void refused_forget(struct vt_receiver *r, uint32_t number)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->refused_count; i++) {
        if (!seq32_before(r->refused[i].request, number))
            continue;
        r->refused[kept] = r->refused[i];
        r->refused_seq[kept++] = r->refused_seq[i];
    }
    r->refused_count = kept;
}

static void attempt_forget(struct vt_receiver *r, uint32_t number)
{
    buffer_at(r, number)->unit_bytes = 0;
    buffer_at(r, number)->status = 0;
}

/*
 * Forgets the attempts at request `number` and all after it. A request of which no unit has come
 * lies in a gap and has nothing to forget, so the walk goes from one that has come to the next: it
 * takes no longer than the packets did that it undoes. A peer may have units shrink with each
 * packet.
 */
static void attempts_forget(struct vt_receiver *r, uint32_t number)
{
    uint64_t pos = pos_make(number, 0);

    attempt_forget(r, number);
    while (seq64_before(pos, r->edge)) {
        const struct span *gap = span_find(&r->gaps, pos);

        if (gap != NULL)
            pos = unit_set_next(&r->arrived, pos, gap->end);
        if (seq64_before(pos, r->edge))
            attempt_forget(r, pos_request(pos));
        pos = pos_make(pos_request(pos) + 1, 0);
    }
}

/* A new attempt: forgets what was placed of request `number`, and of all after it. */
static void request_restart(struct vt_receiver *r, uint32_t number)
{
    uint64_t start = pos_make(number, 0);

    attempts_forget(r, number);
    if (seq64_before(start, r->edge)) {
        span_remove(&r->gaps, start, r->edge);
        unit_set_remove(&r->arrived, start, r->edge);
        r->edge = start;
    }
    r->announced = seq64_min(r->announced, start);
    refused_forget(r, number);
}

/*
 * Splits each unit of request `number` into units of unit_bytes; placed units stay placed. (A gap
 * may end behind the request's last unit: when the sender says how far it has sent, it counts in
 * smaller units already.)
 */
static void request_split(struct vt_receiver *r, uint32_t number, uint32_t unit_bytes)
{
    struct vt_buffer *b = buffer_at(r, number);
    uint32_t parts = b->unit_bytes / unit_bytes;
    uint32_t units = (uint32_t)wire_units(b->request_len, unit_bytes);
    uint64_t *const all[] = {&r->edge, &r->announced, &r->asked_end, &r->repeat_pos};

    /* forgets the units noted in `arrived`: they are so few that they may come again */
    unit_set_remove(&r->arrived, pos_make(number, 0), pos_make(number + 1, 0));
    /* Gaps that become empty are removed before any gap moves: removal needs the set's order. */
    for (uint32_t i = r->gaps.count; i-- > 0;) {
        struct span gap = *span_at(&r->gaps, i);

        if (pos_split(gap.first, number, parts, units) == pos_split(gap.end, number, parts, units))
            span_remove(&r->gaps, gap.first, gap.end);
    }
    for (uint32_t i = 0; i < r->gaps.count; i++) {
        struct span *gap = span_at(&r->gaps, i);

        gap->first = pos_split(gap->first, number, parts, units);
        gap->end = pos_split(gap->end, number, parts, units);
    }
    for (unsigned int i = 0; i < RTE_DIM(all); i++)
        *all[i] = pos_split(*all[i], number, parts, units);
    b->unit_bytes = unit_bytes;
}

/* The unit of d is smaller than earlier ones of its request: splits these, or restarts the
 * request. */
static void units_shrink(struct vt_receiver *r, const struct wire_data *d)
{
    if (unit_parts(buffer_at(r, d->request), d) > 0)
        request_split(r, d->request, d->unit_bytes);
    else
        request_restart(r, d->request);
}

/* Marks [pos, end) as done, whether it lies in a gap, at the edge, or beyond the edge. *gap: did
 * that open a gap? Returns false if there is no room; the unit then counts as lost. */
static bool account(struct vt_receiver *r, uint64_t pos, uint64_t end, bool *gap)
{
    *gap = false;
    if (seq64_before(r->edge, pos)) {
        *gap = edge_advance(r, pos, r->packet_end);
        if (r->edge != pos)
            return false;
    }
    if (seq64_before(pos, r->edge)) {
        uint64_t inside = seq64_min(end, r->edge);

        gaps_room(r);
        if (span_remove(&r->gaps, pos, inside) < 0)
            return false;
        unit_set_remove(&r->arrived, pos, inside);
        gap_trim(r, inside);
    }
    r->edge = seq64_max(r->edge, end);
    r->announced = seq64_max(r->announced, r->edge);
    return true;
}

bool vt_receiver_commit(struct vt_receiver *r, const struct wire_data *d, uint64_t now)
{
    struct vt_buffer *b = buffer_at(r, d->request);
    uint64_t pos = pos_make(d->request, d->unit);

    packet_count(r, d->packet);
    if (b->unit_bytes != 0 && d->unit_bytes < b->unit_bytes)
        units_shrink(r, d);
    if (b->unit_bytes == 0) {
        b->unit_bytes = d->unit_bytes;
        b->request_len = d->request_len;
    }
    gap_learn(r, pos, d->packet, now);
    bool gap;

    if (account(r, pos, data_end(d), &gap)) {
        r->units++;
        r->bytes += d->payload_len;
    }
    gaps_room(r);
    recovery_check(r);
    if (d->h.flags & WIRE_WCLOSE)
        vt_receiver_close(r, d->request + 1);
    return gap && r->tolerance == 0;
}

/* The request fails here at once, and at the peer when the refusal arrives there. */
static bool note_too_long(struct vt_receiver *r, const struct wire_data *d)
{
    struct vt_buffer *b = buffer_at(r, d->request);
    uint64_t start = pos_make(d->request, 0);

    b->status = -EMSGSIZE;
    b->request_len = 0;
    b->unit_bytes = d->unit_bytes;
    r->refused[r->refused_count] = (struct wire_refused){d->request, WIRE_REFUSED_TOO_LONG};
    r->refused_seq[r->refused_count++] = 0;
    bool gap;

    account(r, start, pos_make(d->request + 1, 0), &gap);
    return true;
}

/* A part of a unit that was placed is a duplicate, but shows that units are smaller now, so the
 * request is split. If only such duplicates came, because old positions were asked for, the two
 * sides would otherwise go on to count in units of different sizes. */
static void note_duplicate(struct vt_receiver *r, const struct wire_data *d)
{
    if (seq32_before(d->request, pos_request(vt_receiver_ack(r))) ||
        !seq32_before(d->request, r->tail))
        return;
    const struct vt_buffer *b = buffer_at(r, d->request);

    if (b->status == 0 && b->request_len == d->request_len && unit_parts(b, d) > 1)
        request_split(r, d->request, d->unit_bytes);
}

bool vt_receiver_note(struct vt_receiver *r, const struct wire_data *d, enum vt_verdict v)
{
    bool ask = false;

    packet_count(r, d->packet);
    switch (v) {
    case VT_DUPLICATE:
        note_duplicate(r, d);
        break;
    case VT_TOO_LONG:
        ask = note_too_long(r, d);
        break;
    case VT_UNPOSTED:
        ask = edge_advance(r, pos_make(r->tail, 0), r->packet_end) && r->tolerance == 0;
        r->announced = seq64_max(r->announced, data_end(d));
        break;
    case VT_OUT_OF_ORDER:
        r->announced = seq64_max(r->announced, data_end(d));
        ask = !vt_receiver_go_back_asked(r);
        break;
    default:
        break;
    }
    recovery_check(r);
    if ((d->h.flags & WIRE_WCLOSE) && (v == VT_TOO_LONG || v == VT_UNPOSTED))
        vt_receiver_close(r, d->request + 1);
    return ask;
}

bool vt_receiver_heard(struct vt_receiver *r, uint64_t sent)
{
    if (pos_request(sent) - pos_request(r->edge) > REQUESTS_AHEAD_MAX ||
        !seq64_before(r->announced, sent))
        sent = r->announced;
    r->announced = sent;
    if (r->go_back_n) /* asks once: two sides that both miss units would answer for ever */
        return !vt_receiver_go_back_asked(r) &&
               seq64_before(r->edge, seq64_min(sent, pos_make(r->tail, 0)));
    return edge_advance(r, sent, r->packet_end);
}

bool vt_receiver_close(struct vt_receiver *r, uint32_t close_request)
{
    if (r->closing)
        return r->close_request == close_request;
    if (close_request - pos_request(vt_receiver_ack(r)) > REQUESTS_AHEAD_MAX ||
        seq64_before(pos_make(close_request, 0), r->announced))
        return false;
    r->closing = true;
    r->close_request = close_request;
    return true;
}

uint64_t vt_receiver_ack(const struct vt_receiver *r)
{
    return span_set_empty(&r->gaps) ? r->edge : span_at(&r->gaps, 0)->first;
}

bool vt_receiver_all_done(const struct vt_receiver *r)
{
    return r->closing && vt_receiver_ack(r) == pos_make(r->close_request, 0);
}

uint8_t vt_receiver_refused(struct vt_receiver *r, uint32_t seq, struct wire_refused *out)
{
    if (r->recovering && r->run_seq == 0)
        r->run_seq = seq;
    for (uint32_t i = 0; i < r->refused_count; i++) {
        out[i] = r->refused[i];
        if (r->refused_seq[i] == 0)
            r->refused_seq[i] = seq;
    }
    return (uint8_t)r->refused_count;
}

void vt_receiver_confirm(struct vt_receiver *r, uint32_t cntl_seen)
{
    uint32_t kept = 0;

    if (r->run_seq != 0 && !seq32_before(cntl_seen, r->run_seq))
        r->recovering = false;
    for (uint32_t i = 0; i < r->refused_count; i++) {
        if (r->refused_seq[i] != 0 && !seq32_before(cntl_seen, r->refused_seq[i]))
            continue;
        r->refused[kept] = r->refused[i];
        r->refused_seq[kept++] = r->refused_seq[i];
    }
    r->refused_count = kept;
}

void vt_receiver_abort(struct vt_receiver *r, int status)
{
    if (!vt_receiver_all_done(r))
        r->closing = false; /* else the end here would look like the peer's orderly close */
    r->over = true;
    r->over_status = status;
}

/* Why the oldest request will never be filled; 0 if it still may be. */
static int32_t hopeless(const struct vt_receiver *r)
{
    if (r->closing && !seq32_before(r->base, r->close_request))
        return -ENODATA; /* posted after the peer's last request */
    return r->over ? r->over_status : 0;
}

bool vt_receiver_complete(struct vt_receiver *r, struct vt_received *out)
{
    if (r->base == r->tail)
        return false;
    struct vt_buffer *b = buffer_at(r, r->base);
    bool done = seq32_before(r->base, pos_request(vt_receiver_ack(r)));
    int32_t status = done ? b->status : hopeless(r);

    if (!done && status == 0)
        return false;
    *out = (struct vt_received){b->user, status == 0 ? b->request_len : 0, status};
    r->base++;
    return true;
}
