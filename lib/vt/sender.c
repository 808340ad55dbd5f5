/* SPDX-License-Identifier: BSD-3-Clause */
#include "vt/sender.h"

#include <errno.h>

#include "base/check.h"
#include "base/clock.h"

#define ASK_BACKOFF_MAX 16u /* doublings of the ACK-request timer; ask_max_tsc caps the wait */
#define UNIT_NONE       UINT32_MAX

static struct vt_request *request_at(const struct vt_sender *s, uint32_t number)
{
    return &s->ring[(number - s->origin) & s->mask];
}

/* Arms the ACK-request timer. */
static void ask_arm(struct vt_sender *s, uint64_t now, uint64_t ask_tsc)
{
    s->ask_at = now + time_min(ask_tsc << s->ask_backoff, s->ask_max_tsc);
}

/* Frees nothing: the memory is the application's, and the mbuf library counts the references. */
static void memory_released(void *addr, void *opaque)
{
    (void)addr;
    (void)opaque;
}

void vt_sender_init(struct vt_sender *s, const struct vt_sender_config *cfg)
{
    CHECK(cfg->depth > 0 && (cfg->depth & (cfg->depth - 1)) == 0);
    CHECK(cfg->unit_bytes >= WIRE_UNIT_MIN && cfg->unit_bytes <= WIRE_UNIT_MAX);
    uint32_t r = cfg->initial_request;

    *s = (struct vt_sender){.ring = cfg->ring,
                            .mask = cfg->depth - 1,
                            .origin = r,
                            .base = r,
                            .una = r,
                            .tail = r,
                            .next = pos_make(r, 0),
                            .sent = pos_make(r, 0),
                            .ack = pos_make(r, 0),
                            .posted = r,
                            .ahead = cfg->early,
                            .unit_bytes = cfg->unit_bytes,
                            .go_back_n = cfg->go_back_n,
                            .ask_at = TIME_NEVER,
                            .ask_max_tsc = cfg->ask_max_tsc};
    span_set_init(&s->repeat, cfg->spans, cfg->gaps);
    unit_set_init(&s->more, cfg->pages, cfg->page_count);
}

void vt_sender_set_initial(struct vt_sender *s, uint32_t initial_request)
{
    uint32_t shift = initial_request - s->base;

    CHECK(s->packet == 0 && s->una == s->base);
    s->origin += shift;
    s->base += shift;
    s->una += shift;
    s->tail += shift;
    s->posted = initial_request;
    s->next = s->sent = s->ack = pos_make(initial_request, 0);
}

int vt_sender_post(struct vt_sender *s, const struct vt_send *op)
{
    uint64_t len = op->pieces[0].len + op->pieces[1].len;

    if (s->closing || s->aborted)
        return -EPIPE;
    if (s->tail - s->base > s->mask)
        return -ENOBUFS;
    if (op->pieces[0].len > WIRE_REQUEST_MAX || op->pieces[1].len > WIRE_REQUEST_MAX ||
        len > WIRE_REQUEST_MAX)
        return -EMSGSIZE;

    struct vt_request *q = request_at(s, s->tail);

    q->op = *op;
    q->len = len;
    q->unit_bytes = 0;
    q->units = 0;
    q->flagged_unit = UNIT_NONE;
    q->status = 0;
    q->provisional_reported = !op->provisional;
    for (unsigned int i = 0; i < 2; i++) {
        q->shared[i].free_cb = memory_released;
        q->shared[i].fcb_opaque = NULL;
        rte_mbuf_ext_refcnt_set(&q->shared[i], 1);
    }
    s->tail++;
    s->backlog_bytes += len;
    return 0;
}

/* Sets a request's unit size, just before its first unit of that size is sent. */
static void request_start_with(struct vt_request *q, uint32_t unit_bytes)
{
    q->unit_bytes = unit_bytes;
    q->units = (uint32_t)wire_units(q->len, q->unit_bytes);
    q->flagged_unit = UNIT_NONE;
    if (q->op.provisional && q->op.pieces[0].len > 0)
        q->flagged_unit = (uint32_t)((q->op.pieces[0].len - 1) / q->unit_bytes);
}

