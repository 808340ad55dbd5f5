/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The product of two 64-bit numbers, divided by a third. The product is exact, with 128 bits. Used
 * for rates times times, and for shares of sums.
 *
 *   mul_div(a, b, c) = floor(a b / c) modulo 2^64,   c > 0
 *
 * The caller knows that the quotient fits into 64 bits, or wants only its lower 64 bits.
 */
#ifndef SLUICE_BASE_MUL_DIV_H
#define SLUICE_BASE_MUL_DIV_H

#include <stdint.h>

static inline uint64_t mul_div(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)((unsigned __int128)a * b / c);
}

#endif
