/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypto/hash.h"

#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"
#include "crypto/secret.h"

#define OUTPUTS_MAX 3u

void hash_two(const void *a, size_t a_len, const void *b, size_t b_len, uint8_t out[HASH_BYTES])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    CHECK(ctx != NULL);
    CHECK(EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1);
    CHECK(EVP_DigestUpdate(ctx, a, a_len) == 1);
    CHECK(b_len == 0 || EVP_DigestUpdate(ctx, b, b_len) == 1);
    CHECK(EVP_DigestFinal_ex(ctx, out, NULL) == 1);
    EVP_MD_CTX_free(ctx);
}

void hash_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len,
               uint8_t out[HASH_BYTES])
{
    unsigned int n = HASH_BYTES;

    CHECK(HMAC(EVP_sha256(), key, (int)key_len, data, len, out, &n) != NULL);
}

void hash_hkdf(const uint8_t salt[HASH_BYTES], const void *data, size_t len,
               uint8_t *const outputs[], uint32_t n)
{
    uint8_t key[HASH_BYTES], block[HASH_BYTES + 1];

    CHECK(n <= OUTPUTS_MAX);
    hash_hmac(salt, HASH_BYTES, data, len, key);
    for (uint32_t i = 0; i < n; i++) {
        size_t before = i == 0 ? 0 : HASH_BYTES; /* each block goes into the next one */

        block[before] = (uint8_t)(i + 1);
        hash_hmac(key, sizeof key, block, before + 1, block);
        memcpy(outputs[i], block, HASH_BYTES);
    }
    secret_wipe(key, sizeof key);
    secret_wipe(block, sizeof block);
}
