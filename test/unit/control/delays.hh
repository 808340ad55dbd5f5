// SPDX-License-Identifier: BSD-3-Clause
// The delays of a trial that is made by hand.
#ifndef SLUICE_TEST_UNIT_CONTROL_DELAYS_HH
#define SLUICE_TEST_UNIT_CONTROL_DELAYS_HH

#include <cstdint>

extern "C" {
#include "control/pathrate.h"
}

// Gives the trial delays that change steadily. early_ns and late_ns are half a trial apart.
inline void change(trial_result *t, uint64_t early_ns, uint64_t late_ns)
{
    t->min_ns = early_ns < late_ns ? early_ns : late_ns;
    t->mean_ns = (early_ns + late_ns) / 2;
    t->max_ns = early_ns > late_ns ? early_ns : late_ns;
    t->growth = 2 * ((double)late_ns - (double)early_ns) / (double)t->arrived_ns;
}

#endif
