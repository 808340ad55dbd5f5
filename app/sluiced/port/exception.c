/* SPDX-License-Identifier: BSD-3-Clause */
/* See exception.h. */
#include "sluiced/port/exception.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "base/counter.h"
#include "common/clock.h"
#include "common/hush.h"
#include "common/rights.h"
#include "drivers/device.h"
#include "sluiced/port/memif.h"
#include "sluiced/port/tap_signals.h"
#include "vt/place.h"
#include "wire/partial.h"

#define RING     128 /* descriptors of a queue */
#define CACHE    64
#define TAP      "net_tap"
#define TAP_NAME TAP "_sluice"
#define TAP_LOG  "pmd.net.tap"

/* ---- the device --------------------------------------------------------------------------- */

static bool is_vdev(const struct config_port *cfg)
{
    return strncmp(cfg->exception, "net_", 4) == 0;
}

/* Does the vdev fit, if it is a memif? */
static int memif_check(const struct config_port *cfg, char *err, size_t err_len)
{
    char of[CONFIG_VALUE_MAX + 32];
    struct memif_args m;

    if (strncmp(cfg->exception, "net_memif", strlen("net_memif")) != 0)
        return 0;
    memif_args_parse(&m, cfg->exception + strcspn(cfg->exception, ","));
    if (!m.server) {
        snprintf(err, err_len,
                 "port %s: exception = %s: the memif must be the server, which waits for the other "
                 "program; add role=server",
                 cfg->name, cfg->exception);
        return -EINVAL;
    }
    snprintf(of, sizeof of, " of exception = %s", cfg->exception);
    return memif_bsize_check(&m, cfg, of, err, err_len);
}

/* Makes the configured device: a vdev by its arguments, or a TAP by the name of its interface. */
static int device_make(struct exception *x, const struct port *p, char *err, size_t err_len)
{
    const struct config_port *cfg = p->cfg;
    char args[CONFIG_VALUE_MAX + 64], name[64];
    int rc = memif_check(cfg, err, err_len);

    if (rc != 0)
        return rc;
    if (is_vdev(cfg))
        snprintf(args, sizeof args, "%s", cfg->exception);
    else
        snprintf(args, sizeof args, TAP_NAME "%u,iface=%s", p->id, cfg->exception);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(args, ","), args);
    memif_vdev_clean(args);
    rc = rte_eth_dev_get_port_by_name(name, &x->id) == 0 ? -EEXIST : rte_dev_probe(args);
    if (rc == 0 && rte_eth_dev_get_port_by_name(name, &x->id) == 0) {
        x->made = true;
        return 0;
    }
    snprintf(err, err_len, "port %s: exception = %s: the device cannot be created; %s", cfg->name,
             cfg->exception,
             rc == -EEXIST                       ? "another port has this name, choose another"
             : !rights_present()                 ? RIGHTS_CURE
             : access("/dev/net/tun", F_OK) != 0 ? "there is no /dev/net/tun: modprobe tun"
             : is_vdev(cfg)                      ? "check the driver's name and arguments"
             : if_nametoindex(cfg->exception) != 0
                 ? "the interface exists, and is no TAP with multi_queue, or is in use"
                 : "is DPDK's driver net_tap installed?");
    return -EIO;
}

static int pools_make(struct exception *x, const struct port *p, char *err, size_t err_len)
{
    uint32_t n = 4 * RING + p->tx_desc + PORT_BURST + 2 * CACHE;
    char name[RTE_MEMPOOL_NAMESIZE];

    for (uint16_t q = 0; q < x->queues; q++) {
        snprintf(name, sizeof name, "exception_%u_%u", x->id, q);
        x->pools[q] = rte_pktmbuf_pool_create(
            name, n, CACHE, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + p->buffer_bytes), p->socket);
        if (x->pools[q] == NULL) {
            snprintf(err, err_len,
                     "port %s: no memory for %u packet buffers of its exception port (%s); give "
                     "more with -m MB before --",
                     p->cfg->name, n, rte_strerror(rte_errno));
            return -ENOMEM;
        }
    }
    return 0;
}

