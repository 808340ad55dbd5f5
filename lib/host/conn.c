/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/conn.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "host/host_internal.h"

#define LINGER_MIN_NS     200000000ull
#define LINGER_WAITS      16u /* conn_wait_tsc() times this: long enough to send END four times */
#define AGAIN_MIN_NS      1000000ull
#define AGAIN_DOUBLINGS   16u
#define MIN_MTU_V4        576u /* what every path carries (RFC 791, RFC 8200) */
#define MIN_MTU_V6        1280u
#define UNIT_ALIGN        64u /* bytes: whole cache lines of the buffers on both sides */
#define LIMIT_BURST_UNITS 16u /* units in a burst, if a grant of burst 0 (no limit) is lowered */

/* Payload bytes of a packet of `mtu` bytes. */
static uint32_t unit_room(uint32_t mtu, const struct addr *peer, bool sealed)
{
    uint32_t headers = (addr_is_v4(peer) ? 20u : 40u) + 8u + WIRE_DATA_BYTES;

    return mtu - headers - (sealed ? WIRE_TRAILER_BYTES : 0);
}

uint32_t conn_unit_min(const struct addr *peer, bool sealed)
{
    return unit_room(addr_is_v4(peer) ? MIN_MTU_V4 : MIN_MTU_V6, peer, sealed);
}

uint32_t conn_unit_halves(uint32_t bytes, const struct addr *peer, bool sealed)
{
    uint32_t min = conn_unit_min(peer, sealed), halvings = 0;

    while (bytes >> halvings > min)
        halvings++;
    return bytes >> halvings << halvings;
}

uint32_t conn_unit_max(const struct host *h, const struct addr *peer, bool sealed)
{
    uint32_t room = unit_room(h->cfg.mtu, peer, sealed);

    if (room > 16 * UNIT_ALIGN)
        room &= ~(UNIT_ALIGN - 1);
    room = RTE_MIN(room, WIRE_UNIT_MAX - (sealed ? WIRE_TRAILER_BYTES : 0));
    return conn_unit_halves(room, peer, sealed);
}

uint64_t conn_wait_tsc(const struct host *h, const struct conn *c)
{
    return rtt_wait(&c->rtt, h->unknown_rtt_tsc);
}

uint64_t conn_silence_step(const struct host *h)
{
    return h->silence_step_tsc;
}

/* Time until the next repetition of what the peer has not confirmed. It doubles each time. */
uint64_t conn_again_tsc(const struct host *h, struct conn *c)
{
    uint64_t least = clock_cycles(&h->clock, AGAIN_MIN_NS);
    uint64_t wait = RTE_MAX(2 * conn_wait_tsc(h, c), least) << c->handshake.tries;

    c->handshake.tries += c->handshake.tries < AGAIN_DOUBLINGS;
    return time_min(wait, conn_silence_step(h));
}

static uint64_t timer_next(const struct conn *c)
{
    uint64_t t = time_min(time_min(c->handshake.first_at, c->nak.at),
                          time_min(c->cntl.repeat_at, c->alive_at));

    t = time_min(t, time_min(time_min(c->close.linger_at, c->nexthop.doubt_at), c->cntl.held_at));
    if (c->state == HOST_OPEN)
        t = time_min(t, c->tx.ask_at);
    return time_min(t, hop_limits_next(&c->pacing.hops));
}

/* Makes the timer fire at `when` at the latest. A timer that fires early only looks again. */
void conn_timer_at(struct host *h, struct conn *c, uint64_t when)
{
    if (when >= c->timer_at)
        return;
    c->timer_at = when;
    wheel_insert(h->timers, c->index, when);
}

void conn_timer_update(struct host *h, struct conn *c)
{
    conn_timer_at(h, c, timer_next(c));
}

void conn_limited(struct host *h, struct conn *c)
{
    struct conn_limited *l = &c->limited;

    if (l->on)
        counter_add(&c->pub.tx_limited_tsc[l->by], h->now - l->since_tsc);
    *l = (struct conn_limited){c->state == HOST_OPEN, vt_sender_limit(&c->tx), h->now};
}

