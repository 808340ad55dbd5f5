/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port's word on a UDP checksum is worth (rte_mbuf_core.h, RTE_MBUF_F_RX_L4_CKSUM_*). NONE
 * means that the sum in the packet is not right, but that its data are: so virtio and vhost report
 * a packet whose checksum the sender left to a device that was never asked (virtio_rxtx.c,
 * virtio_rx_offload(); lib/vhost/virtio_net.c, vhost_dequeue_offload()). Other drivers say NONE of
 * packets that they did not check (hinic_pmd_rx.c, hinic_rx_csum(), on other errors), so it is
 * believed only of a partial checksum, which no software here could verify; any other is computed.
 */
#include "host/host_internal.h"

/* Of payload that was never on a wire: UDP's field has the pseudo header's sum, or nothing. */
static bool never_summed(const struct frame *f)
{
    return f->udp_sum == 0 || frame_udp_sum_partial(f);
}

enum sum_state sum_state(const struct host *h, const struct rte_mbuf *m, const struct frame *f)
{
    uint64_t port = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

    if (h->cfg.rx_sum == HOST_SUM_NONE)
        return SUM_TAKEN;
    if (h->cfg.rx_sum == HOST_SUM_OFFLOAD && port == RTE_MBUF_F_RX_L4_CKSUM_BAD)
        return SUM_WRONG;
    if (h->cfg.rx_sum == HOST_SUM_OFFLOAD && port == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
        return SUM_TAKEN;
    if (port == RTE_MBUF_F_RX_L4_CKSUM_NONE && frame_udp_sum_partial(f))
        return SUM_TAKEN;
    return h->cfg.rx_unsummed && never_summed(f) ? SUM_TAKEN : SUM_OPEN;
}
