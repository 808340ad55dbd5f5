/* SPDX-License-Identifier: BSD-3-Clause */
/* See clock.h. */
#include "common/clock.h"

#include <time.h>

#include <rte_cycles.h>

#include "base/clock.h"
#include "base/mul_div.h"

#define MEASURE_NS 100000000ull
#define TRIES      64

struct instant {
    uint64_t tsc;
    uint64_t ns;
};

static uint64_t read_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * CLOCK_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_now(void)
{
    static uint64_t ahead;
    static __thread uint64_t last;
    uint64_t then = __atomic_load_n(&ahead, __ATOMIC_RELAXED);

    rte_compiler_barrier();
    return clock_steady(&ahead, &last, then, rte_rdtsc());
}

uint64_t clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

/* Reads the TSC and CLOCK_MONOTONIC_RAW at one instant. Of several readings it takes the one whose
 * two TSC values are closest together, so that the result is right even if the thread loses its
 * core during some of them. */
static struct instant instant_read(void)
{
    struct instant best = {0, 0};
    uint64_t best_width = UINT64_MAX;
    int i;

    for (i = 0; i < TRIES; i++) {
        uint64_t before = rte_rdtsc_precise();
        uint64_t ns = read_ns(CLOCK_MONOTONIC_RAW);
        uint64_t after = rte_rdtsc_precise();

        if (after - before < best_width) {
            best_width = after - before;
            best = (struct instant){before + best_width / 2, ns};
        }
    }
    return best;
}

uint64_t clock_measure_hz(void)
{
    const struct timespec pause = {0, (long)MEASURE_NS};
    struct instant a = instant_read(), b;

    do {
        nanosleep(&pause, NULL);
        b = instant_read();
    } while (b.ns - a.ns < MEASURE_NS); /* a signal cut the pause short */
    return mul_div(b.tsc - a.tsc, CLOCK_NS_PER_S, b.ns - a.ns);
}
