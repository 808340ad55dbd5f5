/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that an engine does its work, at a moderate load. Each flow must have its rate, and no
 * packet may be lost, doubled, or released before an earlier packet of its flow.
 */
#ifndef SLUICE_BENCH_PACE_CHECK_H
#define SLUICE_BENCH_PACE_CHECK_H

#include "pace_run.h"

/* False if the engine fails; prints the reasons to stderr. */
bool pace_check(const struct pace_engine *engine, const struct pace_plan *plan, double pps,
                double seconds);

#endif
