/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scenario: hosts of a world (sim/world.h), what their users do (load.h), and what is measured:
 *
 *   [world]      until, from (observation begins), sample, control, poll, frames (under way)
 *   [host NAME]  mtu, up, down (specs of paths, path/path.h), and what host_config has
 *   [load NAME]  what hosts' users do (load.h)
 *   [owd NAME]   probes of delay (probes.h); [tcp93 NAME]: a TCP of 1993 (tcp93.h)
 *
 * Observation is the time from `from` to `until`. Values are of that time, series of the whole run.
 */
#ifndef LAB_SCENARIO_H
#define LAB_SCENARIO_H

#include <stdint.h>

#include "lab/pools.h"
#include "lab/result.h"
#include "lab/text.h"

/* Runs the world that the text describes, if t has no error so far. Makes new pools if the world
 * needs others. */
void scenario_run(struct text *t, uint64_t seed, struct scenario_pools *pools, struct result *r);
/* The memory that the world takes, if t has no error so far. */
struct scenario_memory scenario_size(struct text *t);

#endif
