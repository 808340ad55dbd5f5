/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/ip.h"

#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_net.h>

/* Offset of the IP header; 0 if there is none. */
static uint32_t ip_offset(const struct rte_mbuf *m, bool *v6)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    uint32_t len = m->data_len, off = RTE_ETHER_HDR_LEN;
    uint16_t type;

    if (len < off)
        return 0;
    type = (uint16_t)(p[off - 2] << 8 | p[off - 1]);
    for (int tags = 0; tags < 2 && (type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ);
         tags++) {
        off += 4;
        if (len < off)
            return 0;
        type = (uint16_t)(p[off - 2] << 8 | p[off - 1]);
    }
    *v6 = type == RTE_ETHER_TYPE_IPV6;
    if (*v6)
        return len >= off + sizeof(struct rte_ipv6_hdr) && p[off] >> 4 == 6 ? off : 0;
    if (type != RTE_ETHER_TYPE_IPV4 || len < off + sizeof(struct rte_ipv4_hdr))
        return 0;
    return p[off] >> 4 == 4 && (p[off] & 15) >= 5 ? off : 0;
}

/* Sets byte 1 of IPv4 (DSCP and ECN) and updates the checksum by RFC 1624, equation 3. */
static void ipv4_set_tos(uint8_t *ip, uint8_t tos)
{
    uint32_t sum = (uint32_t)(~(ip[10] << 8 | ip[11]) & 0xffff);

    sum += (uint32_t)(~(ip[0] << 8 | ip[1]) & 0xffff) + (uint32_t)(ip[0] << 8 | tos);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    ip[1] = tos;
    ip[10] = (uint8_t)(~sum >> 8);
    ip[11] = (uint8_t)~sum;
}

static uint8_t tos_get(const uint8_t *ip, bool v6)
{
    return v6 ? (uint8_t)(ip[0] << 4 | ip[1] >> 4) : ip[1];
}

static void tos_set(uint8_t *ip, bool v6, uint8_t tos)
{
    if (v6) {
        ip[0] = (uint8_t)(0x60 | tos >> 4);
        ip[1] = (uint8_t)(tos << 4 | (ip[1] & 15));
    } else {
        ipv4_set_tos(ip, tos);
    }
}

bool ip_mark(struct rte_mbuf *m)
{
    bool v6;
    uint32_t off = ip_offset(m, &v6);
    uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, off), tos;

    if (off == 0)
        return false;
    tos = tos_get(ip, v6);
    if ((tos & 3) == 0)
        return false;
    if ((tos & 3) != 3)
        tos_set(ip, v6, tos | 3);
    return true;
}

bool ip_set_dscp(struct rte_mbuf *m, uint8_t dscp)
{
    bool v6;
    uint32_t off = ip_offset(m, &v6);
    uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, off), tos;

    if (off == 0)
        return false;
    tos = tos_get(ip, v6);
    if (tos >> 2 == dscp)
        return false;
    tos_set(ip, v6, (uint8_t)(dscp << 2 | (tos & 3)));
    return true;
}

uint8_t ip_dscp(const struct rte_mbuf *m)
{
    bool v6;
    uint32_t off = ip_offset(m, &v6);

    return off == 0 ? 0 : tos_get(rte_pktmbuf_mtod_offset(m, const uint8_t *, off), v6) >> 2;
}

static uint16_t u16_at(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* The type of the transport header, and where it begins. DPDK knows a single 802.1Q tag, and two
 * tags of which the outer one is of 802.1ad. So it is shown the packet without its tags. */
static uint32_t transport(const struct rte_mbuf *m, uint32_t ip_off, uint32_t *l4_off)
{
    uint16_t tags = (uint16_t)(ip_off - RTE_ETHER_HDR_LEN);
    struct rte_mbuf view;
    struct rte_net_hdr_lens lens;
    uint32_t type;

    if (tags > 0) {
        view = *m;
        view.data_off = (uint16_t)(view.data_off + tags);
        view.data_len = (uint16_t)(view.data_len - tags);
        view.pkt_len -= tags;
        m = &view;
    }
    type = rte_net_get_ptype(m, &lens, RTE_PTYPE_ALL_MASK) & RTE_PTYPE_L4_MASK;
    *l4_off = tags + lens.l2_len + lens.l3_len;
    return type;
}

void ip_flow(const struct rte_mbuf *m, struct ip_flow *f)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *), *ip;
    bool v6;
    uint32_t off = ip_offset(m, &v6), type, l4;

    memset(f, 0, sizeof *f);
    f->vlan = IP_VLAN_NONE;
    if (m->data_len < RTE_ETHER_HDR_LEN)
        return;
    memcpy(f->dst_mac, p, 6);
    memcpy(f->src_mac, p + 6, 6);
    type = u16_at(p + 12);
    if ((type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ) && m->data_len >= 18)
        f->vlan = u16_at(p + 14) & 0xfff;
    if (off == 0)
        return;
    ip = p + off;
    f->ip = true;
    f->dscp = tos_get(ip, v6) >> 2;
    if (v6) {
        memcpy(f->src, ip + 8, 16);
        memcpy(f->dst, ip + 24, 16);
        f->proto = ip[6];
    } else {
        f->src[10] = f->src[11] = f->dst[10] = f->dst[11] = 0xff;
        memcpy(f->src + 12, ip + 12, 4);
        memcpy(f->dst + 12, ip + 16, 4);
        f->proto = ip[9];
    }
    type = transport(m, off, &l4);
    if (type == RTE_PTYPE_L4_TCP)
        f->proto = 6;
    else if (type == RTE_PTYPE_L4_UDP)
        f->proto = 17;
    else if (type == RTE_PTYPE_L4_SCTP)
        f->proto = 132;
    else
        return;
    if (m->data_len < l4 + 4)
        return;
    f->sport = u16_at(p + l4);
    f->dport = u16_at(p + l4 + 2);
}
