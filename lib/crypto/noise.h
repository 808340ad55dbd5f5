/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshake Noise_IKpsk2_25519_AESGCM_SHA256 ([NOISE]): two hosts that know each other's public
 * keys beforehand, and may share a key besides, agree on two new keys, one for each direction. One
 * round trip:
 *
 *   initiator                                        responder
 *     e, es, s, ss    noise_init_write() -> noise_init_read()
 *     e, ee, se, psk  noise_response_read() <- noise_response_write()
 *
 * What it gives, in the terms of the framework's section 7: only the responder's private key shows
 * the initiator's identity; the keys stay secret if private keys are found out later; and with a
 * shared key that nobody else has, even if X25519 is broken later. The response shows the initiator
 * that the responder is alive. Until the first packet under the new keys, the responder does not
 * know that of the initiator: the first message can be replayed.
 *
 * The functions read no clock and draw no random numbers: the caller gives the ephemeral key, 32
 * random bytes that are used once. A struct noise belongs to one handshake and one thread; the last
 * function of a handshake wipes it, and so does a failure of any but noise_response_read().
 */
#ifndef SLUICE_CRYPTO_NOISE_H
#define SLUICE_CRYPTO_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "crypto/aead.h"
#include "crypto/dh.h"
#include "crypto/hash.h"

#define NOISE_INIT_BYTES     (DH_BYTES + DH_BYTES + 2 * AEAD_TAG_BYTES) /* besides the payload */
#define NOISE_RESPONSE_BYTES (DH_BYTES + AEAD_TAG_BYTES)                /* besides the payload */
#define NOISE_KEY_BYTES      32

/* A host's long-lived keys. */
struct noise_self {
    uint8_t private_key[DH_BYTES];
    uint8_t public_key[DH_BYTES];
};

/* The result, from the point of view of its owner. */
struct noise_keys {
    uint8_t seal[NOISE_KEY_BYTES]; /* of packets that we send */
    uint8_t open[NOISE_KEY_BYTES]; /* of packets that the peer sends */
};

struct noise {
    const struct noise_self *self;
    uint8_t peer_public[DH_BYTES];
    uint8_t hash[HASH_BYTES];     /* of all that both sides have seen */
    uint8_t chain[HASH_BYTES];    /* of all that they share */
    uint8_t key[NOISE_KEY_BYTES]; /* seals the next part of a message */
    uint64_t count;               /* parts sealed with `key` */
    uint8_t ephemeral[DH_BYTES];  /* our private key for this handshake */
    uint8_t peer_ephemeral[DH_BYTES];
};

/*
 * Initiator: writes the first message of NOISE_INIT_BYTES + len to out. `prologue` are bytes that
 * must be the same on both sides. Returns 0, or -EINVAL: peer_public is no key of a host
 * (crypto/dh.h).
 */
int noise_init_write(struct noise *n, const struct noise_self *self,
                     const uint8_t peer_public[DH_BYTES], const uint8_t ephemeral[DH_BYTES],
                     const char *prologue, const void *payload, uint32_t len, uint8_t *out);

/*
 * Responder: reads a first message of NOISE_INIT_BYTES + len, and writes its payload of len bytes
 * to `payload`. n->peer_public then names the initiator: it had the private key of that when it
 * wrote the message, but anybody may have sent it again. Returns 0, or -EBADMSG: the message is not
 * for self, or was changed.
 */
int noise_init_read(struct noise *n, const struct noise_self *self, const char *prologue,
                    const uint8_t *in, uint32_t len, void *payload);

/* Responder, after noise_init_read(): writes the second message of NOISE_RESPONSE_BYTES + len. psk:
 * the key that both share; all zero if they share none. Returns 0 or -EBADMSG: the initiator's
 * ephemeral key is not one. */
int noise_response_write(struct noise *n, const uint8_t psk[NOISE_KEY_BYTES],
                         const uint8_t ephemeral[DH_BYTES], const void *payload, uint32_t len,
                         uint8_t *out, struct noise_keys *keys);

/*
 * Initiator: reads the second message. Returns 0, or -EBADMSG: it is no answer to our first
 * message, the shared keys differ, or it was changed. Then n is as before the call, so that a
 * forgery does not end the handshake.
 */
int noise_response_read(struct noise *n, const uint8_t psk[NOISE_KEY_BYTES], const uint8_t *in,
                        uint32_t len, void *payload, struct noise_keys *keys);

/* Gives a handshake up. */
void noise_wipe(struct noise *n);

#endif
