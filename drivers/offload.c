/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/offload.h"

#include <rte_ether.h>
#include <rte_ip.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/counter.h"
#include "wire/frame.h"
#include "wire/partial.h"

/* Length of the frame in bytes, as its IP header says; 0: the frame is not IP, or too short. The IP
 * header begins at *l3_off. */
static uint32_t frame_claims(const uint8_t *p, uint32_t len, uint32_t *l3_off)
{
    uint16_t type;

    if (len < RTE_ETHER_HDR_LEN + sizeof(struct rte_vlan_hdr) + sizeof(struct rte_ipv6_hdr))
        return 0;
    *l3_off = RTE_ETHER_HDR_LEN;
    type = bytes_get_u16(p + 12);
    if (type == RTE_ETHER_TYPE_VLAN) {
        type = bytes_get_u16(p + 16);
        *l3_off += (uint32_t)sizeof(struct rte_vlan_hdr);
    }
    if (type == RTE_ETHER_TYPE_IPV4)
        return *l3_off + bytes_get_u16(p + *l3_off + offsetof(struct rte_ipv4_hdr, total_length));
    if (type == RTE_ETHER_TYPE_IPV6)
        return *l3_off + (uint32_t)sizeof(struct rte_ipv6_hdr) +
               bytes_get_u16(p + *l3_off + offsetof(struct rte_ipv6_hdr, payload_len));
    return 0;
}

static void frame_drop(struct offload *o, uint64_t *counter)
{
    counter_add(counter, 1);
    rte_pktmbuf_free(o->m);
    o->m = NULL;
}

void offload_take(struct offload *o, struct rte_mbuf *m)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    uint32_t l3_off = 0, claims = frame_claims(p, m->data_len, &l3_off);

    CHECK(o->m == NULL && m->nb_segs == 1);
    o->m = m;
    o->next = 0;
    o->segments.count = 1;
    if (o->ring_bytes != 0 && m->data_len >= o->ring_bytes && claims > m->data_len)
        frame_drop(o, &o->counts.drop_truncated);
    else if (RTE_MIN(claims, (uint32_t)m->data_len) > l3_off + o->mtu_bytes &&
             !segments_find(p, m->data_len, o->mtu_bytes, &o->segments))
        frame_drop(o, &o->counts.drop_large);
    else if (o->segments.count > 1)
        counter_add(&o->counts.cut, 1);
}

/* Gives the frame as it is, with its checksum completed, in memory of our pool. */
static struct rte_mbuf *frame_whole(struct offload *o)
{
    uint8_t *p = rte_pktmbuf_mtod(o->m, uint8_t *);
    struct rte_mbuf *m = o->m;
    struct partial s;

    if (partial_find(p, m->data_len, m->data_len, &s)) {
        partial_complete(p, &s, frame_sum(p + s.off, s.len));
        counter_add(&o->counts.summed, 1);
    }
    o->m = NULL;
    if (m->pool == o->pool)
        return m;
    struct rte_mbuf *copy = rte_pktmbuf_copy(m, o->pool, 0, UINT32_MAX);

    rte_pktmbuf_free(m);
    return copy;
}

static struct rte_mbuf *frame_segment(struct offload *o)
{
    const struct segments *s = &o->segments;
    struct rte_mbuf *m = rte_pktmbuf_alloc(o->pool);
    uint16_t room = (uint16_t)(s->header_len + s->mss);
    uint8_t *to = m != NULL ? (uint8_t *)rte_pktmbuf_append(m, room) : NULL;

    if (to != NULL) {
        m->pkt_len = m->data_len =
            (uint16_t)segment_put(rte_pktmbuf_mtod(o->m, const uint8_t *), s, o->next, to);
        counter_add(&o->counts.segments, 1);
    } else {
        rte_pktmbuf_free(m);
        m = NULL;
    }
    if (++o->next == s->count) {
        rte_pktmbuf_free(o->m);
        o->m = NULL;
    }
    return m;
}

uint16_t offload_give(struct offload *o, struct rte_mbuf **m, uint16_t max)
{
    uint16_t n = 0;

    while (o->m != NULL && n < max) {
        m[n] = o->segments.count > 1 ? frame_segment(o) : frame_whole(o);
        if (m[n] != NULL)
            n++;
        else
            counter_add(&o->counts.drop_no_mbuf, 1);
    }
    return n;
}
