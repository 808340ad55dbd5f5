/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generic cell rate algorithm (ITU-T I.371, virtual scheduling), for anything that is counted
 * in bytes. Exact: the theoretical arrival time keeps its fraction of a cycle.
 *
 * Invariant: tat = the theoretical arrival time, at which the next bytes come if the source sends
 * at exactly rate_Bps. Bytes at `at` conform iff at + tolerance + 1 > tat. The added cycle covers
 * rounding: the times of packets are whole cycles, so a link with exactly the contract's rate may
 * report a packet up to a cycle late. The next packet must not count as early because of that.
 */
#ifndef SLUICE_PATH_GCRA_H
#define SLUICE_PATH_GCRA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct gcra {
    uint64_t rate_Bps; /* > 0 */
    uint64_t hz;
    uint64_t tat;      /* cycles */
    uint64_t fraction; /* fraction of a cycle that tat leaves out, in 1 / rate_Bps */
};

static inline void gcra_init(struct gcra *g, uint64_t rate_Bps, uint64_t hz)
{
    *g = (struct gcra){rate_Bps, hz, 0, 0};
}

/* The earliest time at which the next bytes conform, whatever their number. */
static inline uint64_t gcra_earliest(const struct gcra *g, uint64_t tolerance)
{
    return g->tat > tolerance ? g->tat - tolerance : 0;
}

static inline bool gcra_conforms(const struct gcra *g, uint64_t at, uint64_t tolerance)
{
    return at >= gcra_earliest(g, tolerance);
}

/* Counts `bytes` bytes that conform at `at`. */
static inline void gcra_take(struct gcra *g, uint64_t at, uint64_t bytes)
{
    uint64_t sum;

    if (at > g->tat) {
        g->tat = at;
        g->fraction = 0;
    }
    sum = g->fraction + bytes * g->hz; /* no overflow: bytes < 2^20, hz < 2^40 */
    g->tat += sum / g->rate_Bps;
    g->fraction = sum % g->rate_Bps;
}

/* Burst tolerance in cycles: (burst - unit) * (1 / sustained - 1 / peak). It allows a burst of
 * burst_bytes at the peak rate, whose last piece has unit_bytes. (In I.371, burst - unit is MBS - 1
 * cells.) */
static inline uint64_t gcra_tolerance(uint64_t burst_bytes, uint64_t unit_bytes, uint64_t scr_Bps,
                                      uint64_t pcr_Bps, uint64_t hz)
{
    unsigned __int128 bytes = burst_bytes > unit_bytes ? burst_bytes - unit_bytes : 0, cycles;

    cycles = bytes * hz * (pcr_Bps - scr_Bps) / ((unsigned __int128)pcr_Bps * scr_Bps);
    return cycles > INT64_MAX ? INT64_MAX : (uint64_t)cycles;
}

#endif
