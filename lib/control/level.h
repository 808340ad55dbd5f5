/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one number of weighted max-min fairness: the level L at which all flows together get the
 * target, where each gets weight * L, but not less than its low nor more than its high.
 *
 * That sum is a line that bends at each low and each high. Newton's steps along it, kept within
 * what is known to be too little and too much and helped by halving where they crawl, find the
 * straight piece on which the target lies in a handful of passes; the last step is exact but where
 * a bend lies within 2^-24 of the level.
 *
 * Floating point without libm: rates up to 2^48 are exact, and the same order of flows gives the
 * same bits.
 */
#ifndef SLUICE_CONTROL_LEVEL_H
#define SLUICE_CONTROL_LEVEL_H

#include <stdint.h>

#define LEVEL_MAX 0x1p60 /* bytes/s a unit of weight: each item gets its high */

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

/* The level, where the lows are not more than the target, and the highs are. guess: where to
 * begin; what was found last time, or the target over the sum of weights, is good. */
double level_solve(const struct level_item *items, uint32_t n, double target, double guess);

#endif
