// SPDX-License-Identifier: BSD-3-Clause
// Numbers of any magnitude for random tests.
#ifndef SLUICE_TEST_DRAW_HH
#define SLUICE_TEST_DRAW_HH

#include <cmath>

extern "C" {
#include "base/rng.h"
}

// Draws log-uniformly from low .. low * 2^octaves.
static inline double draw(rng *r, double low, double octaves)
{
    return low * std::exp2(octaves * static_cast<double>(rng_below(r, 1000001)) / 1e6);
}

#endif
