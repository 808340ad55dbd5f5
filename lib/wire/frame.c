/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layers 2 to 4. Headers are copied to local variables before they are read, so frames may start at
 * any address. Lengths are checked before fields.
 */
#include "wire/frame.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_byteorder.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/layer.h"

#define HOP_LIMIT     64
#define FRAGMENT_BITS 0x3fff /* more-fragments flag and fragment offset */
#define ICMP6_MIN     4      /* type, code, checksum */

static enum frame_kind arp_parse(const uint8_t *p, uint32_t head_len, struct frame *f)
{
    struct rte_arp_hdr arp;

    if (head_len < f->l3_off + sizeof arp)
        return FRAME_SHORT;
    memcpy(&arp, p + f->l3_off, sizeof arp);
    if (arp.arp_hardware != rte_cpu_to_be_16(RTE_ARP_HRD_ETHER) ||
        arp.arp_protocol != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) ||
        arp.arp_hlen != RTE_ETHER_ADDR_LEN || arp.arp_plen != 4)
        return FRAME_OTHER;
    return FRAME_ARP;
}

/* l4_len: bytes after the IP header, known to lie within the frame. */
static enum frame_kind udp_parse(const uint8_t *p, uint32_t head_len, uint32_t l4_len,
                                 struct frame *f)
{
    struct rte_udp_hdr udp;

    if (l4_len < sizeof udp || head_len < f->l4_off + sizeof udp)
        return FRAME_SHORT;
    memcpy(&udp, p + f->l4_off, sizeof udp);
    if (rte_be_to_cpu_16(udp.dgram_len) != l4_len)
        return FRAME_BAD_UDP;
    f->sport = rte_be_to_cpu_16(udp.src_port);
    f->dport = rte_be_to_cpu_16(udp.dst_port);
    f->udp_sum = udp.dgram_cksum;
    f->payload_off = (uint16_t)(f->l4_off + sizeof udp);
    f->payload_len = l4_len - (uint32_t)sizeof udp;
    return FRAME_UDP;
}

static enum frame_kind icmp_parse(uint32_t head_len, uint32_t l4_len, uint32_t least,
                                  enum frame_kind kind, struct frame *f)
{
    if (l4_len < least || head_len < f->l4_off + least)
        return FRAME_SHORT;
    f->payload_off = f->l4_off;
    f->payload_len = l4_len;
    return kind;
}

/* Is the checksum of a header without options right? No loop: this runs for every packet. */
static inline bool ipv4_sum_ok(const struct rte_ipv4_hdr *ip)
{
    uint32_t w[5];

    memcpy(w, ip, sizeof w);
    return frame_sum_fold((uint64_t)w[0] + w[1] + w[2] + w[3] + w[4]) == 0xffff;
}

static inline void addr_set_v4(struct addr *a, rte_be32_t ip)
{
    const uint32_t w[4] = {0, 0, rte_cpu_to_be_32(0xffff), ip};

    memcpy(a->b, w, sizeof w);
}

static enum frame_kind ipv4_parse(const uint8_t *p, uint32_t head_len, uint32_t frame_len,
                                  struct frame *f)
{
    struct rte_ipv4_hdr ip;
    uint32_t header_len, total_len;

    if (head_len < f->l3_off + sizeof ip)
        return FRAME_SHORT;
    memcpy(&ip, p + f->l3_off, sizeof ip);
    header_len = (uint32_t)(ip.version_ihl & 0xf) * 4;
    if (ip.version_ihl >> 4 != 4 || header_len < sizeof ip)
        return FRAME_BAD_IP;
    total_len = rte_be_to_cpu_16(ip.total_length);
    if (head_len < f->l3_off + header_len || total_len < header_len ||
        frame_len - f->l3_off < total_len)
        return FRAME_SHORT;
    if (header_len == sizeof ip ? !ipv4_sum_ok(&ip)
                                : rte_raw_cksum(p + f->l3_off, header_len) != 0xffff)
        return FRAME_BAD_IP;
    f->ecn = ip.type_of_service & 3;
    f->hop_limit = ip.time_to_live;
    addr_set_v4(&f->src, ip.src_addr);
    addr_set_v4(&f->dst, ip.dst_addr);
    f->l4_off = (uint16_t)(f->l3_off + header_len);
    f->l4_len = total_len - header_len;
    f->proto = ip.next_proto_id;
    if (ip.fragment_offset & rte_cpu_to_be_16(FRAGMENT_BITS))
        return FRAME_FRAGMENT;
    if (ip.next_proto_id == IPPROTO_UDP)
        return udp_parse(p, head_len, f->l4_len, f);
    if (ip.next_proto_id == IPPROTO_ICMP)
        return icmp_parse(head_len, f->l4_len, sizeof(struct rte_icmp_hdr), FRAME_ICMP4, f);
    return FRAME_OTHER;
}

