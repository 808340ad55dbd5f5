/* SPDX-License-Identifier: BSD-3-Clause */
#include "load/reflector.h"

#include <rte_mbuf.h>

#include "drivers/device.h"
#include "wire/stamp.h"

#define BURST 32u

/* The addresses stand in the first segment; the others go along. */
static bool turn(struct rte_mbuf *m)
{
    return stamp_reflect(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, m->pkt_len);
}

bool reflector_step(struct reflector *r, uint64_t now)
{
    struct rte_mbuf *m[BURST], *out[BURST], *drop[BURST];
    uint16_t n, kept = 0, dropped = 0, sent;

    if (window_over(r->window, now))
        return false;
    n = device_rx(r->port, r->queue, m, BURST);
    if (n == 0)
        return true;
    for (uint16_t i = 0; i < n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
    for (uint16_t i = 0; i < n; i++) {
        r->received_bytes += m[i]->pkt_len;
        if (turn(m[i]))
            out[kept++] = m[i];
        else
            drop[dropped++] = m[i];
    }
    sent = device_tx(r->port, r->queue, out, kept);
    rte_pktmbuf_free_bulk(out + sent, (unsigned int)(kept - sent));
    rte_pktmbuf_free_bulk(drop, dropped);
    r->received += n;
    r->reflected += sent;
    r->refused += (uint64_t)(kept - sent);
    r->dropped += dropped;
    return true;
}