void conn_round_trip(const struct host *h, struct conn *c, uint64_t sample_tsc, bool bound)
{
    /* The peer says when its packet answers. No answer is waited for longer, and a round trip of
     * hours would count in what other connections of the port compare themselves with. */
    sample_tsc = RTE_MIN(sample_tsc, CONN_SILENCE_STEPS * conn_silence_step(h));
    if (bound)
        rtt_bound(&c->rtt, sample_tsc);
    else
        rtt_sample(&c->rtt, sample_tsc);
    c->rtt_min_ns = clock_ns(&h->clock, c->rtt.min_tsc);
    counter_set(&c->pub.rtt_ns, clock_ns(&h->clock, c->rtt.srtt_tsc));
}

/* Routers may slow a sender down. But nothing proves that a limit comes from a router, so no limit
 * can stop a connection: one unit may go in each step of silence, as often as a silent peer is
 * asked anyway. */
static uint64_t hop_min_Bps(const struct host *h, const struct conn *c)
{
    return (uint64_t)c->tx.unit_bytes * CONN_SILENCE_STEPS * 1000 / h->cfg.silence_ms + 1;
}

/* Lowers rate and burst to the application's limit. False: the limit is not lower. */
static bool limit_apply(const struct conn *c, uint64_t *rate_Bps, uint64_t *burst_bytes)
{
    uint64_t limit_Bps = c->pacing.limit_Bps, burst = *burst_bytes;

    if (limit_Bps == 0 || (limit_Bps >= *rate_Bps && burst != 0))
        return false;
    uint64_t most = grant_path_burst(limit_Bps, c->tx.unit_bytes);

    *rate_Bps = limit_Bps;
    *burst_bytes = burst == 0 ? most : RTE_MIN(burst, most);
    return true;
}

/* Applies the smallest of the peer's grant, the routers' limits and the application's, halved for
 * every step of silence. */
void conn_rate_apply(struct host *h, struct conn *c)
{
    uint64_t rate = c->pacing.rate_Bps, burst = c->pacing.burst_bytes;
    uint64_t hop_rate_Bps, hop_burst_bytes;
    bool limited;

    if (hop_limits_min(&c->pacing.hops, &hop_rate_Bps, &hop_burst_bytes)) {
        hop_rate_Bps = RTE_MAX(hop_rate_Bps, hop_min_Bps(h, c));
        rate = burst == 0 || hop_rate_Bps < rate ? hop_rate_Bps : rate;
        if (hop_burst_bytes != 0 && (burst == 0 || hop_burst_bytes < burst))
            burst = hop_burst_bytes;
        if (burst == 0)
            burst = (uint64_t)LIMIT_BURST_UNITS * c->tx.unit_bytes;
    }
    limited = limit_apply(c, &rate, &burst);
    if (c->pacing.silent_steps > 0) {
        rate >>= c->pacing.silent_steps;
        if (burst == 0)
            burst = (uint64_t)LIMIT_BURST_UNITS * c->tx.unit_bytes;
        if (rate == 0 && c->pacing.rate_Bps != 0)
            rate = 1;
    }
    credit_set(&c->pacing.credit, h->cfg.hz, rate, burst, pacing_now(h));
    counter_set(&c->pub.tx_rate_Bps, rate);
    counter_set(&c->pub.tx_burst_bytes, burst);
    counter_set(&c->pub.tx_reason, limited ? (uint64_t)GRANT_LIMIT : c->pacing.reason);
    conn_has_data(h, c);
}

void conn_want(struct host *h, struct conn *c, uint8_t want)
{
    c->want |= want;
    list_push(h, &h->cntl_list, c, &c->cntl_link);
}

void conn_release_cntl(struct host *h, struct conn *c)
{
    if (c->cntl.held_at == TIME_NEVER)
        return;
    c->cntl.held_at = TIME_NEVER;
    if (c->want != 0)
        conn_want(h, c, c->want);
}

/* The peer has proved its address, or never will. */
static void trial_end(struct host *h, struct conn *c)
{
    h->unproven -= c->handshake.unproven;
    c->handshake.unproven = false;
}

/* The peer has sent a packet with our key. */
void conn_prove(struct host *h, struct conn *c)
{
    if (c->handshake.proven)
        return;
    trial_end(h, c);
    c->handshake.proven = true;
    counter_set(&c->pub.proven, 1);
    conn_want(h, c, WANT_CNTL); /* with the gaps for which the allowance had no room */
    conn_has_data(h, c);
    conn_has_completion(h, c); /* of requests that the early data completed */
    conn_close_check(h, c);
}

