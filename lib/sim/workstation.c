/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/workstation.h"

#include "base/check.h"

const struct workstation workstation_sparc1 = {"SPARCstation 1", 6, 8050000 / 8};
const struct workstation workstation_sun3 = {"Sun3/260", 6, 5200000 / 8};

void workstation_receives(const struct workstation *s, uint32_t frame_bytes, uint32_t user_bytes,
                          struct world_port *port)
{
    CHECK(user_bytes > 0 && frame_bytes >= user_bytes);
    port->ring = s->room_packets;
    port->burst = 1;
    port->service_Bps = s->user_Bps * frame_bytes / user_bytes;
}

void workstation_sends(struct world_port *port)
{
    port->turn_ns = WORKSTATION_RECOVERY_NS;
}
