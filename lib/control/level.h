/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one number of weighted max-min fairness: the level L at which the rates of all items sum to
 * the target. Each item gets weight * L, but not less than its `low` nor more than its `high`.
 *
 * As a function of L, the sum of rates is a line that bends at each `low` and each `high`. In a
 * handful of passes, Newton's steps find the straight piece on which the target lies. They are kept
 * between a level known to be too low and one known to be too high; where they crawl, that range is
 * halved. The last step is exact unless a bend lies within 2^-24 of the level.
 *
 * Floating point without libm: rates up to 2^48 are exact, and the same order of items gives the
 * same bits.
 */
#ifndef SLUICE_CONTROL_LEVEL_H
#define SLUICE_CONTROL_LEVEL_H

#include <stdint.h>

#define LEVEL_MAX 0x1p60 /* bytes/s per unit of weight; here, each item gets its `high` */

struct level_item {
    double low, high; /* bytes/s, low <= high */
    double weight;    /* > 0 */
};

static inline double level_rate(const struct level_item *item, double level)
{
    double rate = item->weight * level;

    rate = rate > item->low ? rate : item->low;
    return rate < item->high ? rate : item->high;
}

/* Finds the level. The sum of all `low` must be at most the target, and the sum of all `high`
 * above it. guess: where to begin, best the level found last time, or the target over the sum of
 * weights. */
double level_solve(const struct level_item *items, uint32_t n, double target, double guess);

#endif
