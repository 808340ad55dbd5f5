/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timers of a connection, all behind one entry of the wheel (conn.timer_at is the earliest):
 *
 *   handshake.first_at  OPENING: FIRST again, doubling from 20 ms to 640 ms; gives up after
 *                       silence_ms
 *                       OPEN: the opener's CNTL again, until the peer has seen one
 *                       CLOSED: END again, until the peer has sent END, too
 *   tx.ask_at           something is unconfirmed: CNTL with SREQ, doubling
 *   nak.at              a gap may be asked for (again)
 *   cntl.repeat_at      data came since the last CNTL: repeat grant and ACK
 *   cntl.held_at        a CNTL was held for room on the return path: send it
 *   alive_at            every silence_ms / 8: lower the rate, ask; at silence_ms give up
 *   pacing.hops         a router's limit expires
 *   nexthop.doubt_at    the next hop is in doubt: has it another MAC address by now?
 *   close.linger_at     CLOSED: late packets are no longer expected
 */
#include <errno.h>

#include "host/host_internal.h"

#define FIRST_AGAIN_NS  20000000ull
#define FIRST_DOUBLINGS 5u
#define FIRST_DOUBT     3u /* after this many unanswered FIRST, the MAC address may be wrong */
#define UNRESOLVED_NS   1000000ull
#define EXPIRED_MAX     64u

static void first_again(struct host *h, struct conn *c)
{
    uint64_t silence = clock_cycles(&h->clock, h->cfg.silence_ms * 1000000ull);

    if (c->state != HOST_OPENING) {
        conn_want(h, c, WANT_CNTL | WANT_SREQ);
        c->handshake.first_at = h->now + conn_again_tsc(h, c);
        return;
    }
    if (h->now - c->handshake.begun_at >= silence) {
        conn_over(h, c, c->nexthop.known ? -ETIMEDOUT : -EHOSTUNREACH, WIRE_END_SILENCE, false);
        return;
    }
    if (c->nexthop.known && c->handshake.tries == FIRST_DOUBT)
        route_doubt(h, c);
    conn_want(h, c, WANT_FIRST);
    c->handshake.first_at = h->now + clock_cycles(&h->clock, UNRESOLVED_NS);
}

/* FIRST goes out: sets when it is due again. */
void timer_first_sent(struct host *h, struct conn *c)
{
    uint64_t silence = clock_cycles(&h->clock, h->cfg.silence_ms * 1000000ull);
    uint64_t wait = clock_cycles(&h->clock, FIRST_AGAIN_NS << c->handshake.tries);

    c->handshake.tries += c->handshake.tries < FIRST_DOUBLINGS;
    c->handshake.first_at = time_min(h->now + wait, c->handshake.begun_at + silence);
    conn_timer_at(h, c, c->handshake.first_at);
}

/* A silent peer is asked, and sent to more slowly; at last it is given up. A peer that does not
 * prove its address in time counts as silent. */
static void alive_check(struct host *h, struct conn *c)
{
    uint64_t step = conn_silence_step(h);
    uint64_t since =
        c->handshake.proven ? c->heard_at : c->handshake.begun_at; /* a forger may speak for ever */
    uint64_t quiet = h->now - since;
    uint32_t steps = (uint32_t)(quiet / (step > 0 ? step : 1));

    if (steps >= CONN_SILENCE_STEPS) {
        conn_over(h, c, -ETIMEDOUT, WIRE_END_SILENCE, true);
        return;
    }
    c->alive_at = since + (steps + 1) * step;
    if (steps > 0) {
        security_doubt(h, c);
        conn_want(h, c, WANT_CNTL | WANT_SREQ);
    }
    if (steps != c->pacing.silent_steps) {
        c->pacing.silent_steps = steps;
        host_note(h, c, TRACE_SILENCE, (uint16_t)steps, clock_ns(&h->clock, quiet), 0);
        conn_rate_apply(h, c);
    }
}

static void conn_expire(struct host *h, struct conn *c)
{
    uint64_t now = h->now;

    if (!time_before(now, c->handshake.first_at))
        first_again(h, c);
    if (c->state == HOST_OPEN && vt_sender_ask(&c->tx, now, 2 * conn_wait_tsc(h, c)))
        conn_want(h, c, WANT_CNTL | WANT_SREQ);
    if (!time_before(now, c->nak.at)) {
        c->nak.at = TIME_NEVER;
        conn_want(h, c, WANT_CNTL | WANT_FORCE);
    }
    if (!time_before(now, c->cntl.repeat_at)) {
        c->cntl.repeat_at = TIME_NEVER;
        conn_want(h, c, WANT_CNTL);
    }
    if (!time_before(now, c->cntl.held_at))
        conn_release_cntl(h, c);
    if (!time_before(now, c->alive_at))
        alive_check(h, c);
    if (!time_before(now, c->nexthop.doubt_at))
        route_again(h, c);
    if (hop_limits_expire(&c->pacing.hops, now))
        conn_rate_apply(h, c);
    if (!time_before(now, c->close.linger_at)) {
        c->close.linger_at = c->handshake.first_at = TIME_NEVER;
        c->want = 0;
    }
    conn_timer_update(h, c);
    conn_free_check(h, c);
}

void timer_run(struct host *h)
{
    uint32_t due[EXPIRED_MAX];
    uint32_t n = wheel_poll(h->timers, h->now, due, EXPIRED_MAX);

    for (uint32_t i = 0; i < n; i++) {
        struct conn *c = &h->conns[due[i]];

        c->timer_at = TIME_NEVER;
        conn_expire(h, c);
    }
    n = wheel_poll(h->pacing, h->now + h->tx_lead_tsc, due, EXPIRED_MAX);
    for (uint32_t i = 0; i < n; i++) {
        struct conn *c = &h->conns[due[i]];

        conn_has_data(h, c);
        if (c->want != 0)
            conn_want(h, c, 0);
    }
}
