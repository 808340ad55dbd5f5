/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seeded random numbers (xoshiro256**, Blackman and Vigna 2018; seeded by splitmix64). Same seed,
 * same numbers, on every compiler and machine. Not for secrets: struct secret makes those.
 */
#ifndef SLUICE_BASE_RNG_H
#define SLUICE_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);

static inline uint64_t rng_rotate(uint64_t x, unsigned int bits)
{
    return x << bits | x >> (64 - bits);
}

/* Uniform over all 64-bit values. */
static inline uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rng_rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rng_rotate(s[3], 45);
    return result;
}

/* Uniform over [0, bound), without bias; bound > 0. */
uint64_t rng_below(struct rng *r, uint64_t bound);

/* Makes numbers none of which can be guessed from others: SipHash-2-4 of a count, with a secret
 * key. */
struct secret {
    uint64_t key[2];
    uint64_t count;
};

void secret_init(struct secret *s, uint64_t key0, uint64_t key1);
uint64_t secret_u64(struct secret *s);
/* SipHash-2-4 of n words, with the key of s. */
uint64_t secret_hash(const struct secret *s, const uint64_t *words, unsigned int n);

#endif