/* Requests from the number returned on may not be sent now. */
static uint32_t send_limit(const struct vt_sender *s)
{
    uint32_t limit = s->posted + s->ahead;

    return seq32_before(limit, s->tail) ? limit : s->tail;
}

static void unit_describe(struct vt_request *q, uint64_t pos, struct vt_unit *u)
{
    uint64_t start = (uint64_t)pos_unit(pos) * q->unit_bytes;
    uint64_t left = q->len - start;
    uint64_t head = q->op.pieces[0].len;

    u->request = q;
    u->pos = pos;
    u->len = left < q->unit_bytes ? (uint32_t)left : q->unit_bytes;
    u->flags = 0;
    uint32_t from_head = start >= head ? 0 : (uint32_t)RTE_MIN(head - start, (uint64_t)u->len);

    u->pieces[0] = (struct vt_piece){NULL, from_head};
    u->pieces[1] = (struct vt_piece){NULL, u->len - from_head};
    if (from_head > 0)
        u->pieces[0].data = q->op.pieces[0].data + start;
    if (from_head < u->len)
        u->pieces[1].data = q->op.pieces[1].data + (start + from_head - head);
    if (pos_unit(pos) == q->flagged_unit && !q->provisional_reported)
        u->flags |= WIRE_PACK;
}

/* The position after pos, a unit of request q; the last unit is followed by the next request. */
static uint64_t pos_after(const struct vt_request *q, uint64_t pos)
{
    return pos_unit(pos) + 1 == q->units ? pos_make(pos_request(pos) + 1, 0) : pos + 1;
}

/* ---- units to repeat --------------------------------------------------------------------- */

/*
 * Notes units to repeat. A peer that finds thousands of gaps at once asks for them in successive
 * CNTL, faster than the units can be sent. When no span of `repeat` is free, units are noted one by
 * one in `more`. False if `more` is full, too: the peer will ask again.
 */
static bool repeat_add(struct vt_sender *s, uint64_t first, uint64_t end)
{
    if (span_add(&s->repeat, first, end, 0, 0) == 0)
        return true;
    for (uint64_t pos = first; seq64_before(pos, end); pos = pos_make(pos_request(pos) + 1, 0)) {
        bool last = pos_request(pos) == pos_request(end);
        uint32_t to = last ? pos_unit(end) : request_at(s, pos_request(pos))->units;

        if (to > pos_unit(pos) && !unit_set_add(&s->more, pos, to - pos_unit(pos)))
            return false;
    }
    return true;
}

static void repeat_remove(struct vt_sender *s, uint64_t first, uint64_t end)
{
    span_remove(&s->repeat, first, end);
    unit_set_remove(&s->more, first, end);
}

/* The lowest position in `more` from pos on; s->sent: none. */
static uint64_t repeat_more(const struct vt_sender *s, uint64_t pos)
{
    return s->more.count == 0 ? s->sent : unit_set_next(&s->more, pos, s->sent);
}

/* The lowest position to be repeated; s->sent: none. */
static uint64_t repeat_lowest(const struct vt_sender *s)
{
    uint64_t more = repeat_more(s, s->ack);

    return span_set_empty(&s->repeat) ? more : seq64_min(more, span_at(&s->repeat, 0)->first);
}

/* Is there nothing to repeat from pos on? */
static bool repeat_ends(const struct vt_sender *s, uint64_t pos)
{
    return span_index(&s->repeat, pos) == s->repeat.count && repeat_more(s, pos) == s->sent;
}

/* The first position to repeat; drops positions before it that need no repeat any more. */
static bool repeat_first(struct vt_sender *s, uint64_t *pos)
{
    uint64_t p;

    while ((p = repeat_lowest(s)) != s->sent) {
        struct vt_request *q = request_at(s, pos_request(p));

        if (seq64_before(p, s->ack)) {
            repeat_remove(s, p, s->ack);
        } else if (q->units == 0 || pos_unit(p) >= q->units) {
            repeat_remove(s, p, pos_make(pos_request(p) + 1, 0));
        } else {
            *pos = p;
            return true;
        }
    }
    return false;
}

/*
 * The request of the next unit; NULL if none may be sent. When going back n, the peer may have
 * asked for units beyond a request's last one: that means the next request.
 */
