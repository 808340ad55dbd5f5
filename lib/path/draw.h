/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Correlated random numbers: with probability rho a draw repeats the last number, otherwise it is a
 * fresh one. So each number is uniform whatever rho is, and the correlation at distance k is rho^k.
 * (netem averages numbers instead, so its numbers cluster in the middle: with 25 % correlation, a
 * loss of 1 % becomes less. See doc/path.md.)
 *
 * Probabilities are in units of 1 / 2^64; DRAW_ALWAYS is 1.
 */
#ifndef SLUICE_PATH_DRAW_H
#define SLUICE_PATH_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

#define DRAW_ALWAYS UINT64_MAX

struct draw {
    struct rng *rng; /* the element's */
    uint64_t last;
    bool any; /* `last` is valid */
};

static inline bool draw_hits(uint64_t number, uint64_t probability)
{
    return number < probability || probability == DRAW_ALWAYS;
}

static inline uint64_t draw_u64(struct draw *d, uint64_t rho)
{
    if (rho == 0)
        return rng_u64(d->rng);
    if (!d->any || !draw_hits(rng_u64(d->rng), rho))
        d->last = rng_u64(d->rng);
    d->any = true;
    return d->last;
}

#endif
