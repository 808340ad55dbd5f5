/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Authenticated encryption with associated data, of one packet at a time: AES-GCM (NIST SP 800-38D)
 * and ChaCha20-Poly1305 (RFC 8439). The work is done by libipsec-mb, which needs an x86 CPU, or by
 * libcrypto.
 *
 *   aead_seal_begin(nonce, associated data)  aead_seal(some bytes) ...  aead_seal_end(tag)
 *   aead_open_begin(nonce, associated data)  aead_open(some bytes) ...  aead_open_end(tag): true
 *
 * The bytes may come in any pieces, so a packet may lie in several buffers. in and out may be the
 * same. What aead_open() wrote is worth nothing until aead_open_end() is true: the caller must not
 * let it be seen before.
 *
 * A key must never seal twice with one nonce: from both packets follow the exclusive or of
 * their bytes, and a way to forge others. The caller numbers its packets.
 *
 * A struct aead belongs to one thread at a time.
 */
#ifndef SLUICE_CRYPTO_AEAD_H
#define SLUICE_CRYPTO_AEAD_H

#include <stdbool.h>
#include <stdint.h>

#define AEAD_NONCE_BYTES 12
#define AEAD_TAG_BYTES   16
#define AEAD_KEY_MAX     32

enum aead_cipher {
    AEAD_AES_128_GCM,
    AEAD_AES_256_GCM,
    AEAD_CHACHA20_POLY1305,
    AEAD_CIPHERS,
};

enum aead_library {
    AEAD_IPSEC_MB, /* fastest where the CPU has vector instructions for AES */
    AEAD_LIBCRYPTO,
    AEAD_LIBRARIES,
};

struct aead;

/* Can this build and CPU use the library? */
bool aead_has(enum aead_library library);
/* The faster of the libraries that aead_has(). */
enum aead_library aead_best(void);
const char *aead_library_name(enum aead_library library);
const char *aead_cipher_name(enum aead_cipher cipher);
uint32_t aead_key_bytes(enum aead_cipher cipher);

/* Expands a key of aead_key_bytes(). The library must be one that aead_has(). Takes memory from the
 * heap; aborts if there is none. */
struct aead *aead_create(enum aead_library library, enum aead_cipher cipher, const uint8_t *key);
/* Wipes the key. a may be NULL. */
void aead_destroy(struct aead *a);

/* The associated data are read at once; the packet's other bytes follow. */
void aead_seal_begin(struct aead *a, const uint8_t nonce[AEAD_NONCE_BYTES], const void *associated,
                     uint32_t associated_len);
void aead_seal(struct aead *a, void *out, const void *in, uint32_t len);
void aead_seal_end(struct aead *a, uint8_t tag[AEAD_TAG_BYTES]);

void aead_open_begin(struct aead *a, const uint8_t nonce[AEAD_NONCE_BYTES], const void *associated,
                     uint32_t associated_len);
void aead_open(struct aead *a, void *out, const void *in, uint32_t len);
/* True if the packet is as it was sealed. */
bool aead_open_end(struct aead *a, const uint8_t tag[AEAD_TAG_BYTES]);

#endif