/* A memif can have neither an MTU nor a MAC address set: those of its other end count. */
static bool is_memif(const struct exception *x)
{
    struct rte_eth_dev_info info;

    return rte_eth_dev_info_get(x->id, &info) == 0 && strcmp(info.driver_name, "net_memif") == 0;
}

/* Uses no offloads: the kernel gives whole frames with their checksums, and takes frames as the
 * port received them. */
static int configure_and_start(struct exception *x, const struct port *p)
{
    struct rte_eth_conf conf;
    struct rte_ether_addr mac = p->mac;
    bool memif = is_memif(x);
    uint16_t rx = RING, tx = RING;
    int rc;

    memset(&conf, 0, sizeof conf);
    conf.intr_conf.rxq = p->interrupts; /* a TAP has interrupts */
    rc = rte_eth_dev_configure(x->id, x->queues, x->queues, &conf);
    if (rc == 0)
        rc = rte_eth_dev_adjust_nb_rx_tx_desc(x->id, &rx, &tx);
    if (rc == 0 || rc == -ENOTSUP)
        rc = memif ? 0 : rte_eth_dev_set_mtu(x->id, (uint16_t)p->cfg->mtu_bytes);
    for (uint16_t q = 0; rc == 0 && q < x->queues; q++) {
        rc = rte_eth_rx_queue_setup(x->id, q, rx, (unsigned int)p->socket, NULL, x->pools[q]);
        if (rc == 0)
            rc = rte_eth_tx_queue_setup(x->id, q, tx, (unsigned int)p->socket, NULL);
    }
    if (rc == 0 && !memif)
        rc = rte_eth_dev_default_mac_addr_set(x->id, &mac);
    if (rc == 0)
        rc = device_start(x->id);
    x->started = rc == 0;
    return rc;
}

static int device_open(struct exception *x, const struct port *p, char *err, size_t err_len)
{
    struct rte_eth_dev_info info;
    int rc = device_make(x, p, err, err_len);

    if (rc != 0)
        return rc;
    memset(&info, 0, sizeof info);
    x->queues = p->queues;
    if (rte_eth_dev_info_get(x->id, &info) == 0 &&
        x->queues > RTE_MIN(info.max_rx_queues, info.max_tx_queues)) {
        snprintf(err, err_len,
                 "port %s: exception = %s has %u queues, the port %u workers; set workers = %u",
                 p->cfg->name, p->cfg->exception, RTE_MIN(info.max_rx_queues, info.max_tx_queues),
                 x->queues, RTE_MIN(info.max_rx_queues, info.max_tx_queues));
        return -ENOTSUP;
    }
    rc = pools_make(x, p, err, err_len);
    if (rc != 0)
        return rc;
    rc = configure_and_start(x, p);
    if (rc != 0)
        snprintf(err, err_len,
                 "port %s: exception = %s does not start with MTU %u, %u queue(s) and the port's "
                 "MAC address (%s); lower mtu or workers",
                 p->cfg->name, p->cfg->exception, p->cfg->mtu_bytes, x->queues, rte_strerror(-rc));
    return rc;
}

int exception_open(struct exception *x, const struct port *p, char *err, size_t err_len)
{
    struct tap_signals signals;
    int level, rc;

    memset(x, 0, sizeof *x);
    tap_signals_hide(&signals);
    /* net_tap logs at length that it goes without flow rules, secondary processes and signals. */
    level = hush(TAP_LOG);
    rc = device_open(x, p, err, err_len);
    unhush(TAP_LOG, level);
    tap_signals_show(&signals);
    return rc;
}

void exception_queue_init(struct exception_queue *e, const struct exception *x, uint16_t queue,
                          uint64_t hz)
{
    memset(e, 0, sizeof *e);
    e->on = true;
    e->port_id = x->id;
    e->queue = queue;
    e->gap_cycles = hz / 1000000 * EXCEPTION_GAP_US;
    e->idle_cycles = hz / 1000000 * EXCEPTION_IDLE_US;
}

void exception_drain(struct exception_queue *e)
{
    for (; e->n > 0; e->n--)
        rte_pktmbuf_free(e->waiting[e->first++ % EXCEPTION_WAIT]);
}

