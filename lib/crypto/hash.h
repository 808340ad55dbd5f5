/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SHA-256 (FIPS 180-4), HMAC (RFC 2104) and HKDF (RFC 5869), computed by libcrypto. Any thread may
 * call these functions. They abort if libcrypto has no memory: there is nothing to go on with.
 */
#ifndef SLUICE_CRYPTO_HASH_H
#define SLUICE_CRYPTO_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BYTES 32

/* out = SHA-256(a || b). b may be NULL with b_len 0. out may be a. */
void hash_two(const void *a, size_t a_len, const void *b, size_t b_len, uint8_t out[HASH_BYTES]);

/* out = HMAC-SHA-256(key, data). out may be key. */
void hash_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
               uint8_t out[HASH_BYTES]);

/*
 * HKDF with n <= 3 outputs of 32 bytes: salt is the chaining key, data the input keying material,
 * and info is empty. This is HKDF() of [NOISE], section 4.3. An output may be
 * salt.
 */
void hash_hkdf(const uint8_t salt[HASH_BYTES], const void *data, size_t len,
               uint8_t *const outputs[], uint32_t n);

#endif
