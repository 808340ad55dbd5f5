/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the paths of a scene's hosts did: frames dropped and bytes waiting on the way up from a host
 * and down to it, cells for a contract's policeman.
 */
#ifndef LAB_WAYS_H
#define LAB_WAYS_H

#include <stdint.h>

#include "lab/result.h"
#include "sim/world.h"

struct way_sums {
    uint64_t in, out, out_bytes, dropped, cells, excess, queued_bytes;
};

struct way {
    const struct path *path; /* NULL: a plain link */
    const char *host, *direction;
    struct way_sums before;
    json_t *queued;
    uint32_t first_drop; /* the element that dropped first, from 1 on, as the path lists them */
};

struct ways {
    struct way way[2 * WORLD_HOSTS_MAX];
    uint32_t n;
};

void ways_open(struct ways *w, const struct world *world, const char *const *hosts,
               uint32_t n_hosts);
/* Observation begins. */
void ways_begin(struct ways *w);
void ways_sample(struct ways *w, struct result *r, uint64_t now);
/* Frames that paths dropped only because they hold no more than the scene gave them room for. */
uint64_t ways_short(const struct ways *w);
void ways_tell(const struct ways *w, struct result *r);

#endif
