/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XTP's credit rule ([XTP-RATE], section 2.3), evaluated lazily in closed form.
 *
 * - Every RTIMER = burst / rate seconds: credit <= 0: credit += burst; credit > 0: credit = burst.
 * - A packet may go while credit > 0 and takes its user bytes (credit may then be <= 0).
 * - burst = 0: no limit, whatever the rate. rate = 0 (and burst > 0): no DATA at all.
 * - New values: credit = min(credit, burst). What was earned of the next burst stays earned: RTIMER
 * fires when the rest of the new burst is, at the new rate. So values that change more often than
 * RTIMER fires neither starve the sender nor let it send more than the larger of them would.
 *
 * RTIMER runs only while rate > 0 and burst > 0. At rate 0 credit stands still; the rate that ends
 * this starts RTIMER at that moment, and what credit was left may go at once. At burst 0 credit is
 * not taken and stays <= 0; the burst that ends this starts without credit, one RTIMER before the
 * first packet.
 *
 * Envelope, for any window W: bytes <= rate * W + 2 * burst + one packet, where W counts whole
 * cycles including both ends (a refresh takes effect in the cycle in which it falls).
 *
 * RTIMER is a number of 2^-32 cycles, burst * hz / rate rounded up, and nothing is rounded from
 * period to period: the k-th refresh is at start + floor(k * RTIMER), so the long-run rate is never
 * above rate, and below it by less than 2^-32 cycles a period (64 B bursts at 400 Gbit/s: 1e-10).
 * Updating over n elapsed periods is O(1) for any n.
 *
 * rate_Bps: user bytes per second, 0 .. 2^48; burst_bytes: 0 .. 2^40 (larger is clamped).
 * Written and read by the worker that owns the connection.
 */
#ifndef SLUICE_PACE_CREDIT_H
#define SLUICE_PACE_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/clock.h"

#define CREDIT_RATE_MAX_BPS    (1ull << 48)
#define CREDIT_BURST_MAX_BYTES (1ull << 40)

/* 40 bytes: it shares a cache line with what a flow sends next. */
struct credit {
    uint64_t refresh_tsc;     /* when RTIMER fires next; TIME_NEVER while it does not run */
    uint64_t period_tsc;      /* RTIMER, at most 2^62: as good as never */
    uint32_t fraction;        /* of refresh_tsc, in 2^-32 cycles */
    uint32_t period_fraction; /* of period_tsc */
    int64_t credit_bytes;     /* may be <= 0 */
    uint64_t burst_bytes;     /* as granted */
};

/* Starts with one full burst of credit and RTIMER running from now. hz: cycles per second of now,
 * 1 .. 2^40; the same in all calls. */
void credit_init(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                 uint64_t now);

/* Replaces rate and burst (rule 4). Unchanged values change nothing. */
void credit_set(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                uint64_t now);

/* RTIMER is set for the next time. */
static inline void credit_rtimer(struct credit *c)
{
    bool carry = ~c->fraction < c->period_fraction; /* of their sum; compilers make an adc of it */

    c->refresh_tsc += c->period_tsc + carry;
    c->fraction += c->period_fraction;
}

/* RTIMER fires (rule 2). */
static inline void credit_update_once(struct credit *c)
{
    c->credit_bytes = (c->credit_bytes <= 0 ? c->credit_bytes : 0) + (int64_t)c->burst_bytes;
    credit_rtimer(c);
}

/*
 * Applies all refreshes that are due but one, in few steps and without a branch that depends on how
 * many: after a stall some flows are late by a period and some are not. False, and nothing done, if
 * none is due or what there is is not so simple: RTIMER or a burst of 2^31 or more, say.
 * Credit above 0 becomes 0: the refresh that is left makes a burst of it either way.
 */
static inline bool credit_skip(struct credit *c, uint64_t now)
{
    uint64_t late = now - c->refresh_tsc, n, fraction, skip_tsc;
    int64_t credit;

    if ((late | c->period_tsc | c->burst_bytes) >> 31 != 0 || c->period_tsc == 0)
        return false;
    n = (uint32_t)late / (uint32_t)c->period_tsc;
    fraction = c->fraction + n * c->period_fraction;
    skip_tsc = n * c->period_tsc + (fraction >> 32);
    if (__builtin_expect(skip_tsc > late, 0))
        return false; /* the parts of a cycle make one less of it */
    c->refresh_tsc += skip_tsc;
    c->fraction = (uint32_t)fraction;
    credit = c->credit_bytes + (int64_t)(n * c->burst_bytes);
    c->credit_bytes = credit < 0 ? credit : 0;
    return true;
}

/* The part of credit_update() that is rare: more than one refresh is due. */
void credit_update_late(struct credit *c, uint64_t now);

/* Applies every refresh due at or before now; O(1). An earlier now than before changes nothing.
 * Called by credit_set, credit_open and credit_next. */
static inline void credit_update(struct credit *c, uint64_t now)
{
    if (time_before(now, c->refresh_tsc))
        return;
    if (now - c->refresh_tsc < c->period_tsc)
        credit_update_once(c);
    else
        credit_update_late(c, now);
}

/* May a packet go (rule 1), at the time of the last credit_update()? */
static inline bool credit_is_open(const struct credit *c)
{
    return c->credit_bytes > 0 ? c->refresh_tsc != TIME_NEVER || c->burst_bytes == 0
                               : c->burst_bytes == 0;
}

/* May a packet go now? Updates first. */
static inline bool credit_open(struct credit *c, uint64_t now)
{
    credit_update(c, now);
    return credit_is_open(c);
}

/* A packet with this many user bytes (< 2^32) was sent; only after credit_open() said yes. */
static inline void credit_take(struct credit *c, uint64_t len_bytes)
{
    if (c->burst_bytes == 0)
        return;
    CHECK(c->credit_bytes > 0);
    c->credit_bytes -= (int64_t)len_bytes;
}

/* The part of credit_next() that is rare: credit is more than a burst below zero. */
uint64_t credit_next_deep(const struct credit *c);

/* When a gate that is shut opens. */
static inline uint64_t credit_opens(const struct credit *c)
{
    if (c->credit_bytes + (int64_t)c->burst_bytes > 0)
        return c->refresh_tsc;
    return credit_next_deep(c);
}

/*
 * When may the next packet go: now if the gate is open, TIME_NEVER at rate 0, else the first
 * refresh after which credit > 0 (several periods if credit is deep below zero).
 */
static inline uint64_t credit_next(struct credit *c, uint64_t now)
{
    credit_update(c, now);
    return credit_is_open(c) ? now : credit_opens(c);
}

#endif
