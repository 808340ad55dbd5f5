/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When DATA were sent, for those that had to wait for room in the port: their path is not to blame
 * for that.
 */
#include "host/station.h"

#include "wire/bytes.h"

#define TIME_OFFSET 24u /* in DATA: doc/protocol.md, section 5 */

static void data_stamp(struct host *h, struct rte_mbuf *m)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    struct wire_header w;
    struct frame f;

    if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP ||
        wire_parse_header(p + f.payload_off, m->data_len - f.payload_off, &w) != WIRE_OK ||
        w.type != WIRE_DATA)
        return;
    uint8_t *at = p + f.payload_off + TIME_OFFSET;
    uint64_t before = frame_sum(at, 8);

    bytes_put_u64(at, host_now_ns(h));
    if (h->cfg.tx_sum == HOST_SUM_SOFTWARE)
        frame_change_udp_sum(p, &f, before, frame_sum(at, 8));
}

void host_stamp(struct host *h, struct rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    host_clock(h, now);
    for (uint16_t i = 0; i < n; i++)
        data_stamp(h, m[i]);
}
