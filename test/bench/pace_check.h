/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does an engine do the work at all? At a moderate load: each flow's rate, and no packet lost,
 * doubled, or given before another of its flow that came earlier.
 */
#ifndef SLUICE_BENCH_PACE_CHECK_H
#define SLUICE_BENCH_PACE_CHECK_H

#include "pace_run.h"

/* Prints what is wrong to stderr. */
bool pace_check(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                double seconds);

#endif
