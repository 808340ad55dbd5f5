/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time is a parameter: `now` counts cycles of a clock whose frequency the state machine knows.
 *
 * Invariant: 0 <= ns - clock_ns(c, clock_cycles(c, ns)) <= ceil(10^9 / hz): conversion there and
 * back loses at most one cycle, in whole ns. Products have 128 bits; results must fit into 64 bits.
 * Cycles never wrap in practice (2^64 at 4 GHz is 146 years); compare them with time_before().
 *
 * State machines need a time that does not go back. A counter may go back: a virtual machine is
 * restored or moved, or the counters of two cores differ. clock_steady() makes a steady time of a
 * counter: where the counter steps back, the time goes on from its last value.
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
 * Makes a time of a counter. The time never goes back within a thread, whatever steps the counter
 * makes.
 *
 * *ahead: cycles by which time is ahead of the counter; 0 at first, raised when the counter has
 * stepped back. All threads write and read it, so that their times agree.
 * *last: this thread's newest time.
 * ahead_then: *ahead, read before the counter. (If *ahead were read after the counter, the counter
 * might have stepped back in between, and time would leap by that step.)
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
