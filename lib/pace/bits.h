/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of numbers below n, a multiple of 4096. The next number of a set is found in a few steps.
 * `words` has a bit for each number, `summary` a bit for each of these words that is not 0.
 */
#ifndef SLUICE_PACE_BITS_H
#define SLUICE_PACE_BITS_H

#include <stdint.h>

#define BITS_WORDS(n)   ((n) / 64)
#define BITS_SUMMARY(n) ((n) / 4096)

static inline void bits_add(uint64_t *words, uint64_t *summary, uint32_t number)
{
    words[number / 64] |= 1ull << number % 64;
    summary[number / 4096] |= 1ull << number / 64 % 64;
}

static inline void bits_drop(uint64_t *words, uint64_t *summary, uint32_t number)
{
    words[number / 64] &= ~(1ull << number % 64);
    if (words[number / 64] == 0)
        summary[number / 4096] &= ~(1ull << number / 64 % 64);
}

/* The first number of the set that is not less than from (< n); n if there is none. */
static inline uint32_t bits_next(const uint64_t *words, const uint64_t *summary, uint32_t n,
                                 uint32_t from)
{
    uint64_t word = words[from / 64] >> from % 64;
    uint64_t mask = ~1ull << from / 64 % 64; /* of the words after that of `from` */

    if (word != 0)
        return from + (uint32_t)__builtin_ctzll(word);
    for (uint32_t i = from / 4096; i < BITS_SUMMARY(n); i++, mask = ~0ull) {
        if ((summary[i] & mask) != 0) {
            i = i * 64 + (uint32_t)__builtin_ctzll(summary[i] & mask);
            return i * 64 + (uint32_t)__builtin_ctzll(words[i]);
        }
    }
    return n;
}

/* As bits_next(), but 0 follows n - 1; n if the set is empty. */
static inline uint32_t bits_next_round(const uint64_t *words, const uint64_t *summary, uint32_t n,
                                       uint32_t from)
{
    uint32_t next = bits_next(words, summary, n, from);

    return next < n ? next : bits_next(words, summary, n, 0);
}

#endif