static enum frame_kind ipv6_parse(const uint8_t *p, uint32_t head_len, uint32_t frame_len,
                                  struct frame *f)
{
    struct rte_ipv6_hdr ip;
    uint32_t flow;

    if (head_len < f->l3_off + sizeof ip)
        return FRAME_SHORT;
    memcpy(&ip, p + f->l3_off, sizeof ip);
    flow = rte_be_to_cpu_32(ip.vtc_flow);
    if (flow >> 28 != 6)
        return FRAME_BAD_IP;
    f->l4_len = rte_be_to_cpu_16(ip.payload_len);
    f->proto = ip.proto;
    if (frame_len - f->l3_off - sizeof ip < f->l4_len)
        return FRAME_SHORT;
    memcpy(f->src.b, &ip.src_addr, sizeof f->src.b);
    memcpy(f->dst.b, &ip.dst_addr, sizeof f->dst.b);
    /* ::ffff:0:0/96 means IPv4 here, so no IPv6 packet may carry such an address. */
    if (addr_is_v4(&f->src) || addr_is_v4(&f->dst))
        return FRAME_BAD_IP;
    f->ecn = flow >> 20 & 3;
    f->hop_limit = ip.hop_limits;
    f->l4_off = (uint16_t)(f->l3_off + sizeof ip);
    switch (ip.proto) {
    case IPPROTO_UDP:
        return udp_parse(p, head_len, f->l4_len, f);
    case IPPROTO_ICMPV6:
        return icmp_parse(head_len, f->l4_len, ICMP6_MIN, FRAME_ICMP6, f);
    case IPPROTO_FRAGMENT:
        return FRAME_FRAGMENT;
    default:
        return FRAME_OTHER; /* extension headers too: no Sluice host sends any */
    }
}

static enum frame_kind ether_parse(const uint8_t *p, uint32_t head_len, uint32_t frame_len,
                                   struct frame *f)
{
    uint16_t ether_type;

    if (head_len < RTE_ETHER_HDR_LEN)
        return FRAME_SHORT;
    memcpy(&f->dst_mac, p, RTE_ETHER_ADDR_LEN);
    memcpy(&f->src_mac, p + RTE_ETHER_ADDR_LEN, RTE_ETHER_ADDR_LEN);
    ether_type = bytes_get_u16(p + 12);
    f->l3_off = RTE_ETHER_HDR_LEN;
    if (ether_type == RTE_ETHER_TYPE_VLAN) {
        if (head_len < RTE_ETHER_HDR_LEN + sizeof(struct rte_vlan_hdr))
            return FRAME_SHORT;
        f->vlan = bytes_get_u16(p + 14) & 0xfff;
        ether_type = bytes_get_u16(p + 16);
        f->l3_off += sizeof(struct rte_vlan_hdr);
    }
    switch (ether_type) {
    case RTE_ETHER_TYPE_IPV4:
        return ipv4_parse(p, head_len, frame_len, f);
    case RTE_ETHER_TYPE_IPV6:
        return ipv6_parse(p, head_len, frame_len, f);
    case RTE_ETHER_TYPE_ARP:
        return arp_parse(p, head_len, f);
    default:
        return FRAME_OTHER;
    }
}

