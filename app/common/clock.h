/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system's time, the program's own, and the TSC's frequency, measured against
 * CLOCK_MONOTONIC_RAW: rte_get_tsc_hz() can be 0.15 % wrong on virtual machines.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t clock_monotonic_ns(void);

/* The time of everything that is handed a `now`: the TSC's cycles, but it never goes back in a
 * thread, and is the same in all of them. After the TSC stepped back it goes on from where it
 * stood. */
uint64_t clock_now(void);

/* Hz of clock_now() and rte_rdtsc(), measured for about 100 ms; a reading is off by less than 1 us
 * in that. */
uint64_t clock_measure_hz(void);

#endif
