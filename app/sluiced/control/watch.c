/* SPDX-License-Identifier: BSD-3-Clause */
/* See watch.h. An EAL alarm would not do: its thread outlives what it would look at. */
#include "sluiced/control/watch.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "common/clock.h"
#include "common/say.h"

#define LOOK_NS 100000000

static struct watch {
    const struct daemon *d;
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock; /* protects stop */
    pthread_cond_t wake;
    bool stop;
    /* Owned by the thread. */
    uint32_t looks; /* number of looks in a row that found control stalled */
    uint64_t since; /* TSC of the first of these looks */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static bool control_stalled(const struct daemon *d)
{
    for (uint32_t i = 0; i < d->n_queues; i++)
        if (host_control_stalled(d->hosts[i]))
            return true;
    return false;
}

/* A busy machine may delay control for a moment: only a stall that two looks find is reported. */
static void watch_look(struct watch *w)
{
    uint64_t now = clock_now();

    if (control_stalled(w->d)) {
        if (w->looks++ == 0)
            w->since = now;
        if (w->looks == 2)
            say(SAY_ERROR,
                "control does not run: grants stay as they are, data flow on, clients get no "
                "answers; give control a CPU of its own (control_lcore)");
    } else {
        if (w->looks >= 2)
            say(SAY_NOTICE, "control runs again, after %.1f s",
                (double)(now - w->since) / (double)w->d->hz);
        w->looks = 0;
    }
}

/* False when the watch is to stop. */
static bool watch_sleep(struct watch *w)
{
    struct timespec until;
    bool stop;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / CLOCK_NS_PER_S;
    until.tv_nsec %= CLOCK_NS_PER_S;
    pthread_mutex_lock(&w->lock);
    if (!w->stop)
        pthread_cond_clockwait(&w->wake, &w->lock, CLOCK_MONOTONIC, &until);
    stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return !stop;
}

static void *watch_main(void *arg)
{
    while (watch_sleep(arg))
        watch_look(arg);
    return NULL;
}

void watch_start(const struct daemon *d, const cpu_set_t *cpus)
{
    int rc;

    watch.d = d;
    watch.stop = false;
    watch.looks = 0;
    rc = pthread_create(&watch.thread, NULL, watch_main, &watch);
    watch.runs = rc == 0;
    if (!watch.runs) {
        say(SAY_WARNING, "control is not watched: cannot create a thread (%s)", strerror(rc));
        return;
    }
    pthread_setaffinity_np(watch.thread, sizeof *cpus, cpus);
    pthread_setname_np(watch.thread, "sluiced-watch");
}

void watch_stop(void)
{
    if (!watch.runs)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.stop = true;
    pthread_cond_signal(&watch.wake);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    watch.runs = false;
}
