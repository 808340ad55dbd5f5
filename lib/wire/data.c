/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DATA: one unit of one request. Parse and put run once per packet of a bulk transfer: straight
 * loads and stores, no division, no loop.
 *
 * A DATA packet that a parse accepts carries bytes [unit * unit_bytes, unit * unit_bytes +
 * payload_len) of the request. They lie within [0, request_len), and payload_len is the only value
 * that unit, unit_bytes and request_len allow.
 */
#include "wire/packet.h"

#include "base/bytes.h"
#include "wire/header.h"

/* The longest request, in the smallest units, has no more units than there are unit numbers. */
_Static_assert(WIRE_REQUEST_MAX / WIRE_UNIT_MIN <= WIRE_UNITS_MAX, "unit numbers may run out");
/* UDP's length field counts its own header of 8 bytes, too. */
_Static_assert(WIRE_UNIT_MAX + WIRE_DATA_BYTES + 8 == UINT16_MAX, "no datagram holds such a unit");

enum wire_verdict wire_parse_data(const uint8_t *p, uint32_t head_len, uint32_t len,
                                  struct wire_data *out)
{
    enum wire_verdict v;
    uint64_t start, rest;

    if (head_len > len)
        head_len = len;
    v = header_parse_as(p, head_len, WIRE_DATA, &out->h);
    if (v != WIRE_OK)
        return v;
    if (head_len < WIRE_DATA_BYTES)
        return WIRE_SHORT;
    out->packet = bytes_get_u64(p + 16);
    out->time_ns = bytes_get_u64(p + 24);
    out->request = bytes_get_u32(p + 32);
    out->unit = bytes_get_u32(p + 36);
    out->request_len = bytes_get_u64(p + 40);
    out->unit_bytes = bytes_get_u32(p + 48);
    out->cntl_seen = bytes_get_u32(p + 52);
    out->payload_len = len - WIRE_DATA_BYTES;
    if (out->request_len > WIRE_REQUEST_MAX || out->unit_bytes < WIRE_UNIT_MIN ||
        out->unit_bytes > WIRE_UNIT_MAX)
        return WIRE_BAD_FIELD;
    start = (uint64_t)out->unit * out->unit_bytes;
    if (start >= out->request_len && out->unit != 0)
        return WIRE_BAD_FIELD; /* unit >= wire_units() */
    rest = out->request_len - start;
    return out->payload_len == (rest < out->unit_bytes ? rest : out->unit_bytes) ? WIRE_OK
                                                                                 : WIRE_BAD_LENGTH;
}

uint32_t wire_put_data(uint8_t *p, const struct wire_data *v)
{
    header_put(p, WIRE_DATA, v->h.flags, &v->h);
    bytes_put_u64(p + 16, v->packet);
    bytes_put_u64(p + 24, v->time_ns);
    bytes_put_u32(p + 32, v->request);
    bytes_put_u32(p + 36, v->unit);
    bytes_put_u64(p + 40, v->request_len);
    bytes_put_u32(p + 48, v->unit_bytes);
    bytes_put_u32(p + 52, v->cntl_seen);
    return WIRE_DATA_BYTES;
}

void wire_stamp_data(uint8_t *p, uint64_t time_ns)
{
    bytes_put_u64(p + 24, time_ns);
}
