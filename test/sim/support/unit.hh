// SPDX-License-Identifier: BSD-3-Clause
#ifndef SLUICE_TEST_SIM_UNIT_HH
#define SLUICE_TEST_SIM_UNIT_HH

extern "C" {
#include "base/rng.h"
}

// A uniform random number in [0, 1), with 53 bits.
inline double rng_unit(rng *g)
{
    return static_cast<double>(rng_u64(g) >> 11) * 0x1p-53;
}

#endif
