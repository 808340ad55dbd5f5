/* SPDX-License-Identifier: BSD-3-Clause */
/* The greatest common divisor (Euclid: Elements, book VII, proposition 2). */
#ifndef SLUICE_BASE_GCD_H
#define SLUICE_BASE_GCD_H

#include <stdint.h>

/* That of a and 0 is a. */
static inline uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

#endif
