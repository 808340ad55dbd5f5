/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps the time of one clock to another, since a NIC counts in ticks of its own. The map is learnt
 * from samples of both clocks, a while apart. Between samples, and a little beyond, it is a
 * straight line.
 *
 * Written and read by one thread.
 */
#ifndef SLUICE_BASE_CLOCK_MAP_H
#define SLUICE_BASE_CLOCK_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct clock_map {
    uint64_t from, to; /* the newest sample */
    uint64_t rate;     /* ticks of `to` per cycle of `from`, times 2^32; below 2^63 */
};

/* Takes the first sample; clock_map_at() needs a second one. */
static inline void clock_map_start(struct clock_map *m, uint64_t from, uint64_t to)
{
    *m = (struct clock_map){from, to, 0};
}

/* Takes a sample. False, and nothing changes, if one of the clocks stood still or went back. */
static inline bool clock_map_sample(struct clock_map *m, uint64_t from, uint64_t to)
{
    unsigned __int128 rate;

    if (from <= m->from || to <= m->to)
        return false;
    rate = ((unsigned __int128)(to - m->to) << 32) / (from - m->from);
    if (rate == 0 || rate > INT64_MAX)
        return false;
    *m = (struct clock_map){from, to, (uint64_t)rate};
    return true;
}

/* Converts `from` to a time of the other clock. `from` must be within 2^31 cycles of the newest
 * sample. */
static inline uint64_t clock_map_at(const struct clock_map *m, uint64_t from)
{
    __int128 ahead = (__int128)(int64_t)(from - m->from) * (int64_t)m->rate;

    return m->to + (uint64_t)(int64_t)(ahead >> 32);
}

#endif
