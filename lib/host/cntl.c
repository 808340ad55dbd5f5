/* SPDX-License-Identifier: BSD-3-Clause */
/* CNTL in and out, RCNTL in. */
#include <string.h>

#include "host/host_internal.h"

#define NAK_DOUBLINGS 16u
#define NAK_DOUBTS    2u
#define WAITING_MAX   2u /* CNTL in the return path's queue: one being transmitted, one behind */

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The peer echoes the time that one of our packets carried. The round trip is the time since then,
 * less the time for which the peer held the echo back. */
static void echo_take(struct host *h, struct conn *c, uint64_t echo_ns, uint32_t held_ns)
{
    uint64_t now_ns = host_now_ns(h);

    if (echo_ns == 0 || echo_ns > now_ns || now_ns - echo_ns < held_ns)
        return;
    conn_round_trip(h, c, clock_cycles(&h->clock, now_ns - echo_ns - held_ns), false);
}

/* When a router's limit expires; never 0, which marks a free slot (hop.h). */
static uint64_t hop_until(const struct host *h, uint16_t expiry_ms)
{
    return max_u64(1, h->now + clock_cycles(&h->clock, expiry_ms * 1000000ull));
}

/* Notes a grant in the trace, if it differs from the one noted last. */
static void grant_note(struct host *h, const struct conn *c, struct conn_traced *last,
                       enum trace_what what, const struct wire_cntl *v)
{
    if (v->reason == last->why && !rate_differs(v->rate_Bps, last->rate_Bps, TRACE_SHIFT))
        return;
    *last = (struct conn_traced){v->rate_Bps, v->reason};
    host_note(h, c, what, v->reason, v->rate_Bps, v->burst_bytes);
}

static void grant_take(struct host *h, struct conn *c, const struct wire_cntl *v)
{
    c->pacing.rate_Bps = v->rate_Bps;
    c->pacing.burst_bytes = v->burst_bytes;
    c->pacing.reason = v->reason;
    grant_note(h, c, &c->traced.granted, TRACE_GRANTED, v);
    if (v->hop_rate_Bps != 0 && v->hop_expiry_ms != 0) {
        struct hop_limit limit = {
            .source = HOP_CNTL,
            .rate_Bps = v->hop_rate_Bps,
            .burst_bytes = v->hop_burst_bytes,
            .until_tsc = hop_until(h, v->hop_expiry_ms),
        };

        hop_limits_take(&c->pacing.hops, &limit);
    }
    if (ecn_validate(&c->ecn, v))
        host_count(h, COUNT_conns_ecn_off);
    conn_rate_apply(h, c);
    if (v->peak_Bps != c->pacing.peak_Bps) {
        c->pacing.peak_Bps = v->peak_Bps;
        pacing_contract(h, c);
    }
}

/* Takes the peer's flags about closing. True if the connection is still open afterwards. */
static bool closing_take(struct host *h, struct conn *c, const struct wire_cntl *v)
{
    bool end = v->h.flags & WIRE_END;
    bool aborts = end && v->end != WIRE_END_NONE; /* then WCLOSE does not mean that all was sent */

    c->close.end_seen = c->close.end_seen || end;
    if ((v->h.flags & WIRE_WCLOSE) && !aborts && !c->rx.closing &&
        vt_receiver_close(&c->rx, v->close_request)) {
        conn_has_completion(h, c);
        conn_want(h, c, WANT_CNTL);
    }
    if ((v->h.flags & WIRE_RCLOSE) && !c->tx.closed) {
        c->tx.closed = true;
        /* the peer reads no more although we had more to send */
        if (!vt_sender_all_acked(&c->tx) || !c->tx.closing) {
            vt_sender_abort(&c->tx, -EPIPE);
            c->tx.closing = true; /* no more may be sent, and the reader wants no more */
            conn_want(h, c, WANT_CNTL);
        }
        conn_has_completion(h, c);
    }
    conn_close_check(h, c);
    if (end) {
        c->handshake.first_at = TIME_NEVER;
        if (v->h.flags & WIRE_SREQ)
            conn_want(h, c, WANT_CNTL);
        if (c->state != HOST_CLOSED)
            conn_over(h, c, conn_end_status((enum wire_end)v->end), (enum wire_end)v->end,
                      v->h.flags & WIRE_SREQ);
        else if (c->close.end == WIRE_END_NONE && v->end == WIRE_END_NONE && !c->cntl_link.queued)
            c->close.linger_at = h->now; /* both sides know of the end: no packets will follow */
    }
    return c->state != HOST_CLOSED;
}

/* If the peer has seen a CNTL of ours, all DATA sent before that CNTL have arrived, or are lost.
 * One CNTL at a time is watched (pacing.flight_seq). True if the peer has seen this one. */
