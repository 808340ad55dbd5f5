/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CNTL: the state of the host that sends it, as a receiver and as a sender. Up to WIRE_SPANS_MAX
 * missing spans and WIRE_REFUSED_MAX refused requests follow.
 *
 * A CNTL that a parse accepts has spans that are not empty, do not overlap, ascend, and lie within
 * 2^63 positions of each other, so that wrap-safe comparison orders them.
 */
#include "wire/packet.h"

#include "base/bytes.h"
#include "base/check.h"
#include "wire/header.h"

static uint32_t cntl_len(uint32_t span_count, uint32_t refused_count)
{
    return WIRE_CNTL_BYTES + span_count * WIRE_SPAN_BYTES + refused_count * WIRE_REFUSED_BYTES;
}

/* Compares distances from the first span's start: they do not wrap. */
static enum wire_verdict spans_parse(const uint8_t *p, struct wire_cntl *out)
{
    uint64_t base = bytes_get_u64(p), previous = 0;

    for (uint32_t i = 0; i < out->span_count; i++, p += WIRE_SPAN_BYTES) {
        struct wire_span *s = &out->spans[i];

        s->first = bytes_get_u64(p);
        s->end = bytes_get_u64(p + 8);
        if (s->first - base < previous || s->end - base <= s->first - base ||
            s->end - base > INT64_MAX)
            return WIRE_BAD_FIELD;
        previous = s->end - base;
    }
    return WIRE_OK;
}

static void refused_parse(const uint8_t *p, struct wire_cntl *out)
{
    for (uint32_t i = 0; i < out->refused_count; i++, p += WIRE_REFUSED_BYTES) {
        out->refused[i].request = bytes_get_u32(p);
        out->refused[i].reason = bytes_get_u16(p + 4);
    }
}

/* Reads the fixed part, in the order of the bytes. */
static void cntl_read(const uint8_t *p, struct wire_cntl *out)
{
    out->own_key = bytes_get_u64(p + 16);
    out->seq = bytes_get_u32(p + 24);
    out->cntl_seen = bytes_get_u32(p + 28);
    out->rate_Bps = bytes_get_u64(p + 32);
    out->burst_bytes = bytes_get_u32(p + 40);
    out->reason = bytes_get_u16(p + 44);
    out->occupancy = p[46];
    out->refused_count = p[47];
    out->peak_Bps = bytes_get_u64(p + 48);
    out->ack = bytes_get_u64(p + 56);
    out->posted = bytes_get_u32(p + 64);
    out->close_request = bytes_get_u32(p + 68);
    out->sent = bytes_get_u64(p + 72);
    out->backlog_bytes = bytes_get_u64(p + 80);
    out->received = bytes_get_u64(p + 88);
    out->time_ns = bytes_get_u64(p + 96);
    out->echo_ns = bytes_get_u64(p + 104);
    out->echo_held_ns = bytes_get_u32(p + 112);
    out->unit_max = bytes_get_u32(p + 116);
    out->initial_request = bytes_get_u32(p + 120);
    out->capabilities = bytes_get_u16(p + 124);
    out->end = bytes_get_u16(p + 126);
    out->ecn_ce = bytes_get_u32(p + 128);
    out->ecn_ect = bytes_get_u32(p + 132);
    out->lost = bytes_get_u64(p + 136);
    out->cookie = bytes_get_u64(p + 144);
    out->span_count = p[152];
    out->silence_ms = bytes_get_u32(p + 156);
    out->hop_rate_Bps = bytes_get_u64(p + 160);
    out->hop_burst_bytes = bytes_get_u32(p + 168);
    out->hop_expiry_ms = bytes_get_u16(p + 172);
    out->hop_count = bytes_get_u16(p + 174);
}

enum wire_verdict wire_parse_cntl(const uint8_t *p, uint32_t len, struct wire_cntl *out)
{
    enum wire_verdict v = header_parse_as(p, len, WIRE_CNTL, &out->h);
    uint32_t exact;

