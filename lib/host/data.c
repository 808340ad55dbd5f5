/* SPDX-License-Identifier: BSD-3-Clause */
/* DATA in: check, place, verify, account; then decide whether a CNTL must go at once. */
#include "base/mul_div.h"
#include "host/host_internal.h"

#include "vt/place.h"

#define FLIGHT_PARTS 4u /* a CNTL goes for each 1/4 of a flight, so that the sender may send on */
#define PAUSE_SHARE  8u /* a round trip with a pause of the peer up to 1/8 of it counts as exact */

static enum host_counter_id verdict_counter(enum vt_verdict v)
{
    switch (v) {
    case VT_DUPLICATE:
        return COUNT_drop_duplicate;
    case VT_UNPOSTED:
        return COUNT_drop_unposted;
    case VT_OUT_OF_ORDER:
        return COUNT_drop_out_of_order;
    case VT_NO_ROOM:
        return COUNT_drop_no_room;
    case VT_TOO_LONG:
        return COUNT_drop_too_long;
    case VT_MISMATCH:
        return COUNT_drop_mismatch;
    default:
        return COUNT_drop_beyond;
    }
}

/* Is the packet's UDP checksum right? payload_sum is the sum of the unit alone. */
static bool sum_right(const struct rte_mbuf *m, const struct frame *f, uint64_t payload_sum)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

    return frame_udp_sum_ok(p, f, payload_sum + frame_sum(p + f->payload_off, WIRE_DATA_BYTES));
}

/*
 * Copies the unit to dst and verifies it (dst NULL: verifies only). A corrupt unit leaves bytes in
 * a place that still counts as missing, and nothing else.
 */
static bool plain_place(struct host *h, uint8_t *dst, const struct wire_data *d,
                        const struct rte_mbuf *m, const struct frame *f)
{
    uint32_t off = f->payload_off + WIRE_DATA_BYTES;
    bool stream = d->request_len >= PLACE_STREAM_BYTES;
    enum sum_state state = sum_state(h, m, f);
    bool summing = state == SUM_OPEN;
    uint64_t sum = 0;

    if (state == SUM_WRONG)
        return false;
    if (dst != NULL)
        place_mbuf(dst, m, off, d->payload_len, stream, summing ? &sum : NULL);
    else if (summing)
        sum = place_mbuf_sum(m, off, d->payload_len);
    return !summing || sum_right(m, f, sum);
}

static void momentary_update(struct host *h, struct conn *c, uint32_t unit_bytes)
{
    uint64_t bytes, span;

    if (!momentary_frame(&c->momentary, unit_bytes, h->now, &bytes, &span))
        return;
    uint64_t rate_Bps = mul_div(bytes, h->clock.hz, span);

    counter_set(&c->pub.rx_momentary_Bps, rate_Bps);
    spread_add(&c->pub.spread.momentary_Bps, rate_Bps);
}

/*
 * Takes the number of the newest CNTL that the peer had seen when it sent this DATA packet. One
 * CNTL at a time is watched; if it got lost, a newer one takes its place. The peer saw the watched
 * CNTL after it sent its last DATA packet before this one. So if it did not pause between the two,
 * this one ends a round trip. The time from the CNTL to this packet, the pause included, is how
 * long the peer takes to answer a NAK, unless it had nothing to send.
 */
static void seen_sample(struct host *h, struct conn *c, uint32_t seen)
{
    uint64_t pause = h->now - c->data_at;

    c->data_at = h->now;
    if (seen != 0)
        c->handshake.first_at = TIME_NEVER;
    usage_seen(&c->usage, seen, h->now);
    route_seen(h, c, seen, 0);
    if (seen == 0 || !seq32_before(c->cntl.seen, seen) || seq32_before(c->cntl.seq, seen))
        return;
    c->cntl.seen = seen;
    vt_receiver_confirm(&c->rx, seen);
    if (c->cntl.echo_seq == 0 || seq32_before(seen, c->cntl.echo_seq))
        return;
    uint64_t sample = h->now - c->cntl.echo_at;
    bool exact = seen == c->cntl.echo_seq;

    c->cntl.echo_seq = 0;
    if (!exact)
        return;
    c->cntl.trip_ns = clock_ns(&h->clock, sample > pause ? sample - pause : 0);
    if (counter_get(&c->pub.rx_ended) == 0 && !c->cntl.dreq.due)
        rtt_sample(&c->answer, sample);
    conn_round_trip(h, c, sample, pause > sample / PAUSE_SHARE);
}

static void asked_add(struct conn_asked *a, uint64_t pos)
{
    a->first = a->due ? seq64_min(a->first, pos) : pos;
    a->last = a->due ? seq64_max(a->last, pos) : pos;
    a->due = true;
}

