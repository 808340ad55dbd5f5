/* SPDX-License-Identifier: BSD-3-Clause */
/* xoshiro256**, its state filled by splitmix64 (so that no seed leads to the all-zero state). */
#include "base/rng.h"

#include "base/check.h"

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

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rng_rotate(v[1], 13) ^ v[0];
    v[3] = rng_rotate(v[3], 16) ^ v[2];
    v[0] = rng_rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rng_rotate(v[3], 21) ^ v[0];
    v[1] = rng_rotate(v[1], 17) ^ v[2];
    v[2] = rng_rotate(v[2], 32);
}

void secret_init(struct secret *s, uint64_t key0, uint64_t key1)
{
    *s = (struct secret){{key0, key1}, 0};
}

/* SipHash-2-4 (Aumasson and Bernstein 2012) of a message of n whole words. */
uint64_t secret_hash(const struct secret *s, const uint64_t *words, unsigned int n)
{
    uint64_t v[4] = {s->key[0] ^ 0x736f6d6570736575ull, s->key[1] ^ 0x646f72616e646f6dull,
                     s->key[0] ^ 0x6c7967656e657261ull, s->key[1] ^ 0x7465646279746573ull};

    for (unsigned int i = 0; i <= n; i++) {
        uint64_t word = i < n ? words[i] : (uint64_t)(n * 8) << 56;

        v[3] ^= word;
        sip_round(v);
        sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (unsigned int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t secret_u64(struct secret *s)
{
    uint64_t word = s->count++;

    return secret_hash(s, &word, 1);
}