static bool flight_take(struct conn *c, const struct wire_cntl *v)
{
    uint64_t base = v->received + v->lost;
    bool seen = c->pacing.flight_seq != 0 && !seq32_before(v->cntl_seen, c->pacing.flight_seq);

    if (seen) {
        base = max_u64(base, c->pacing.flight_packets);
        c->pacing.flight_seq = 0;
    }
    pacing_flight(c, base < c->tx.packet ? base : c->tx.packet, v->received);
    return seen;
}

/* False: the CNTL contradicts what was sent, and is no news of it. */
static bool sender_take(struct host *h, struct conn *c, const struct wire_cntl *v)
{
    uint32_t una = c->tx.una;

    c->tx.ahead = h->cfg.ahead;
    if (!vt_sender_control(&c->tx, v, h->now, 2 * conn_wait_tsc(h, c))) {
        host_count(h, COUNT_drop_cntl_ack);
        return false;
    }
    /* after `posted`: a request that is split is sent again only if the peer has a buffer for it */
    c->unit.peer_max_bytes = v->unit_max;
    unit_apply(h, c);
    if (v->span_count > 0 && host_note_due(h, &c->traced.nak_came_at))
        host_note(h, c, TRACE_NAK_CAME, v->span_count, c->tx.naks, c->tx.recoveries);
    counter_set(&c->pub.naks_rx, c->tx.naks);
    counter_set(&c->pub.recoveries, c->tx.recoveries);
    host_count_bytes(h, COUNT_tx_acked_bytes, c->tx.acked_bytes - c->pub.tx_acked_bytes);
    counter_set(&c->pub.tx_acked_bytes, c->tx.acked_bytes);
    struct vt_request *q = &c->tx.ring[(c->tx.base - c->tx.origin) & c->tx.mask];

    if (una != c->tx.una || (c->tx.base != c->tx.tail && !q->provisional_reported))
        conn_has_completion(h, c);
    conn_has_data(h, c);
    return true;
}

bool cntl_take(struct host *h, struct conn *c, const struct wire_cntl *v)
{
    if (c->state == HOST_CLOSED) {
        if (v->h.flags & WIRE_END)
            closing_take(h, c, v);
        else
            conn_want(h, c, WANT_CNTL);
        conn_timer_update(h, c);
        return false;
    }
    if (c->state == HOST_OPENING && v->cookie != 0 && !(v->h.flags & WIRE_END)) {
        c->handshake.cookie =
            v->cookie; /* the rest of this CNTL means nothing: the acceptor has kept no state */
        conn_want(h, c, WANT_FIRST);
        return false;
    }
    if (c->cntl.peer_seq != 0 && !seq32_before(c->cntl.peer_seq, v->seq)) {
        host_count(h, COUNT_drop_cntl_old);
        /* a sealed one was perhaps recorded; a peer that misses the answer asks again */
        if ((v->h.flags & WIRE_SREQ) && !c->security.sealed)
            conn_want(h, c, WANT_CNTL | WANT_FORCE);
        return false;
    }
    c->heard_at = h->now;
    c->cntl.peer_seq = v->seq;
    counter_add(&c->pub.cntl_rx, 1);
    if (!vt_sender_idle(&c->tx))
        pacing_moderate(h, c);
    route_seen(h, c, v->cntl_seen, v->received);
    echo_take(h, c, v->echo_ns, v->echo_held_ns);
    if (c->state == HOST_OPENING && !(v->h.flags & WIRE_END)) {
        host_count(h, COUNT_conns_opened);
        conn_opened(h, c, 0);
        conn_want(h, c, WANT_CNTL); /* with our grant and buffers, for the other direction */
    }
    if (!((v->h.flags & WIRE_END) && c->state == HOST_OPENING))
        c->peer_key = v->own_key;
    if (c->pacing.silent_steps > 0) {
        c->pacing.silent_steps = 0;
        host_note(h, c, TRACE_SILENCE, 0, 0, 0);
    }
    if (v->cntl_seen != 0)
        c->handshake.first_at = TIME_NEVER;
    c->cntl.peer_time_ns = v->time_ns;
    c->cntl.peer_time_at = h->now;
    grant_take(h, c, v);
    bool seen = flight_take(c, v), right = sender_take(h, c, v);

    vt_receiver_confirm(&c->rx, v->cntl_seen);
    usage_seen(&c->usage, v->cntl_seen, h->now);
    counter_set(&c->pub.peer_backlog_bytes, v->backlog_bytes);
    if (vt_receiver_heard(&c->rx, v->sent))
        conn_want(h, c, WANT_CNTL);
    if (!closing_take(h, c, v))
        return true;
    if (right)
        black_hole_take(h, c, v, seen);
    if (v->h.flags & (WIRE_SREQ | WIRE_DREQ))
        conn_want(h, c, WANT_CNTL | WANT_FORCE);
    conn_timer_update(h, c);
    return true;
}