static struct vt_request *next_request(struct vt_sender *s, uint32_t limit)
{
    while (seq32_before(pos_request(s->next), limit)) {
        struct vt_request *q = request_at(s, pos_request(s->next));

        if (q->unit_bytes == 0)
            request_start_with(q, s->unit_bytes);
        if (pos_unit(s->next) < q->units)
            return q;
        s->next = pos_make(pos_request(s->next) + 1, 0);
    }
    return NULL;
}

bool vt_sender_peek(struct vt_sender *s, struct vt_unit *u)
{
    uint64_t pos;
    uint32_t limit = send_limit(s);

    if (repeat_first(s, &pos)) {
        struct vt_request *q = request_at(s, pos_request(pos));

        unit_describe(q, pos, u);
        u->flags |= WIRE_REPEAT;
        /* the last unit that may be sent now asks for an answer */
        if (repeat_ends(s, pos_after(q, pos)) && !seq32_before(pos_request(s->next), limit))
            u->flags |= WIRE_DREQ;
        if (s->closing && pos_after(q, pos) == pos_make(s->tail, 0))
            u->flags |= WIRE_WCLOSE;
        return true;
    }
    struct vt_request *q = next_request(s, limit);

    if (q == NULL)
        return false;
    unit_describe(q, s->next, u);
    uint64_t after = pos_after(q, s->next);

    if (!seq32_before(pos_request(after), limit))
        u->flags |= WIRE_DREQ;
    if (s->closing && after == pos_make(s->tail, 0))
        u->flags |= WIRE_WCLOSE;
    if (seq64_before(s->next, s->sent))
        u->flags |= WIRE_REPEAT;
    return true;
}

void vt_sender_take(struct vt_sender *s, const struct vt_unit *u, uint64_t now, uint64_t ask_tsc)
{
    uint64_t after = pos_after(u->request, u->pos);

    if (u->pos != s->sent && repeat_lowest(s) == u->pos) {
        repeat_remove(s, u->pos, after);
        s->repeats++;
    } else {
        CHECK(u->pos == s->next);
        s->next = after;
        if (seq64_before(s->sent, after)) {
            s->sent = after;
            s->backlog_bytes -= u->len <= s->backlog_bytes ? u->len : s->backlog_bytes;
        } else {
            s->repeats++;
        }
    }
    s->packet++;
    ask_arm(s, now, ask_tsc);
}

enum vt_limit vt_sender_limit(const struct vt_sender *s)
{
    uint32_t number = pos_request(s->next);

