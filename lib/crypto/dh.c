/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypto/dh.h"

#include <errno.h>

#include <openssl/evp.h>

#include "base/check.h"
#include "crypto/secret.h"

static EVP_PKEY *private_make(const uint8_t private_key[DH_BYTES])
{
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, private_key, DH_BYTES);

    CHECK(key != NULL);
    return key;
}

void dh_public(const uint8_t private_key[DH_BYTES], uint8_t public_key[DH_BYTES])
{
    EVP_PKEY *key = private_make(private_key);
    size_t len = DH_BYTES;

    CHECK(EVP_PKEY_get_raw_public_key(key, public_key, &len) == 1 && len == DH_BYTES);
    EVP_PKEY_free(key);
}

int dh_shared(const uint8_t private_key[DH_BYTES], const uint8_t public_key[DH_BYTES],
              uint8_t shared[DH_BYTES])
{
    EVP_PKEY *key = private_make(private_key);
    EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, public_key, DH_BYTES);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    size_t len = DH_BYTES;

    CHECK(peer != NULL && ctx != NULL && EVP_PKEY_derive_init(ctx) == 1);
    /* libcrypto refuses a result of 0; whether it does so here or below depends on its version */
    bool right =
        EVP_PKEY_derive_set_peer(ctx, peer) == 1 && EVP_PKEY_derive(ctx, shared, &len) == 1;

    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(peer);
    EVP_PKEY_free(key);
    return right && !secret_unset(shared, DH_BYTES) ? 0 : -EINVAL;
}
