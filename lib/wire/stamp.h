/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stamps: what sluice-load writes into each frame that it sends, so that the receiver can tell
 * losses, duplicates, order and latency. A stamp is the first 18 bytes of the payload of UDP:
 *
 *   0  magic 0x534c u16    2  stream:4 window:12 u16    4  number u32    8  flow u32
 *   12 time u48
 *
 * Each sender of a tester is a stream, and numbers its frames from 0 in each window. `flow` says
 * which of the stream's flows the frame belongs to. `time` is when the frame was made, in ns of the
 * sender's clock, modulo 2^48 (78 hours).
 *
 * All bytes behind the stamp are filler: byte i of the frame is i modulo 256. The sum of the filler
 * follows from its place and length, so neither side has to read it for the UDP checksum, which is
 * always there:
 *
 *   checksum = ~(pseudo header + UDP header + stamp + sum of the filler)    (RFC 768, RFC 1071)
 *
 * The magic has no check of its own: the checksum protects the stamp. A wrong bit in the IP header
 * from its version on, in the UDP header or in the stamp shows; one in the filler shows only to
 * stamp_filler_ok(); one in the MAC addresses never does, since routers rewrite them.
 *
 * Where this frame's fields stand follows from its route (frame.h); all offsets are even. Sums are
 * of 16-bit words in host order, unfolded.
 */
#ifndef SLUICE_WIRE_STAMP_H
#define SLUICE_WIRE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/frame.h"

#define STAMP_BYTES     18
#define STAMP_MAGIC     0x534c
#define STAMP_STREAMS   16
#define STAMP_WINDOWS   4096
#define STAMP_TIME_BITS 48
#define STAMP_FRAME_MIN 60u   /* Ethernet's shortest frame, without CRC */
#define STAMP_FRAME_MAX 9600u /* the longest frame, without CRC */
#define STAMP_HEAD_MAX  96    /* headers and stamp, rounded up to 32 */

struct stamp {
    uint64_t time_ns; /* below 2^48 */
    uint32_t number, flow;
    uint16_t window; /* below STAMP_WINDOWS */
    uint8_t stream;  /* below STAMP_STREAMS */
    uint8_t end_off; /* of the stamp in its frame; the filler begins there */
};

/* Where the fields stand in frames of one kind, in bytes from the frame's start. */
struct stamp_shape {
    uint16_t ip_off, addr_off, udp_off, stamp_off;
    bool v4;
};

/* What tells flows apart; addresses are their last 32 bits, in host order. */
struct stamp_flow {
    uint32_t flow, src, dst;
    uint16_t sport, dport;
};

/* Frames of one length and one stream, ready but for number, flow and time. */
struct stamp_template {
    uint8_t head[STAMP_HEAD_MAX]; /* with the filler that follows the stamp */
    struct stamp_shape shape;
    uint16_t frame_bytes;
    uint16_t head_bytes; /* of head[], in use */
    uint64_t ip_sum;     /* of the IPv4 header, without addresses */
    uint64_t udp_sum;    /* of all but what stamp_put() writes */
};

enum stamp_verdict {
    STAMP_OK,
    STAMP_NONE,    /* no stamp: not a frame of a tester */
    STAMP_CORRUPT, /* a stamp, but a checksum or a length is wrong */
};

void stamp_shape_init(struct stamp_shape *s, const struct frame_route *route);
/* The shortest frame that holds a stamp, at least STAMP_FRAME_MIN. */
uint32_t stamp_frame_min(const struct frame_route *route);

/* Writes the filler of a frame that begins at p, to bytes [from, to) of it. */
void stamp_filler_put(uint8_t *p, uint32_t from, uint32_t to);
/* Is the filler right? p points at byte `from` of the frame. */
bool stamp_filler_ok(const uint8_t *p, uint32_t from, uint32_t to);

/* The sum of the first i bytes of a frame that is all filler, i even. */
static inline uint64_t stamp_filler_prefix(uint32_t i)
{
    uint64_t words = (i & 255) / 2; /* word k of each 256 bytes is 2k << 8 | (2k + 1) */

    return (i >> 8) * (256ull * 128 * 127 + 128 * 128) + 256 * words * (words - 1) + words * words;
}

