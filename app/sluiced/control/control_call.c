/* SPDX-License-Identifier: BSD-3-Clause */
/* See control_call.h. */
#include "sluiced/control/control_call.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

#define WAIT_S 1 /* how long a call waits for a stalled control */

enum control_call_state {
    CONTROL_CALL_CLOSED,
    CONTROL_CALL_NONE,
    CONTROL_CALL_ASKED, /* work and arg are set; the thread that changes this state owns them */
    CONTROL_CALL_RUNS,
};

static struct control_calls {
    enum control_call_state state; /* atomic */
    void (*work)(void *arg);
    void *arg;
    sem_t done;
    pthread_mutex_t askers; /* held by the one thread that calls; control never takes it */
} calls = {.askers = PTHREAD_MUTEX_INITIALIZER};

static bool state_change(enum control_call_state from, enum control_call_state to)
{
    return __atomic_compare_exchange_n(&calls.state, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

void control_calls_open(void)
{
    sem_init(&calls.done, 0, 0);
    __atomic_store_n(&calls.state, CONTROL_CALL_NONE, __ATOMIC_RELEASE);
}

void control_calls_close(void)
{
    while (!state_change(CONTROL_CALL_NONE, CONTROL_CALL_CLOSED))
        control_calls_serve();
}

void control_calls_serve(void)
{
    if (__atomic_load_n(&calls.state, __ATOMIC_RELAXED) != CONTROL_CALL_ASKED ||
        !state_change(CONTROL_CALL_ASKED, CONTROL_CALL_RUNS))
        return;
    calls.work(calls.arg);
    __atomic_store_n(&calls.state, CONTROL_CALL_NONE, __ATOMIC_RELEASE);
    sem_post(&calls.done);
}

/* Waits for the call to be done. Returns 0, or -ETIMEDOUT after taking the call back. */
static int control_call_wait(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_S;
    while (sem_clockwait(&calls.done, CLOCK_MONOTONIC, &until) != 0) {
        if (errno == EINTR)
            continue;
        if (state_change(CONTROL_CALL_ASKED, CONTROL_CALL_NONE))
            return -ETIMEDOUT;
        until.tv_sec += WAIT_S; /* control is running the call */
    }
    /* the semaphore orders this after the work, too, but TSan does not know sem_clockwait() */
    __atomic_load_n(&calls.state, __ATOMIC_ACQUIRE);
    return 0;
}

int control_call(void (*work)(void *arg), void *arg)
{
    int rc = -ESHUTDOWN;

    pthread_mutex_lock(&calls.askers);
    if (__atomic_load_n(&calls.state, __ATOMIC_ACQUIRE) != CONTROL_CALL_CLOSED) {
        calls.work = work;
        calls.arg = arg;
        if (state_change(CONTROL_CALL_NONE, CONTROL_CALL_ASKED))
            rc = control_call_wait();
    }
    pthread_mutex_unlock(&calls.askers);
    return rc;
}
