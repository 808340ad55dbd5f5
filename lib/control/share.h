/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Max-min fair sharing (spec "XTP rate control", host-wide capacity, steps 1-4): nobody gets more
 * than it asks for, and what is left is shared equally among those who ask for more.
 *
 * Invariant: sum of grants = min(capacity, sum of demands), and every grant = min(demand, level)
 * for one level. Integers; O(n) per pass, a few passes. Rates in bytes/s.
 */
#ifndef SLUICE_CONTROL_SHARE_H
#define SLUICE_CONTROL_SHARE_H

#include <stdint.h>

/*
 * The level L with sum of min(demand_Bps[i], L) = capacity_Bps, rounded down by at most n bytes/s
 * in sum; UINT64_MAX if all demands fit.
 */
uint64_t share_level(const uint64_t *demand_Bps, uint32_t n, uint64_t capacity_Bps);

#endif
