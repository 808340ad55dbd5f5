/* SPDX-License-Identifier: BSD-3-Clause */
#include "load/sender.h"

#include "base/check.h"
#include "common/clock.h"
#include "drivers/device.h"

/* The contract starts without its tolerance, so the first frames are evenly spaced, too. */
static void pace_start(struct sender *s, uint64_t now)
{
    char err[160];
    uint64_t ahead = clock_cycles(&s->window->clock, s->rate.cdvt_ns);

    if (s->rate.pcr_Bps > 0)
        CHECK(contract_init(&s->pace, &s->rate, s->window->clock.hz, now + ahead, err,
                            sizeof err) == 0);
}

void sender_begin(struct sender *s, uint64_t now)
{
    s->phase = SENDER_WARMUP;
    s->sent = s->sent_bytes = s->refused = 0;
    s->begin_tsc = s->end_tsc = 0;
    s->late = (struct histogram){0};
    pace_start(s, now);
}

static void phase_end(struct sender *s, uint64_t now)
{
    struct window *w = s->window;

    if (s->phase == SENDER_WARMUP)
        s->begin_tsc = now; /* stopped before the part that is measured */
    s->end_tsc = now;
    s->phase = SENDER_DONE;
    __atomic_fetch_add(&w->sent, s->sent, __ATOMIC_RELAXED);
    __atomic_fetch_add(&w->senders_done, 1, __ATOMIC_RELEASE);
}

/* Makes s->held n frames. Returns how many there are. */
static uint32_t buffers_get(struct sender *s, uint32_t n)
{
    if (s->n_held < n &&
        rte_mempool_get_bulk(s->pool, (void **)&s->held[s->n_held], n - s->n_held) == 0)
        s->n_held = n;
    return s->n_held < n ? s->n_held : n;
}

static void burst_send(struct sender *s, uint32_t n)
{
    struct stream *stream = s->phase == SENDER_WARMUP ? &s->warmup : &s->measured;
    uint32_t have = buffers_get(s, n), sent;
    uint64_t bytes;

    stream_put(stream, s->held, have, window_ns(s->window, clock_now()));
    sent = device_tx(s->port, s->queue, s->held, (uint16_t)have);
    bytes = stream_sent(stream, sent);
    for (uint32_t i = sent; i < s->n_held && sent > 0; i++)
        s->held[i - sent] = s->held[i];
    s->n_held -= sent;
    if (s->phase == SENDER_MEASURED) {
        s->sent += sent;
        s->sent_bytes += bytes;
        s->refused += n - sent;
    }
}

/* Counts n frames against the contract, and how late each is. */
static void frames_count(struct sender *s, uint64_t now, uint32_t n)
{
    uint64_t late_tsc = now - contract_next(&s->pace, 0); /* of the first; later ones less */

    for (uint32_t i = 0; i < n && s->phase == SENDER_MEASURED; i++) {
        histogram_add(&s->late, window_ns(s->window, late_tsc));
        late_tsc -= RTE_MIN(late_tsc, s->period_tsc);
    }
    contract_take(&s->pace, now, (uint64_t)n * SENDER_FRAME);
}

bool sender_step(struct sender *s, uint64_t now)
{
    uint32_t n = SENDER_BURST;

    if (s->phase == SENDER_DONE)
        return false;
    if (s->phase == SENDER_WARMUP && now >= s->window->begin_tsc) {
        s->phase = SENDER_MEASURED;
        s->begin_tsc = now;
        pace_start(s, now);
    }
    if (now < s->window->warmup_tsc && !window_stopped(s->window))
        return true;
    if (window_over(s->window, now)) {
        phase_end(s, now);
        return false;
    }
    if (s->rate.pcr_Bps > 0) {
        n = contract_count(&s->pace, now, SENDER_FRAME, SENDER_BURST);
        if (n == 0)
            return true;
        frames_count(s, now, n);
    }
    burst_send(s, n);
    return true;
}

void sender_end(struct sender *s)
{
    rte_mempool_put_bulk(s->pool, (void **)s->held, s->n_held);
    s->n_held = 0;
}
