/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts, stops and polls an ethdev port of any driver, also while net_memif's peers come and go.
 *
 * net_memif (DPDK 22.11 to 26.07) handles its peers on DPDK's interrupt thread and locks nothing
 * against the threads that use the port:
 *
 *  - eth_memif_rx() and eth_memif_tx() compute the ring's address before they look whether a peer
 *    is connected. While a peer is being connected, the region has no address yet, so a poller that
 *    loses its core between these two reads goes on with a wrong pointer.
 *  - memif_disconnect() frees regions and control channel. rte_eth_dev_stop() calls it, and so does
 *    the interrupt thread when the peer goes. If both happen at once, all is freed twice.
 *
 * So a port of net_memif is polled only while its link is up: the driver sets the link up after a
 * peer is connected whole, and down before it frees anything. And it is started and stopped on the
 * interrupt thread. A poller that has seen the link up may still be in a burst when the link goes
 * down; common/grace.h keeps the memory for it.
 */
#ifndef DRIVERS_DEVICE_H
#define DRIVERS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_ethdev.h>

/* [port]: may be polled only while its link is up. Atomic; written by device_start(). */
extern bool device_guarded[RTE_MAX_ETHPORTS];

/* rte_eth_dev_start(), _stop() and _close(). Not for the interrupt thread itself. */
int device_start(uint16_t port);
int device_stop(uint16_t port);
int device_close(uint16_t port);

/* Asks the driver, which for a NIC may take microseconds. */
bool device_link_up(uint16_t port);

static inline bool device_is_guarded(uint16_t port)
{
    return __atomic_load_n(&device_guarded[port], __ATOMIC_RELAXED);
}

/* rte_eth_rx_burst() and rte_eth_tx_burst(). */
static inline uint16_t device_rx(uint16_t port, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
    if (unlikely(device_is_guarded(port)) && !device_link_up(port))
        return 0;
    return rte_eth_rx_burst(port, queue, m, n);
}

static inline uint16_t device_tx(uint16_t port, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
    if (unlikely(device_is_guarded(port)) && !device_link_up(port))
        return 0;
    return rte_eth_tx_burst(port, queue, m, n);
}

#endif