void rcntl_take(struct host *h, struct conn *c, const struct wire_rcntl *v)
{
    struct hop_limit limit = {
        .source = v->hop,
        .rate_Bps = v->rate_Bps,
        .burst_bytes = v->burst_bytes,
        .time_ns = v->time_ns,
        .until_tsc = hop_until(h, v->expiry_ms),
    };

    if (c->state != HOST_OPEN)
        return;
    if (!hop_limits_take(&c->pacing.hops, &limit)) {
        host_count(h, COUNT_drop_rcntl_old);
        return;
    }
    conn_rate_apply(h, c);
    conn_timer_update(h, c);
}

static void flags_fill(struct conn *c, struct wire_cntl *v)
{
    if (c->peer_key == 0)
        v->h.flags |= WIRE_EARLY;
    if (c->want & WANT_SREQ)
        v->h.flags |= WIRE_SREQ;
    if (c->want & WANT_PACK)
        v->h.flags |= WIRE_PACK;
    if (c->tx.closing)
        v->h.flags |= WIRE_WCLOSE;
    if (vt_receiver_all_done(&c->rx))
        v->h.flags |= WIRE_RCLOSE;
    if (c->state == HOST_CLOSED) {
        v->h.flags |= WIRE_END;
        v->end = (uint16_t)c->close.end;
    }
}

/* Bytes of a CNTL without spans. Refused requests are included: a CNTL whose ACK passes a refused
 * request must name it. */
uint32_t cntl_min(const struct conn *c)
{
    return WIRE_CNTL_BYTES + c->rx.refused_count * WIRE_REFUSED_BYTES;
}

static void naks_count(struct conn *c)
{
    /* successive CNTL that together name all gaps count as one question */
    if (!c->cntl.naks_left && c->nak.data_at == c->data_at && c->nak.quiet < NAK_DOUBLINGS)
        c->nak.quiet++;
    c->nak.data_at = c->data_at;
}

static void receiver_fill(struct host *h, struct conn *c, struct wire_cntl *v, uint32_t room)
{
    /* if NAKs bring no DATA, the path may drop long packets, so this CNTL stays short */
    uint32_t fits = c->nak.quiet < NAK_DOUBTS ? room : RTE_MIN(room, WIRE_MTU_MIN - CNTL_SPARE);
    uint32_t max = (fits - cntl_min(c)) / WIRE_SPAN_BYTES;
    uint64_t again = conn_nak_again(h, c);

    max = RTE_MIN(max, (uint32_t)WIRE_SPANS_MAX);
    if (c->state == HOST_OPEN)
        v->span_count =
            (uint8_t)vt_receiver_naks(&c->rx, h->now, again, c->want & WANT_FORCE, v->spans, max);
    if (v->span_count > 0) {
        if (host_note_due(h, &c->traced.nak_sent_at))
            host_note(h, c, TRACE_NAK_SENT, v->span_count, c->rx.naks, c->rx.lost);
        naks_count(c);
        again = conn_nak_again(h, c);
    }
    v->refused_count = vt_receiver_refused(&c->rx, v->seq, v->refused);
    v->ack = vt_receiver_ack(&c->rx);
    v->posted = c->cntl.posted = c->rx.tail;
    v->received = c->cntl.packets = c->rx.packets;
    v->lost = c->rx.lost;
    v->ecn_ce = c->ecn.ce;
    v->ecn_ect = c->ecn.ect;
    v->rate_Bps = counter_get(&c->pub.rx_rate_Bps);
    v->burst_bytes =
        (uint32_t)RTE_MIN(counter_get(&c->pub.rx_burst_bytes), (uint64_t)WIRE_BURST_MAX_BYTES);
    v->reason = (uint16_t)counter_get(&c->pub.rx_reason);
    usage_advertise(&c->usage, v->seq, v->rate_Bps, v->burst_bytes, h->now);
    c->cntl.rate_Bps = v->rate_Bps;
    c->cntl.burst_bytes = v->burst_bytes;
    grant_note(h, c, &c->traced.grant, TRACE_GRANT, v);
    uint32_t posted = c->rx.tail - pos_request(v->ack);

    v->occupancy = (uint8_t)(posted * 255ull / (c->rx.mask + 1));
    counter_set(&c->pub.naks_tx, c->rx.naks);
    c->nak.at =
        c->state == HOST_OPEN ? vt_receiver_next(&c->rx, h->now, again, again / 4) : TIME_NEVER;
    c->cntl.naks_left = v->span_count == max && max > 0;
    if (c->cntl.naks_left)
        c->nak.at = time_min(c->nak.at, h->now);
}