/* The longest time that the peer has to wait between two packets at the rate that we advertised. */
static uint64_t turn_tsc(const struct host *h, const struct conn *c)
{
    return time_min(c->path.longest_bytes * h->clock.hz / (c->cntl.rate_Bps + 1),
                    conn_silence_step(h));
}

/*
 * Time until a gap may be asked for again. It is the time from a CNTL to the DATA that answer it.
 * Where few packets are under way, that is longer than a round trip: the peer waits until it may
 * send, and a long packet takes longer on each link. The time doubles for each question while no
 * DATA comes at all: then the peer is gone or may send little, and asking more often brings
 * nothing. With go-back-N a round trip is enough: until a lost repeat is asked for again, all that
 * follows it is useless.
 */
uint64_t conn_nak_again(const struct host *h, const struct conn *c)
{
    uint64_t wait = conn_wait_tsc(h, c), most = conn_silence_step(h);

    if (!c->go_back_n) {
        wait += turn_tsc(h, c);
        wait = RTE_MAX(wait, rtt_wait(&c->answer, wait));
    }
    return time_min(wait << c->nak.quiet, wait > most ? wait : most);
}

/* DATA came after questions in vain: gaps may be asked for now. */
void conn_nak_anew(struct host *h, struct conn *c)
{
    if (c->nak.quiet == 0)
        return;
    c->nak.quiet = 0;
    c->nak.at = h->now;
    conn_timer_at(h, c, c->nak.at);
}

/* Something may be sendable now; the transmit walk finds out. */
void conn_has_data(struct host *h, struct conn *c)
{
    list_push(h, &h->data_list, c, &c->data_link);
}

void conn_has_completion(struct host *h, struct conn *c)
{
    if (c->state != HOST_FREE)
        list_push(h, &h->done_list, c, &c->done_link);
}

void conn_lingers(struct host *h, struct conn *c)
{
    list_push(h, &h->linger_list, c, &c->linger_link);
}

/* Shows other threads the two ends, and after them the state. */
void conn_publish(struct conn *c)
{
    struct conn_public *p = &c->pub;
    uint64_t peer[2];

    memcpy(peer, c->peer.b, sizeof peer);
    counter_set(&p->peer[0], peer[0]);
    counter_set(&p->peer[1], peer[1]);
    counter_set(&p->peer_port, c->route.dport);
    counter_set(&p->service, c->service);
    counter_set(&p->owner, c->owner);
    counter_set(&p->opener, c->opener);
    counter_set(&p->go_back_n, c->go_back_n);
    /* until its first CNTL comes, the peer that an opener has chosen may not exist */
    counter_set(&p->proven, c->handshake.proven && (!c->opener || p->cntl_rx > 0));
    __atomic_store_n(&p->state, (uint64_t)c->state, __ATOMIC_RELEASE);
}

struct addr conn_public_peer(const struct conn_public *p)
{
    uint64_t peer[2] = {counter_get(&p->peer[0]), counter_get(&p->peer[1])};
    struct addr a;

    memcpy(a.b, peer, sizeof a.b);
    return a;
}

/* Completes CONNECT or ACCEPT with this status. */
void conn_opened(struct host *h, struct conn *c, int status)
{
    c->handshake.done.due = true;
    c->handshake.done.status = status;
    conn_has_completion(h, c);
    if (status != 0)
        return;
    c->state = HOST_OPEN;
    conn_publish(c);
    c->handshake.first_at = TIME_NEVER;
    c->want &= (uint8_t)~WANT_FIRST;
    c->alive_at = h->now + conn_silence_step(h);
    host_note(h, c, TRACE_OPENED, c->service, c->pub.peer[0], c->pub.peer[1]);
    if (c->opener) { /* ask until the peer has seen a CNTL of ours */
        c->handshake.tries = 0;
        c->handshake.first_at = h->now + conn_again_tsc(h, c);
    }
    if (c->tx.ask_at == TIME_NEVER && (c->tx.closing || !vt_sender_all_acked(&c->tx)))
        c->tx.ask_at = h->now + 2 * conn_wait_tsc(h, c);
    conn_has_data(h, c);
}

