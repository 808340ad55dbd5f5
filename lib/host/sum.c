/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a port's verdict on a UDP checksum is believed (rte_mbuf_core.h,
 * RTE_MBUF_F_RX_L4_CKSUM_*). NONE means that the sum in the packet is not right, but that its data
 * are. virtio and vhost report this for a packet whose checksum the sender left to a device that
 * was never asked (virtio_rxtx.c, virtio_rx_offload(); lib/vhost/virtio_net.c,
 * vhost_dequeue_offload()). Other drivers report NONE for packets that they did not check
 * (hinic_pmd_rx.c, hinic_rx_csum(), on other errors). So NONE is believed only of a partial
 * checksum, which no software here could verify; any other checksum is computed.
 */
#include "host/host_internal.h"

/* Was the packet never on a wire? Then its checksum field has the pseudo header's sum, or 0. */
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
