/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The credit rule in closed form. Rule 2 is the same as credit = min(credit + burst, burst) for
 * either sign of credit, so n refreshes are credit = min(credit + n * burst, burst).
 *
 * Invariant: while the timer runs, the next refresh is at exactly refresh_tsc + fraction / rate
 * cycles and takes effect at its floor; one period is period_tsc + period_rem / rate cycles.
 */
#include "pace/credit.h"

#include "base/check.h"
#include "base/clock.h"

/* Longer periods are as good as never (36 years at 4 GHz) and would not compare wrap-safe. */
#define PERIOD_MAX_CYCLES (1ull << 62)

typedef unsigned __int128 u128;

static bool timer_runs(const struct credit *c)
{
    return c->burst_bytes > 0 && c->rate_Bps > 0;
}

/* One period in units of 1/rate cycles: burst * hz, unless cut to PERIOD_MAX_CYCLES. */
static u128 timer_step(const struct credit *c)
{
    return (u128)c->period_tsc * c->rate_Bps + c->period_rem;
}

/* n refreshes at once. */
static void refresh_times(struct credit *c, u128 n)
{
    __int128 credit = c->credit_bytes + (__int128)(n * c->burst_bytes);

    if (n > 0)
        c->credit_bytes = (int64_t)(credit < (int64_t)c->burst_bytes ? credit : c->burst_bytes);
}

/* earned: of the first burst, in bytes * hz. */
static void timer_start(struct credit *c, uint64_t now, u128 earned)
{
    u128 step, period, wait;

    c->refresh_tsc = TIME_NEVER;
    c->fraction = 0;
    c->period_tsc = 0;
    c->period_rem = 0;
    if (!timer_runs(c))
        return;
    step = (u128)c->burst_bytes * c->hz;
    period = step / c->rate_Bps;
    if (period < PERIOD_MAX_CYCLES) {
        c->period_tsc = (uint64_t)period;
        c->period_rem = (uint64_t)(step % c->rate_Bps);
    } else {
        c->period_tsc = PERIOD_MAX_CYCLES;
    }
    /* of a smaller burst more than one may have been earned */
    refresh_times(c, earned / timer_step(c));
    step = timer_step(c) - earned % timer_step(c);
    wait = step / c->rate_Bps;
    c->fraction = wait < PERIOD_MAX_CYCLES ? (uint64_t)(step % c->rate_Bps) : 0;
    c->refresh_tsc = now + (uint64_t)(wait < PERIOD_MAX_CYCLES ? wait : PERIOD_MAX_CYCLES);
}

/* What has been earned of the next burst since the last refresh, in bytes * hz. */
static u128 timer_earned(const struct credit *c, uint64_t now)
{
    if (!timer_runs(c))
        return 0;
    u128 left = (u128)(c->refresh_tsc - now) * c->rate_Bps + c->fraction;
    u128 step = timer_step(c);

    return left < step ? step - left : 0;
}

static void values_set(struct credit *c, uint64_t rate_Bps, uint64_t burst_bytes)
{
    c->rate_Bps = rate_Bps < CREDIT_RATE_MAX_BPS ? rate_Bps : CREDIT_RATE_MAX_BPS;
    c->burst_bytes = burst_bytes < CREDIT_BURST_MAX_BYTES ? burst_bytes : CREDIT_BURST_MAX_BYTES;
}

void credit_init(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                 uint64_t now)
{
    CHECK(hz > 0);
    c->hz = hz;
    values_set(c, rate_Bps, burst_bytes);
    c->credit_bytes = (int64_t)c->burst_bytes;
    timer_start(c, now, 0);
}

void credit_set(struct credit *c, uint64_t rate_Bps, uint64_t burst_bytes, uint64_t now)
{
    uint64_t old_rate_Bps = c->rate_Bps;
    uint64_t old_burst_bytes = c->burst_bytes;

    credit_update(c, now);
    u128 earned = timer_earned(c, now);

    values_set(c, rate_Bps, burst_bytes);
    if (c->rate_Bps == old_rate_Bps && c->burst_bytes == old_burst_bytes)
        return;
    if (c->credit_bytes > (int64_t)c->burst_bytes)
        c->credit_bytes = (int64_t)c->burst_bytes;
    timer_start(c, now, earned);
}

/* Applies every refresh whose floor is <= now, however many; the first is known to be one. */
static __attribute__((noinline)) void refresh_many(struct credit *c, uint64_t now)
{
    u128 step = timer_step(c);
    u128 room = (u128)(now - c->refresh_tsc + 1) * c->rate_Bps - c->fraction;
    u128 n = (room + step - 1) / step; /* refreshes strictly before now + 1 */
    u128 due = c->fraction + n * step;

    refresh_times(c, n);
    c->refresh_tsc += (uint64_t)(due / c->rate_Bps);
    c->fraction = (uint64_t)(due % c->rate_Bps);
}

static void refresh_one(struct credit *c)
{
    if (c->credit_bytes <= 0)
        c->credit_bytes += (int64_t)c->burst_bytes;
    else
        c->credit_bytes = (int64_t)c->burst_bytes;
    c->refresh_tsc += c->period_tsc;
    c->fraction += c->period_rem;
    if (c->fraction >= c->rate_Bps) {
        c->fraction -= c->rate_Bps;
        c->refresh_tsc++;
    }
}

void credit_update(struct credit *c, uint64_t now)
{
    if (!timer_runs(c) || time_before(now, c->refresh_tsc))
        return;
    /* Up to four periods late: stepping is cheaper than the 128-bit divisions. */
    if ((now - c->refresh_tsc) / 4 >= c->period_tsc) {
        refresh_many(c, now);
        return;
    }
    do
        refresh_one(c);
    while (!time_before(now, c->refresh_tsc));
}

bool credit_open(struct credit *c, uint64_t now)
{
    credit_update(c, now);
    return c->burst_bytes == 0 || (c->rate_Bps > 0 && c->credit_bytes > 0);
}

void credit_take(struct credit *c, uint64_t len_bytes)
{
    if (c->burst_bytes == 0)
        return;
    CHECK(c->credit_bytes > 0);
    c->credit_bytes -= (int64_t)len_bytes;
}

uint64_t credit_next(struct credit *c, uint64_t now)
{
    uint64_t more;
    u128 wait = PERIOD_MAX_CYCLES;

    if (credit_open(c, now))
        return now;
    if (c->rate_Bps == 0)
        return TIME_NEVER;
    more = (uint64_t)-c->credit_bytes / c->burst_bytes; /* refreshes after the next one */
    if (more == 0)
        return c->refresh_tsc;
    if (more < PERIOD_MAX_CYCLES / (c->period_tsc + 1))
        wait = (c->fraction + more * timer_step(c)) / c->rate_Bps;
    return c->refresh_tsc + (uint64_t)wait;
}
