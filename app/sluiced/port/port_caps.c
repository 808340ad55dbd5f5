/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides what a port can do: checksums, attached payload, room for a frame. See port.h. ethdev is
 * asked wherever it has an answer; the table below covers the rest.
 */
#include "sluiced/port/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_mbuf_dyn.h>

#include "common/buffer.h"
#include "common/queues.h"
#include "drivers/device.h"
#include "sluiced/session/memory.h"

#define SUM_TX       RTE_ETH_TX_OFFLOAD_UDP_CKSUM
#define SUM_RX       RTE_ETH_RX_OFFLOAD_UDP_CKSUM
/* What the kernel leaves free at the head of each AF_XDP buffer (XDP_PACKET_HEADROOM). */
#define XDP_HEADROOM 256u

static const struct port_driver drivers[] = {
    {"net_memif", true, false, true, true, false, false},
    {"net_ring", true, false, true, true, false, true},
    {"net_vhost", true, true, true, true, false, true},
    {"net_virtio_user", true, true, false, true, false, false},
    {"net_af_packet", false, false, true, true, false, false},
    {"net_tap", false, false, true, true, false, false},
    {"net_af_xdp", false, false, false, true, true, false},
    {"net_pcap", false, false, true, true, false, false},
    {"net_null", true, false, true, true, false, false},
};

const struct port_driver *port_driver_find(const char *name)
{
    static const struct port_driver nic = {"", false, false, false, false, false, false};
    size_t i;

    for (i = 0; i < RTE_DIM(drivers); i++) {
        if (strcmp(drivers[i].name, name) == 0)
            return &drivers[i];
    }
    return &nic;
}

const char *port_args(const struct port *p)
{
    const struct rte_devargs *args = p->device != NULL ? rte_dev_devargs(p->device) : NULL;

    return args != NULL && args->args != NULL ? args->args : "";
}

uint32_t port_arg_number(const struct port *p, const char *name, uint32_t standard)
{
    const char *at = strstr(port_args(p), name);

    return at != NULL ? (uint32_t)strtoul(at + strlen(name), NULL, 10) : standard;
}

/* Adjusts the traits that depend on a driver's arguments. */
static void traits_refine(struct port *p)
{
    const char *args = port_args(p);

    p->is_memif = strcmp(p->driver, "net_memif") == 0;
    if (p->is_memif)
        memif_args_parse(&p->memif, args);
    /* A zero-copy client gives its peer only DPDK's own memory, and forgets what its rings hold. */
    if (p->is_memif && p->memif.zero_copy) {
        p->traits.reads_memory = false;
        p->traits.keeps_buffers = true;
    }
    /* A path under /dev, as /dev/vhost-net: the other end is no virtual machine. It may send the
     * frames on to other machines, so checksums are needed. */
    if (strcmp(p->driver, "net_virtio_user") == 0 && strstr(args, "path=/dev/") != NULL)
        p->traits.shared_memory = p->traits.virtio = false;
}

/*
 * The choice for checksum = auto. A virtual machine's driver sends and expects checksums, as with
 * any NIC, but leaves them to the device (VIRTIO_NET_F_CSUM), which costs nothing. Ports whose
 * other end may be a virtual machine do the same.
 */
static uint32_t sums_auto(const struct port *p, bool can)
{
    if (config_port_wired(p->cfg))
        return CONFIG_SUM_SOFTWARE; /* an emulated wire may corrupt packets */
    if (p->traits.virtio)
        return can ? CONFIG_SUM_OFFLOAD : CONFIG_SUM_SOFTWARE;
    if (p->traits.shared_memory)
        return CONFIG_SUM_NONE;
    return can && !p->traits.software ? CONFIG_SUM_OFFLOAD : CONFIG_SUM_SOFTWARE;
}

static int decide_sums(struct port *p, const struct rte_eth_dev_info *info, char *err,
                       size_t err_len)
{
    bool can_tx = (info->tx_offload_capa & SUM_TX) != 0;
    bool can_rx = (info->rx_offload_capa & SUM_RX) != 0;
    uint32_t want = p->cfg->checksum;

    if (want == CONFIG_SUM_AUTO)
        want = sums_auto(p, can_tx && can_rx);
    if (want == CONFIG_SUM_OFFLOAD && !(can_tx && can_rx)) {
        snprintf(err, err_len,
                 "port %s: %s has no UDP checksum offload in %s; set checksum = software",
                 p->cfg->name, p->driver,
                 can_tx   ? "RX"
                 : can_rx ? "TX"
                          : "either direction");
        return -ENOTSUP;
    }
    p->tx_sum = p->rx_sum = want == CONFIG_SUM_NONE      ? HOST_SUM_NONE
                            : want == CONFIG_SUM_OFFLOAD ? HOST_SUM_OFFLOAD
                                                         : HOST_SUM_SOFTWARE;
    p->rx_unsummed = p->traits.virtio && !config_port_wired(p->cfg);
    if (want == CONFIG_SUM_OFFLOAD) {
        p->tx_offloads |= SUM_TX;
        p->rx_offloads |= SUM_RX;
    }
    return 0;
}

