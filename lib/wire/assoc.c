/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/assoc.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/header.h"

static enum wire_verdict exact_parse(const uint8_t *p, uint32_t len, enum wire_type type,
                                     uint32_t bytes, struct wire_header *h)
{
    enum wire_verdict v = header_parse_as(p, len, type, h);

    if (v != WIRE_OK)
        return v;
    if (len < bytes)
        return WIRE_SHORT;
    return len > bytes ? WIRE_BAD_LENGTH : WIRE_OK;
}

enum wire_verdict wire_parse_init(const uint8_t *p, uint32_t len, struct wire_header *h)
{
    return exact_parse(p, len, WIRE_INIT, WIRE_INIT_BYTES, h);
}

enum wire_verdict wire_parse_response(const uint8_t *p, uint32_t len, struct wire_header *h)
{
    return exact_parse(p, len, WIRE_RESPONSE, WIRE_RESPONSE_BYTES, h);
}

enum wire_verdict wire_parse_cookie(const uint8_t *p, uint32_t len, struct wire_header *h)
{
    return exact_parse(p, len, WIRE_COOKIE, WIRE_COOKIE_BYTES, h);
}

static uint32_t packet_put(uint8_t *p, enum wire_type type, uint32_t bytes, uint64_t number)
{
    struct wire_header h = {.key = number};

    memset(p, 0, bytes);
    header_put(p, type, 0, &h);
    return bytes;
}

uint32_t wire_put_init(uint8_t *p, uint64_t number)
{
    return packet_put(p, WIRE_INIT, WIRE_INIT_BYTES, number);
}

uint32_t wire_put_response(uint8_t *p, uint64_t number)
{
    return packet_put(p, WIRE_RESPONSE, WIRE_RESPONSE_BYTES, number);
}

uint32_t wire_put_cookie(uint8_t *p, uint64_t number)
{
    return packet_put(p, WIRE_COOKIE, WIRE_COOKIE_BYTES, number);
}

uint64_t wire_init_number(const uint8_t *p)
{
    return bytes_get_u64(p + 8);
}

enum wire_verdict wire_parse_offer(const uint8_t p[WIRE_OFFER_BYTES], struct wire_offer *out)
{
    out->time_ns = bytes_get_u64(p);
    out->association = bytes_get_u32(p + 8);
    out->ciphers = bytes_get_u16(p + 12);
    return out->association == 0 ? WIRE_BAD_FIELD : WIRE_OK;
}

enum wire_verdict wire_parse_choice(const uint8_t p[WIRE_OFFER_BYTES], struct wire_choice *out)
{
    out->association = bytes_get_u32(p + 8);
    out->cipher = bytes_get_u16(p + 12);
    return out->association == 0 ? WIRE_BAD_FIELD : WIRE_OK;
}

void wire_put_offer(uint8_t p[WIRE_OFFER_BYTES], const struct wire_offer *v)
{
    bytes_put_u64(p, v->time_ns);
    bytes_put_u32(p + 8, v->association);
    bytes_put_u16(p + 12, v->ciphers);
    bytes_put_u16(p + 14, 0);
}

void wire_put_choice(uint8_t p[WIRE_OFFER_BYTES], const struct wire_choice *v)
{
    bytes_put_u64(p, 0);
    bytes_put_u32(p + 8, v->association);
    bytes_put_u16(p + 12, v->cipher);
    bytes_put_u16(p + 14, 0);
}

uint64_t wire_parse_trailer(const uint8_t p[WIRE_TRAILER_BYTES])
{
    return bytes_get_u64(p);
}

uint64_t wire_parse_proof(const uint8_t p[WIRE_TRAILER_BYTES])
{
    return bytes_get_u64(p + WIRE_TRAILER_BYTES - WIRE_TAG_BYTES);
}

void wire_put_trailer(uint8_t p[WIRE_TRAILER_BYTES], uint64_t number)
{
    bytes_put_u64(p, number);
}
