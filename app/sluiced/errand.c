/* SPDX-License-Identifier: BSD-3-Clause */
/* See errand.h. */
#include "sluiced/errand.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

#define WAIT_S 1 /* for a control that stands still */

enum errand_state {
    ERRAND_CLOSED,
    ERRAND_NONE,
    ERRAND_ASKED, /* work and arg are there; the thread that changes this owns them */
    ERRAND_RUNS,
};

static struct errand {
    enum errand_state state; /* atomic */
    void (*work)(void *arg);
    void *arg;
    sem_t done;
    pthread_mutex_t askers; /* one at a time; control never takes it */
} errand = {.askers = PTHREAD_MUTEX_INITIALIZER};

static bool state_change(enum errand_state from, enum errand_state to)
{
    return __atomic_compare_exchange_n(&errand.state, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

void errands_open(void)
{
    sem_init(&errand.done, 0, 0);
    __atomic_store_n(&errand.state, ERRAND_NONE, __ATOMIC_RELEASE);
}

void errands_close(void)
{
    while (!state_change(ERRAND_NONE, ERRAND_CLOSED))
        errands_serve();
}

void errands_serve(void)
{
    if (__atomic_load_n(&errand.state, __ATOMIC_RELAXED) != ERRAND_ASKED ||
        !state_change(ERRAND_ASKED, ERRAND_RUNS))
        return;
    errand.work(errand.arg);
    __atomic_store_n(&errand.state, ERRAND_NONE, __ATOMIC_RELEASE);
    sem_post(&errand.done);
}

/* It has been asked for. 0, or -ETIMEDOUT: taken back. */
static int errand_wait(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    while (sem_timedwait(&errand.done, &until) != 0) {
        if (errno == EINTR)
            continue;
        if (state_change(ERRAND_ASKED, ERRAND_NONE))
            return -ETIMEDOUT;
        until.tv_sec += WAIT_S; /* control is at it */
    }
    return 0;
}

int errand_run(void (*work)(void *arg), void *arg)
{
    int rc = -ESHUTDOWN;

    pthread_mutex_lock(&errand.askers);
    if (__atomic_load_n(&errand.state, __ATOMIC_ACQUIRE) != ERRAND_CLOSED) {
        errand.work = work;
        errand.arg = arg;
        if (state_change(ERRAND_NONE, ERRAND_ASKED))
            rc = errand_wait();
    }
    pthread_mutex_unlock(&errand.askers);
    return rc;
}