/* True if ack has reached the first position. Even then the last one may still be due. */
static bool asked_reached(struct conn_asked *a, uint64_t ack)
{
    if (!a->due || seq64_before(ack, a->first))
        return false;
    a->first = a->last;
    a->due = seq64_before(ack, a->last);
    return true;
}

/* What must be sent now (enum conn_want) because of flags of this unit, or of earlier ones whose
 * positions ack has reached. */
static uint8_t flags_take(struct conn *c, const struct wire_data *d)
{
    uint64_t end = pos_make(d->request, d->unit) + 1;
    uint64_t ack = vt_receiver_ack(&c->rx);
    uint8_t want = d->h.flags & WIRE_SREQ ? WANT_CNTL | WANT_FORCE : 0;

    if (d->h.flags & WIRE_DREQ) {
        asked_add(&c->cntl.dreq, end);
        if (!span_set_empty(&c->rx.gaps))
            want |= WANT_CNTL | WANT_FORCE;
    }
    if (d->h.flags & WIRE_PACK)
        asked_add(&c->cntl.pack, end);
    if (asked_reached(&c->cntl.dreq, ack))
        want |= WANT_CNTL;
    if (asked_reached(&c->cntl.pack, ack))
        want |= WANT_CNTL | WANT_PACK;
    return want;
}

static void publish(struct host *h, struct conn *c)
{
    host_count_bytes(h, COUNT_rx_payload_bytes, c->rx.bytes - c->pub.rx_bytes);
    counter_set(&c->pub.rx_bytes, c->rx.bytes);
    counter_set(&c->pub.rx_units, c->rx.units);
    counter_set(&c->pub.rx_arrived, c->rx.packets);
    counter_set(&c->pub.rx_lost, c->rx.lost);
    counter_set(&c->pub.rx_loss_runs, c->rx.loss_runs);
    counter_set(&c->pub.rx_clean, c->rx.clean);
    counter_set(&c->pub.rx_at, c->heard_at);
}

/* Has a CNTL reported most of the packets that came? At the start of a connection, a sender has no
 * more packets under way than were reported to it (pacing_flight()). */
static bool flight_advertised(const struct conn *c)
{
    uint64_t unadvertised = c->rx.packets - c->cntl.packets;

    return unadvertised < c->rx.packets / FLIGHT_PARTS ||
           unadvertised < FLIGHT_BYTES / counter_get(&c->pub.rx_unit_bytes) / FLIGHT_PARTS;
}

/* Had a router marked the packet in this frame? If so, counts it. */
static bool marked_count(struct host *h, struct conn *c, const struct frame *f)
{
    bool marked = ecn_count(&c->ecn, f->ecn);

    if (marked) {
        host_count(h, COUNT_rx_ce);
        counter_add(&c->pub.rx_ce, 1);
    }
    return marked;
}

/* A DATA packet in the three steps of data_take(). */
struct data_unit {
    const struct wire_data *d;
    enum vt_number number;
    enum vt_verdict verdict;
    uint32_t done; /* the first request that was not complete before this packet */
    bool charged;  /* the unit counts against the grant: the packet is no copy that came late */
    bool ask;      /* the packet shows a gap that may be asked for */
    const struct data_seal *seal; /* of a sealed packet, else NULL */
    const uint8_t *clear;         /* payload of a sealed packet that was right */
};

/* Places the unit (dst NULL: verifies only). A sealed one has been verified: its checksum says no
 * more than its tag. */
static bool unit_place(struct host *h, uint8_t *dst, const struct data_unit *u,
                       const struct rte_mbuf *m, const struct frame *f)
{
    if (u->seal == NULL)
        return plain_place(h, dst, u->d, m, f);
    if (dst != NULL)
        place_copy(dst, u->clear, u->d->payload_len, u->d->request_len >= PLACE_STREAM_BYTES);
    return true;
}

/* Verify: is the packet allowed here, and is it correct? Then its payload is put in its place.
 * False: it was dropped, and counted. */
