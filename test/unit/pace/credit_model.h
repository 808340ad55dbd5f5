/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The credit rule as the specification words it. The model walks every single RTIMER. Each fires at
 * a multiple of RTIMER, rounded down to the cycle in which it falls.
 */
#ifndef SLUICE_TEST_CREDIT_MODEL_H
#define SLUICE_TEST_CREDIT_MODEL_H

#include <cstdint>

#include "../base/seed.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "pace/credit.h"
}

using u128 = unsigned __int128;

struct CreditModel {
    uint64_t hz, rate_Bps, burst_bytes;
    uint64_t start; /* when RTIMER started */
    uint64_t next;  /* the next refresh is the next-th after start */
    u128 early = 0; /* at start, this much of the first RTIMER had passed (2^-32 cycles) */
    int64_t credit_bytes;
    uint64_t steps = 0; /* refreshes walked in all; bounds the time of a test */

    CreditModel(uint64_t hz_, uint64_t rate, uint64_t burst, uint64_t now)
        : hz(hz_), rate_Bps(rate), burst_bytes(burst), start(now), next(1),
          credit_bytes((int64_t)burst)
    {
    }

    bool runs() const
    {
        return rate_Bps > 0 && burst_bytes > 0;
    }

    /* RTIMER in 2^-32 cycles, rounded up. */
    u128 period() const
    {
        return (((u128)burst_bytes * hz << 32) + rate_Bps - 1) / rate_Bps;
    }

    uint64_t refresh_at(uint64_t k) const
    {
        return start + (uint64_t)((k * period() - early) >> 32);
    }

    void refresh()
    {
        if (credit_bytes <= 0)
            credit_bytes += (int64_t)burst_bytes;
        else
            credit_bytes = (int64_t)burst_bytes;
        next++;
        steps++;
    }

    void walk(uint64_t now)
    {
        while (runs() && refresh_at(next) <= now)
            refresh();
    }

    bool open() const
    {
        return burst_bytes == 0 || (rate_Bps > 0 && credit_bytes > 0);
    }

    void take(uint64_t len_bytes)
    {
        if (burst_bytes > 0)
            credit_bytes -= (int64_t)len_bytes;
    }

    void set(uint64_t rate, uint64_t burst, uint64_t now)
    {
        walk(now);
        if (rate == rate_Bps && burst == burst_bytes)
            return;
        u128 earned = 0; /* part of the next burst, in 2^-64 bytes */

        if (runs()) {
            u128 all = ((u128)(now - start) << 32) + early, used = (next - 1) * period();

            if (all > used) /* a refresh may be a cycle early */
                earned = share(all - used, period()) * burst_bytes;
        }
        if (credit_bytes > (int64_t)burst)
            credit_bytes = (int64_t)burst;
        rate_Bps = rate;
        burst_bytes = burst;
        start = now;
        next = 1;
        early = 0;
        if (!runs())
            return;
        /* more than a smaller burst may have been earned: too many of them to walk */
        u128 step = (u128)burst << 64;
        __int128 credit = credit_bytes + (__int128)(earned / step * burst);
        if (earned >= step)
            credit_bytes = credit < (int64_t)burst ? (int64_t)credit : (int64_t)burst;
        u128 part = share(earned % step, step);
        early = (period() >> 64) * part + ((period() & UINT64_MAX) * part >> 64);
    }

    /* part / whole in 2^-64, rounded down. The code under test has no more than 128 bits either. */
    static u128 share(u128 part, u128 whole)
    {
        while (whole >> 64 != 0) {
            whole >>= 1;
            part >>= 1;
        }
        return part >= whole ? UINT64_MAX : (part << 64) / whole;
    }

    /* When the gate opens if nothing is sent. Found by walking a copy. */
    uint64_t opens(uint64_t now) const
    {
        CreditModel m = *this;

        if (m.open())
            return now;
        if (m.rate_Bps == 0)
            return TIME_NEVER;
        while (m.credit_bytes <= 0)
            m.refresh();
        return m.refresh_at(m.next - 1);
    }
};

/* Log-uniform over [low, high]: all magnitudes are equally likely. */
static inline uint64_t rng_magnitude(struct rng *r, uint64_t low, uint64_t high)
{
    int bits = 64 - __builtin_clzll(high / low);
    uint64_t scale = low << rng_below(r, (uint64_t)bits);
    uint64_t x = scale + rng_below(r, scale);

    return x < high ? x : high;
}

static inline uint64_t rng_hz(struct rng *r)
{
    const uint64_t hz[] = {1000000,    24000000,   999999937,  1000000000,
                           2100000000, 2999999999, 4000000007, 3000000000};

    return hz[rng_below(r, 8)];
}

#endif