    if (v != WIRE_OK)
        return v;
    if (len < WIRE_CNTL_BYTES)
        return WIRE_SHORT;
    cntl_read(p, out);
    if (out->span_count > WIRE_SPANS_MAX || out->refused_count > WIRE_REFUSED_MAX)
        return WIRE_BAD_FIELD;
    exact = cntl_len(out->span_count, out->refused_count);
    if (len != exact)
        return len < exact ? WIRE_SHORT : WIRE_BAD_LENGTH;
    if (out->own_key == 0 || out->seq == 0 || out->end >= WIRE_ENDS ||
        out->unit_max < WIRE_UNIT_MIN || out->unit_max > WIRE_UNIT_MAX)
        return WIRE_BAD_FIELD;
    if (out->rate_Bps > WIRE_RATE_MAX_BPS || out->peak_Bps > WIRE_RATE_MAX_BPS ||
        out->hop_rate_Bps > WIRE_RATE_MAX_BPS)
        return WIRE_BAD_FIELD;
    refused_parse(p + cntl_len(out->span_count, 0), out);
    return out->span_count == 0 ? WIRE_OK : spans_parse(p + WIRE_CNTL_BYTES, out);
}

/* Writes the fixed part, in the order of the bytes. */
static void cntl_write(uint8_t *p, const struct wire_cntl *v)
{
    bytes_put_u64(p + 16, v->own_key);
    bytes_put_u32(p + 24, v->seq);
    bytes_put_u32(p + 28, v->cntl_seen);
    bytes_put_u64(p + 32, v->rate_Bps);
    bytes_put_u32(p + 40, v->burst_bytes);
    bytes_put_u16(p + 44, v->reason);
    p[46] = v->occupancy;
    p[47] = v->refused_count;
    bytes_put_u64(p + 48, v->peak_Bps);
    bytes_put_u64(p + 56, v->ack);
    bytes_put_u32(p + 64, v->posted);
    bytes_put_u32(p + 68, v->close_request);
    bytes_put_u64(p + 72, v->sent);
    bytes_put_u64(p + 80, v->backlog_bytes);
    bytes_put_u64(p + 88, v->received);
    bytes_put_u64(p + 96, v->time_ns);
    bytes_put_u64(p + 104, v->echo_ns);
    bytes_put_u32(p + 112, v->echo_held_ns);
    bytes_put_u32(p + 116, v->unit_max);
    bytes_put_u32(p + 120, v->initial_request);
    bytes_put_u16(p + 124, v->capabilities);
    bytes_put_u16(p + 126, v->end);
    bytes_put_u32(p + 128, v->ecn_ce);
    bytes_put_u32(p + 132, v->ecn_ect);
    bytes_put_u64(p + 136, v->lost);
    bytes_put_u64(p + 144, v->cookie);
    bytes_put_u32(p + 152, (uint32_t)v->span_count << 24);
    bytes_put_u32(p + 156, v->silence_ms);
    bytes_put_u64(p + 160, v->hop_rate_Bps);
    bytes_put_u32(p + 168, v->hop_burst_bytes);
    bytes_put_u16(p + 172, v->hop_expiry_ms);
    bytes_put_u16(p + 174, v->hop_count);
}

uint32_t wire_put_cntl(uint8_t *p, const struct wire_cntl *v)
{
    uint8_t *at = p + WIRE_CNTL_BYTES;

    CHECK(v->span_count <= WIRE_SPANS_MAX && v->refused_count <= WIRE_REFUSED_MAX);
    header_put(p, WIRE_CNTL, v->h.flags, &v->h);
    cntl_write(p, v);
    for (uint32_t i = 0; i < v->span_count; i++, at += WIRE_SPAN_BYTES) {
        bytes_put_u64(at, v->spans[i].first);
        bytes_put_u64(at + 8, v->spans[i].end);
    }
    for (uint32_t i = 0; i < v->refused_count; i++, at += WIRE_REFUSED_BYTES) {
        bytes_put_u32(at, v->refused[i].request);
        bytes_put_u32(at + 4, (uint32_t)v->refused[i].reason << 16);
    }
    return cntl_len(v->span_count, v->refused_count);
}

void wire_lower_cntl(uint8_t *p, uint64_t rate_Bps, uint32_t burst_bytes, uint16_t expiry_ms)
{
    uint64_t rate = bytes_get_u64(p + 160);
    uint32_t burst = bytes_get_u32(p + 168);
    uint16_t count = bytes_get_u16(p + 174);

    bytes_put_u64(p + 160, rate == 0 || rate_Bps < rate ? rate_Bps : rate);
    if (burst_bytes != 0 && (burst == 0 || burst_bytes < burst))
        bytes_put_u32(p + 168, burst_bytes);
    bytes_put_u16(p + 172, expiry_ms);
    if (count < UINT16_MAX)
        bytes_put_u16(p + 174, (uint16_t)(count + 1));
}
