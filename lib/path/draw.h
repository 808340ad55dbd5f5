/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers with correlation: with probability rho the last number is drawn again, otherwise a
 * fresh one. So each is uniform whatever rho is, and the correlation at distance k is rho^k. (netem
 * averages instead, which makes its numbers cluster in the middle: with 25 % correlation, 1 % of
 * loss becomes less. doc/path.md.)
 *
 * Probabilities are in 1 / 2^64; DRAW_ALWAYS is 1.
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
    bool any; /* there is a last one */
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
