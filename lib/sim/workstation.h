/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workstations of 1990 ([XTP-RATE], figures 4-7): what stands around the product's
 * host in a world so that it receives, or sends, as those machines did.
 *
 * A receiver has room for a few packets beside the one that it is at work on, and takes them one by
 * one at its best rate. Whatever it takes keeps it busy, useful or not. A sender stops when it is
 * told of a loss: its recovery takes 10 ms before it sends again.
 *
 *   packets receivable back to back at p a second = about room / (1 - served / p) + 1
 *
 * Copied into the ports of hosts (world_add); no state of its own.
 */
#ifndef SLUICE_SIM_WORKSTATION_H
#define SLUICE_SIM_WORKSTATION_H

#include <stdint.h>

#include "sim/world.h"

#define WORKSTATION_RECOVERY_NS 10000000u

struct workstation {
    const char *name;
    uint32_t room_packets; /* that wait */
    uint64_t user_Bps;     /* user bytes a second, its best */
};

extern const struct workstation workstation_sparc1; /* SPARCstation 1 */
extern const struct workstation workstation_sun3;   /* Sun3/260 */

/* The port of one that receives packets of so many bytes as frames (from Ethernet's header on),
 * user_bytes of them the user's. */
void workstation_receives(const struct workstation *s, uint32_t frame_bytes, uint32_t user_bytes,
                          struct world_port *port);
/* The port of one that sends. */
void workstation_sends(struct world_port *port);

#endif
