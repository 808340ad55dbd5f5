/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet pools of a port, one set per queue. See port.h. A pool has as many mbufs as can be in
 * use at once: a full ring, bursts in hand, frames in transit to another worker, and what caches
 * hold back.
 */
#include "sluiced/port/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "drivers/cable.h"
#include "wire/packet.h"

#define POOL_CACHE   128
#define TAP_QUEUE    500 /* TUN_READQ_SIZE in the kernel's drivers/net/tun.c */
#define POOL_IN_HAND (4 * PORT_BURST + 2 * POOL_CACHE)
/* A memif that copies takes buffers only when it is asked for frames: since DPDK 23.03, 256 at a
 * time, most of which it gives back. */
#define MEMIF_HELD   512u

/* The number of devices that p bonds, each with rings of its own; 1 if p bonds none. */
static uint32_t members(const struct port *p)
{
    static const char *const names[] = {"slave=", "member="};
    const char *args = port_args(p), *at;
    uint32_t n = 0;
    size_t i;

    for (i = 0; i < RTE_DIM(names) && strcmp(p->driver, "net_bonding") == 0; i++) {
        for (at = args; (at = strstr(at, names[i])) != NULL; at += strlen(names[i]))
            n += at == args || at[-1] == ',' ? 1 : 0;
    }
    return RTE_MAX(n, 1u);
}

/* Some drivers use a queue size of their own, whatever they are asked for. A queue that refuses a
 * frame holds at least half its size in frames: drivers give free descriptors back to the device
 * only in batches. */
static uint32_t rx_min(const struct port *p)
{
    uint32_t size = p->rx_desc;

    if (p->is_memif)
        size = 1u << RTE_MIN(port_arg_number(p, "rsize=", 10), 14u);
    if (strcmp(p->driver, "net_af_packet") == 0)
        size = port_arg_number(p, "framecnt=", 512);
    if (strcmp(p->driver, "net_tap") == 0)
        size = TAP_QUEUE;
    return RTE_MAX(size / 2, 1u);
}

void port_hold(struct port *p, const struct rte_eth_dev_info *info)
{
    p->rx_held = RTE_MAX(p->rx_desc, info->default_rxportconf.ring_size);
    if (p->is_memif && !p->memif.zero_copy)
        p->rx_held = RTE_MIN(p->rx_held, MEMIF_HELD);
    /* AF_XDP takes buffers to send from the receive pool, too. */
    if (strcmp(p->driver, "net_af_xdp") == 0)
        p->rx_held = RTE_MAX(p->rx_held, 2048u) + RTE_MAX(p->tx_desc, 2048u);
    /* vmxnet3 fills a second ring of the same size, for frames that do not fit one buffer. */
    if (strcmp(p->driver, "net_vmxnet3") == 0)
        p->rx_held *= 2;
    p->rx_held *= members(p);
    p->rx_min = rx_min(p);
    p->tx_held = RTE_MAX((uint32_t)p->tx_desc, CABLE_RING) * members(p);
}

static struct rte_mempool *pool_create(struct port *p, const char *kind, uint16_t queue, uint32_t n,
                                       uint32_t room_bytes, char *err, size_t err_len)
{
    char name[RTE_MEMPOOL_NAMESIZE];
    struct rte_mempool *pool;

    snprintf(name, sizeof name, "%s_%u_%u", kind, p->id, queue);
    pool = rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, (uint16_t)room_bytes, p->socket);
    if (pool == NULL)
        snprintf(err, err_len,
                 "port %s: no memory for %u packet buffers of %u bytes (%s); give more with -m MB "
                 "before --, or lower queue_size or mtu",
                 p->cfg->name, n, room_bytes, rte_strerror(rte_errno));
    return pool;
}

/* Makes the pool that sends payload: attach or copy. */
static int payload_pool_create(struct port *p, uint16_t queue, char *err, size_t err_len)
{
    struct port_pools *s = &p->pools[queue];
    uint32_t room = RTE_PKTMBUF_HEADROOM + p->buffer_bytes, tx = p->tx_held + POOL_IN_HAND;

    if (p->attach) {
        /* A frame may carry parts of two pieces of a request. */
        s->attach = pool_create(p, "attach", queue, 2 * tx, 0, err, err_len);
        return s->attach != NULL ? 0 : -ENOMEM;
    }
    s->copy = pool_create(p, "copy", queue, tx * p->buffers, room, err, err_len);
    return s->copy != NULL ? 0 : -ENOMEM;
}

static int queue_pools_create(struct port *p, uint16_t queue, char *err, size_t err_len)
{
    struct port_pools *s = &p->pools[queue];
    uint32_t room = RTE_PKTMBUF_HEADROOM + p->buffer_bytes;
    uint32_t foreign = (uint32_t)(p->queues - 1) * PORT_FOREIGN;
    uint32_t head_room =
        RTE_ALIGN_CEIL(RTE_PKTMBUF_HEADROOM + WIRE_CNTL_MAX_BYTES + 128 + WIRE_HEADERS_MAX, 64);
    /* what an emulated wire holds in both directions, and the rings of our end */
    uint32_t wire = config_port_wired(p->cfg) ? 2 * (p->cfg->wire_packets + CABLE_RING) : 0;
    /* frames that wait for the kernel, and frames that the exception device may hold */
    uint32_t exception = config_port_excepted(p->cfg) ? 2 * EXCEPTION_WAIT : 0;
    uint32_t rx = p->rx_held + foreign + wire + exception + POOL_IN_HAND;

    s->rx = pool_create(p, "rx", queue, rx * p->buffers, room, err, err_len);
    if (s->rx == NULL)
        return -ENOMEM;
    s->head = pool_create(p, "head", queue, p->tx_held + POOL_IN_HAND, head_room, err, err_len);
    if (s->head == NULL)
        return -ENOMEM;
    return payload_pool_create(p, queue, err, err_len);
}

int port_pools_create(struct port *p, char *err, size_t err_len)
{
    uint16_t q;
    int rc = 0;

    for (q = 0; q < p->queues && rc == 0; q++)
        rc = queue_pools_create(p, q, err, err_len);
    return rc;
}

int port_pools_copy(struct port *p, char *err, size_t err_len)
{
    uint16_t q;
    int rc = 0;

    p->attach = p->dma = false;
    for (q = 0; q < p->queues && rc == 0; q++) {
        rte_mempool_free(p->pools[q].attach);
        p->pools[q].attach = NULL;
        rc = payload_pool_create(p, q, err, err_len);
    }
    return rc;
}

void port_pools_free(struct port *p)
{
    uint16_t q;

    for (q = 0; q < p->queues; q++) {
        struct port_pools *s = &p->pools[q];

        rte_mempool_free(s->rx);
        rte_mempool_free(s->head);
        rte_mempool_free(s->attach);
        rte_mempool_free(s->copy);
        *s = (struct port_pools){NULL, NULL, NULL, NULL};
    }
}

static uint32_t pool_in_use(const struct rte_mempool *pool)
{
    return pool != NULL ? rte_mempool_in_use_count(pool) : 0;
}

uint32_t port_pools_in_use(const struct port *p)
{
    uint32_t n = 0;
    uint16_t q;

    for (q = 0; q < p->queues; q++) {
        const struct port_pools *s = &p->pools[q];

        n += pool_in_use(s->rx) + pool_in_use(s->head) + pool_in_use(s->attach) +
             pool_in_use(s->copy);
    }
    return n;
}
