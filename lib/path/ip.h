/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fields of IP packets that a path reads and writes: congestion marks (RFC 3168), code points
 * (RFC 2474), and the fields that tell flows apart. Headers must lie in the first segment. A packet
 * whose headers do not, or that is not IP, is left alone and matches nothing.
 */
#ifndef SLUICE_PATH_IP_H
#define SLUICE_PATH_IP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define IP_VLAN_NONE 0xffff

/* Sets CE if the packet's transport understands marks: if the ECN field is ECT or CE. True if CE is
 * set now. */
bool ip_mark(struct rte_mbuf *m);
/* Sets the packet's DSCP. True if it had another one. */
bool ip_set_dscp(struct rte_mbuf *m, uint8_t dscp);

struct ip_flow {
    /* IPv4: ::ffff:a.b.c.d; zero if not IP. Aligned, since hashes read the struct in words. */
    _Alignas(4) uint8_t src[16];
    uint8_t dst[16];
    uint16_t sport, dport; /* of TCP, UDP, SCTP; 0 for others and for fragments */
    uint16_t vlan;         /* VLAN ID of the outer tag, or IP_VLAN_NONE */
    /* 0 if not IP, or if hop-by-hop options are followed by no known L4 header */
    uint8_t proto;
    uint8_t dscp;
    uint8_t ip; /* 1: the packet is IP */
    uint8_t src_mac[6], dst_mac[6];
    uint8_t zero[3]; /* instead of padding: flows are compared with memcmp() */
};

void ip_flow(const struct rte_mbuf *m, struct ip_flow *f);
/* The packet's DSCP; 0 if not IP. */
uint8_t ip_dscp(const struct rte_mbuf *m);

#endif
