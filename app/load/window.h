/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A window: the times of its parts, which all workers share. First comes a warm-up, then the part
 * that is measured; then the receivers wait for frames that are still under way.
 *
 *   warmup_tsc .. begin_tsc:           frames of window number `warmup_id`
 *   begin_tsc .. end_tsc:             frames of window number `id`, which count
 *   .. wait_tsc more:                 receivers still count those, until all are there
 *
 * Written by control before the workers run; `stop` also by a signal handler.
 */
#ifndef LOAD_WINDOW_H
#define LOAD_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct window {
    struct clock clock;
    uint64_t warmup_tsc, begin_tsc, end_tsc, wait_tsc;
    uint64_t ns_shift_mul; /* cycles to ns: (cycles * this) >> 32, modulo 2^64 */
    uint16_t id, warmup_id;
    uint32_t senders;      /* whose frames count */
    uint32_t senders_done; /* atomic */
    uint64_t sent;         /* atomic: by the senders that are done */
    uint64_t received;     /* atomic: different frames, by all receivers */
    bool stop;             /* atomic */
};

/* The time that goes into stamps. */
static inline uint64_t window_ns(const struct window *w, uint64_t tsc)
{
    return (uint64_t)((unsigned __int128)tsc * w->ns_shift_mul >> 32);
}

static inline bool window_stopped(const struct window *w)
{
    return __atomic_load_n(&w->stop, __ATOMIC_RELAXED);
}

/* Has the part that is measured ended? */
static inline bool window_over(const struct window *w, uint64_t now)
{
    return now >= w->end_tsc || window_stopped(w);
}

#endif
