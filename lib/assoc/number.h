/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of a sealed packet, from the highest bits on: 8 bits the sending worker, 1 bit FIRST,
 * 55 bits a count from 1 on. A worker would need a thousand years for 2^55 packets. */
#ifndef SLUICE_ASSOC_NUMBER_H
#define SLUICE_ASSOC_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_WORKER_SHIFT 56
#define NUMBER_FIRST        (1ull << 55)

static inline uint64_t number_make(uint8_t worker, bool first, uint64_t count)
{
    return (uint64_t)worker << NUMBER_WORKER_SHIFT | (first ? NUMBER_FIRST : 0) | count;
}

static inline uint32_t number_worker(uint64_t number)
{
    return (uint32_t)(number >> NUMBER_WORKER_SHIFT);
}

static inline bool number_is_first(uint64_t number)
{
    return (number & NUMBER_FIRST) != 0;
}

static inline uint64_t number_count(uint64_t number)
{
    return number & (NUMBER_FIRST - 1);
}

#endif
