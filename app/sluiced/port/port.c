/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up, start and stop of one ethdev port. See port.h. */
#include "sluiced/port/port.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <rte_errno.h>

#include "common/hush.h"
#include "common/say.h"
#include "drivers/device.h"
#include "sluiced/port/tap_signals.h"

#define MEMIF_LOG "pmd.net.memif"

__attribute__((format(printf, 4, 5))) static int port_error(const struct port *p, char *err,
                                                            size_t err_len, const char *format, ...)
{
    int len = snprintf(err, err_len, "port %s: ", p->cfg->name);
    va_list ap;

    va_start(ap, format);
    if (len > 0 && (size_t)len < err_len)
        vsnprintf(err + len, err_len - (size_t)len, format, ap);
    va_end(ap);
    return -EIO;
}

/* Configures the device, with receive interrupts if they are wanted and the device accepts them. */
static int port_configure_device(struct port *p, const struct rte_eth_dev_info *info)
{
    struct rte_eth_conf conf;
    uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
    int rc;

    memset(&conf, 0, sizeof conf);
    conf.rxmode.offloads = p->rx_offloads;
    conf.txmode.offloads = p->tx_offloads;
    if (info->max_mtu != UINT16_MAX && info->max_rx_pktlen > info->max_mtu)
        overhead = info->max_rx_pktlen - info->max_mtu;
    /* Drivers without a notion of MTU (memif) report a wrong largest frame; leave them their
     * default. */
    if (p->cfg->mtu_bytes <= info->max_mtu && p->cfg->mtu_bytes + overhead <= info->max_rx_pktlen)
        conf.rxmode.mtu = p->cfg->mtu_bytes;
    port_rss_want(p, info, &conf);
    p->scaled = conf.rxmode.mq_mode == RTE_ETH_MQ_RX_RSS;
    conf.intr_conf.rxq = p->interrupts;
    rc = rte_eth_dev_configure(p->id, p->queues, p->queues, &conf);
    if (rc == 0 || !p->interrupts)
        return rc;
    p->interrupts = false;
    conf.intr_conf.rxq = 0;
    return rte_eth_dev_configure(p->id, p->queues, p->queues, &conf);
}

static int port_configure(struct port *p, const struct rte_eth_dev_info *info, char *err,
                          size_t err_len)
{
    int rc = port_configure_device(p, info);

    if (rc != 0)
        return port_error(p, err, err_len,
                          "%s refuses %u queue(s) (%s); lower workers, or see its "
                          "message above",
                          p->driver, p->queues, rte_strerror(-rc));
    p->rx_desc = p->tx_desc = (uint16_t)p->cfg->queue_size;
    rc = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &p->rx_desc, &p->tx_desc);
    if (rc != 0 && rc != -ENOTSUP)
        return port_error(p, err, err_len, "queue_size = %u: %s; choose another",
                          p->cfg->queue_size, rte_strerror(-rc));
    port_hold(p, info);
    return 0;
}

/*
 * If the device reads payload from an application's memory, each frame asks to be reported as sent
 * (tx_rs_thresh = 1), so that the last frames do not wait for others. A driver that refuses this
 * keeps its own value: port_let_go() tests whether frames come back anyway.
 */
static int port_tx_queue(const struct port *p, uint16_t q, struct rte_eth_txconf tx)
{
    uint16_t thresh = tx.tx_rs_thresh;
    int rc;

    if (p->dma)
        tx.tx_rs_thresh = 1;
    rc = rte_eth_tx_queue_setup(p->id, q, p->tx_desc, (unsigned int)p->socket, &tx);
    if (rc == 0 || !p->dma)
        return rc;
    tx.tx_rs_thresh = thresh;
    return rte_eth_tx_queue_setup(p->id, q, p->tx_desc, (unsigned int)p->socket, &tx);
}

static int port_queues(struct port *p, const struct rte_eth_dev_info *info, char *err,
                       size_t err_len)
{
    struct rte_eth_rxconf rx = info->default_rxconf;
    struct rte_eth_txconf tx = info->default_txconf;
    struct port_sockets sockets;
    uint16_t q;
    int rc;

    rx.offloads = p->rx_offloads;
    tx.offloads = p->tx_offloads;
    for (q = 0; q < p->queues; q++) {
        port_sockets_note(p, &sockets);
        rc = rte_eth_rx_queue_setup(p->id, q, p->rx_desc, (unsigned int)p->socket, &rx,
                                    p->pools[q].rx);
        p->sockets[q] = port_socket_made(p, &sockets);
        if (rc == 0)
            rc = port_tx_queue(p, q, tx);
        if (rc != 0)
            return port_error(p, err, err_len,
                              "%s cannot set up queue %u (%s); try another queue_size or mtu",
                              p->driver, q, rte_strerror(-rc));
    }
    return 0;
}

/* Sets the MAC address: the configured one, else the device's, else a random local one. */
static int port_set_mac(struct port *p, char *err, size_t err_len)
{
    bool filter = false;

    if (p->cfg->mac.set) {
        memcpy(&p->mac, p->cfg->mac.b, sizeof p->mac);
        filter = rte_eth_dev_default_mac_addr_set(p->id, &p->mac) != 0;
    } else if (rte_eth_macaddr_get(p->id, &p->mac) != 0 || rte_is_zero_ether_addr(&p->mac)) {
        if (getrandom(&p->mac, sizeof p->mac, 0) != sizeof p->mac)
            return port_error(p, err, err_len, "cannot generate a random MAC address; set mac");
        p->mac.addr_bytes[0] = (uint8_t)((p->mac.addr_bytes[0] & 0xfe) | 2);
        filter = true;
    }
    /* A software port without a promiscuous mode has no filter to open. */
    if (filter && rte_eth_promiscuous_enable(p->id) != 0 && !p->traits.software)
        return port_error(p, err, err_len,
                          "%s can neither take another MAC address nor be promiscuous; remove mac",
                          p->driver);
    return 0;
}

