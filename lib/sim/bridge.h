/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the port that has a MAC address: a hash table with open addressing, at most a quarter
 * full. */
#ifndef SLUICE_SIM_BRIDGE_H
#define SLUICE_SIM_BRIDGE_H

#include <stdint.h>

#include <rte_ether.h>

#include "sim/world.h"

#define BRIDGE_SLOTS  (4 * WORLD_HOSTS_MAX)
#define BRIDGE_NOBODY WORLD_HOSTS_MAX

struct bridge {
    struct {
        struct rte_ether_addr mac;
        uint16_t used; /* host + 1; 0: free */
    } slot[BRIDGE_SLOTS];
};

void bridge_add(struct bridge *b, const struct rte_ether_addr *mac, uint32_t host);
uint32_t bridge_find(const struct bridge *b, const struct rte_ether_addr *mac);

#endif