    if (repeat_lowest(s) != s->sent || seq32_before(number, send_limit(s)))
        return VT_LIMIT_RATE;
    return seq32_before(number, s->tail) ? VT_LIMIT_PEER : VT_LIMIT_APP;
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

/* The request goes on in units of unit_bytes, which divides its unit size. */
static void request_split(struct vt_sender *s, uint32_t number, uint32_t unit_bytes)
{
    struct vt_request *q = request_at(s, number);
    uint64_t start = pos_make(number, 0), end = pos_make(number + 1, 0);
    uint32_t parts = q->unit_bytes / unit_bytes;
    uint32_t units = (uint32_t)wire_units(q->len, unit_bytes);
    uint64_t *const all[] = {&s->ack, &s->next, &s->sent};

    if (!seq64_before(start, s->sent)) {
        q->unit_bytes = q->units = 0; /* as if the request had not started */
        return;
    }
    repeat_remove(s, start, end);
    for (unsigned int i = 0; i < RTE_DIM(all); i++)
        *all[i] = pos_split(*all[i], number, parts, units);
    request_start_with(q, unit_bytes);
    /* units that were sent before they had a buffer are left out: the peer asks for them later */
    uint64_t limit = seq64_min(s->sent, pos_make(send_limit(s), 0));
    uint64_t first = seq64_max(start, s->ack), sent = seq64_min(end, limit);

    if (s->go_back_n)
        s->next = seq64_min(s->next, first);
    else if (seq64_before(first, sent))
        repeat_add(s, first, sent);
}

uint32_t vt_sender_awaited(const struct vt_sender *s)
{
    if (!seq64_before(s->ack, s->sent))
        return 0;
    const struct vt_request *q = request_at(s, pos_request(s->ack));
    uint64_t start = (uint64_t)pos_unit(s->ack) * q->unit_bytes;

    return WIRE_DATA_BYTES + (uint32_t)RTE_MIN(q->len - start, (uint64_t)q->unit_bytes);
}

void vt_sender_set_unit(struct vt_sender *s, uint32_t unit_bytes)
{
    CHECK(unit_bytes >= WIRE_UNIT_MIN && unit_bytes <= WIRE_UNIT_MAX);
    s->unit_bytes = unit_bytes;
    for (uint32_t r = s->una; r != s->tail; r++) {
        uint32_t old = request_at(s, r)->unit_bytes;

        if (old <= unit_bytes)
            continue;
        if (old % unit_bytes == 0) {
            request_split(s, r, unit_bytes);
            continue;
        }
        if (seq64_before(pos_make(r, 0), s->ack))
            continue; /* acknowledged in part: keeps its unit size */
        /* a new attempt of this request and all after it, none of which is acknowledged */
        uint64_t start = pos_make(r, 0);

        uint64_t anew = 0;

        for (uint32_t i = r; i != s->tail; i++) {
            request_at(s, i)->unit_bytes = 0;
            request_at(s, i)->units = 0;
            anew += request_at(s, i)->len;
        }
        if (seq64_before(start, s->sent)) {
            repeat_remove(s, start, s->sent);
            s->sent = start;
            s->backlog_bytes = anew;
        }
        s->next = seq64_min(s->next, start);
        return;
    }
}

/* Takes the peer's refusals: those requests fail, the connection goes on. */
static void apply_refused(struct vt_sender *s, const struct wire_cntl *c)
{
    for (uint32_t i = 0; i < c->refused_count; i++) {
        uint32_t r = c->refused[i].request;

        if (!seq32_before(r, s->una) && seq32_before(r, s->tail))
            request_at(s, r)->status = -EMSGSIZE;
    }
}

/*
 * A peer that refuses a request acknowledges all of it, even units not sent yet. If that request is
 * being sent, drops the rest of it. False if any other unit that was never sent is acknowledged.
 */
static bool pass_refused(struct vt_sender *s, const struct wire_cntl *c)
{
    uint32_t r = pos_request(s->sent);

    if (pos_unit(s->sent) == 0 || c->ack != pos_make(r + 1, 0))
        return false;
    struct vt_request *q = request_at(s, r);
    bool refused = q->status != 0;

    for (uint32_t i = 0; i < c->refused_count; i++)
        refused = refused || c->refused[i].request == r;
    if (!refused)
        return false;
    s->backlog_bytes -= q->len - (uint64_t)pos_unit(s->sent) * q->unit_bytes;
    s->sent = c->ack;
    return true;
}

/* Takes the cumulative acknowledgement. */
static void apply_ack(struct vt_sender *s, uint64_t ack)
{
    unit_set_remove(&s->more, s->ack, ack);
    s->ack = ack;
    s->next = seq64_max(s->next, ack);
    while (s->una != pos_request(ack)) {
        struct vt_request *q = request_at(s, s->una);

        if (q->status == 0)
            s->acked_bytes += q->len;
        s->una++;
    }
}

/* Repeats what is in [first, end). Returns false if no more can be noted. */
static bool apply_nak(struct vt_sender *s, uint64_t first, uint64_t end)
{
    if (!seq64_before(first, end))
        return true;
    s->naks++;
    if (!s->go_back_n)
        return repeat_add(s, first, end);
    if (seq64_before(first, s->next))
        s->next = first;
    return false;
}

static void apply_naks(struct vt_sender *s, const struct wire_cntl *c)
{
    if (c->span_count == 0)
        return;
    s->recoveries++;
    /* The peer has not seen a unit since a request was split: what it names, it counts in longer
     * units, whose numbers may all be below ours. So it gets everything. */
    if (seq64_before(c->ack, s->ack)) {
        apply_nak(s, s->ack, seq64_min(s->sent, pos_make(send_limit(s), 0)));
        return;
    }
    for (uint32_t i = 0; i < c->span_count; i++)
        if (!apply_nak(s, seq64_max(c->spans[i].first, s->ack),
                       seq64_min(c->spans[i].end, s->sent)))
            return;
}

/* Is there anything the peer has yet to confirm? */
static bool unconfirmed(const struct vt_sender *s)
{
    return s->ack != pos_make(s->tail, 0) || (s->closing && !s->closed);
}

bool vt_sender_control(struct vt_sender *s, const struct wire_cntl *c, uint64_t now,
                       uint64_t ask_tsc)
{
    if (seq64_before(s->sent, c->ack) && !pass_refused(s, c))
        return false;
    bool news = false;

    /* c->posted counts only near our own numbers: far away, wrap-safe order is reversed */
    if (seq32_before(s->posted, c->posted) && c->posted - s->una <= 0x1000000) {
        s->posted = c->posted;
        news = true;
    }
    apply_refused(s, c);
    if (seq64_before(s->ack, c->ack)) {
        apply_ack(s, c->ack);
        news = true;
    }
    apply_naks(s, c);
    if (news || c->span_count > 0)
        s->ask_backoff = 0;
    if (!unconfirmed(s))
        s->ask_at = TIME_NEVER;
    else if (news || c->span_count > 0 || s->ask_at == TIME_NEVER)
        ask_arm(s, now, ask_tsc);
    return true;
}

bool vt_sender_ask(struct vt_sender *s, uint64_t now, uint64_t ask_tsc)
{
    if (s->ask_at == TIME_NEVER || time_before(now, s->ask_at))
        return false;
    if (!unconfirmed(s)) {
        s->ask_at = TIME_NEVER;
        return false;
    }
    if (s->ask_backoff < ASK_BACKOFF_MAX)
        s->ask_backoff++;
    ask_arm(s, now, ask_tsc);
    return true;
}

void vt_sender_abort(struct vt_sender *s, int status)
{
    for (; s->una != s->tail; s->una++)
        if (request_at(s, s->una)->status == 0)
            request_at(s, s->una)->status = status;
    span_set_clear(&s->repeat);
    unit_set_remove(&s->more, s->ack, s->sent);
    s->ack = s->next = s->sent = pos_make(s->tail, 0);
    s->aborted = true;
    s->backlog_bytes = 0;
    s->ask_at = TIME_NEVER;
}

bool vt_sender_all_acked(const struct vt_sender *s)
{
    return s->una == s->tail;
}

/* Is there no mbuf that refers to the request's memory? */
static bool request_quiet(struct vt_request *q)
{
    return rte_mbuf_ext_refcnt_read(&q->shared[0]) == 1 &&
           rte_mbuf_ext_refcnt_read(&q->shared[1]) == 1;
}

bool vt_sender_idle(const struct vt_sender *s)
{
    if (s->una != s->tail)
        return false;
    for (uint32_t r = s->base; r != s->tail; r++)
        if (!request_quiet(request_at(s, r)))
            return false;
    return true;
}

/* Has the oldest request's first piece, the one that is not a copied tail, arrived? */
static bool provisional_arrived(const struct vt_sender *s, const struct vt_request *q)
{
    return s->base != s->una || q->op.pieces[0].len == 0 ||
           (q->flagged_unit != UNIT_NONE &&
            seq64_before(pos_make(s->base, q->flagged_unit), s->ack));
}

bool vt_sender_lingers(const struct vt_sender *s)
{
    if (s->base == s->tail)
        return false;
    struct vt_request *q = request_at(s, s->base);

    if (!q->provisional_reported)
        return provisional_arrived(s, q);
    return s->base != s->una && !request_quiet(q);
}

bool vt_sender_complete(struct vt_sender *s, struct vt_sent *out)
{
    if (s->base == s->tail)
        return false;
    struct vt_request *q = request_at(s, s->base);

    if (!q->provisional_reported) {
        if (!provisional_arrived(s, q) || rte_mbuf_ext_refcnt_read(&q->shared[0]) != 1)
            return false;
        q->provisional_reported = true;
        *out = (struct vt_sent){q->op.user, q->op.pieces[0].len, q->status, true, q->op.posted_tsc};
        return true;
    }
    if (s->base == s->una || !request_quiet(q))
        return false;
    *out = (struct vt_sent){q->op.user, q->len, q->status, false, q->op.posted_tsc};
    s->base++;
    return true;
}