/* Attached payload needs several segments per frame, and a device that can read the application's
 * memory. A driver that copies with the CPU can; a NIC can if that memory can be mapped for DMA. */
static void decide_attach(struct port *p, const struct rte_eth_dev_info *info)
{
    p->attach = p->dma = false;
    if (p->cfg->security != HOST_SECURITY_NONE) /* sealed in the pass that copies */
        return;
    if (config_port_wired(p->cfg)) { /* an emulated wire copies frames with the CPU */
        p->attach = true;
        return;
    }
    if ((info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) == 0)
        return;
    if (p->traits.reads_memory) {
        p->attach = true;
    } else if (!p->traits.software && rte_eal_iova_mode() == RTE_IOVA_VA &&
               memory_dma_works(p->device)) {
        p->attach = p->dma = true;
    }
    if (p->attach)
        p->tx_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
}

/* Lets the NIC send frames at set times, if it can; start.c also tries to read its clock. */
static void decide_times(struct port *p, const struct rte_eth_dev_info *info)
{
    p->timed = p->cfg->tx_lead_ns != 0 && !config_port_wired(p->cfg) &&
               (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) != 0 &&
               rte_mbuf_dyn_tx_timestamp_register(&p->tx_time_offset, &p->tx_time_flag) == 0;
    if (p->timed)
        p->tx_offloads |= RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
}

/* NICs take buffers in steps of 1 KiB. memif and AF_PACKET want our buffers as large as their own.
 * The kernel's AF_XDP wants at least 2 KiB, and room before the frame. */
static uint32_t frame_bytes(const struct port *p)
{
    uint32_t frame = p->cfg->mtu_bytes + PORT_FRAME_EXTRA;

    if (p->is_memif)
        frame = RTE_MAX(frame, p->memif.bsize_bytes);
    if (strcmp(p->driver, "net_af_packet") == 0)
        frame = RTE_MAX(frame, port_arg_number(p, "framesz=", 2048));
    if (strcmp(p->driver, "net_af_xdp") == 0)
        frame = RTE_MAX(frame + XDP_HEADROOM, 2048u);
    return frame;
}

/* Decides how many buffers a frame takes, and how large they are. */
static int decide_buffers(struct port *p, char *err, size_t err_len)
{
    uint32_t frame = frame_bytes(p), step = p->traits.software ? 64 : 1024;

    p->buffers = buffer_parts(frame);
    p->buffer_bytes = buffer_bytes(frame, step);
    if (p->buffers == 1 || p->traits.chains)
        return 0;
    if (p->cfg->mtu_bytes + PORT_FRAME_EXTRA > BUFFER_BYTES_MAX)
        snprintf(
            err, err_len,
            "port %s: mtu = %u: %s takes at most %u, since it puts each frame into one buffer; "
            "lower mtu",
            p->cfg->name, p->cfg->mtu_bytes, p->driver, BUFFER_BYTES_MAX - PORT_FRAME_EXTRA);
    else
        snprintf(err, err_len,
                 "port %s: frames of %u bytes do not fit a buffer; lower %s to %u or less",
                 p->cfg->name, frame, p->is_memif ? "bsize" : "framesz", BUFFER_BYTES_MAX);
    return -EINVAL;
}

static int decide_queues(struct port *p, const struct rte_eth_dev_info *info, char *err,
                         size_t err_len)
{
    if (p->cfg->workers > queues_max(info)) {
        snprintf(err, err_len, "port %s: %s has %u RX and %u TX queues; set workers = %u",
                 p->cfg->name, p->driver, info->max_rx_queues, info->max_tx_queues,
                 queues_max(info));
        return -ENOTSUP;
    }
    p->queues = (uint16_t)p->cfg->workers;
    if (p->queues == 0)
        p->queues = config_port_wired(p->cfg)
                        ? 1
                        : RTE_MIN(queues_usual(info, p->share), (uint16_t)CONFIG_LCORES_MAX);
    return 0;
}

int port_decide(struct port *p, const struct rte_eth_dev_info *info, char *err, size_t err_len)
{
    int rc;

    p->traits = *port_driver_find(p->driver);
    p->rx_offloads = p->tx_offloads = 0;
    traits_refine(p);
    rc = decide_sums(p, info, err, err_len);
    if (rc != 0)
        return rc;
    decide_attach(p, info);
    decide_times(p, info);
    rc = decide_buffers(p, err, err_len);
    if (rc != 0)
        return rc;
    return decide_queues(p, info, err, err_len);
}

bool port_link_up(const struct port *p)
{
    return device_link_up(p->id);
}
