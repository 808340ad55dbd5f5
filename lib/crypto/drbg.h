/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes for keys, from a seed that nobody else knows. The state is a key of HMAC-SHA-256,
 * and each request replaces it: output i is HMAC(key, i), i from 1 on, and the next key is
 * HMAC(key, 0). So the state shows nothing of what was drawn before (fast key erasure,
 * [ERASURE]).
 *
 * The seed is the kernel's entropy in app/, and a test's number in lib/sim, so that worlds repeat.
 * Owned by one thread.
 */
#ifndef SLUICE_CRYPTO_DRBG_H
#define SLUICE_CRYPTO_DRBG_H

#include <stddef.h>
#include <stdint.h>

#define DRBG_SEED_BYTES 32

struct drbg {
    uint8_t key[DRBG_SEED_BYTES];
};

void drbg_init(struct drbg *d, const uint8_t seed[DRBG_SEED_BYTES]);
void drbg_bytes(struct drbg *d, void *out, size_t len);

#endif