void exception_close(struct exception *x)
{
    if (x->started)
        device_stop(x->id);
    if (x->made)
        device_close(x->id);
    x->made = x->started = false;
}

void exception_free(struct exception *x)
{
    for (uint16_t q = 0; q < x->queues; q++)
        rte_mempool_free(x->pools[q]);
    x->queues = 0;
}

/* ---- the worker --------------------------------------------------------------------------- */

void exception_put(struct exception_queue *e, struct rte_mbuf **m, uint32_t n)
{
    uint32_t fit = RTE_MIN(n, EXCEPTION_WAIT - e->n);

    for (uint32_t i = 0; i < fit; i++)
        e->waiting[(e->first + e->n++) % EXCEPTION_WAIT] = m[i];
    if (fit == n)
        return;
    counter_add(&e->counters.to_kernel_full, n - fit);
    rte_pktmbuf_free_bulk(m + fit, n - fit);
}

/* When a direction may run again, after a run that began at `began` and moved n frames. Limits the
 * direction to one part in EXCEPTION_PART of the worker's time. */
static uint64_t next_due(const struct exception_queue *e, uint64_t began, uint64_t n)
{
    uint64_t now = clock_now();

    return now + (n > 0 ? (EXCEPTION_PART - 1) * (now - began) : e->gap_cycles);
}

/*
 * A TAP takes frames as a wire has them, with complete checksums. A frame whose checksum was left
 * to a device that it never reached (between virtual machines, or on a veth) gets its checksum
 * here. Some ports mark such a frame (RTE_MBUF_F_RX_L4_CKSUM_NONE), but a packet socket cannot, so
 * the frame itself decides.
 */
static void sum_complete(struct exception_queue *e, struct rte_mbuf *m)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    struct partial s;

    if ((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD ||
        !partial_find(p, m->data_len, m->pkt_len, &s))
        return;
    partial_complete(p, &s, place_mbuf_sum(m, s.off, s.len));
    counter_add(&e->counters.to_kernel_summed, 1);
}

uint32_t exception_give(struct exception_queue *e, bool busy, uint64_t now)
{
    struct rte_mbuf *m[PORT_BURST];
    uint32_t n, done = 0;
    uint64_t began, bytes = 0;

    if (busy)
        e->busy_at = now;
    n = now - e->busy_at > e->idle_cycles ? PORT_BURST : EXCEPTION_BURST;
    n = RTE_MIN(n, e->n);
    if (n == 0)
        return 0;
    began = clock_now();
    if (busy && began < e->give_due)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        m[i] = e->waiting[(e->first + i) % EXCEPTION_WAIT];
        sum_complete(e, m[i]);
        m[i]->ol_flags = 0; /* clears the port's RX flags */
        bytes += m[i]->pkt_len;
    }
    e->first += n;
    e->n -= n;
    for (uint32_t from = 0; from < n; from++) { /* a refused frame must not stop the rest */
        uint16_t sent = device_tx(e->port_id, e->queue, m + from, (uint16_t)(n - from));

        done += sent;
        from += sent;
        if (from < n) {
            bytes -= m[from]->pkt_len;
            counter_add(&e->counters.to_kernel_refused, 1);
            rte_pktmbuf_free(m[from]);
        }
    }
    counter_add(&e->counters.to_kernel_frames, done);
    counter_add(&e->counters.to_kernel_bytes, bytes);
    e->give_due = next_due(e, began, n);
    return n;
}

uint16_t exception_take(struct exception_queue *e, struct rte_mbuf **m, bool busy)
{
    uint64_t began = clock_now(), bytes = 0;
    uint16_t n;

    if (began < e->take_due)
        return 0;
    n = device_rx(e->port_id, e->queue, m, EXCEPTION_BURST);
    for (uint16_t i = 0; i < n; i++) {
        m[i]->ol_flags = 0; /* the port has nothing left to compute */
        bytes += m[i]->pkt_len;
    }
    if (n > 0) {
        counter_add(&e->counters.from_kernel_frames, n);
        counter_add(&e->counters.from_kernel_bytes, bytes);
    }
    e->take_due = n > 0 && !busy ? 0 : next_due(e, began, n);
    return n;
}
