/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The credit rule in closed form. Rule 2 equals credit = min(credit + burst, burst) for either sign
 * of credit, so n refreshes give credit = min(credit + n * burst, burst).
 *
 * Times with their fraction are counted in 2^-32 cycles here. Invariant: while the timer runs, the
 * next refresh is at exactly refresh_tsc + fraction and takes effect at its floor.
 */
#include "pace/credit.h"

/* Longer periods are as good as never (36 years at 4 GHz). */
#define PERIOD_MAX_CYCLES (1ull << 62)
#define FINE_BITS         32

typedef unsigned __int128 u128;

static bool timer_runs(const struct credit *c)
{
    return c->refresh_tsc != TIME_NEVER;
}

static u128 period_fine(const struct credit *c)
{
    return (u128)c->period_tsc << FINE_BITS | c->period_fraction;
}

/* Applies n refreshes to the credit at once. */
static void refresh_times(struct credit *c, u128 n)
{
    __int128 credit;

    if (n == 0)
        return;
    if (n > UINT64_MAX)
        n = UINT64_MAX;
    credit = c->credit_bytes + (__int128)(n * c->burst_bytes);
    c->credit_bytes = (int64_t)(credit < (int64_t)c->burst_bytes ? credit : c->burst_bytes);
}

/* part / whole in 2^-64, below 1; whole > 0. */
static uint64_t share_of(u128 part, u128 whole)
{
    while (whole > UINT64_MAX) {
        whole >>= 1;
        part >>= 1;
    }
    return part >= whole ? UINT64_MAX : (uint64_t)((part << 64) / whole);
}

static u128 share_times(u128 x, uint64_t share)
{
    return (u128)(uint64_t)(x >> 64) * share + ((u128)(uint64_t)x * share >> 64);
}

/* Starts RTIMER. earned: how much of the first burst is earned already, in 2^-64 bytes. */
static void timer_start(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t now, u128 earned)
{
    u128 period, wait;
    u128 burst = (u128)c->burst_bytes << 64;

    c->refresh_tsc = TIME_NEVER;
    c->fraction = c->period_fraction = 0;
    c->period_tsc = 0;
    if (c->burst_bytes == 0 || rate_Bps == 0)
        return;
    period = (((u128)c->burst_bytes * hz << FINE_BITS) + rate_Bps - 1) / rate_Bps;
    if (period >> FINE_BITS >= PERIOD_MAX_CYCLES)
        period = (u128)PERIOD_MAX_CYCLES << FINE_BITS;
    c->period_tsc = (uint64_t)(period >> FINE_BITS);
    c->period_fraction = (uint32_t)period;
    /* if the new burst is smaller, more than one burst may be earned already */
    refresh_times(c, earned / burst);
    wait = period - share_times(period, share_of(earned % burst, burst));
    c->fraction = (uint32_t)wait;
    c->refresh_tsc = now + (uint64_t)(wait >> FINE_BITS);
}

/* How much of the next burst was earned since the last refresh, in 2^-64 bytes. */
static u128 timer_earned(const struct credit *c, uint64_t now)
{
    u128 period = period_fine(c);
    u128 left = ((u128)(c->refresh_tsc - now) << FINE_BITS) + c->fraction;

    if (!timer_runs(c) || left >= period)
        return 0;
    return (u128)c->burst_bytes * share_of(period - left, period);
}

void credit_init(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                 uint64_t now)
{
    CHECK(hz > 0 && hz < 1ull << 40);
    *c = (struct credit){.refresh_tsc = TIME_NEVER};
    credit_set(c, hz, rate_Bps, burst_bytes, now);
    c->credit_bytes = (int64_t)c->burst_bytes;
}

void credit_set(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                uint64_t now)
{
    struct credit old;

    credit_update(c, now);
    old = *c;
    if (rate_Bps > CREDIT_RATE_MAX_BPS)
        rate_Bps = CREDIT_RATE_MAX_BPS;
    c->burst_bytes = burst_bytes < CREDIT_BURST_MAX_BYTES ? burst_bytes : CREDIT_BURST_MAX_BYTES;
    if (c->credit_bytes > (int64_t)c->burst_bytes)
        c->credit_bytes = (int64_t)c->burst_bytes;
    timer_start(c, hz, rate_Bps, now, timer_earned(&old, now));
    if (c->burst_bytes == old.burst_bytes && period_fine(c) == period_fine(&old) &&
        timer_runs(c) == timer_runs(&old))
        *c = old;
}

/* Applies every refresh whose floor is <= now, however many. */
void credit_update_late(struct credit *c, uint64_t now)
{
    u128 period = period_fine(c), room, n;

    if (!timer_runs(c))
        return;
    if (credit_skip(c, now)) {
        credit_update_once(c);
        return;
    }
    room = ((u128)(now - c->refresh_tsc + 1) << FINE_BITS) - c->fraction;
    n = (room + period - 1) / period; /* refreshes strictly before now + 1 */
    refresh_times(c, n);
    room = ((u128)c->refresh_tsc << FINE_BITS) + c->fraction + n * period;
    c->refresh_tsc = (uint64_t)(room >> FINE_BITS);
    c->fraction = (uint32_t)room;
}

uint64_t credit_next_deep(const struct credit *c)
{
    u128 more;

    if (!timer_runs(c))
        return TIME_NEVER;
    more = (uint64_t)-c->credit_bytes / c->burst_bytes; /* refreshes after the next one */
    if (more >= PERIOD_MAX_CYCLES / (c->period_tsc + 1))
        return c->refresh_tsc + PERIOD_MAX_CYCLES;
    return c->refresh_tsc + (uint64_t)((c->fraction + more * period_fine(c)) >> FINE_BITS);
}
