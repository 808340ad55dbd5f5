/* SPDX-License-Identifier: BSD-3-Clause */
/* How many queues a port should have if nobody says. */
#ifndef COMMON_QUEUES_H
#define COMMON_QUEUES_H

#include <stdint.h>

#include <rte_ethdev.h>

/* The argument of a --vdev that makes a device of this driver with a number of queues; NULL: there
 * is none. */
const char *queues_arg(const char *driver);
/* The most that the driver has, of RX and of TX; at least 1. */
uint16_t queues_max(const struct rte_eth_dev_info *info);
/*
 * The number of queues that suits a port: as many as the device was made with, where it is made
 * with a number, as the other end may use them all. Of others, `share` or as many as there are, but
 * one if the device does not spread flows. The other end of a memif has as many as it likes, and
 * what it sends on a queue that we lack is lost, so a memif has one.
 */
uint16_t queues_usual(const struct rte_eth_dev_info *info, uint16_t share);

#endif
