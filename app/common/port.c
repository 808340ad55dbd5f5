/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "common/buffer.h"
#include "common/queues.h"
#include "drivers/device.h"

#define DESCRIPTORS       1024u
#define FRAME_EXTRA       (RTE_ETHER_HDR_LEN + 8 + RTE_ETHER_CRC_LEN) /* 8: two VLAN tags */
#define FRAME_MIN         2048u
#define XDP_HEADROOM      256u /* bytes that the kernel leaves free in an AF_XDP buffer */
/* A packet socket's ring keeps frames of 65328 bytes whole (RING_FRAME in interface.c). */
#define INTERFACE_MTU_MAX 65000u
#define XDP_RINGS         8192u /* buffers that AF_XDP's four rings may hold */

bool port_is_packet_socket(const char *driver)
{
    return strncmp(driver, "net_af_packet", strlen("net_af_packet")) == 0;
}

bool port_is_interface(const struct port *p)
{
    return port_is_packet_socket(p->driver) || strcmp(p->driver, "net_af_xdp") == 0;
}

int port_find(struct port *p, const char *name, unsigned int n, char *err, size_t err_len)
{
    struct rte_eth_dev_info info;
    uint16_t id;
    int rc;

    if (name[0] != '\0') {
        if (rte_eth_dev_get_port_by_name(name, &id) != 0) {
            snprintf(err, err_len,
                     "no port %s; add it before -- with --vdev %s,... or, if it is a NIC bound to "
                     "a DPDK driver, with -a %s",
                     name, name, name);
            return -ENODEV;
        }
    } else {
        unsigned int have = 0;

        RTE_ETH_FOREACH_DEV(id)
        {
            if (have++ == n)
                break;
        }
        if (id >= RTE_MAX_ETHPORTS) {
            snprintf(err, err_len,
                     "there are %u port(s), too few; add more before -- with --vdev or -a", have);
            return -ENODEV;
        }
    }
    p->id = id;
    rc = rte_eth_dev_info_get(id, &info);
    if (rc != 0 || rte_eth_dev_get_name_by_port(id, p->name) != 0) {
        snprintf(err, err_len, "port %u gives no information (%s); is it in use elsewhere?", id,
                 rte_strerror(-rc));
        return -EIO;
    }
    snprintf(p->driver, sizeof p->driver, "%s",
             info.driver_name != NULL ? info.driver_name : "unknown");
    return 0;
}

/* The arguments that the device was made with; "" if they are not known. */
static const char *port_args(const struct port *p)
{
    struct rte_eth_dev_info info;
    const struct rte_devargs *args;

    if (rte_eth_dev_info_get(p->id, &info) != 0 || info.device == NULL)
        return "";
    args = rte_dev_devargs(info.device);
    return args != NULL && args->args != NULL ? args->args : "";
}

uint32_t port_arg_number(const struct port *p, const char *name, uint32_t standard)
{
    const char *at = strstr(port_args(p), name);

    return at != NULL ? (uint32_t)strtoul(at + strlen(name), NULL, 10) : standard;
}

void port_arg_text(const struct port *p, const char *name, char *out, size_t out_len)
{
    const char *at = strstr(port_args(p), name);

    at = at != NULL ? at + strlen(name) : "";
    snprintf(out, out_len, "%.*s", (int)strcspn(at, ","), at);
}

uint32_t port_frame_bytes(const struct port p[2], uint64_t mtu)
{
    uint32_t frame = RTE_MAX((uint32_t)mtu + FRAME_EXTRA, FRAME_MIN);

    for (unsigned int i = 0; i < 2; i++) {
        if (strcmp(p[i].driver, "net_memif") == 0)
            frame = RTE_MAX(frame, port_arg_number(&p[i], "bsize=", 2048));
        else if (strcmp(p[i].driver, "net_af_xdp") == 0)
            frame = RTE_MAX(frame, (uint32_t)mtu + FRAME_EXTRA + XDP_HEADROOM);
    }
    return frame;
}

/* Does the driver put a frame into several buffers if one does not hold it? */
static bool chains(const struct port *p)
{
    return strcmp(p->driver, "net_vhost") == 0 || strcmp(p->driver, "net_ring") == 0;
}

int port_frame_check(const struct port *p, uint64_t mtu, char *err, size_t err_len)
{
    uint32_t frame = (uint32_t)mtu + FRAME_EXTRA, bsize = port_arg_number(p, "bsize=", 2048);

    if (mtu > INTERFACE_MTU_MAX && port_is_interface(p)) {
        snprintf(err, err_len,
                 "port %s: --mtu %u: of a Linux interface, whole frames of at most %u come in; "
                 "lower --mtu",
                 p->name, (uint32_t)mtu, INTERFACE_MTU_MAX);
        return -EINVAL;
    }
    if (frame > BUFFER_BYTES_MAX && !chains(p))
        snprintf(
            err, err_len,
            "port %s: --mtu %u: %s takes at most %u, since it puts each frame into one buffer; "
            "lower --mtu",
            p->name, (uint32_t)mtu, p->driver, BUFFER_BYTES_MAX - FRAME_EXTRA);
    else if (strcmp(p->driver, "net_memif") == 0 && bsize > BUFFER_BYTES_MAX)
        snprintf(err, err_len, "port %s: bsize=%u does not fit a buffer; write bsize=%u or less",
                 p->name, bsize, BUFFER_BYTES_MAX);
    else if (strcmp(p->driver, "net_memif") == 0 && bsize < frame - RTE_ETHER_CRC_LEN)
        snprintf(err, err_len,
                 "port %s: --mtu %u does not fit bsize=%u; give the --vdev of both ends bsize=%u, "
                 "or lower --mtu",
                 p->name, (uint32_t)mtu, bsize,
                 RTE_MIN((uint32_t)RTE_ALIGN_CEIL(frame, 1024), BUFFER_BYTES_MAX));
    else
        return 0;
    return -EINVAL;
}

