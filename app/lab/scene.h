/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scene: hosts of a world (sim/world.h), what their users do (load.h), and what is measured:
 *
 *   [world]      until, from (observation begins), sample, control, poll
 *   [host NAME]  mtu, up, down (specs of paths, path/path.h), and what host_config has
 *   [load NAME]  what hosts' users do (load.h)
 *   [owd NAME]   probes of delay (probes.h); [tcp93 NAME]: a TCP of 1993 (tcp93.h)
 *
 * Observation is the time from `from` to `until`; values are of it, series of the whole run.
 */
#ifndef LAB_SCENE_H
#define LAB_SCENE_H

#include <stdint.h>

#include "lab/result.h"
#include "lab/text.h"

struct rte_mempool;

/* Shared by all scenes of the process. */
struct scene_pools {
    struct rte_mempool *head, *attach, *wire;
};

/* Runs the world that the text describes, if t is right so far. */
void scene_run(struct text *t, uint64_t seed, const struct scene_pools *pools, struct result *r);

#endif
