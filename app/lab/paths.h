/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the paths of a scenario's hosts did, up from each host and down to it: frames dropped, bytes
 * waiting, cells that an element `police` checked.
 */
#ifndef LAB_PATHS_H
#define LAB_PATHS_H

#include <stdint.h>

#include "lab/result.h"
#include "sim/world.h"

struct path_sums {
    uint64_t in, out, out_bytes, dropped, cells, excess, queued_bytes;
};

struct way {
    const struct path *path; /* not NULL: plain links are left out */
    const char *host, *direction;
    struct path_sums before;
    json_t *queued;
    /* Number, from 1 on, of the first element on the path that had dropped at a sample; 0: none
     * yet. */
    uint32_t first_drop;
};

struct paths {
    struct way way[2 * WORLD_HOSTS_MAX];
    uint32_t n;
};

void paths_open(struct paths *w, const struct world *world, const char *const *hosts,
                uint32_t n_hosts);
/* To be called when observation begins (scenario.h). */
void paths_begin(struct paths *w);
void paths_sample(struct paths *w, struct result *r, uint64_t now);
/* Number of frames that paths dropped only because the scenario gave them too little room or too
 * few buffers. */
uint64_t paths_short(const struct paths *w);
void paths_tell(const struct paths *w, struct result *r);

#endif