enum frame_kind frame_parse(const uint8_t *p, uint32_t head_len, uint32_t frame_len,
                            struct frame *f)
{
    memset(f, 0, sizeof *f);
    f->vlan = FRAME_VLAN_NONE;
    f->kind = ether_parse(p, head_len < frame_len ? head_len : frame_len, frame_len, f);
    return f->kind;
}

uint16_t frame_header_len(const struct frame_route *r)
{
    return (uint16_t)(RTE_ETHER_HDR_LEN +
                      (r->vlan == FRAME_VLAN_NONE ? 0 : sizeof(struct rte_vlan_hdr)) +
                      (addr_is_v4(&r->dst) ? sizeof(struct rte_ipv4_hdr)
                                           : sizeof(struct rte_ipv6_hdr)) +
                      sizeof(struct rte_udp_hdr));
}

/* Writes and sums the header word by word: a struct on the stack would be stored in parts and
 * loaded whole, which stalls the CPU. Identification is 0: with DF it has no meaning (RFC 6864). */
static inline uint8_t *ipv4_put(uint8_t *p, const struct frame_route *r, uint8_t tos,
                                uint16_t udp_len)
{
    uint32_t first =
        0x45u << 24 | (uint32_t)tos << 16 | (uint16_t)(udp_len + sizeof(struct rte_ipv4_hdr));
    uint32_t third = (uint32_t)HOP_LIMIT << 24 | IPPROTO_UDP << 16;
    uint32_t src = bytes_get_u32(r->src.b + 12), dst = bytes_get_u32(r->dst.b + 12);
    uint16_t sum = frame_sum_fold((uint64_t)first + RTE_IPV4_HDR_DF_FLAG + third + src + dst);

    bytes_put_u32(p, first);
    bytes_put_u32(p + 4, RTE_IPV4_HDR_DF_FLAG);
    bytes_put_u32(p + 8, third | (uint16_t)~sum);
    bytes_put_u32(p + 12, src);
    bytes_put_u32(p + 16, dst);
    return p + sizeof(struct rte_ipv4_hdr);
}

uint16_t frame_put(uint8_t *p, const struct frame_route *r, uint32_t payload_len)
{
    uint16_t udp_len = (uint16_t)(sizeof(struct rte_udp_hdr) + payload_len);
    uint8_t tos = (uint8_t)(r->dscp << 2 | (r->ecn & 3));
    bool v4 = addr_is_v4(&r->dst);
    struct rte_udp_hdr udp;
    uint8_t *at;

    /* IPv4's length counts its header, IPv6's does not */
    CHECK(payload_len <= UINT16_MAX - sizeof udp - (v4 ? sizeof(struct rte_ipv4_hdr) : 0));
    at = layer_put_ether(p, &r->src_mac, &r->dst_mac, r->vlan,
                         v4 ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6);
    if (v4)
        at = ipv4_put(at, r, tos, udp_len);
    else
        at = layer_put_ipv6(at, &r->src, &r->dst, tos, udp_len, IPPROTO_UDP, HOP_LIMIT);
    udp.src_port = rte_cpu_to_be_16(r->sport);
    udp.dst_port = rte_cpu_to_be_16(r->dport);
    udp.dgram_len = rte_cpu_to_be_16(udp_len);
    udp.dgram_cksum = 0;
    memcpy(at, &udp, sizeof udp);
    return (uint16_t)(at + sizeof udp - p);
}

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof w);
    return w;
}

/*
 * Adds 64 bits at a time into 128: since 2^16 = 1 modulo 2^16 - 1, wider words have the same sum.
 * rte_raw_cksum() adds 16 bits at a time into 32, which is slower and overflows above 128 KiB.
 * The result is below 2^34, so callers may add many of them.
 */
