/* SPDX-License-Identifier: BSD-3-Clause */
/* FIRST: opens a connection. Bytes 72 .. 191 are padding, and reserved: written as 0, not read. So
 * are bytes beyond. */
#include "wire/packet.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/header.h"

#define PADDING_OFF 72

enum wire_verdict wire_parse_first(const uint8_t *p, uint32_t len, struct wire_first *out)
{
    enum wire_verdict v = header_parse_as(p, len, WIRE_FIRST, &out->h);

    if (v != WIRE_OK)
        return v;
    if (len < WIRE_FIRST_BYTES)
        return WIRE_SHORT;
    out->initial_request = bytes_get_u32(p + 16);
    out->unit_max = bytes_get_u32(p + 20);
    out->service = bytes_get_u16(p + 24);
    out->capabilities = bytes_get_u16(p + 26);
    out->ahead = bytes_get_u32(p + 28);
    out->rate_req_Bps = bytes_get_u64(p + 32);
    out->burst_req_bytes = bytes_get_u64(p + 40);
    out->time_ns = bytes_get_u64(p + 48);
    out->cookie = bytes_get_u64(p + 56);
    out->silence_ms = bytes_get_u32(p + 64);
    out->answer_request = bytes_get_u32(p + 68);
    if (out->service == 0 || out->unit_max < WIRE_UNIT_MIN || out->unit_max > WIRE_UNIT_MAX ||
        out->rate_req_Bps > WIRE_RATE_MAX_BPS || out->burst_req_bytes > WIRE_BURST_MAX_BYTES)
        return WIRE_BAD_FIELD;
    return WIRE_OK;
}

uint32_t wire_put_first(uint8_t *p, const struct wire_first *v)
{
    header_put(p, WIRE_FIRST, v->h.flags | WIRE_EARLY, &v->h);
    bytes_put_u32(p + 16, v->initial_request);
    bytes_put_u32(p + 20, v->unit_max);
    bytes_put_u16(p + 24, v->service);
    bytes_put_u16(p + 26, v->capabilities);
    bytes_put_u32(p + 28, v->ahead);
    bytes_put_u64(p + 32, v->rate_req_Bps);
    bytes_put_u64(p + 40, v->burst_req_bytes);
    bytes_put_u64(p + 48, v->time_ns);
    bytes_put_u64(p + 56, v->cookie);
    bytes_put_u32(p + 64, v->silence_ms);
    bytes_put_u32(p + 68, v->answer_request);
    memset(p + PADDING_OFF, 0, WIRE_FIRST_BYTES - PADDING_OFF);
    return WIRE_FIRST_BYTES;
}
