/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a port chooses the queue of a frame, as far as app/ could find out:
 *
 *   queue = reta[toeplitz(key, tuple) % reta_size]
 *
 * where tuple is source and destination address, source and destination UDP port (receive-side
 * scaling, <rte_thash.h>). Queue w is worker w's.
 */
#ifndef SLUICE_HOST_RSS_H
#define SLUICE_HOST_RSS_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_RSS_KEY_MAX  52 /* bytes; the longest key that NICs have */
#define HOST_RSS_KEY_MIN  40 /* bytes; what both IPv6 addresses and the ports need */
#define HOST_RSS_RETA_MAX 512

struct host_rss {
    uint8_t key[HOST_RSS_KEY_MAX] __attribute__((aligned(4)));
    bool udp4, udp6;    /* UDP over that family is hashed by its ports, too */
    uint16_t reta_size; /* entries; 0: it is not known how the port chooses */
    uint16_t reta[HOST_RSS_RETA_MAX];
};

#endif
