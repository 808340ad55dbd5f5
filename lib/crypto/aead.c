/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypto/aead.h"

#include <stddef.h>

#include "base/check.h"
#include "crypto/aead_internal.h"

static const struct aead_ops *library_ops(enum aead_library library)
{
#ifdef SLUICE_IPSEC_MB
    if (library == AEAD_IPSEC_MB)
        return aead_ipsec_mb_works() ? &aead_ipsec_mb : NULL;
#endif
    return library == AEAD_LIBCRYPTO ? &aead_libcrypto : NULL;
}

bool aead_has(enum aead_library library)
{
    return library_ops(library) != NULL;
}

enum aead_library aead_best(void)
{
    return aead_has(AEAD_IPSEC_MB) ? AEAD_IPSEC_MB : AEAD_LIBCRYPTO;
}

const char *aead_library_name(enum aead_library library)
{
    return library == AEAD_IPSEC_MB ? "libipsec-mb" : "libcrypto";
}

const char *aead_cipher_name(enum aead_cipher cipher)
{
    static const char *const names[AEAD_CIPHERS] = {
        [AEAD_AES_128_GCM] = "AES-128-GCM",
        [AEAD_AES_256_GCM] = "AES-256-GCM",
        [AEAD_CHACHA20_POLY1305] = "ChaCha20-Poly1305",
    };

    return names[cipher];
}

uint32_t aead_key_bytes(enum aead_cipher cipher)
{
    return cipher == AEAD_AES_128_GCM ? 16 : 32;
}

struct aead *aead_create(enum aead_library library, enum aead_cipher cipher, const uint8_t *key)
{
    const struct aead_ops *ops = library_ops(library);

    CHECK(ops != NULL);
    return ops->create(cipher, key);
}

void aead_destroy(struct aead *a)
{
    if (a != NULL)
        a->ops->destroy(a);
}

void aead_seal_begin(struct aead *a, const uint8_t nonce[AEAD_NONCE_BYTES], const void *associated,
                     uint32_t associated_len)
{
    a->ops->seal_begin(a, nonce, associated, associated_len);
}

void aead_seal(struct aead *a, void *out, const void *in, uint32_t len)
{
    a->ops->seal(a, out, in, len);
}

void aead_seal_end(struct aead *a, uint8_t tag[AEAD_TAG_BYTES])
{
    a->ops->seal_end(a, tag);
}

void aead_open_begin(struct aead *a, const uint8_t nonce[AEAD_NONCE_BYTES], const void *associated,
                     uint32_t associated_len)
{
    a->ops->open_begin(a, nonce, associated, associated_len);
}

void aead_open(struct aead *a, void *out, const void *in, uint32_t len)
{
    a->ops->open(a, out, in, len);
}

bool aead_open_end(struct aead *a, const uint8_t tag[AEAD_TAG_BYTES])
{
    return a->ops->open_end(a, tag);
}
