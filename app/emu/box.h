/* SPDX-License-Identifier: BSD-3-Clause */
/* The box: two ports, the wire between them, and what was asked for. */
#ifndef EMU_BOX_H
#define EMU_BOX_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "base/clock.h"
#include "common/port.h"
#include "drivers/cable.h"
#include "emu/interface.h"
#include "emu/options.h"

#define BOX_SPEC_MAX (PATH_SPEC_MAX_BYTES + 1)

struct box {
    struct options opt;
    struct port port[2];
    struct interface interface[2]; /* [i]: what port[i] needs, if it is on a Linux interface */
    struct rte_mempool *pool;
    struct cable *cable;
    struct clock clock;
    cpu_set_t cpus;             /* of this process, before the EAL pinned its thread */
    uint64_t start;             /* TSC when the box began to run */
    pthread_mutex_t lock;       /* held to set the paths, or to read their counters */
    char spec[2][BOX_SPEC_MAX]; /* the paths' current specs */
    uint64_t turns;             /* atomic: turns that box_run() has begun */
    bool running, stop;         /* atomic: box_run() runs; box_run() is to stop */
    bool started[2];
};

/* Sets another path for direction i (0: forward, 1: reverse). Returns 0 or negative errno with a
 * line in err. */
int box_set(struct box *b, unsigned int i, const char *spec, char *err, size_t err_len);

#endif
