// SPDX-License-Identifier: BSD-3-Clause
// Prints one line for every frame that is sent, if SLUICE_TRACE is set in the environment.
#ifndef SLUICE_TEST_SIM_TRACE_HH
#define SLUICE_TEST_SIM_TRACE_HH

#include <cstdint>

#include <rte_mbuf.h>

extern "C" {
#include "sim/world.h"
}

void trace_frame(uint32_t from, const rte_mbuf *m, uint64_t now, const world_fate &fate);

#endif
