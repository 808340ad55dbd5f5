/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/bridge.h"

#include <string.h>

static uint32_t slot_of(const struct rte_ether_addr *mac)
{
    uint32_t tail;

    memcpy(&tail, mac->addr_bytes + 2, sizeof tail);
    return (tail * 2654435761u) >> 22;
}

void bridge_add(struct bridge *b, const struct rte_ether_addr *mac, uint32_t host)
{
    uint32_t s = slot_of(mac);

    while (b->slot[s].used != 0)
        s = (s + 1) % BRIDGE_SLOTS;
    b->slot[s].mac = *mac;
    b->slot[s].used = (uint16_t)(host + 1);
}

uint32_t bridge_find(const struct bridge *b, const struct rte_ether_addr *mac)
{
    for (uint32_t s = slot_of(mac); b->slot[s].used != 0; s = (s + 1) % BRIDGE_SLOTS)
        if (rte_is_same_ether_addr(&b->slot[s].mac, mac))
            return b->slot[s].used - 1u;
    return BRIDGE_NOBODY;
}
