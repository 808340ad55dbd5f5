/* SPDX-License-Identifier: BSD-3-Clause */
/* What aead.c and the two libraries behind it share. */
#ifndef SLUICE_CRYPTO_AEAD_INTERNAL_H
#define SLUICE_CRYPTO_AEAD_INTERNAL_H

#include "crypto/aead.h"

/* One library's work. A struct aead is a member of the library's own struct, which takes the
 * expanded key. */
struct aead_ops {
    struct aead *(*create)(enum aead_cipher cipher, const uint8_t *key);
    void (*destroy)(struct aead *a);
    void (*seal_begin)(struct aead *a, const uint8_t *nonce, const void *associated, uint32_t len);
    void (*seal)(struct aead *a, void *out, const void *in, uint32_t len);
    void (*seal_end)(struct aead *a, uint8_t *tag);
    void (*open_begin)(struct aead *a, const uint8_t *nonce, const void *associated, uint32_t len);
    void (*open)(struct aead *a, void *out, const void *in, uint32_t len);
    bool (*open_end)(struct aead *a, const uint8_t *tag);
};

struct aead {
    const struct aead_ops *ops;
};

extern const struct aead_ops aead_libcrypto;

#ifdef SLUICE_IPSEC_MB
extern const struct aead_ops aead_ipsec_mb;
/* Does libipsec-mb have code for this CPU? */
bool aead_ipsec_mb_works(void);
#endif

#endif
