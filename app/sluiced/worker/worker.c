/* SPDX-License-Identifier: BSD-3-Clause */
/* See worker.h. The loop here has no locks and no heap, and makes system calls only for naps
 * (idle = sleep) and handshakes. */
#include "sluiced/worker/worker.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_pause.h>

#include "base/clock.h"
#include "base/counter.h"
#include "common/clock.h"
#include "common/grace.h"
#include "sluiced/session/session.h"

/* When the first of the worker's port queues must run again, if nothing arrives. */
static uint64_t worker_next(const struct worker *w, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    uint32_t i;

    for (i = 0; i < w->n_queues; i++) {
        uint64_t t = port_queue_next(w->queues[i], now);

        next = RTE_MIN(next, t);
    }
    return next;
}

/* From here on, what arrives wakes the worker. If every source can wake it, naps may be long. */
static void worker_arm(struct worker *w)
{
    w->all_armed = w->all_wake;
    for (uint32_t i = 0; i < w->n_queues && w->all_wake; i++)
        w->all_armed = channels_sleep(w->queues[i]->channels) && w->all_armed;
    wakeup_arm(&w->wakeup);
}

/* Undoes worker_arm(): a worker that polls needs no wake-ups. */
static void worker_disarm(struct worker *w)
{
    if (!w->wakeup.armed)
        return;
    wakeup_disarm(&w->wakeup);
    for (uint32_t i = 0; i < w->n_queues && w->all_wake; i++)
        channels_awake(w->queues[i]->channels);
}

