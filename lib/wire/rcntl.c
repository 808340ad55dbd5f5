/* SPDX-License-Identifier: BSD-3-Clause */
/* RCNTL: a router on the path limits rate and burst for a while. */
#include "wire/packet.h"

#include "base/bytes.h"
#include "wire/header.h"

enum wire_verdict wire_parse_rcntl(const uint8_t *p, uint32_t len, struct wire_rcntl *out)
{
    enum wire_verdict v = header_parse_as(p, len, WIRE_RCNTL, &out->h);

    if (v != WIRE_OK)
        return v;
    if (len < WIRE_RCNTL_BYTES)
        return WIRE_SHORT;
    if (len != WIRE_RCNTL_BYTES && len != WIRE_RCNTL_PROVEN_BYTES)
        return WIRE_BAD_LENGTH;
    out->rate_Bps = bytes_get_u64(p + 16);
    out->burst_bytes = bytes_get_u32(p + 24);
    out->expiry_ms = bytes_get_u16(p + 28);
    out->hop = bytes_get_u16(p + 30);
    out->time_ns = bytes_get_u64(p + 32);
    out->proven = len == WIRE_RCNTL_PROVEN_BYTES;
    out->proof = out->proven ? bytes_get_u64(p + 40) : 0;
    if (out->rate_Bps > WIRE_RATE_MAX_BPS || out->expiry_ms == 0)
        return WIRE_BAD_FIELD;
    return WIRE_OK;
}

uint32_t wire_put_rcntl(uint8_t *p, const struct wire_rcntl *v)
{
    header_put(p, WIRE_RCNTL, v->h.flags, &v->h);
    bytes_put_u64(p + 16, v->rate_Bps);
    bytes_put_u32(p + 24, v->burst_bytes);
    bytes_put_u16(p + 28, v->expiry_ms);
    bytes_put_u16(p + 30, v->hop);
    bytes_put_u64(p + 32, v->time_ns);
    if (!v->proven)
        return WIRE_RCNTL_BYTES;
    bytes_put_u64(p + 40, v->proof);
    return WIRE_RCNTL_PROVEN_BYTES;
}