static int port_error(const struct port *p, int rc, const char *what, char *err, size_t err_len)
{
    snprintf(err, err_len, "port %s: %s %s (%s); see its message above", p->name, p->driver, what,
             rte_strerror(-rc));
    return rc;
}

int port_queues(const struct port *p, uint16_t asked, uint16_t workers, uint16_t *usual, char *err,
                size_t err_len)
{
    const char *arg = queues_arg(p->driver);
    struct rte_eth_dev_info info;
    uint16_t max;
    int rc = rte_eth_dev_info_get(p->id, &info), len;

    if (rc != 0)
        return port_error(p, rc, "gives no information", err, err_len);
    max = queues_max(&info);
    *usual = queues_usual(&info, workers);
    if (asked <= max)
        return 0;
    len = snprintf(err, err_len, "--queues %u: port %s has %u; write --queues %u", asked, p->name,
                   max, max);
    if (arg != NULL && len > 0 && (size_t)len < err_len)
        snprintf(err + len, err_len - (size_t)len, ", or give its --vdev %s=%u", arg, asked);
    return -EINVAL;
}

uint32_t port_held(const struct port *p)
{
    if (strcmp(p->driver, "net_af_xdp") == 0)
        return XDP_RINGS;
    if (strcmp(p->driver, "net_vmxnet3") == 0) /* it has two receive rings */
        return 3 * DESCRIPTORS;
    return RTE_MAX(2 * DESCRIPTORS, port_arg_number(p, "framecnt=", 0));
}

/* Several queues: the device spreads flows over them, if it can. */
static void rss_set(struct rte_eth_conf *conf, const struct rte_eth_dev_info *info, uint16_t queues)
{
    uint64_t fields =
        (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP) & info->flow_type_rss_offloads;

    if (queues == 1 || fields == 0)
        return;
    conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf->rx_adv_conf.rss_conf.rss_hf = fields;
}

int port_start(struct port *p, uint64_t mtu, struct rte_mempool *pool, char *err, size_t err_len)
{
    struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};
    uint16_t queues = RTE_MAX(p->queues, 1), i;
    struct rte_eth_dev_info info;
    int socket = rte_eth_dev_socket_id(p->id);
    unsigned int where = socket < 0 ? (unsigned int)SOCKET_ID_ANY : (unsigned int)socket;
    uint16_t rx = DESCRIPTORS, tx = DESCRIPTORS;
    int rc = rte_eth_dev_info_get(p->id, &info);

    if (rc != 0)
        return port_error(p, rc, "gives no information", err, err_len);
    conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
    if (mtu <= info.max_mtu && mtu + FRAME_EXTRA <= info.max_rx_pktlen)
        conf.rxmode.mtu = (uint32_t)mtu;
    rss_set(&conf, &info, queues);
    rc = rte_eth_dev_configure(p->id, queues, queues, &conf);
    if (rc != 0)
        return port_error(p, rc, "refuses its queues", err, err_len);
    rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &rx, &tx);
    /* Without this call, frames beyond the device's own MTU would not be received. A failure does
     * not matter for AF_PACKET, which uses its interface's MTU, and for memif, which has none. */
    rc = rte_eth_dev_set_mtu(p->id, (uint16_t)mtu);
    if (rc != 0 && rc != -ENOTSUP && mtu > 1500 && strcmp(p->driver, "net_af_packet") != 0 &&
        strcmp(p->driver, "net_memif") != 0)
        return port_error(p, rc, "does not support this --mtu", err, err_len);
    for (i = 0, rc = 0; i < queues && rc == 0; i++) {
        rc = rte_eth_rx_queue_setup(p->id, i, rx, where, NULL, pool);
        if (rc == 0)
            rc = rte_eth_tx_queue_setup(p->id, i, tx, where, NULL);
    }
    if (rc != 0)
        return port_error(p, rc, "cannot set up its queues", err, err_len);
    rc = device_start(p->id);
    if (rc != 0)
        return port_error(p, rc, "does not start", err, err_len);
    /* a failure does not matter: a software port without such a switch has no filter to open */
    rte_eth_promiscuous_enable(p->id);
    return 0;
}

void port_stop(struct port *p)
{
    device_stop(p->id);
    device_close(p->id);
}