/*
 * How many CNTL wait on the return path: the number under way, times the share of its round trip
 * for which a CNTL waits there (J. D. C. Little: A proof for the queuing formula L = lambda W,
 * 1961). TCP Vegas counts its own packets in the same way. If the newest DATA do not answer the
 * watched CNTL (cntl.echo_seq) yet, its round trip takes at least until they came. Time without
 * DATA does not count, for a peer that sends seldom answers late. A peer that claims to have seen a
 * CNTL that was never sent is treated as if it had seen none.
 */
static uint64_t cntl_waiting(const struct host *h, const struct conn *c)
{
    uint64_t under_way = c->cntl.seq - c->nexthop.seen_cntl, trip_ns = c->cntl.trip_ns, late_ns;

    if (c->cntl.echo_seq != 0 && c->data_at > c->cntl.echo_at)
        trip_ns = max_u64(trip_ns, clock_ns(&h->clock, c->data_at - c->cntl.echo_at));
    late_ns = cntl_late_ns(c, trip_ns);
    return late_ns > 0 ? under_way * late_ns / trip_ns : 0;
}

/* Does the next CNTL say more than how far the units have come? */
static bool says_more(const struct conn *c)
{
    return (c->want & (WANT_FORCE | WANT_PACK | WANT_DONE)) != 0 || c->cntl.posted != c->rx.tail ||
           c->cntl.rate_Bps != counter_get(&c->pub.rx_rate_Bps) || vt_receiver_unasked(&c->rx);
}

bool cntl_waits(struct host *h, struct conn *c)
{
    bool urgent = c->state != HOST_OPEN || (c->want & WANT_SREQ) != 0;

    if (urgent || c->cntl.naks_left || c->rtt_min_ns == 0)
        return false;
    bool many = cntl_waiting(h, c) >= WAITING_MAX;
    uint64_t wait = many ? conn_wait_tsc(h, c) : c->rtt.min_tsc / WAITING_MAX;
    uint64_t until = c->cntl.sent_at + wait;

    if (!time_before(h->now, until))
        return false;
    if (!many && says_more(c))
        return false;
    c->cntl.held_at = until;
    c->cntl.held = c->cntl.held || many;
    conn_timer_at(h, c, until);
    return true;
}

uint32_t cntl_build(struct host *h, struct conn *c, uint8_t *p, uint32_t room, uint32_t association)
{
    struct wire_cntl v;

    memset(&v, 0, offsetof(struct wire_cntl, spans));
    v.seq = ++c->cntl.seq != 0 ? c->cntl.seq : ++c->cntl.seq;
    v.h.key = c->peer_key != 0 ? c->peer_key : c->own_key;
    v.h.association = association;
    v.own_key = c->own_key;
    v.cntl_seen = c->cntl.peer_seq;
    v.unit_max = conn_unit_max(h, &c->peer, c->security.sealed);
    flags_fill(c, &v);
    receiver_fill(h, c, &v, room);
    v.sent = c->tx.sent;
    v.backlog_bytes = c->tx.backlog_bytes;
    v.close_request = c->tx.tail;
    v.initial_request = c->tx.origin;
    v.capabilities = c->go_back_n ? WIRE_CAP_GO_BACK_N : 0;
    v.time_ns = host_now_ns(h);
    v.silence_ms = h->cfg.silence_ms;
    if (c->cntl.peer_time_ns != 0) {
        uint64_t held = clock_ns(&h->clock, h->now - c->cntl.peer_time_at);

        v.echo_ns = c->cntl.peer_time_ns;
        v.echo_held_ns = held < UINT32_MAX ? (uint32_t)held : UINT32_MAX;
    }
    if (c->cntl.echo_seq == 0) {
        c->cntl.echo_seq = v.seq;
        c->cntl.echo_at = h->now;
    }
    if (c->pacing.flight_seq == 0) {
        c->pacing.flight_seq = v.seq;
        c->pacing.flight_packets = c->tx.packet;
        vt_black_hole_asked(&c->unit.black_hole);
    }
    c->cntl.rx_since = false;
    c->cntl.sent_at = h->now;
    c->cntl.held_at = c->cntl.repeat_at = TIME_NEVER;
    c->want = 0;
    counter_add(&c->pub.cntl_tx, 1);
    host_count(h, COUNT_tx_cntl);
    conn_timer_update(h, c);
    return wire_put_cntl(p, &v);
}