/* The sum of filler bytes [from, to), from even. */
static inline uint64_t stamp_filler_sum(uint32_t from, uint32_t to)
{
    uint64_t sum = stamp_filler_prefix(to & ~1u) - stamp_filler_prefix(from);

    return (to & 1) != 0 ? sum + (uint64_t)((to - 1) & 255) * 256 : sum;
}

/* Makes a template for frames of frame_bytes, from stamp_frame_min() to STAMP_FRAME_MAX. The last
 * 32 bits of the route's addresses, and its UDP ports, are not used: each flow has its own. */
void stamp_template_init(struct stamp_template *t, const struct frame_route *route,
                         uint32_t frame_bytes, uint8_t stream, uint16_t window);

static inline uint64_t stamp_time_sum(uint64_t time_ns)
{
    return (time_ns >> 32 & 0xffff) + (uint32_t)time_ns;
}

/* The number that makes a sum a checksum; UDP sends 0 as 0xffff (RFC 768), which IPv4's header
 * never has. */
static inline uint16_t stamp_checksum(uint64_t sum)
{
    uint16_t folded = frame_sum_fold(sum);

    return folded == 0xffff ? 0xffff : (uint16_t)~folded;
}

/* Writes headers and stamp of a frame to p, where STAMP_HEAD_MAX bytes have room. The bytes behind
 * them must be filler already. */
static inline void stamp_put(const struct stamp_template *t, uint8_t *p,
                             const struct stamp_flow *flow, uint32_t number, uint64_t time_ns)
{
    const struct stamp_shape *s = &t->shape;
    uint8_t *udp = p + s->udp_off, *stamp = p + s->stamp_off;
    uint64_t addresses = (uint64_t)flow->src + flow->dst;
    uint32_t ports = (uint32_t)flow->sport << 16 | flow->dport;

    memcpy(p, t->head, 64);
    if (t->head_bytes > 64)
        memcpy(p + 64, t->head + 64, 32);
    if (s->v4) {
        bytes_put_u16(p + s->ip_off + 10, (uint16_t)~frame_sum_fold(t->ip_sum + addresses));
        bytes_put_u32(p + s->addr_off, flow->src);
        bytes_put_u32(p + s->addr_off + 4, flow->dst);
    } else {
        bytes_put_u32(p + s->addr_off + 12, flow->src);
        bytes_put_u32(p + s->addr_off + 28, flow->dst);
    }
    bytes_put_u32(udp, ports);
    bytes_put_u16(udp + 6, stamp_checksum(t->udp_sum + addresses + ports + number + flow->flow +
                                          stamp_time_sum(time_ns)));
    bytes_put_u32(stamp + 4, number);
    bytes_put_u32(stamp + 8, flow->flow);
    bytes_put_u16(stamp + 12, (uint16_t)(time_ns >> 32));
    bytes_put_u32(stamp + 14, (uint32_t)time_ns);
}

/* Reads a stamp whose checksums have been checked. */
static inline void stamp_read(const uint8_t *stamp, struct stamp *out)
{
    uint16_t ids = bytes_get_u16(stamp + 2);

    out->stream = (uint8_t)(ids >> 12);
    out->window = ids & (STAMP_WINDOWS - 1);
    out->number = bytes_get_u32(stamp + 4);
    out->flow = bytes_get_u32(stamp + 8);
    out->time_ns = (uint64_t)bytes_get_u16(stamp + 12) << 32 | bytes_get_u32(stamp + 14);
}

/* Checks and reads the stamp of a frame of frame_len bytes, of which head_len are contiguous at p.
 * The frame may have another shape than those that were sent, a VLAN tag more or less. `end`, if
 * not NULL, becomes the end of the filler. */
enum stamp_verdict stamp_get(const uint8_t *p, uint32_t head_len, uint32_t frame_len,
                             const struct stamp_shape *expected, struct stamp *out, uint32_t *end);

/*
 * Turns a frame of head_len contiguous bytes around, as a host that echoes it would: swaps the MAC
 * addresses, the IP addresses and, of UDP, the ports. No checksum changes. False, and nothing
 * changes: it is not IPv4 or IPv6, ends inside its headers, or was sent to a group.
 */
bool stamp_reflect(uint8_t *p, uint32_t head_len, uint32_t frame_len);

#endif
