/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypto/drbg.h"

#include <string.h>

#include "crypto/hash.h"
#include "crypto/secret.h"

_Static_assert(DRBG_SEED_BYTES == HASH_BYTES, "an output of the hash is the next key");

void drbg_init(struct drbg *d, const uint8_t seed[DRBG_SEED_BYTES])
{
    memcpy(d->key, seed, sizeof d->key);
}

void drbg_bytes(struct drbg *d, void *out, size_t len)
{
    uint8_t *p = out, block[HASH_BYTES];

    for (uint64_t i = 1; len > 0; i++) {
        size_t n = len < sizeof block ? len : sizeof block;

        hash_hmac(d->key, sizeof d->key, &i, sizeof i, block);
        memcpy(p, block, n);
        p += n;
        len -= n;
    }
    hash_hmac(d->key, sizeof d->key, &(uint64_t){0}, sizeof(uint64_t), d->key);
    secret_wipe(block, sizeof block);
}
