/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layers 2 to 4: Ethernet II, one optional VLAN tag (802.1Q), IPv4 (RFC 791) or IPv6 (RFC 8200),
 * UDP (RFC 768). ARP, ICMP and ICMPv6 are recognised. Bytes -> checked view, view -> bytes.
 *
 * A view is in host byte order and never points outside the bytes it was parsed from.
 */
#ifndef SLUICE_WIRE_FRAME_H
#define SLUICE_WIRE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "wire/addr.h"

#define FRAME_VLAN_NONE 0xffff

/* The two bits of ECN (RFC 3168, section 5). */
enum frame_ecn {
    FRAME_ECN_NOT = 0,  /* not ECN-capable */
    FRAME_ECN_ECT1 = 1, /* ECN-capable */
    FRAME_ECN_ECT0 = 2, /* ECN-capable */
    FRAME_ECN_CE = 3,   /* a router experienced congestion */
};

/* What a parsed frame is, or why it is dropped: each value has its own counter. */
enum frame_kind {
    FRAME_UDP,
    FRAME_ARP,      /* complete, Ethernet/IPv4 */
    FRAME_ICMP4,    /* at least the 8-byte header */
    FRAME_ICMP6,    /* at least the 4-byte header */
    FRAME_OTHER,    /* another protocol; well-formed as far as checked */
    FRAME_SHORT,    /* ends inside a header, or lengths disagree with the frame */
    FRAME_BAD_IP,   /* wrong version, header length or IPv4 header checksum */
    FRAME_FRAGMENT, /* an IP fragment: never Sluice's, which always sets DF */
    FRAME_BAD_UDP,  /* UDP length disagrees with IP's */
    FRAME_KINDS,
};

struct frame {
    enum frame_kind kind;
    struct rte_ether_addr src_mac, dst_mac;
    uint16_t vlan;     /* VLAN id 0-4095, or FRAME_VLAN_NONE */
    uint8_t ecn;       /* enum frame_ecn */
    uint8_t hop_limit; /* IPv4 TTL or IPv6 hop limit */
    struct addr src, dst;
    uint16_t sport, dport; /* UDP only */
    uint16_t udp_sum;      /* UDP checksum field, raw, in network order; 0: none sent */
    uint16_t l3_off;       /* start of the ARP or IP header, bytes from the frame's start */
    uint16_t l4_off;       /* start of IP's payload: UDP, ICMP, ICMPv6 or other */
    uint32_t l4_len;       /* bytes of IP's payload, without Ethernet padding */
    uint8_t proto;         /* IPv4's protocol or IPv6's next header */
    uint16_t payload_off;  /* FRAME_UDP: first byte after the UDP header */
    uint32_t payload_len;  /* bytes after the UDP header (or of the ICMP message), without
                              Ethernet padding */
};

/*
 * Parses a frame of frame_len bytes. Its first head_len bytes are contiguous at p, and must hold
 * all headers; the rest, if any, lies in other segments. Returns f->kind. Does not verify the UDP
 * checksum.
 */
enum frame_kind frame_parse(const uint8_t *p, uint32_t head_len, uint32_t frame_len,
                            struct frame *f);

/* The header fields toward a peer that do not change from packet to packet. */
struct frame_route {
    struct rte_ether_addr src_mac, dst_mac;
    uint16_t vlan;        /* or FRAME_VLAN_NONE */
    struct addr src, dst; /* both of one family */
    uint16_t sport, dport;
    uint8_t dscp; /* 0-63 */
    uint8_t ecn;  /* enum frame_ecn */
};

/* Header bytes (Ethernet .. UDP) for a route: 42, 46, 62 or 66. */
uint16_t frame_header_len(const struct frame_route *r);

/*
 * Writes Ethernet .. UDP headers for payload_len bytes after UDP, with DF set, hop limit 64, a
 * correct IPv4 header checksum and UDP checksum 0. Returns the header length.
 */
uint16_t frame_put(uint8_t *p, const struct frame_route *r, uint32_t payload_len);

/* Folds a 32- or 64-bit ones-complement sum to 16 bits (RFC 1071). */
static inline uint16_t frame_sum_fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* Ones-complement sum, in memory order, of len bytes starting at an even offset; unfolded. */
uint64_t frame_sum(const void *data, uint32_t len);

/*
 * Sum of the pseudo header of UDP or TCP, as proto says (RFC 768, RFC 9293 3.1, RFC 8200 8.1), for
 * l4_len bytes of header + payload; unfolded, in memory order. For the checksum, add frame_sum() of
 * header and payload, fold, complement.
 */
uint64_t frame_pseudo_sum(uint8_t proto, const struct addr *src, const struct addr *dst,
                          uint32_t l4_len);

/*
 * Sets the UDP checksum of headers written by frame_put() at p, given the unfolded sum of the
 * payload (taken as starting at an even offset). A result of 0 is sent as 0xffff.
 */
void frame_set_udp_sum(uint8_t *p, const struct frame_route *r, uint32_t payload_len,
                       uint64_t payload_sum);

/* Sets the UDP checksum field to the pseudo header's sum, for a port that computes the rest: a
 * partial checksum (wire/partial.h). */
void frame_set_pseudo_sum(uint8_t *p, const struct frame_route *r, uint32_t payload_len);

/* Is the UDP checksum a partial one (wire/partial.h)? */
bool frame_udp_sum_partial(const struct frame *f);

/* Updates the UDP checksum, if there is one, of the frame that f was parsed from, after bytes at an
 * even distance from the UDP header have changed. `before` and `after` are the unfolded sums of
 * these bytes. */
void frame_change_udp_sum(uint8_t *p, const struct frame *f, uint64_t before, uint64_t after);

/*
 * Is the UDP checksum correct, given the unfolded sum of the payload? True if udp_sum is 0 (none
 * was sent). p: the frame that f was parsed from.
 */
bool frame_udp_sum_ok(const uint8_t *p, const struct frame *f, uint64_t payload_sum);

#endif
