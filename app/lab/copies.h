/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells copies of frames from frames: a bit for each number that has come. */
#ifndef LAB_COPIES_H
#define LAB_COPIES_H

#include <stdbool.h>
#include <stdint.h>

/* Is this the first frame of that number? Sets its bit. */
static inline bool copies_first(uint8_t *bits, uint64_t number)
{
    uint8_t bit = (uint8_t)(1u << number % 8);
    bool first = (bits[number / 8] & bit) == 0;

    bits[number / 8] |= bit;
    return first;
}

#endif