int conn_end_status(enum wire_end end)
{
    switch (end) {
    case WIRE_END_NOBODY:
        return -ECONNREFUSED;
    case WIRE_END_SILENCE:
        return -ETIMEDOUT;
    case WIRE_END_PROTOCOL:
        return -EPROTO;
    case WIRE_END_SHUTDOWN:
        return -ESHUTDOWN;
    default:
        return -ECONNRESET;
    }
}

/*
 * Ends the connection; status 0: in order. All outstanding operations complete. Late packets are
 * answered with END for a while. tell: the peer does not know of the end yet, so END is sent to it
 * until it answers END.
 */
void conn_over(struct host *h, struct conn *c, int status, enum wire_end end, bool tell)
{
    if (c->state == HOST_CLOSED || c->state == HOST_FREE)
        return;
    bool undecided = c->state == HOST_WAITING || c->state == HOST_OPENING;
    bool known = c->state != HOST_WAITING;

    host_count(h, status == 0 ? COUNT_conns_closed : COUNT_conns_failed);
    if (known)
        host_note(h, c, TRACE_ENDED, (uint16_t)end, (uint64_t)-status, c->pub.rx_bytes);
    if (undecided)
        conn_opened(h, c, status);
    c->close.status = status != 0 ? status : -EPIPE;
    vt_sender_abort(&c->tx, c->close.status);
    vt_receiver_abort(&c->rx, status != 0 ? status : -ENODATA);
    if (c->close.asked) {
        c->close.asked = false;
        c->close.done.due = true;
        c->close.done.status = status;
    }
    wheel_cancel(h->pacing, c->index);
    trial_end(h, c);
    c->state = HOST_CLOSED;
    conn_limited(h, c);
    counter_set(&c->pub.failed, status != 0);
    conn_publish(c);
    counter_set(&c->pub.backlog_bytes, 0);
    c->close.end = end;
    c->handshake.first_at = c->nak.at = c->cntl.repeat_at = c->alive_at = c->nexthop.doubt_at =
        TIME_NEVER;
    uint64_t linger = time_min(LINGER_WAITS * conn_wait_tsc(h, c),
                               clock_cycles(&h->clock, h->cfg.silence_ms * 1000000ull));
    uint64_t least = clock_cycles(&h->clock, LINGER_MIN_NS);

    c->close.linger_at = known ? h->now + (linger > least ? linger : least) : h->now;
    c->want = 0;
    if (tell && known) {
        conn_want(h, c, c->close.end_seen ? WANT_CNTL : WANT_CNTL | WANT_SREQ);
        c->handshake.tries = 0;
        c->handshake.first_at = c->close.end_seen ? TIME_NEVER : h->now + conn_again_tsc(h, c);
    }
    conn_has_completion(h, c);
    conn_timer_update(h, c);
}

/* Is our direction, or the whole connection, over in order? A peer that has not proved its address
 * is not believed; conn_prove() calls this again. */
void conn_close_check(struct host *h, struct conn *c)
{
    bool written = c->tx.closing && vt_sender_all_acked(&c->tx) && c->tx.closed;

    if (c->state != HOST_OPEN || !c->handshake.proven)
        return;
    if (written && c->close.asked) {
        c->close.asked = false;
        c->close.done.due = true;
        c->close.done.status = 0;
        conn_has_completion(h, c);
    }
    if (written && vt_receiver_all_done(&c->rx))
        conn_over(h, c, 0, WIRE_END_NONE, true);
}

/* Returns the connection to the table, once its owner and its peer are done with it and no mbuf
 * refers to its memory. */
void conn_free_check(struct host *h, struct conn *c)
{
    if (c->state != HOST_CLOSED || !c->released || c->handshake.done.due || c->close.done.due)
        return;
    if (c->tx.base != c->tx.tail || c->rx.base != c->rx.tail || c->done_link.queued ||
        c->linger_link.queued)
        return;
    if (c->close.linger_at != TIME_NEVER || c->cntl_link.queued || c->data_link.queued)
        return;
    table_early_remove(h, c);
    table_free(h, c);
}
