/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system's time, the program's own time, and the frequency of the TSC. The frequency is
 * measured against CLOCK_MONOTONIC_RAW: rte_get_tsc_hz() can be 0.15 % wrong on virtual machines.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

/* The time of CLOCK_MONOTONIC. */
uint64_t clock_monotonic_ns(void);

/* The time that is passed as `now`, in cycles of the TSC. It is the same in all threads and never
 * goes back in a thread: if the TSC steps back, the time goes on from its last value. */
uint64_t clock_now(void);

/* Hz of clock_now() and rte_rdtsc(). Measures for about 100 ms; each reading of the clocks is off
 * by less than 1 us. */
uint64_t clock_measure_hz(void);

#endif
