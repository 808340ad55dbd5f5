/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the cost of a random cache line on this machine, to compare with that of a packet.
 */
#ifndef SLUICE_BENCH_PACE_LINES_H
#define SLUICE_BENCH_PACE_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct pace_lines {
    double dependent_ns;   /* a load whose address comes from the load before */
    double independent_ns; /* a load of many that can be under way together */
};

/* Measures over so many bytes, on hugepages if EAL has them; false without memory. */
bool pace_lines_measure(size_t bytes, struct pace_lines *lines);

#endif
