/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a random cache line costs on this machine, to compare a packet with.
 */
#ifndef SLUICE_BENCH_PACE_LINES_H
#define SLUICE_BENCH_PACE_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct pace_lines {
    double dependent_ns;   /* a load whose address the load before gave */
    double independent_ns; /* a load out of many that can be under way together */
};

/* Over so many bytes, on hugepages if EAL has them; false without memory. */
bool pace_lines_measure(size_t bytes, struct pace_lines *lines);

#endif
