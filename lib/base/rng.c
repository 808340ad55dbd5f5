/* SPDX-License-Identifier: BSD-3-Clause */
/* xoshiro256**, its state filled by splitmix64 (so that no seed leads to the all-zero state). */
#include "base/rng.h"

#include "base/check.h"

static uint64_t rotate_left(uint64_t x, unsigned int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t splitmix_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

void rng_init(struct rng *r, uint64_t seed)
{
    for (unsigned int i = 0; i < 4; i++)
        r->s[i] = splitmix_next(&seed);
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* Scales a draw by multiplication; redraws in the 2^64 mod bound cases that would add bias. */
uint64_t rng_below(struct rng *r, uint64_t bound)
{
    unsigned __int128 scaled;
    uint64_t surplus;

    CHECK(bound > 0);
    scaled = (unsigned __int128)rng_u64(r) * bound;
    if ((uint64_t)scaled < bound) {
        surplus = (0 - bound) % bound;
        while ((uint64_t)scaled < surplus)
            scaled = (unsigned __int128)rng_u64(r) * bound;
    }
    return (uint64_t)(scaled >> 64);
}
