/* SPDX-License-Identifier: BSD-3-Clause */
/* See partial.h. */
#include "wire/partial.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include <rte_tcp.h>
#include <rte_udp.h>

#include "wire/frame.h"

bool partial_find(const uint8_t *p, uint32_t head_len, uint32_t frame_len, struct partial *out)
{
    enum frame_kind kind;
    struct frame f;
    uint16_t sum;

    kind = frame_parse(p, head_len, frame_len, &f);
    out->off = f.l4_off;
    out->len = f.l4_len;
    out->udp = kind == FRAME_UDP;
    if (out->udp)
        out->sum_off = f.l4_off + (uint32_t)offsetof(struct rte_udp_hdr, dgram_cksum);
    else if (kind == FRAME_OTHER && f.proto == IPPROTO_TCP &&
             f.l4_len >= sizeof(struct rte_tcp_hdr))
        out->sum_off = f.l4_off + (uint32_t)offsetof(struct rte_tcp_hdr, cksum);
    else
        return false;
    if (head_len < out->sum_off + sizeof sum)
        return false;
    memcpy(&sum, p + out->sum_off, sizeof sum);
    return sum == frame_sum_fold(frame_pseudo_sum(f.proto, &f.src, &f.dst, f.l4_len));
}

void partial_complete(uint8_t *p, const struct partial *s, uint64_t sum)
{
    uint16_t v =
        (uint16_t)~frame_sum_fold(sum); /* the pseudo header is in sum, as the checksum field */

    if (s->udp && v == 0) /* 0 would mean: no checksum (RFC 768) */
        v = 0xffff;
    memcpy(p + s->sum_off, &v, sizeof v);
}
