/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time is a parameter: `now` counts cycles of a clock whose Hz the state machine was told.
 *
 * Invariant: clock_ns(c, clock_cycles(c, ns)) is within one cycle of ns, for any ns < 2^63;
 * 128-bit intermediates, so nothing overflows. cycles: u64, wraps never in practice (2^64 at
 * 4 GHz is 146 years); compare with time_before().
 *
 * State machines need a time that does not go back. A counter may: a virtual machine is restored or
 * moved, or counters of cores differ. clock_steady() makes a time of it that goes on from where it
 * stood.
 */
#ifndef SLUICE_BASE_CLOCK_H
#define SLUICE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mul_div.h"

#define CLOCK_NS_PER_S 1000000000ull
#define TIME_NEVER     UINT64_MAX

struct clock {
    uint64_t hz; /* cycles per second, > 0 */
};

static inline uint64_t clock_cycles(const struct clock *c, uint64_t ns)
{
    return mul_div(ns, c->hz, CLOCK_NS_PER_S);
}

static inline uint64_t clock_ns(const struct clock *c, uint64_t cycles)
{
    return mul_div(cycles, CLOCK_NS_PER_S, c->hz);
}

/* Is a before b? TIME_NEVER is after everything. */
static inline bool time_before(uint64_t a, uint64_t b)
{
    return a < b;
}

/* TIME_NEVER counts as later than everything. */
static inline uint64_t time_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * The time by a counter. *ahead is what time is ahead of it, in cycles: 0 at first, raised where
 * the counter has stepped back, the same for all threads, so that their times agree; *last is this
 * thread's newest time. Each thread's time never goes back, whatever steps the counter makes.
 *
 * ahead_then: *ahead as it was read before the counter was. (Read after it, it might belong to a
 * counter that has stepped back in between, and time would leap by that step.)
 */
static inline uint64_t clock_steady(uint64_t *ahead, uint64_t *last, uint64_t ahead_then,
                                    uint64_t counter)
{
    uint64_t now = counter + ahead_then;

    if (now < *last) {
        uint64_t need = *last - counter, is = __atomic_load_n(ahead, __ATOMIC_RELAXED);

        while (is < need && !__atomic_compare_exchange_n(ahead, &is, need, true, __ATOMIC_RELAXED,
                                                         __ATOMIC_RELAXED))
            continue;
        now = counter + (is < need ? need : is);
    }
    *last = now;
    return now;
}

#endif