static bool data_verify(struct host *h, struct conn *c, struct data_unit *u,
                        const struct rte_mbuf *m, const struct frame *f)
{
    const struct wire_data *d = u->d;
    uint8_t *dst = NULL;

    if (c->state != HOST_OPEN) {
        bool closed = c->state == HOST_CLOSED;

        /* opened only because it is answered; a wrong tag has a counter of its own */
        if (closed && u->seal != NULL && security_data_open(h, u->seal, m, f) == NULL)
            return false;
        host_count(h, COUNT_drop_state);
        if (closed)
            conn_want(h, c, WANT_CNTL);
        return false;
    }
    if (d->unit_bytes > conn_unit_max(h, &c->peer, c->security.sealed)) {
        host_count(h, COUNT_drop_unit_size);
        return false;
    }
    u->number = vt_receiver_number(&c->rx, d->packet);
    if (u->number == VT_NUMBER_ABSURD) {
        host_count(h, COUNT_drop_beyond);
        return false;
    }
    u->done = pos_request(vt_receiver_ack(&c->rx));
    u->verdict = vt_receiver_check(&c->rx, d, &dst);

    bool place = u->verdict == VT_PLACE;

    if (u->number == VT_NUMBER_CAME || (u->number == VT_NUMBER_LATE && !place)) {
        host_count(h, COUNT_drop_duplicate);
        counter_add(&c->pub.rx_duplicates, 1);
        return false;
    }
    u->charged = u->number == VT_NUMBER_NEW || place;
    if (u->charged && !usage_holds(&c->usage, d->payload_len, h->now)) {
        host_count(h, COUNT_drop_over_grant);
        return false;
    }
    if (u->seal != NULL) {
        u->clear = security_data_open(h, u->seal, m, f);
        if (u->clear == NULL)
            return false;
        if (u->number == VT_NUMBER_NEW)
            security_heard(h, c, u->seal->e);
    }
    if ((place && vt_receiver_anew(&c->rx, d) && !unit_place(h, NULL, u, m, f)) ||
        !unit_place(h, place ? dst : NULL, u, m, f)) {
        host_count(h, COUNT_drop_sum);
        return false;
    }
    return true;
}

/* Account: takes what the packet says of its peer, of the path and of the units that have come. */
static void data_account(struct host *h, struct conn *c, struct data_unit *u, const struct frame *f)
{
    const struct wire_data *d = u->d;
    enum vt_verdict v = u->verdict;

    if (u->number == VT_NUMBER_NEW) { /* a replayed packet is no sign of life */
        c->heard_at = h->now;
        c->cntl.peer_time_ns = d->time_ns;
        c->cntl.peer_time_at = h->now;
    }
    if (u->charged)
        usage_take(&c->usage, d->payload_len);
    counter_set(&c->pub.rx_unit_bytes, d->unit_bytes);
    conn_nak_anew(h, c);
    path_grant_watch(h, c, d, marked_count(h, c, f));
    /* what another worker hands over waits for that worker's naps, too */
    moderation_receives(&h->moderation, h->given ? 0 : c->path.bursts_ns, c->rtt_min_ns);
    if (v == VT_PLACE) {
        u->ask = vt_receiver_commit(&c->rx, d, h->now);
        momentary_update(h, c, d->payload_len);
    } else {
        host_count(h, verdict_counter(v));
        counter_add(v == VT_UNPOSTED ? &c->pub.rx_unposted : &c->pub.rx_duplicates,
                    v == VT_UNPOSTED || v == VT_DUPLICATE);
        u->ask = vt_receiver_note(&c->rx, d, v);
    }
    publish(h, c);
    seen_sample(h, c, d->cntl_seen);
}

/* Why a CNTL must be sent at once (enum conn_want); 0: it need not. */
static uint8_t data_wants(struct host *h, struct conn *c, const struct data_unit *u)
{
    uint8_t flags = u->d->h.flags;
    bool last = c->cntl.dreq.due || (flags & WIRE_DREQ);
    uint8_t want = flags_take(c, u->d) | (u->ask ? WANT_CNTL : 0);

    counter_set(&c->pub.rx_ended, last && !c->cntl.dreq.due);
    if (!flight_advertised(c))
        want |= WANT_CNTL;
    grant_wake(h, c);
    if (u->verdict == VT_DUPLICATE && (flags & WIRE_DREQ))
        want |= WANT_CNTL;
    if (u->done != pos_request(vt_receiver_ack(&c->rx)) || (flags & WIRE_WCLOSE)) {
        conn_has_completion(h, c);
        want |= WANT_CNTL | WANT_DONE;
    }
    return want;
}

/* Decide: does a CNTL go now, or at the next repetition? When is a gap asked for? Is the connection
 * over? */
static void data_decide(struct host *h, struct conn *c, const struct data_unit *u)
{
    uint8_t want = data_wants(h, c, u);

    if (want != 0) {
        conn_want(h, c, want);
    } else if (!c->cntl.rx_since) {
        c->cntl.rx_since = true;
        c->cntl.repeat_at = h->now + clock_cycles(&h->clock, h->cfg.repeat_us * 1000ull);
        conn_timer_at(h, c, c->cntl.repeat_at);
    }
    if (!span_set_empty(&c->rx.gaps) && c->nak.at == TIME_NEVER) {
        c->nak.at = h->now + conn_wait_tsc(h, c) / 4;
        conn_timer_at(h, c, c->nak.at);
    }
    if (c->rx.closing)
        conn_close_check(h, c);
}

void data_take(struct host *h, struct conn *c, const struct wire_data *d, const struct rte_mbuf *m,
               const struct frame *f, const struct data_seal *seal)
{
    struct data_unit u = {.d = d, .seal = seal};

    if (!data_verify(h, c, &u, m, f))
        return;
    data_account(h, c, &u, f);
    data_decide(h, c, &u);
}