/* Opens the port to multicast: neighbour discovery uses multicast groups, and we are not told which
 * groups the kernel listens to. */
static int port_set_multicast(struct port *p, char *err, size_t err_len)
{
    bool kernel = config_port_excepted(p->cfg), ours = !addr_is_unset(&p->cfg->address[1].addr);

    if (!(ours || kernel) || rte_eth_allmulticast_enable(p->id) == 0 ||
        rte_eth_promiscuous_enable(p->id) == 0 || p->traits.software)
        return 0;
    return port_error(p, err, err_len, "%s receives no multicast, which IPv6 needs; remove %s",
                      p->driver, ours ? "address6" : "exception");
}

static int port_make_ready(struct port *p, char *err, size_t err_len)
{
    struct rte_eth_dev_info info;
    int rc = port_find(p, err, err_len);

    if (rc != 0)
        return rc;
    memset(&info, 0, sizeof info);
    rc = rte_eth_dev_info_get(p->id, &info);
    if (rc != 0)
        return port_error(p, err, err_len, "gives no information (%s); is it in use elsewhere?",
                          rte_strerror(-rc));
    snprintf(p->driver, sizeof p->driver, "%s", info.driver_name != NULL ? info.driver_name : "");
    p->device = info.device;
    p->socket = rte_eth_dev_socket_id(p->id);
    if (p->socket < 0)
        p->socket = SOCKET_ID_ANY;
    rc = port_decide(p, &info, err, err_len);
    if (rc == 0)
        rc = port_configure(p, &info, err, err_len);
    if (rc == 0)
        rc = port_mtu_set(p, &info, err, err_len);
    if (rc == 0)
        rc = port_pools_create(p, err, err_len);
    if (rc == 0)
        rc = port_queues(p, &info, err, err_len);
    if (rc == 0)
        rc = port_set_mac(p, err, err_len);
    if (rc == 0)
        rc = port_set_multicast(p, err, err_len);
    return rc;
}

int port_open(struct port *p, const struct config_port *cfg, bool interrupts, uint16_t share,
              char *err, size_t err_len)
{
    struct tap_signals signals;
    int rc;

    memset(p, 0, sizeof *p);
    p->cfg = cfg;
    p->interrupts = interrupts;
    p->share = share;
    tap_signals_hide(&signals);
    rc = port_make_ready(p, err, err_len);
    tap_signals_show(&signals);
    return rc;
}

/*
 * Some NICs let go of sent frames only when they send others. They would keep applications' memory,
 * and delay the completion of requests, so they get copied payload. Only once its queues are set up
 * can a driver say whether rte_eth_tx_done_cleanup() works.
 */
static int port_let_go(struct port *p, char *err, size_t err_len)
{
    p->done_cleanup = p->started && rte_eth_tx_done_cleanup(p->id, 0, 0) >= 0;
    if (!p->dma || (p->done_cleanup && port_gives_back(p)))
        return 0;
    return port_pools_copy(p, err, err_len);
}

int port_start(struct port *p, char *err, size_t err_len)
{
    int level = -1, rc;

    if (p->is_memif && !p->memif.server)
        level = hush(MEMIF_LOG); /* the server may not be there yet */
    rc = device_start(p->id);
    unhush(MEMIF_LOG, level);
    p->started = rc == 0;
    if (rc != 0 && level < 0)
        return port_error(p, err, err_len, "%s does not start (%s); see its message above",
                          p->driver, rte_strerror(-rc));
    if (rc != 0)
        say_port(SAY_NOTICE, p->cfg->name, "waits for its memif server");
    if (p->started)
        port_steer(p);
    port_rss_ask(p);
    return port_let_go(p, err, err_len);
}

bool port_needs_restart(const struct port *p)
{
    return p->is_memif && !p->memif.server && !(p->started && port_link_up(p));
}

bool port_restart(struct port *p)
{
    int level = hush(MEMIF_LOG);

    if (p->started)
        device_stop(p->id);
    p->started = device_start(p->id) == 0;
    unhush(MEMIF_LOG, level);
    return p->started;
}

void port_stop(struct port *p)
{
    port_unsteer(p);
    if (p->started && device_stop(p->id) != 0)
        say_port(SAY_WARNING, p->cfg->name, "%s does not stop; its frames are abandoned",
                 p->driver);
    p->started = false;
}

uint32_t port_close(struct port *p)
{
    uint32_t lost;

    port_stop(p);
    if (p->attached)
        device_close(p->id);
    p->attached = false;
    lost = p->traits.keeps_buffers ? 0 : port_pools_in_use(p);
    port_pools_free(p);
    return lost;
}

bool port_add_wakeup(const struct port *p, uint16_t queue, struct wakeup *w)
{
    int fd = p->interrupts ? port_socket(p, queue) : -1;

    if (fd >= 0)
        return wakeup_add_socket(w, fd);
    return p->interrupts && wakeup_add(w, p->id, queue);
}

uint64_t port_link_Bps(const struct port *p)
{
    struct rte_eth_link link;

    memset(&link, 0, sizeof link);
    if (p->traits.software || rte_eth_link_get_nowait(p->id, &link) != 0 ||
        link.link_speed == RTE_ETH_SPEED_NUM_NONE || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
        return 0;
    return (uint64_t)link.link_speed * 1000000 / 8;
}
