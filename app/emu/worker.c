/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/worker.h"

#include <sys/prctl.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "common/grace.h"

#define TURN 16 /* rounds between two looks at `stop` */

uint16_t worker_lcores(unsigned int lcores[2 * CABLE_QUEUES_MAX])
{
    unsigned int lcore;
    uint16_t n = 0;

    RTE_LCORE_FOREACH_WORKER(lcore)
    {
        if (n < 2 * CABLE_QUEUES_MAX)
            lcores[n++] = lcore;
    }
    if (n == 0)
        lcores[n++] = rte_get_main_lcore();
    return n;
}

bool worker_has_main(const struct box *b)
{
    return b->worker[0].lcore == rte_get_main_lcore();
}

/* A worker alone has both directions of each cable. */
static void alone_run(const struct box *b)
{
    for (uint16_t q = 0; q < CABLE_QUEUES_MAX && b->cable[q] != NULL; q++)
        cable_run(b->cable[q]);
}

static void parts_run(const struct box_worker *w)
{
    for (unsigned int i = 0; i < w->n; i++)
        cable_run_direction(w->box->cable[w->part[i].cable], w->part[i].direction);
}

int worker_run(void *arg)
{
    struct box_worker *w = arg;
    struct box *b = w->box;

    /* `sluice doctor` finds this thread by its name, as it finds a daemon's workers. The main
     * thread keeps its name, which is that of the process. */
    if (rte_lcore_id() != rte_get_main_lcore())
        prctl(PR_SET_NAME, "sl-worker-box", 0, 0, 0);
    grace_loop(true);
    __atomic_store_n(&w->running, true, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
        __atomic_store_n(&w->turns, w->turns + 1, __ATOMIC_SEQ_CST);
        for (unsigned int i = 0; i < TURN; i++) {
            if (b->layout.workers == 1)
                alone_run(b);
            else
                parts_run(w);
        }
    }
    __atomic_store_n(&w->running, false, __ATOMIC_SEQ_CST);
    grace_loop(false);
    return 0;
}

void workers_launch(struct box *b)
{
    for (uint16_t i = 0; i < b->layout.workers; i++)
        if (b->worker[i].lcore != rte_get_main_lcore())
            rte_eal_remote_launch(worker_run, &b->worker[i], b->worker[i].lcore);
}

void workers_pass(void *ctx)
{
    const struct timespec pause = {0, 20000};
    const struct box *b = ctx;

    for (uint16_t i = 0; i < b->layout.workers; i++) {
        const struct box_worker *w = &b->worker[i];
        uint64_t before = __atomic_load_n(&w->turns, __ATOMIC_SEQ_CST);

        /* When two more turns have begun, one that began after this call has ended. There is no
         * time limit: if a worker has lost its core, it may be in the middle of a burst. */
        while (__atomic_load_n(&w->running, __ATOMIC_SEQ_CST) &&
               __atomic_load_n(&w->turns, __ATOMIC_SEQ_CST) - before < 2)
            nanosleep(&pause, NULL);
    }
}