uint64_t frame_sum(const void *data, uint32_t len)
{
    const uint8_t *p = (const uint8_t *)data;
    unsigned __int128 a = 0, b = 0;
    uint8_t tail[16] = {0};

    for (; len >= 32; len -= 32, p += 32) {
        a += word_at(p);
        b += word_at(p + 8);
        a += word_at(p + 16);
        b += word_at(p + 24);
    }
    if (len >= 16) {
        a += word_at(p);
        b += word_at(p + 8);
        p += 16;
        len -= 16;
    }
    if (len > 0)
        memcpy(tail, p, len);
    a += (unsigned __int128)word_at(tail) + word_at(tail + 8) + b;
    return (uint64_t)(a & 0xffffffff) + (uint64_t)(a >> 32 & 0xffffffff) + (uint64_t)(a >> 64);
}

uint64_t frame_pseudo_sum(uint8_t proto, const struct addr *src, const struct addr *dst,
                          uint32_t l4_len)
{
    uint64_t sum = (uint64_t)rte_cpu_to_be_32(l4_len) + rte_cpu_to_be_16(proto);
    uint32_t a[4], b[4];

    memcpy(a, src->b, sizeof a);
    memcpy(b, dst->b, sizeof b);
    if (!addr_is_v4(dst))
        sum += (uint64_t)a[0] + a[1] + a[2] + b[0] + b[1] + b[2];
    return sum + a[3] + b[3];
}

static inline uint64_t udp_sum(const uint8_t *udp)
{
    uint32_t w[2];

    memcpy(w, udp, sizeof w);
    return (uint64_t)w[0] + w[1];
}

void frame_set_udp_sum(uint8_t *p, const struct frame_route *r, uint32_t payload_len,
                       uint64_t payload_sum)
{
    uint8_t *udp = p + frame_header_len(r) - sizeof(struct rte_udp_hdr);
    uint32_t udp_len = payload_len + (uint32_t)sizeof(struct rte_udp_hdr);
    uint16_t sum;

    memset(udp + offsetof(struct rte_udp_hdr, dgram_cksum), 0, sizeof sum);
    sum = frame_sum_fold(frame_pseudo_sum(IPPROTO_UDP, &r->src, &r->dst, udp_len) + udp_sum(udp) +
                         frame_sum_fold(payload_sum));
    sum = sum == 0xffff ? 0xffff : (uint16_t)~sum;
    memcpy(udp + offsetof(struct rte_udp_hdr, dgram_cksum), &sum, sizeof sum);
}

bool frame_udp_sum_ok(const uint8_t *p, const struct frame *f, uint64_t payload_sum)
{
    uint32_t udp_len = f->payload_len + (uint32_t)sizeof(struct rte_udp_hdr);

    if (f->udp_sum == 0)
        return true;
    return frame_sum_fold(frame_pseudo_sum(IPPROTO_UDP, &f->src, &f->dst, udp_len) +
                          udp_sum(p + f->l4_off) + frame_sum_fold(payload_sum)) == 0xffff;
}

void frame_set_pseudo_sum(uint8_t *p, const struct frame_route *r, uint32_t payload_len)
{
    uint8_t *udp = p + frame_header_len(r) - sizeof(struct rte_udp_hdr);
    uint32_t udp_len = payload_len + (uint32_t)sizeof(struct rte_udp_hdr);
    uint16_t sum = frame_sum_fold(frame_pseudo_sum(IPPROTO_UDP, &r->src, &r->dst, udp_len));

    memcpy(udp + offsetof(struct rte_udp_hdr, dgram_cksum), &sum, sizeof sum);
}

bool frame_udp_sum_partial(const struct frame *f)
{
    return f->udp_sum == frame_sum_fold(frame_pseudo_sum(IPPROTO_UDP, &f->src, &f->dst, f->l4_len));
}

void frame_change_udp_sum(uint8_t *p, const struct frame *f, uint64_t before, uint64_t after)
{
    uint16_t sum;

    if (f->udp_sum == 0)
        return;
    /* RFC 1624, equation 3 */
    sum = (uint16_t)~frame_sum_fold((uint64_t)(uint16_t)~f->udp_sum +
                                    (uint16_t)~frame_sum_fold(before) + frame_sum_fold(after));
    if (sum == 0)
        sum = 0xffff;
    memcpy(p + f->payload_off - 2, &sum, sizeof sum);
}
