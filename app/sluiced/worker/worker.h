/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker: one lcore that runs port queues until it is stopped.
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
    enum config_idle idle; /* written by control, atomic */
    /* CONFIG_IDLE_SLEEP: naps begin after quiet_cycles without work, and last nap_cycles at most.
     * While all that can come wakes the worker, they begin after spin_cycles, last armed_nap_cycles
     * at most, and end spin_cycles before anything is due. */
    uint64_t quiet_cycles, nap_cycles;
    uint64_t spin_cycles, armed_nap_cycles;
    uint64_t moderation_cycles; /* the longest nap right after work (worker_moderates) */
    uint64_t nap;               /* cycles: length of the next nap; only the worker uses it */
    uint64_t hz;
    struct wakeup wakeup;
    bool all_wake;  /* each port queue can wake the worker, and gets no frames from other workers */
    bool all_armed; /* while armed: all_wake, and each client wakes the worker, too */
    int control_event;      /* eventfd that ends control's rest; 0: none */
    bool control_signalled; /* it was signalled since the worker last had nothing to do */
    bool stop;              /* written by control, atomic */
    bool running;           /* written by the worker, atomic */
    /* Written by the worker, read by control. */
    uint64_t iterations __rte_cache_aligned;
    uint64_t busy_cycles, idle_cycles; /* of iterations with work, and without */
    uint64_t naps, nap_total_cycles;
    uint64_t wakeups; /* naps that something ended early */
};

/* Runs until w->stop; for rte_eal_remote_launch(). */
int worker_main(void *worker);
/* worker_give() is called before the launch: the worker sees all that was written before this call.
 * worker_stop() asks the worker to end. worker_take() is called after the wait for its lcore: the
 * caller then sees all that the worker wrote. */
void worker_give(struct worker *w);
void worker_stop(struct worker *w);
void worker_take(const struct worker *w);
/* Sets what the worker does from now on when it has no work. */
void worker_set_idle(struct worker *w, enum config_idle idle);
/* Waits until the worker has begun an iteration after this call, or does not run. From then on the
 * worker heeds all that it was given before the call. Not to be called from a worker. False: max_ms
 * passed, because the worker lost its core; it may be in the middle of a burst. */
bool worker_pass(const struct worker *w, uint32_t max_ms);
/* worker_pass() without a time limit. */
void worker_await(const struct worker *w);

#endif
