/* SPDX-License-Identifier: BSD-3-Clause */
/* Diffie-Hellman on Curve25519 (X25519, RFC 7748), computed by libcrypto, in constant time. */
#ifndef SLUICE_CRYPTO_DH_H
#define SLUICE_CRYPTO_DH_H

#include <stdint.h>

#define DH_BYTES 32 /* of a private key, of a public key, and of what two of them share */

/* The public key of a private key. Any 32 bytes are a private key. */
void dh_public(const uint8_t private_key[DH_BYTES], uint8_t public_key[DH_BYTES]);

/* What the owner of private_key shares with the owner of public_key. Returns 0, or -EINVAL if the
 * result is all zero (RFC 7748, section 6.1): then public_key is one of the few points that share
 * the same secret with everybody. */
int dh_shared(const uint8_t private_key[DH_BYTES], const uint8_t public_key[DH_BYTES],
              uint8_t shared[DH_BYTES]);

#endif
