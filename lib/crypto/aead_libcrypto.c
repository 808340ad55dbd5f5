/* SPDX-License-Identifier: BSD-3-Clause */
/* AEAD by libcrypto, on every CPU. The contexts keep the expanded key from packet to packet. */
#include <stdlib.h>

#include <openssl/evp.h>

#include "base/check.h"
#include "crypto/aead_internal.h"

struct libcrypto_aead {
    struct aead aead;
    EVP_CIPHER_CTX *seal, *open; /* of the same key: a context has one direction */
};

static struct libcrypto_aead *of(struct aead *a)
{
    return (struct libcrypto_aead *)a;
}

static EVP_CIPHER_CTX *context(enum aead_cipher cipher, const uint8_t *key, int seals)
{
    const EVP_CIPHER *evp = cipher == AEAD_AES_128_GCM   ? EVP_aes_128_gcm()
                            : cipher == AEAD_AES_256_GCM ? EVP_aes_256_gcm()
                                                         : EVP_chacha20_poly1305();
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

    CHECK(ctx != NULL && EVP_CipherInit_ex(ctx, evp, NULL, key, NULL, seals) == 1);
    CHECK(EVP_CIPHER_CTX_get_iv_length(ctx) == AEAD_NONCE_BYTES);
    return ctx;
}

static struct aead *create(enum aead_cipher cipher, const uint8_t *key)
{
    struct libcrypto_aead *l = malloc(sizeof *l);

    CHECK(l != NULL);
    l->aead.ops = &aead_libcrypto;
    l->seal = context(cipher, key, 1);
    l->open = context(cipher, key, 0);
    return &l->aead;
}

static void destroy(struct aead *a)
{
    EVP_CIPHER_CTX_free(of(a)->seal); /* wipes the key */
    EVP_CIPHER_CTX_free(of(a)->open);
    free(a);
}

static void begin(EVP_CIPHER_CTX *ctx, const uint8_t *nonce, const void *associated, uint32_t len)
{
    int n;

    CHECK(EVP_CipherInit_ex(ctx, NULL, NULL, NULL, nonce, -1) == 1);
    CHECK(len == 0 || EVP_CipherUpdate(ctx, NULL, &n, associated, (int)len) == 1);
}

static void update(EVP_CIPHER_CTX *ctx, void *out, const void *in, uint32_t len)
{
    int n;

    CHECK(len == 0 || (EVP_CipherUpdate(ctx, out, &n, in, (int)len) == 1 && n == (int)len));
}

static void seal_begin(struct aead *a, const uint8_t *nonce, const void *associated, uint32_t len)
{
    begin(of(a)->seal, nonce, associated, len);
}

static void seal(struct aead *a, void *out, const void *in, uint32_t len)
{
    update(of(a)->seal, out, in, len);
}

static void seal_end(struct aead *a, uint8_t *tag)
{
    uint8_t none[AEAD_TAG_BYTES];
    int n;

    CHECK(EVP_CipherFinal_ex(of(a)->seal, none, &n) == 1 && n == 0);
    CHECK(EVP_CIPHER_CTX_ctrl(of(a)->seal, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG_BYTES, tag) == 1);
}

static void open_begin(struct aead *a, const uint8_t *nonce, const void *associated, uint32_t len)
{
    begin(of(a)->open, nonce, associated, len);
}

static void open(struct aead *a, void *out, const void *in, uint32_t len)
{
    update(of(a)->open, out, in, len);
}

static bool open_end(struct aead *a, const uint8_t *tag)
{
    uint8_t none[AEAD_TAG_BYTES];
    int n;

    CHECK(EVP_CIPHER_CTX_ctrl(of(a)->open, EVP_CTRL_AEAD_SET_TAG, AEAD_TAG_BYTES,
                              (void *)(uintptr_t)tag) == 1);
    return EVP_CipherFinal_ex(of(a)->open, none, &n) == 1;
}

const struct aead_ops aead_libcrypto = {
    .create = create,
    .destroy = destroy,
    .seal_begin = seal_begin,
    .seal = seal,
    .seal_end = seal_end,
    .open_begin = open_begin,
    .open = open,
    .open_end = open_end,
};
