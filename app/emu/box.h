/* SPDX-License-Identifier: BSD-3-Clause */
/* The box: two ports, the cables between them, and what was asked for. */
#ifndef EMU_BOX_H
#define EMU_BOX_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "base/clock.h"
#include "common/port.h"
#include "common/say.h"
#include "drivers/cable.h"
#include "emu/interface.h"
#include "emu/layout.h"
#include "emu/options.h"

#define BOX_SPEC_MAX (PATH_SPEC_MAX_BYTES + 1)
#define BOX_TEXT_MAX 64 /* of an element, in messages */
_Static_assert(CABLE_QUEUES_MAX == LAYOUT_QUEUES_MAX, "one limit");

extern const char *const box_direction[2]; /* "forward", "reverse" */

/* One lcore, and the directions of cables that it runs. */
struct box_worker {
    struct box *box;
    unsigned int lcore, n;
    struct {
        uint16_t cable; /* its index in box->cable */
        uint8_t direction;
    } part[2 * CABLE_QUEUES_MAX];
    uint64_t turns; /* atomic: that it has begun */
    bool running;   /* atomic */
} __rte_cache_aligned;

struct box {
    struct options opt;
    struct port port[2];
    struct interface interface[2]; /* [i]: what port[i] needs, if it is on a Linux interface */
    struct rte_mempool *pool;
    struct layout layout;
    /* [q]: runs path q of a direction that has a path for each queue. The first one runs the paths
     * that are for all queues. */
    struct cable *cable[CABLE_QUEUES_MAX];
    struct box_worker worker[2 * CABLE_QUEUES_MAX]; /* [layout.workers] */
    struct clock clock;
    cpu_set_t cpus;               /* of this process, before the EAL pinned its thread */
    uint64_t start;               /* TSC when the box began to run */
    pthread_mutex_t lock;         /* held to set the paths, or to read their counters */
    char spec[2][BOX_SPEC_MAX];   /* the paths' current specs */
    char common[2][BOX_TEXT_MAX]; /* the first element that all flows have in common; "": none */
    /* [i][q]: the operator was told that no peer takes frames of queue q of port i */
    bool said_stuck[2][CABLE_QUEUES_MAX];
    bool stop; /* atomic: the workers are to stop */
    bool started[2];
};

/* Opens the ports and makes the paths. Returns EXIT_OK, or an exit code with a line in err; then,
 * too, box_unmake() frees what there is. */
enum say_exit box_make(struct box *b, char *err, size_t err_len);
void box_unmake(struct box *b);
/* Prints how many queues there are, and which lcore polls which. */
void box_say_layout(const struct box *b);
/* Prints, once for each time, that nobody takes frames of a queue. */
void box_say_stuck(struct box *b);

/* Is the spec good? Returns 0, or -EINVAL with a line in err. Writes its first element that flows
 * have in common to common, "" if there is none. */
int box_check(const char *spec, char common[BOX_TEXT_MAX], char *err, size_t err_len);
/* Sets another path for direction i (0: forward, 1: reverse). Returns 0 or negative errno with a
 * line in err. */
int box_set(struct box *b, unsigned int i, const char *spec, char *err, size_t err_len);

#endif
