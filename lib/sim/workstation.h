/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workstations of 1990 ([XTP-RATE], figures 4-7): settings of a host's port in a world, with which
 * the host receives, or sends, as those machines did.
 *
 * A receiver has room for a few packets besides the one that it works on, and takes them one by one
 * at its best rate. Every packet that it takes keeps it busy, useful or not. A sender stops when it
 * learns of a loss: its recovery takes 10 ms before it sends again.
 *
 *   packets receivable back to back at p a second = about room / (1 - best / p) + 1
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
    uint32_t room_packets; /* packets that wait, at most */
    uint64_t user_Bps;     /* its best rate, in user bytes a second */
};

extern const struct workstation workstation_sparc1; /* SPARCstation 1 */
extern const struct workstation workstation_sun3;   /* Sun3/260 */

/* Sets the port of a workstation that receives packets as frames of frame_bytes (from Ethernet's
 * header on), of which user_bytes are user data. */
void workstation_receives(const struct workstation *s, uint32_t frame_bytes, uint32_t user_bytes,
                          struct world_port *port);
/* Sets the port of a workstation that sends. */
void workstation_sends(struct world_port *port);

#endif
