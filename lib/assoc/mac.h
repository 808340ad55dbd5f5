/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two MACs of INIT, and cookies, as in sections 5.4.4 to 5.4.7 of [WIREGUARD], with
 * HMAC-SHA-256 for keyed BLAKE2s, and AES-256-GCM for XChaCha20-Poly1305.
 *
 * mac1 shows that the sender of INIT knows the responder's public key. mac2 shows that it gets
 * packets that are sent to its source address: it is keyed with a cookie, which is a MAC of this
 * address under a secret of the responder. The cookie travels sealed, under a key that follows from
 * the responder's public key, and bound to mac1 of the INIT that it answers. So an
 * attacker that did not see that INIT, or does not know the public key, cannot make a cookie that
 * is accepted.
 */
#ifndef SLUICE_ASSOC_MAC_H
#define SLUICE_ASSOC_MAC_H

#include <stdbool.h>
#include <stdint.h>

#include "crypto/dh.h"
#include "crypto/drbg.h"
#include "wire/addr.h"
#include "wire/assoc.h"

/* Of a responder: the secret of this epoch and of the one before. */
struct mac_secret {
    uint8_t now[DRBG_SEED_BYTES], before[DRBG_SEED_BYTES];
    bool begun;        /* false: there is no secret yet */
    uint64_t begun_ns; /* the epoch of `now` */
};

/* Of an initiator: the cookie that its peer sent last. */
struct mac_cookie {
    uint8_t value[WIRE_MAC_BYTES];
    bool given;     /* false: there is none */
    uint64_t at_ns; /* when it came */
};

/* Writes mac1 of an INIT for the owner of this public key, and mac2: 0 unless the cookie is younger
 * than epoch_ns. */
void mac_put(uint8_t init[WIRE_INIT_BYTES], const uint8_t public_key[DH_BYTES],
             const struct mac_cookie *cookie, uint64_t epoch_ns, uint64_t now);

/* Is mac1 of an INIT for us right? */
bool mac_first_right(const uint8_t init[WIRE_INIT_BYTES], const uint8_t public_key[DH_BYTES]);

/* Is mac2 of an INIT that came from here right? */
bool mac_second_right(struct mac_secret *s, struct drbg *random,
                      const uint8_t init[WIRE_INIT_BYTES], const struct addr *from, uint16_t port,
                      uint64_t epoch_ns, uint64_t now);

/* Fills a COOKIE, whose header is written, that answers this INIT from here. */
void mac_cookie_put(struct mac_secret *s, struct drbg *random, const uint8_t public_key[DH_BYTES],
                    const uint8_t init[WIRE_INIT_BYTES], const struct addr *from, uint16_t port,
                    uint64_t epoch_ns, uint64_t now, uint8_t cookie[WIRE_COOKIE_BYTES]);

/* Reads a COOKIE that answers this INIT of ours. False: it was forged or changed. */
bool mac_cookie_take(struct mac_cookie *c, const uint8_t public_key[DH_BYTES],
                     const uint8_t init[WIRE_INIT_BYTES], const uint8_t cookie[WIRE_COOKIE_BYTES],
                     uint64_t now);

#endif
