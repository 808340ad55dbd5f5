/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP, neighbour discovery and echo. A neighbour message is believed only after every check that
 * its RFC asks for, so one forged from beyond the link (hop limit below 255) changes nothing.
 */
#include "wire/neigh.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_icmp.h>
#include <rte_ip.h>

#include "base/bytes.h"
#include "wire/layer.h"

#define ECHO_HOP_LIMIT   64
#define ND_HOP_LIMIT     255 /* a packet that passed a router has at most 254 */
#define ND_SOLICIT       135
#define ND_ADVERT        136
#define ND_BYTES         24 /* type, code, checksum, flags, target */
#define ND_FLAGS_OFF     4
#define ND_TARGET_OFF    8
#define ND_SOLICITED     0x40 /* flags of an advertisement */
#define ND_OVERRIDE      0x20
#define ND_OPTION_SOURCE 1 /* link-layer address options */
#define ND_OPTION_TARGET 2
#define ND_OPTION_BYTES  8
#define ECHO4_REQUEST    8 /* not those of rte_icmp.h, whose names DPDK 24.11 changed */
#define ECHO4_REPLY      0
#define ECHO6_REQUEST    128
#define ECHO6_REPLY      129

static const struct rte_ether_addr broadcast_mac = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
static const struct rte_ether_addr all_nodes_mac = {{0x33, 0x33, 0, 0, 0, 1}};
static const struct addr all_nodes = {{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

static bool mac_is_host(const struct rte_ether_addr *mac)
{
    return rte_is_valid_assigned_ether_addr(mac) == 1;
}

static bool addr_is_host(const struct addr *a)
{
    return !addr_is_unset(a) && !addr_is_multicast(a);
}

/* ICMPv6's pseudo header differs from UDP's in the protocol number only. */
static uint16_t icmp6_sum(const struct addr *src, const struct addr *dst, const uint8_t *p,
                          uint32_t len)
{
    return frame_sum_fold(frame_sum(src->b, 16) + frame_sum(dst->b, 16) + rte_cpu_to_be_32(len) +
                          rte_cpu_to_be_16(IPPROTO_ICMPV6) + frame_sum(p, len));
}

/* Writes the checksum into the message of len bytes at p, whose checksum field is 0. */
static void icmp6_set_sum(const struct addr *src, const struct addr *dst, uint8_t *p, uint32_t len)
{
    uint16_t sum = (uint16_t)~icmp6_sum(src, dst, p, len);

    memcpy(p + 2, &sum, sizeof sum);
}

static struct addr solicited_node(const struct addr *a)
{
    struct addr group = {{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}};

    memcpy(group.b + 13, a->b + 13, 3);
    return group;
}

struct rte_ether_addr neigh_multicast_mac(const struct addr *a)
{
    struct rte_ether_addr mac = {{0x33, 0x33, 0xff, a->b[13], a->b[14], a->b[15]}};

    return mac;
}

static enum neigh_kind arp_parse(const uint8_t *p, uint32_t len, const struct frame *f,
                                 struct neigh *n)
{
    struct rte_arp_hdr arp;

    if (len < sizeof arp)
        return NEIGH_NONE;
    memcpy(&arp, p, sizeof arp);
    n->sender = addr_from_v4(rte_be_to_cpu_32(arp.arp_data.arp_sip));
    n->mac = arp.arp_data.arp_sha;
    n->has_mac = true;
    if (!mac_is_host(&n->mac) || addr_is_multicast(&n->sender))
        return NEIGH_NONE;
    switch (rte_be_to_cpu_16(arp.arp_opcode)) {
    case RTE_ARP_OP_REQUEST:
        n->target = addr_from_v4(rte_be_to_cpu_32(arp.arp_data.arp_tip));
        return addr_is_host(&n->target) ? NEIGH_REQUEST : NEIGH_NONE;
    case RTE_ARP_OP_REPLY:
        n->target = n->sender;
        n->solicited = !rte_is_multicast_ether_addr(&f->dst_mac);
        n->override = true;
        return addr_is_host(&n->sender) ? NEIGH_REPLY : NEIGH_NONE;
    default:
        return NEIGH_NONE;
    }
}

/* Checks all options, and takes the first link-layer address of the wanted type. */
static bool nd_options_ok(const uint8_t *p, uint32_t len, uint8_t wanted, struct neigh *n)
{
    while (len > 0) {
        uint32_t option_len;

        if (len < ND_OPTION_BYTES || p[1] == 0)
            return false;
        option_len = p[1] * 8u;
        if (option_len > len)
            return false;
        if (p[0] == wanted && !n->has_mac) {
            if (option_len != ND_OPTION_BYTES)
                return false;
            memcpy(&n->mac, p + 2, RTE_ETHER_ADDR_LEN);
            n->has_mac = true;
        }
        p += option_len;
        len -= option_len;
    }
    return !n->has_mac || mac_is_host(&n->mac);
}

/* RFC 4861 7.1.1. An address probe (RFC 4862) has no source address, and goes to the target's
 * solicited-node group. */
static enum neigh_kind nd_solicit_parse(const struct frame *f, const struct neigh *n)
{
    struct addr group = solicited_node(&n->target);

    if (addr_is_multicast(&f->src))
        return NEIGH_NONE;
    if (addr_is_unset(&f->src) && (n->has_mac || !addr_equal(&f->dst, &group)))
        return NEIGH_NONE;
    return NEIGH_REQUEST;
}

/* RFC 4861 7.1.2. */
static enum neigh_kind nd_advert_parse(const uint8_t *p, const struct frame *f, struct neigh *n)
{
    if (!addr_is_host(&f->src))
        return NEIGH_NONE;
    if (addr_is_multicast(&f->dst) && p[ND_FLAGS_OFF] & ND_SOLICITED)
        return NEIGH_NONE;
    n->solicited = p[ND_FLAGS_OFF] & ND_SOLICITED;
    n->override = p[ND_FLAGS_OFF] & ND_OVERRIDE;
    return NEIGH_REPLY;
}

static enum neigh_kind nd_parse(const uint8_t *p, const struct frame *f, struct neigh *n)
{
    uint32_t len = f->payload_len;
    bool solicit;

    if (len < ND_BYTES || (p[0] != ND_SOLICIT && p[0] != ND_ADVERT))
        return NEIGH_NONE;
    solicit = p[0] == ND_SOLICIT;
    if (f->hop_limit != ND_HOP_LIMIT || p[1] != 0 || icmp6_sum(&f->src, &f->dst, p, len) != 0xffff)
        return NEIGH_NONE;
    n->sender = f->src;
    memcpy(n->target.b, p + ND_TARGET_OFF, sizeof n->target.b);
    if (!addr_is_host(&n->target) || addr_is_v4(&n->target))
        return NEIGH_NONE;
    if (!nd_options_ok(p + ND_BYTES, len - ND_BYTES, solicit ? ND_OPTION_SOURCE : ND_OPTION_TARGET,
                       n))
        return NEIGH_NONE;
    return solicit ? nd_solicit_parse(f, n) : nd_advert_parse(p, f, n);
}

enum neigh_kind neigh_parse(const uint8_t *p, uint32_t frame_len, const struct frame *f,
                            struct neigh *n)
{
    memset(n, 0, sizeof *n);
    if (f->kind == FRAME_ARP && f->l3_off <= frame_len)
        n->kind = arp_parse(p + f->l3_off, frame_len - f->l3_off, f, n);
    else if (f->kind == FRAME_ICMP6 && (uint64_t)f->l4_off + f->payload_len <= frame_len)
        n->kind = nd_parse(p + f->l4_off, f, n);
    return n->kind;
}

/* tha, tip: MAC and IPv4 address of the target; tha is zero if unknown. */
static uint16_t arp_put(uint8_t *p, uint16_t op, const struct rte_ether_addr *mac,
                        const struct addr *sip, const struct rte_ether_addr *dst_mac,
                        const struct rte_ether_addr *tha, const struct addr *tip, uint16_t vlan)
{
    struct rte_arp_hdr arp;
    uint8_t *at = layer_put_ether(p, mac, dst_mac, vlan, RTE_ETHER_TYPE_ARP);

    arp.arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER);
    arp.arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
    arp.arp_hlen = RTE_ETHER_ADDR_LEN;
    arp.arp_plen = 4;
    arp.arp_opcode = rte_cpu_to_be_16(op);
    arp.arp_data.arp_sha = *mac;
    arp.arp_data.arp_tha = *tha;
    memcpy(&arp.arp_data.arp_sip, sip->b + 12, 4);
    memcpy(&arp.arp_data.arp_tip, tip->b + 12, 4);
    memcpy(at, &arp, sizeof arp);
    return (uint16_t)(at + sizeof arp - p);
}

/* Writes headers, then the neighbour message of len bytes (with or without its option). */
static uint16_t nd_put(uint8_t *p, const struct rte_ether_addr *mac,
                       const struct rte_ether_addr *dst_mac, const struct addr *src,
                       const struct addr *dst, uint16_t vlan, const uint8_t *message, uint16_t len)
{
    uint8_t *at = layer_put_ether(p, mac, dst_mac, vlan, RTE_ETHER_TYPE_IPV6);

    at = layer_put_ipv6(at, src, dst, 0, len, IPPROTO_ICMPV6, ND_HOP_LIMIT);
    memcpy(at, message, len);
    icmp6_set_sum(src, dst, at, len);
    return (uint16_t)(at + len - p);
}

static void nd_message(uint8_t *m, uint8_t type, uint8_t flags, const struct addr *target,
                       uint8_t option, const struct rte_ether_addr *mac)
{
    memset(m, 0, ND_BYTES + ND_OPTION_BYTES);
    m[0] = type;
    m[ND_FLAGS_OFF] = flags;
    memcpy(m + ND_TARGET_OFF, target->b, sizeof target->b);
    m[ND_BYTES] = option;
    m[ND_BYTES + 1] = ND_OPTION_BYTES / 8;
    memcpy(m + ND_BYTES + 2, mac, RTE_ETHER_ADDR_LEN);
}

uint16_t neigh_put_request(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *sender,
                           const struct addr *target, uint16_t vlan)
{
    static const struct rte_ether_addr unknown_mac;
    uint8_t message[ND_BYTES + ND_OPTION_BYTES];
    struct rte_ether_addr group_mac;
    struct addr group;

    if (addr_is_v4(target))
        return arp_put(p, RTE_ARP_OP_REQUEST, mac, sender, &broadcast_mac, &unknown_mac, target,
                       vlan);
    group_mac = neigh_multicast_mac(target);
    group = solicited_node(target);
    nd_message(message, ND_SOLICIT, 0, target, ND_OPTION_SOURCE, mac);
    return nd_put(p, mac, &group_mac, sender, &group, vlan, message,
                  addr_is_unset(sender) ? ND_BYTES : sizeof message);
}

uint16_t neigh_put_poll(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *sender,
                        const struct addr *target, const struct rte_ether_addr *dst_mac,
                        uint16_t vlan)
{
    static const struct rte_ether_addr unknown_mac;
    uint8_t message[ND_BYTES + ND_OPTION_BYTES];

    if (addr_is_v4(target))
        return arp_put(p, RTE_ARP_OP_REQUEST, mac, sender, dst_mac, &unknown_mac, target, vlan);
    nd_message(message, ND_SOLICIT, 0, target, ND_OPTION_SOURCE, mac);
    return nd_put(p, mac, dst_mac, sender, target, vlan, message, sizeof message);
}

uint16_t neigh_put_announce(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *own,
                            uint16_t vlan)
{
    static const struct addr everybody;

    if (addr_is_v4(own))
        return neigh_put_request(p, mac, own, own, vlan);
    return neigh_put_reply(p, mac, own, &all_nodes_mac, &everybody, vlan);
}

uint16_t neigh_put_reply(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *target,
                         const struct rte_ether_addr *dst_mac, const struct addr *dst,
                         uint16_t vlan)
{
    uint8_t message[ND_BYTES + ND_OPTION_BYTES];
    uint8_t flags = ND_SOLICITED | ND_OVERRIDE;

    if (addr_is_v4(target))
        return arp_put(p, RTE_ARP_OP_REPLY, mac, target, dst_mac, dst_mac, dst, vlan);
    if (addr_is_unset(
            dst)) { /* the answer to an address probe goes to all nodes (RFC 4861 7.2.4) */
        dst = &all_nodes;
        dst_mac = &all_nodes_mac;
    }
    if (addr_is_multicast(dst))
        flags = ND_OVERRIDE;
    nd_message(message, ND_ADVERT, flags, target, ND_OPTION_TARGET, mac);
    return nd_put(p, mac, dst_mac, target, dst, vlan, message, sizeof message);
}

/* Turns an IPv4 echo request into its reply: addresses swapped, DF set, no ECN mark left from the
 * request's path. */
static bool echo4_turn(uint8_t *l3, uint8_t *l4, uint32_t len)
{
    struct rte_ipv4_hdr ip;
    rte_be32_t asker;
    uint16_t sum;

    if (l4[0] != ECHO4_REQUEST || l4[1] != 0 || frame_sum_fold(frame_sum(l4, len)) != 0xffff)
        return false;
    memcpy(&ip, l3, sizeof ip);
    asker = ip.src_addr;
    ip.src_addr = ip.dst_addr;
    ip.dst_addr = asker;
    ip.type_of_service &= 0xfc;
    ip.packet_id = 0;
    ip.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
    ip.time_to_live = ECHO_HOP_LIMIT;
    ip.hdr_checksum = 0;
    ip.hdr_checksum = rte_ipv4_cksum(&ip);
    memcpy(l3, &ip, sizeof ip);
    l4[0] = ECHO4_REPLY;
    memset(l4 + 2, 0, 2);
    sum = (uint16_t)~frame_sum_fold(frame_sum(l4, len));
    memcpy(l4 + 2, &sum, sizeof sum);
    return true;
}

static bool echo6_turn(uint8_t *l3, uint8_t *l4, uint32_t len, const struct frame *f)
{
    uint8_t dscp = (uint8_t)((l3[0] << 4 | l3[1] >> 4) & 0xfc); /* traffic class without ECN */

    if (l4[0] != ECHO6_REQUEST || l4[1] != 0 || len < sizeof(struct rte_icmp_hdr) ||
        icmp6_sum(&f->src, &f->dst, l4, len) != 0xffff)
        return false;
    layer_put_ipv6(l3, &f->dst, &f->src, dscp, (uint16_t)len, IPPROTO_ICMPV6, ECHO_HOP_LIMIT);
    l4[0] = ECHO6_REPLY;
    memset(l4 + 2, 0, 2);
    icmp6_set_sum(&f->dst, &f->src, l4, len);
    return true;
}

bool neigh_echo(uint8_t *p, uint32_t frame_len, const struct frame *f,
                const struct rte_ether_addr *mac)
{
    uint8_t *l3 = p + f->l3_off, *l4 = p + f->l4_off;
    bool turned = false;

    if ((f->kind != FRAME_ICMP4 && f->kind != FRAME_ICMP6) ||
        (uint64_t)f->l4_off + f->payload_len > frame_len)
        return false;
    /* Answers only requests of one host to one host: no packet can be multiplied through us. */
    if (!mac_is_host(&f->src_mac) || !addr_is_host(&f->src) || !addr_is_host(&f->dst))
        return false;
    /* Requests with IPv4 options get no reply: source routes would have to be reversed. */
    if (f->kind == FRAME_ICMP4 && f->l4_off - f->l3_off == sizeof(struct rte_ipv4_hdr))
        turned = echo4_turn(l3, l4, f->payload_len);
    else if (f->kind == FRAME_ICMP6)
        turned = echo6_turn(l3, l4, f->payload_len, f);
    if (turned) {
        memcpy(p, &f->src_mac, RTE_ETHER_ADDR_LEN);
        memcpy(p + RTE_ETHER_ADDR_LEN, mac, RTE_ETHER_ADDR_LEN);
    }
    return turned;
}
