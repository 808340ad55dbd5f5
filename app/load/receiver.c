/* SPDX-License-Identifier: BSD-3-Clause */
#include "load/receiver.h"

#include "common/clock.h"
#include "drivers/device.h"

void receiver_begin(struct receiver *r, struct tally *const tally[STAMP_STREAMS])
{
    collector_begin(&r->collector, tally, r->window->id);
    r->phase = RECEIVER_BEFORE;
    r->begin_tsc = r->end_tsc = 0;
    r->frames = r->bytes = r->received = 0;
}

static uint64_t received(const struct receiver *r)
{
    uint64_t sum = 0;

    for (unsigned int i = 0; i < STAMP_STREAMS; i++)
        if (r->collector.tally[i] != NULL)
            sum += r->collector.tally[i]->received;
    return sum;
}

/* Adds what this receiver has got to the window's sum, for those that wait for the rest. */
static void received_publish(struct receiver *r)
{
    uint64_t now = received(r);

    __atomic_fetch_add(&r->window->received, now - r->received, __ATOMIC_RELAXED);
    r->received = now;
}

/* Nothing more is waited for. The wait begins where the measured part has ended here, which a
 * signal may bring about long before the window's time. */
static bool all_there(const struct receiver *r, uint64_t now)
{
    const struct window *w = r->window;

    if (__atomic_load_n(&w->senders_done, __ATOMIC_ACQUIRE) < w->senders)
        return false;
    return __atomic_load_n(&w->received, __ATOMIC_RELAXED) >=
               __atomic_load_n(&w->sent, __ATOMIC_RELAXED) ||
           now >= r->end_tsc + w->wait_tsc;
}

static void phase_step(struct receiver *r, uint64_t now)
{
    struct collector *c = &r->collector;

    if (r->phase == RECEIVER_BEFORE && (now >= r->window->begin_tsc || window_stopped(r->window))) {
        r->phase = RECEIVER_MEASURED;
        r->begin_tsc = now;
        /* what the warm-up met does not count */
        c->earlier = c->corrupt = c->foreign = 0;
        r->frames_before = c->arrived;
        r->bytes_before = c->arrived_bytes;
    }
    if (r->phase == RECEIVER_MEASURED && window_over(r->window, now)) {
        r->phase = RECEIVER_WAITING;
        r->end_tsc = now;
        r->frames = c->arrived - r->frames_before;
        r->bytes = c->arrived_bytes - r->bytes_before;
    }
    if (r->phase == RECEIVER_WAITING) {
        received_publish(r);
        if (all_there(r, now))
            r->phase = RECEIVER_DONE;
    }
}

bool receiver_step(struct receiver *r, uint64_t now)
{
    struct rte_mbuf *m[RECEIVER_BURST];
    uint16_t n;

    if (now >= r->window->begin_tsc || r->phase != RECEIVER_BEFORE || window_stopped(r->window))
        phase_step(r, now);
    if (r->phase == RECEIVER_DONE)
        return false;
    n = device_rx(r->port, r->queue, m, RECEIVER_BURST);
    if (n == 0)
        return true;
    collector_take(&r->collector, m, n, window_ns(r->window, clock_now()));
    rte_pktmbuf_free_bulk(m, n);
    return true;
}
