/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 16 bytes that start every packet, inline for the parsers and builders of each type.
 *
 * Reserved bytes are written as 0 and ignored by the parser: a later revision may give them a
 * meaning that a host of this revision can ignore. Flags are not ignored: a packet with a flag that
 * its type may not carry is refused.
 */
#ifndef SLUICE_WIRE_HEADER_H
#define SLUICE_WIRE_HEADER_H

#include <stdint.h>

#include "base/bytes.h"
#include "wire/packet.h"

/* The flags that each type may carry: the table in doc/protocol.md. */
#define HEADER_FLAGS_FIRST WIRE_EARLY /* FIRST must carry this flag */
#define HEADER_FLAGS_DATA                                                                          \
    (WIRE_SREQ | WIRE_DREQ | WIRE_WCLOSE | WIRE_PACK | WIRE_EARLY | WIRE_REPEAT)
#define HEADER_FLAGS_CNTL                                                                          \
    (WIRE_SREQ | WIRE_DREQ | WIRE_WCLOSE | WIRE_RCLOSE | WIRE_END | WIRE_PACK | WIRE_EARLY)
#define HEADER_FLAGS_NONE 0 /* all other types */

static inline bool header_flags_ok(enum wire_type type, unsigned int flags)
{
    switch (type) {
    case WIRE_FIRST:
        return flags == HEADER_FLAGS_FIRST;
    case WIRE_DATA:
        return (flags & ~(unsigned int)HEADER_FLAGS_DATA) == 0;
    case WIRE_CNTL:
        return (flags & ~(unsigned int)HEADER_FLAGS_CNTL) == 0;
    default:
        return flags == HEADER_FLAGS_NONE;
    }
}

static inline enum wire_verdict header_parse(const uint8_t *p, uint32_t len, struct wire_header *h)
{
    uint8_t type;

    if (len < WIRE_HEADER_BYTES)
        return WIRE_SHORT;
    if (p[0] >> 4 != WIRE_VERSION)
        return WIRE_BAD_VERSION;
    type = p[0] & 0xf;
    if (type < WIRE_FIRST || type > WIRE_COOKIE)
        return WIRE_BAD_TYPE;
    h->type = (enum wire_type)type;
    h->association = bytes_get_u32(p + 4);
    if (type >= WIRE_RCNTL && h->association != 0)
        return WIRE_BAD_SECURITY;
    h->flags = p[1];
    h->path_id = p[2];
    h->key = bytes_get_u64(p + 8);
    if (!header_flags_ok(h->type, h->flags))
        return WIRE_BAD_FLAGS;
    return h->key == 0 ? WIRE_BAD_FIELD : WIRE_OK;
}

/* Parses the header of a packet that must be of the given type. */
static inline enum wire_verdict header_parse_as(const uint8_t *p, uint32_t len, enum wire_type type,
                                                struct wire_header *h)
{
    enum wire_verdict v = header_parse(p, len, h);

    return v == WIRE_OK && h->type != type ? WIRE_BAD_TYPE : v;
}

static inline void header_put(uint8_t *p, enum wire_type type, uint8_t flags,
                              const struct wire_header *h)
{
    p[0] = (uint8_t)(WIRE_VERSION << 4 | type);
    p[1] = flags;
    p[2] = h->path_id;
    p[3] = 0;
    bytes_put_u32(p + 4, h->association);
    bytes_put_u64(p + 8, h->key);
}

#endif
