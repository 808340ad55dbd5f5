/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DATA that had to wait for room in the port say anew when they were sent: the wait was not on
 * their path. Their checksum is partial while their mbuf asks the port for the rest. A driver that
 * computes it itself may have done so before it found no room: net_vhost then takes the request
 * away (vhost_dev_tx_sw_csum() in DPDK's rte_eth_vhost.c).
 */
#include "host/host_internal.h"

static void data_stamp(struct host *h, struct rte_mbuf *m)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    struct wire_header w;
    struct frame f;

    if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP ||
        wire_parse_header(p + f.payload_off, m->data_len - f.payload_off, &w) != WIRE_OK ||
        w.type != WIRE_DATA)
        return;
    uint8_t *data = p + f.payload_off;
    uint64_t before = frame_sum(data, WIRE_DATA_BYTES);

    wire_stamp_data(data, host_now_ns(h));
    if ((m->ol_flags & RTE_MBUF_F_TX_L4_MASK) != RTE_MBUF_F_TX_UDP_CKSUM)
        frame_change_udp_sum(p, &f, before, frame_sum(data, WIRE_DATA_BYTES));
}

void host_stamp(struct host *h, struct rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    host_clock(h, now);
    for (uint16_t i = 0; i < n; i++)
        data_stamp(h, m[i]);
}
