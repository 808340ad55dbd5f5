/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lower headers that the builders of lib/wire share: Ethernet II with its optional VLAN tag,
 * and IPv6. Each function writes at p, which needs no alignment, and returns the first byte after.
 */
#ifndef SLUICE_WIRE_LAYER_H
#define SLUICE_WIRE_LAYER_H

#include <stdint.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "base/bytes.h"
#include "wire/addr.h"
#include "wire/frame.h"

static inline uint8_t *layer_put_ether(uint8_t *p, const struct rte_ether_addr *src,
                                       const struct rte_ether_addr *dst, uint16_t vlan,
                                       uint16_t ether_type)
{
    memcpy(p, dst, RTE_ETHER_ADDR_LEN);
    memcpy(p + 6, src, RTE_ETHER_ADDR_LEN);
    p += 12;
    if (vlan != FRAME_VLAN_NONE) {
        bytes_put_u32(p, (uint32_t)RTE_ETHER_TYPE_VLAN << 16 | (vlan & 0xfff));
        p += 4;
    }
    bytes_put_u16(p, ether_type);
    return p + 2;
}

static inline uint8_t *layer_put_ipv6(uint8_t *p, const struct addr *src, const struct addr *dst,
                                      uint8_t traffic_class, uint16_t payload_len, uint8_t proto,
                                      uint8_t hop_limit)
{
    struct rte_ipv6_hdr ip;

    ip.vtc_flow = rte_cpu_to_be_32(6u << 28 | (uint32_t)traffic_class << 20);
    ip.payload_len = rte_cpu_to_be_16(payload_len);
    ip.proto = proto;
    ip.hop_limits = hop_limit;
    memcpy(&ip.src_addr, src->b, 16);
    memcpy(&ip.dst_addr, dst->b, 16);
    memcpy(p, &ip, sizeof ip);
    return p + sizeof ip;
}

#endif
