/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/stamp.h"

#include <netinet/in.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "base/check.h"

_Static_assert(STAMP_HEAD_MAX >= 14 + 4 + 40 + 8 + STAMP_BYTES, "VLAN, IPv6 and a stamp fit");
_Static_assert(STAMP_HEAD_MAX <= UINT8_MAX, "end_off may be too large");
_Static_assert(STAMP_HEAD_MAX % 32 == 0 && STAMP_HEAD_MAX <= 96, "as stamp_put() copies");

void stamp_shape_init(struct stamp_shape *s, const struct frame_route *route)
{
    uint16_t header = frame_header_len(route);

    s->v4 = addr_is_v4(&route->dst);
    s->stamp_off = header;
    s->udp_off = (uint16_t)(header - sizeof(struct rte_udp_hdr));
    s->addr_off = (uint16_t)(s->udp_off - (s->v4 ? 8 : 32));
    s->ip_off = (uint16_t)(s->udp_off -
                           (s->v4 ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr)));
}

uint32_t stamp_frame_min(const struct frame_route *route)
{
    uint32_t need = (uint32_t)frame_header_len(route) + STAMP_BYTES;

    return need > STAMP_FRAME_MIN ? need : STAMP_FRAME_MIN;
}

void stamp_filler_put(uint8_t *p, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        p[i] = (uint8_t)i;
}

bool stamp_filler_ok(const uint8_t *p, uint32_t from, uint32_t to)
{
    const uint64_t ramp = 0x0706050403020100, all = 0x0101010101010101;
    uint64_t wrong = 0;
    uint32_t i = from;

    for (; i < to && i % 8 != 0; i++)
        wrong |= (uint64_t)(*p++ ^ (uint8_t)i);
    for (; i + 8 <= to; i += 8, p += 8) {
        uint64_t w;

        memcpy(&w, p, sizeof w);
        wrong |= rte_le_to_cpu_64(w) ^ (ramp + (i & 255) * all);
    }
    for (; i < to; i++)
        wrong |= (uint64_t)(*p++ ^ (uint8_t)i);
    return wrong == 0;
}

/* The sum of len bytes, of 16-bit words in host order. */
static uint64_t sum_of(const uint8_t *p, uint32_t len)
{
    return rte_be_to_cpu_16(frame_sum_fold(frame_sum(p, len)));
}

void stamp_template_init(struct stamp_template *t, const struct frame_route *route,
                         uint32_t frame_bytes, uint8_t stream, uint16_t window)
{
    struct frame_route r = *route;
    uint16_t header = frame_header_len(route);
    uint32_t end = (uint32_t)header + STAMP_BYTES, udp_len;
    uint8_t *stamp = t->head + header;

    CHECK(frame_bytes >= stamp_frame_min(route) && frame_bytes <= STAMP_FRAME_MAX);
    CHECK(stream < STAMP_STREAMS && window < STAMP_WINDOWS);
    memset(r.src.b + 12, 0, 4);
    memset(r.dst.b + 12, 0, 4);
    r.sport = r.dport = 0;
    *t = (struct stamp_template){.frame_bytes = (uint16_t)frame_bytes,
                                 .head_bytes = end > 64 ? 96 : 64};
    stamp_shape_init(&t->shape, route);
    frame_put(t->head, &r, frame_bytes - header);
    memset(stamp, 0, STAMP_BYTES);
    bytes_put_u16(stamp, STAMP_MAGIC);
    bytes_put_u16(stamp + 2, (uint16_t)(stream << 12 | window));
    stamp_filler_put(t->head, end, t->head_bytes);
    if (t->shape.v4) {
        bytes_put_u16(t->head + t->shape.ip_off + 10, 0);
        t->ip_sum = sum_of(t->head + t->shape.ip_off, sizeof(struct rte_ipv4_hdr));
    }
    udp_len = frame_bytes - t->shape.udp_off;
    t->udp_sum = sum_of(t->head + t->shape.addr_off, end - t->shape.addr_off) + IPPROTO_UDP +
                 udp_len + stamp_filler_sum(end, frame_bytes);
}

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof w);
    return w;
}

/* The sum of 8 * n bytes and 2 more, in memory order, in 64 bits with the carries of each word. */
static inline uint64_t words_sum(const uint8_t *p, uint32_t n)
{
    uint64_t low = 0, high = 0;
    uint16_t last;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t w = word_at(p + (size_t)8 * i);

        low += w & 0xffffffff;
        high += w >> 32;
    }
    memcpy(&last, p + (size_t)8 * n, sizeof last);
    return low + high + last;
}

