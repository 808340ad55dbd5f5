/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XTP's credit rule ([XTP-RATE], section 2.3), evaluated lazily in closed form.
 *
 * 1. A packet may go while credit > 0, and takes its user bytes from it (credit may then be <= 0).
 * 2. Every RTIMER = burst / rate seconds: credit <= 0: credit += burst; credit > 0: credit = burst.
 * 3. burst = 0: no limit, whatever the rate. rate = 0 (and burst > 0): no DATA at all.
 * 4. New values: credit = min(credit, burst). The part of the next burst that was earned stays
 *    earned: RTIMER fires when the rest of the new burst is earned, at the new rate. So values that
 *    change more often than RTIMER fires do not starve the sender. Nor do they let the sender send
 *    more than the larger of them would.
 * 5. Until the first CNTL a sender keeps to values of its own (host.h, first_rate_Bps).
 *
 * RTIMER runs only while rate > 0 and burst > 0. At rate 0 credit does not change; the next rate
 * above 0 starts RTIMER at once, and credit that was left may be used at once. At burst 0 credit is
 * not taken and stays <= 0; the next burst above 0 starts without credit, one RTIMER before the
 * first packet.
 *
 * Envelope, for any window W: bytes <= rate * W + 2 * burst + one packet, where W counts whole
 * cycles including both ends (a refresh takes effect in the cycle in which it falls).
 *
 * RTIMER is burst * hz / rate, rounded up to 2^-32 cycles. Nothing is rounded from period to
 * period: the k-th refresh is at start + floor(k * RTIMER). So the long-run rate is never above
 * rate, and below it by less than 2^-32 cycles a period (64 B bursts at 400 Gbit/s: 1e-10).
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

/* 40 bytes: shares a cache line with the flow's next packets (pacer.h). */
struct credit {
    uint64_t refresh_tsc;     /* when RTIMER fires next; TIME_NEVER while it does not run */
    uint64_t period_tsc;      /* RTIMER, at most 2^62, which is as good as never */
    uint32_t fraction;        /* of refresh_tsc, in 2^-32 cycles */
    uint32_t period_fraction; /* of period_tsc */
    int64_t credit_bytes;     /* may be <= 0 */
    uint64_t burst_bytes;     /* as granted */
};

/* Starts with one full burst of credit and RTIMER running from now. hz: cycles per second of `now`,
 * 1 .. 2^40; the same in all calls. */
void credit_init(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                 uint64_t now);

/* Replaces rate and burst (rule 4). Unchanged values change nothing. */
void credit_set(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                uint64_t now);

/* Sets RTIMER for the next period. */
static inline void credit_rtimer(struct credit *c)
{
    bool carry = ~c->fraction < c->period_fraction; /* of the fractions; compilers make an adc */

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
 * Applies all due refreshes but one, in few steps. No branch depends on their number, since after a
 * stall some flows are late by a period and some are not. False, and nothing changes, if none is
 * due or the case is not so simple: RTIMER or burst of 2^31 or more, say. Credit above 0 becomes 0:
 * the last refresh makes it one burst either way.
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
        return false; /* with fractions of a cycle, one refresh less is due */
    c->refresh_tsc += skip_tsc;
    c->fraction = (uint32_t)fraction;
    credit = c->credit_bytes + (int64_t)(n * c->burst_bytes);
    c->credit_bytes = credit < 0 ? credit : 0;
    return true;
}

/* The rare case of credit_update(): more than one refresh is due. */
void credit_update_late(struct credit *c, uint64_t now);

/* Applies every refresh due at or before now; O(1). A `now` before that of the last call
 * changes nothing. Called by credit_set, credit_open and credit_next. */
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

/* A packet with len_bytes user bytes (< 2^32) was sent; only after credit_open() was true. */
static inline void credit_take(struct credit *c, uint64_t len_bytes)
{
    if (c->burst_bytes == 0)
        return;
    CHECK(c->credit_bytes > 0);
    c->credit_bytes -= (int64_t)len_bytes;
}

/* The rare case of credit_next(): credit is a burst or more below zero. */
uint64_t credit_next_deep(const struct credit *c);

/* When a packet may go again; only if credit_is_open() is false. */
static inline uint64_t credit_opens(const struct credit *c)
{
    if (c->credit_bytes + (int64_t)c->burst_bytes > 0)
        return c->refresh_tsc;
    return credit_next_deep(c);
}

/*
 * When the next packet may go: now if credit_open() is true, TIME_NEVER at rate 0, else the first
 * refresh after which credit > 0 (several periods later if credit is far below zero).
 */
static inline uint64_t credit_next(struct credit *c, uint64_t now)
{
    credit_update(c, now);
    return credit_is_open(c) ? now : credit_opens(c);
}

#endif
