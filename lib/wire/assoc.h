/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets about associations (doc/protocol.md, section 11): INIT, RESPONSE, COOKIE, and the trailer
 * of sealed packets. What is inside the sealed parts is written here; lib/assoc seals them.
 *
 * The header's key of INIT is the handshake's number, which its sender chose; RESPONSE and COOKIE
 * repeat it. It is not 0.
 *
 *   INIT, 160 bytes      16 Noise message of 112 bytes (payload: struct wire_offer)
 *                       128 mac1   144 mac2, 0 without a cookie
 *   RESPONSE, 80 bytes   16 Noise message of 64 bytes (payload: struct wire_choice)
 *   COOKIE, 64 bytes     16 nonce (12 bytes), 4 bytes of 0   32 sealed cookie (16 bytes), tag
 *   trailer, 24 bytes     0 number   8 tag
 */
#ifndef SLUICE_WIRE_ASSOC_H
#define SLUICE_WIRE_ASSOC_H

#include "wire/packet.h"

#define WIRE_OFFER_BYTES    16
#define WIRE_MAC_BYTES      16
#define WIRE_NONCE_BYTES    12
#define WIRE_TAG_BYTES      16
#define WIRE_NOISE_OFF      16  /* of the Noise message in INIT and RESPONSE */
#define WIRE_MAC1_OFF       128 /* mac1 covers what is before it, mac2 also mac1 */
#define WIRE_MAC2_OFF       144
#define WIRE_INIT_BYTES     160
#define WIRE_RESPONSE_BYTES 80
#define WIRE_COOKIE_BYTES   64
#define WIRE_COOKIE_NONCE   16 /* offset */
#define WIRE_COOKIE_SEALED  32 /* offset */

/* Payload of INIT: 0 time u64   8 association u32   12 ciphers u16   14 zero u16 */
struct wire_offer {
    uint64_t time_ns;     /* rises with each new INIT of a host: since 1970, by its own clock */
    uint32_t association; /* the number that packets to the sender of INIT must carry; not 0 */
    uint16_t ciphers;     /* a bit for each enum aead_cipher that the sender can use */
};

/* Payload of RESPONSE: 0 zero u64   8 association u32   12 cipher u16   14 zero u16 */
struct wire_choice {
    uint32_t association; /* the number that packets to the sender of RESPONSE must carry; not 0 */
    uint16_t cipher;      /* enum aead_cipher, one of those offered */
};

/* Parse the packets of len bytes, all of them contiguous at p. The parts stay where they are. */
enum wire_verdict wire_parse_init(const uint8_t *p, uint32_t len, struct wire_header *h);
enum wire_verdict wire_parse_response(const uint8_t *p, uint32_t len, struct wire_header *h);
enum wire_verdict wire_parse_cookie(const uint8_t *p, uint32_t len, struct wire_header *h);

/* Each writes the header and the fixed zeros; the caller fills the parts in. Returns the length. */
uint32_t wire_put_init(uint8_t *p, uint64_t number);
uint32_t wire_put_response(uint8_t *p, uint64_t number);
uint32_t wire_put_cookie(uint8_t *p, uint64_t number);

/* The number of the handshake in an INIT that was written here. */
uint64_t wire_init_number(const uint8_t *p);

enum wire_verdict wire_parse_offer(const uint8_t p[WIRE_OFFER_BYTES], struct wire_offer *out);
enum wire_verdict wire_parse_choice(const uint8_t p[WIRE_OFFER_BYTES], struct wire_choice *out);
void wire_put_offer(uint8_t p[WIRE_OFFER_BYTES], const struct wire_offer *v);
void wire_put_choice(uint8_t p[WIRE_OFFER_BYTES], const struct wire_choice *v);

/* The trailer's number. p points at the trailer. */
uint64_t wire_parse_trailer(const uint8_t p[WIRE_TRAILER_BYTES]);
/* The first half of the tag: a router that quotes it has seen the packet. p points at the trailer.
 */
uint64_t wire_parse_proof(const uint8_t p[WIRE_TRAILER_BYTES]);
/* Writes the number; the tag follows it. */
void wire_put_trailer(uint8_t p[WIRE_TRAILER_BYTES], uint64_t number);

/* Is the packet one of INIT, RESPONSE and COOKIE? */
static inline bool wire_is_handshake(enum wire_type type)
{
    return type >= WIRE_INIT && type <= WIRE_COOKIE;
}

#endif