static void worker_doze(uint64_t ns)
{
    struct timespec ts = {0, (long)ns};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void worker_sleep(struct worker *w, uint64_t ns)
{
    if (w->wakeup.n == 0) {
        worker_doze(ns);
    } else if (wakeup_wait(&w->wakeup, ns)) {
        counter_add(&w->wakeups, 1);
        worker_disarm(w);
    }
}

static void nap_count(struct worker *w, uint64_t since)
{
    counter_add(&w->naps, 1);
    counter_add(&w->nap_total_cycles, clock_now() - since);
}

static void worker_nap(struct worker *w, uint64_t length, uint64_t now)
{
    worker_sleep(w, clock_ns(&(struct clock){w->hz}, length));
    nap_count(w, now);
}

/*
 * All that can come wakes the worker. A worker that polls for as long as a nap costs, and then
 * naps, spends at most twice the processor time of one that knew how long the pause would be
 * (Karlin et al., Competitive Snoopy Caching, 1988). The nap ends by that time before anything is
 * due, so packets are paced as by a worker that polls. Each nap is twice as long as the one before:
 * if a driver failed to wake the worker, a pause would at most be doubled.
 */
static void worker_rest_armed(struct worker *w, uint64_t next, uint64_t now)
{
    if (next - now <= w->spin_cycles) {
        rte_pause();
        return;
    }
    w->nap = RTE_MIN(w->nap, w->armed_nap_cycles);
    worker_nap(w, RTE_MIN(next - now - w->spin_cycles, w->nap), now);
    w->nap *= 2;
}

/*
 * Each nap is an eighth longer than the one before. So naps grow in proportion to the time without
 * work so far: a short pause is not made much longer, and a long one costs few wake-ups. Naps grow
 * by their number, not by the clock: a worker that was kept from its core has seen no pause.
 */
static void worker_rest_unarmed(struct worker *w, uint64_t next, uint64_t now)
{
    w->nap = RTE_MIN(w->nap, w->nap_cycles);
    worker_nap(w, RTE_MIN(next - now, w->nap), now);
    w->nap += w->nap / 8;
}

/*
 * Right after work: a nap that serves several packets at once, where they come so fast that the
 * worker would otherwise always poll. It ends early by what it costs. A nap that saves less than it
 * costs is not taken.
 */
static void worker_moderates(struct worker *w, uint64_t now)
{
    struct moderation_nap nap = {.max_tsc = w->moderation_cycles};

    for (uint32_t i = 0; i < w->n_queues; i++)
        port_queue_moderation(w->queues[i], now, &nap);
    if (!nap.served || nap.max_tsc < 2 * w->spin_cycles) {
        rte_pause();
        return;
    }
    worker_doze(clock_ns(&(struct clock){w->hz}, nap.max_tsc - w->spin_cycles));
    nap_count(w, now);
}

/* CONFIG_IDLE_SLEEP, after `pause` cycles without work. */
static void worker_sleeps(struct worker *w, uint64_t pause, uint64_t now)
{
    uint64_t next;

    if (pause < (w->all_wake ? w->spin_cycles : w->quiet_cycles)) {
        worker_moderates(w, now);
        return;
    }
    next = worker_next(w, now);
    if (next <= now)
        return;
    if (w->wakeup.n > 0 && !w->wakeup.armed)
        worker_arm(w); /* and looks at the queues once more first */
    else if (w->wakeup.armed && w->all_armed)
        worker_rest_armed(w, next, now);
    else if (pause >= w->quiet_cycles)
        worker_rest_unarmed(w, next, now);
    else
        rte_pause();
}

/* Nothing was done since `busy`: spends the time until there is work. */
static void worker_rest(struct worker *w, enum config_idle idle, uint64_t busy, uint64_t now)
{
    switch (idle) {
    case CONFIG_IDLE_POLL:
        break;
    case CONFIG_IDLE_PAUSE:
        rte_pause();
        break;
    case CONFIG_IDLE_SLEEP:
        worker_sleeps(w, now - busy, now);
        break;
    }
}

/* Handshakes come from control. At rest it would notice only after a while that it is asked. */
static void worker_tell_control(struct worker *w)
{
    const uint64_t one = 1;
    bool waits = false;

    for (uint32_t i = 0; i < w->n_queues && !waits; i++)
        waits = host_waits_for_control(w->queues[i]->host);
    if (!waits || w->control_signalled)
        return;
    (void)!write(w->control_event, &one, sizeof one);
    w->control_signalled = true;
}

/* Lets `sluice doctor` tell workers from idle lcores. The main thread keeps the name of the
 * process. */
static void worker_name(const struct worker *w)
{
    char name[16];

    if (w->lcore == rte_get_main_lcore())
        return;
    snprintf(name, sizeof name, "sl-worker-%u", w->lcore % 10000);
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

int worker_main(void *worker)
{
    struct worker *w = worker;
    uint64_t now = clock_now(), busy = now, end;

    w->nap = w->quiet_cycles / 8;
    grace_loop(true);
    __atomic_store_n(&w->running, true, __ATOMIC_SEQ_CST);
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); /* in ns, for naps; the default is 50 us */
    worker_name(w);
    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        uint32_t i, did = 0;

        for (i = 0; i < w->n_queues; i++)
            did += port_queue_run(w->queues[i], i == 0 ? now : clock_now());
        end = clock_now();
        counter_add(&w->iterations, 1);
        if (did > 0) {
            counter_add(&w->busy_cycles, end - now);
            busy = end;
            w->nap = w->quiet_cycles / 8;
            worker_disarm(w);
            if (w->control_event > 0)
                worker_tell_control(w);
        } else {
            enum config_idle idle = __atomic_load_n(&w->idle, __ATOMIC_RELAXED);

            counter_add(&w->idle_cycles, end - now);
            w->control_signalled = false;
            worker_rest(w, idle, busy, end);
            if (idle == CONFIG_IDLE_SLEEP)
                end = clock_now();
            else
                worker_disarm(w);
        }
        now = end;
    }
    worker_disarm(w);
    __atomic_store_n(&w->running, false, __ATOMIC_SEQ_CST); /* last access to *w: worker_take() */
    grace_loop(false);
    return 0;
}

bool worker_pass(const struct worker *w, uint32_t max_ms)
{
    const struct timespec pause = {0, 20000};
    uint64_t end = rte_rdtsc() + w->hz / 1000 * max_ms, before;

    wakeup_signal(&w->wakeup); /* ends the worker's nap */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    before = __atomic_load_n(&w->iterations, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&w->running, __ATOMIC_SEQ_CST)) {
        /* The first iteration to end may have begun before this call. */
        if (__atomic_load_n(&w->iterations, __ATOMIC_SEQ_CST) - before >= 2)
            return true;
        if (rte_rdtsc() > end)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

void worker_await(const struct worker *w)
{
    while (!worker_pass(w, 1000))
        ;
}

void worker_set_idle(struct worker *w, enum config_idle idle)
{
    __atomic_store_n(&w->idle, idle, __ATOMIC_RELAXED);
}

void worker_give(struct worker *w)
{
    __atomic_store_n(&w->stop, false, __ATOMIC_RELEASE);
}

void worker_stop(struct worker *w)
{
    __atomic_store_n(&w->stop, true, __ATOMIC_RELEASE);
    wakeup_signal(&w->wakeup);
}

void worker_take(const struct worker *w)
{
    while (__atomic_load_n(&w->running, __ATOMIC_ACQUIRE))
        rte_pause();
}
