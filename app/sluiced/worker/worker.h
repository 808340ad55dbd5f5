/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker: one lcore that runs queues for ever. The only place, besides control, that reads the
 * TSC.
 */
#ifndef SLUICED_WORKER_H
#define SLUICED_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "sluiced/config/config.h"
#include "sluiced/worker/port_queue.h"
#include "sluiced/worker/wakeup.h"

#define WORKER_QUEUES_MAX 64

struct worker {
    uint32_t lcore;
    uint32_t n_queues;
    struct port_queue *queues[WORKER_QUEUES_MAX];
    enum config_idle idle;     /* written by control, atomic */
    uint64_t quiet_cycles;     /* CONFIG_IDLE_SLEEP: nothing for this long, then naps */
    uint64_t nap_cycles;       /* longest nap */
    uint64_t armed_nap_cycles; /* the same where all that can come wakes it */
    uint64_t nap;              /* the next one, cycles; the worker's */
    uint64_t hz;
    struct wakeup wakeup;
    bool all_wake;  /* every queue of its queues, and nothing comes to them in another way */
    bool all_armed; /* and every client, as long as the wakeup is armed; the worker's */
    bool stop;      /* written by control, atomic */
    bool running;   /* written by the worker, atomic */
    /* Written by the worker, read by control. */
    uint64_t iterations __rte_cache_aligned;
    uint64_t busy_cycles, idle_cycles; /* of iterations that did something, or nothing */
    uint64_t naps, nap_total_cycles;
    uint64_t wakeups; /* naps that something put an end to */
};

/* Runs until w->stop; for rte_eal_remote_launch(). */
int worker_main(void *worker);
/* Before it is launched: what was prepared is the worker's from here on. Then a request to end.
 * And, once it has been waited for: what it left is the caller's. */
void worker_give(struct worker *w);
void worker_stop(struct worker *w);
void worker_take(const struct worker *w);
/* What it does from now on when there is nothing to do. */
void worker_set_idle(struct worker *w, enum config_idle idle);
/* Waits until the worker has begun an iteration after this call, or does not run: what it was told
 * or given before counts from there on. Not from a worker. False: not within max_ms, for its core
 * went to others, and it may be in the middle of a burst. */
bool worker_pass(const struct worker *w, uint32_t max_ms);
/* The same, for as long as it takes. */
void worker_await(const struct worker *w);

#endif
