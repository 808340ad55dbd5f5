/* SPDX-License-Identifier: BSD-3-Clause */
/* See segment.h. */
#include "wire/segment.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/frame.h"
#include "wire/partial.h"

bool segments_find(const uint8_t *p, uint32_t len, uint32_t mtu, struct segments *out)
{
    struct frame f;
    uint32_t tcp_len, headers;

    if (len <= RTE_ETHER_HDR_LEN + mtu || frame_parse(p, len, len, &f) != FRAME_OTHER ||
        f.proto != IPPROTO_TCP || f.l4_len < sizeof(struct rte_tcp_hdr) ||
        f.l4_off - f.l3_off + f.l4_len <= mtu)
        return false;
    tcp_len = (uint32_t)(p[f.l4_off + offsetof(struct rte_tcp_hdr, data_off)] >> 4) * 4;
    headers = f.l4_off - f.l3_off + tcp_len;
    if (tcp_len < sizeof(struct rte_tcp_hdr) || tcp_len >= f.l4_len || headers >= mtu)
        return false;
    *out = (struct segments){.l3_off = f.l3_off,
                             .l4_off = f.l4_off,
                             .header_len = f.l3_off + headers,
                             .payload_len = f.l4_len - tcp_len,
                             .mss = mtu - headers};
    out->count = (out->payload_len + out->mss - 1) / out->mss;
    return true;
}

static void ipv4_change(uint8_t *ip, uint32_t header_len, uint32_t len, uint32_t i)
{
    uint16_t sum = 0;

    bytes_put_u16(ip + offsetof(struct rte_ipv4_hdr, total_length), (uint16_t)len);
    bytes_put_u16(ip + offsetof(struct rte_ipv4_hdr, packet_id),
                  (uint16_t)(bytes_get_u16(ip + offsetof(struct rte_ipv4_hdr, packet_id)) + i));
    memset(ip + offsetof(struct rte_ipv4_hdr, hdr_checksum), 0, sizeof sum);
    sum = (uint16_t)~frame_sum_fold(frame_sum(ip, header_len));
    memcpy(ip + offsetof(struct rte_ipv4_hdr, hdr_checksum), &sum, sizeof sum);
}

static void tcp_change(uint8_t *tcp, uint32_t off, bool first, bool last)
{
    uint8_t *seq = tcp + offsetof(struct rte_tcp_hdr, sent_seq);
    uint8_t *flags = tcp + offsetof(struct rte_tcp_hdr, tcp_flags);

    bytes_put_u32(seq, bytes_get_u32(seq) + off);
    if (!first)
        *flags = (uint8_t)(*flags & ~RTE_TCP_CWR_FLAG);
    if (!last)
        *flags = (uint8_t)(*flags & ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG));
}

/* Sets the TCP checksum of the finished segment of len bytes at p. */
static void tcp_sum(uint8_t *p, uint32_t len)
{
    struct partial s;
    struct frame f;
    uint16_t pseudo;

    frame_parse(p, len, len, &f);
    pseudo = frame_sum_fold(frame_pseudo_sum(f.proto, &f.src, &f.dst, f.l4_len));
    memcpy(p + f.l4_off + offsetof(struct rte_tcp_hdr, cksum), &pseudo, sizeof pseudo);
    CHECK(partial_find(p, len, len, &s));
    partial_complete(p, &s, frame_sum(p + s.off, s.len));
}

uint32_t segment_put(const uint8_t *p, const struct segments *s, uint32_t i, uint8_t *to)
{
    uint32_t off = i * s->mss, n = s->payload_len - off;
    uint32_t l3_len, len;

    CHECK(i < s->count);
    if (n > s->mss)
        n = s->mss;
    len = s->header_len + n;
    l3_len = s->l4_off - s->l3_off;
    memcpy(to, p, s->header_len);
    memcpy(to + s->header_len, p + s->header_len + off, n);
    if (to[s->l3_off] >> 4 == 4)
        ipv4_change(to + s->l3_off, l3_len, len - s->l3_off, i);
    else
        bytes_put_u16(to + s->l3_off + offsetof(struct rte_ipv6_hdr, payload_len),
                      (uint16_t)(len - s->l4_off));
    tcp_change(to + s->l4_off, off, i == 0, i + 1 == s->count);
    tcp_sum(to, len);
    return len;
}
