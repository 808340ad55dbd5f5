/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters with one writer and any number of readers: 64-bit words that are never torn. The
 * writer's update is a plain add; readers see a recent value.
 */
#ifndef SLUICE_BASE_COUNTER_H
#define SLUICE_BASE_COUNTER_H

#include <stdint.h>

static inline uint64_t counter_get(const uint64_t *c)
{
    return __atomic_load_n(c, __ATOMIC_RELAXED);
}

static inline void counter_set(uint64_t *c, uint64_t v)
{
    __atomic_store_n(c, v, __ATOMIC_RELAXED);
}

/* Only for the counter's one writer. */
static inline void counter_add(uint64_t *c, uint64_t n)
{
    __atomic_store_n(c, *c + n, __ATOMIC_RELAXED);
}

#endif