/* Is the IP header right as far as a length of the frame, and IPv4's checksum, tell? */
static inline bool ip_ok(const uint8_t *ip, bool v4, uint32_t udp_len)
{
    if (!v4)
        return ip[0] >> 4 == 6 && ip[6] == IPPROTO_UDP && bytes_get_u16(ip + 4) == udp_len;
    return ip[0] == 0x45 && ip[9] == IPPROTO_UDP &&
           bytes_get_u16(ip + 2) == udp_len + sizeof(struct rte_ipv4_hdr) &&
           frame_sum_fold((word_at(ip) & 0xffffffff) + (word_at(ip) >> 32) +
                          (word_at(ip + 8) & 0xffffffff) + (word_at(ip + 8) >> 32) +
                          (word_at(ip + 12) >> 32)) == 0xffff;
}

/* Checks and reads a stamp, whose magic is there, in a frame of this shape. */
static inline enum stamp_verdict shaped_get(const uint8_t *p, uint32_t frame_len,
                                            const struct stamp_shape *s, struct stamp *out,
                                            uint32_t *end)
{
    const uint8_t *udp = p + s->udp_off;
    uint32_t udp_len = bytes_get_u16(udp + 4), stamp_end = s->stamp_off + STAMP_BYTES;
    uint64_t sum;

    if (udp_len < sizeof(struct rte_udp_hdr) + STAMP_BYTES || s->udp_off + udp_len > frame_len ||
        !ip_ok(p + s->ip_off, s->v4, udp_len))
        return STAMP_CORRUPT;
    if (end != NULL)
        *end = s->udp_off + udp_len;
    /* addresses, UDP header and stamp are 34 or 58 bytes in a row */
    sum = s->v4 ? words_sum(p + s->addr_off, 4) : words_sum(p + s->addr_off, 7);
    sum = rte_be_to_cpu_16(frame_sum_fold(sum)) + IPPROTO_UDP + udp_len +
          stamp_filler_sum(stamp_end, s->udp_off + udp_len);
    if (frame_sum_fold(sum) != 0xffff && bytes_get_u16(udp + 6) != 0)
        return STAMP_CORRUPT;
    stamp_read(p + s->stamp_off, out);
    out->end_off = (uint8_t)stamp_end;
    return STAMP_OK;
}

static inline bool has_magic(const uint8_t *p, uint32_t head_len, uint32_t stamp_off)
{
    return head_len >= stamp_off + STAMP_BYTES && bytes_get_u16(p + stamp_off) == STAMP_MAGIC;
}

/* A frame that does not have the expected shape. */
static __attribute__((noinline)) enum stamp_verdict
other_get(const uint8_t *p, uint32_t head_len, uint32_t frame_len, struct stamp *out, uint32_t *end)
{
    struct stamp_shape s;
    struct frame f;

    if (frame_parse(p, head_len, frame_len, &f) != FRAME_UDP ||
        !has_magic(p, head_len, f.payload_off))
        return STAMP_NONE;
    s = (struct stamp_shape){.ip_off = f.l3_off,
                             .udp_off = f.l4_off,
                             .stamp_off = f.payload_off,
                             .v4 = addr_is_v4(&f.dst)};
    s.addr_off = (uint16_t)(s.udp_off - (s.v4 ? 8 : 32));
    return shaped_get(p, frame_len, &s, out, end);
}

enum stamp_verdict stamp_get(const uint8_t *p, uint32_t head_len, uint32_t frame_len,
                             const struct stamp_shape *expected, struct stamp *out, uint32_t *end)
{
    if (head_len > frame_len)
        head_len = frame_len;
    if (has_magic(p, head_len, expected->stamp_off))
        return shaped_get(p, frame_len, expected, out, end);
    return other_get(p, head_len, frame_len, out, end);
}

static void swap(uint8_t *a, uint8_t *b, uint32_t len)
{
    uint8_t t[16];

    memcpy(t, a, len);
    memcpy(a, b, len);
    memcpy(b, t, len);
}

bool stamp_reflect(uint8_t *p, uint32_t head_len, uint32_t frame_len)
{
    struct frame f;
    uint8_t *ip = p;

    switch (frame_parse(p, head_len, frame_len, &f)) {
    case FRAME_UDP:
    case FRAME_ICMP4:
    case FRAME_ICMP6:
    case FRAME_OTHER:
    case FRAME_FRAGMENT:
        break;
    default:
        return false;
    }
    if (f.l4_off == 0 || (p[0] & 1) != 0)
        return false;
    ip += f.l3_off;
    swap(p, p + 6, 6);
    if (addr_is_v4(&f.dst))
        swap(ip + 12, ip + 16, 4);
    else
        swap(ip + 8, ip + 24, 16);
    if (f.kind == FRAME_UDP)
        swap(p + f.l4_off, p + f.l4_off + 2, 2);
    return true;
}
