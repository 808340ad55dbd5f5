/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of a port that sends frames at set times; it counts in ticks of its own. Owned by one
 * worker.
 */
#ifndef SLUICED_NIC_CLOCK_H
#define SLUICED_NIC_CLOCK_H

#include <stdint.h>

#include "base/clock_map.h"

struct nic_clock {
    struct clock_map map; /* from cycles of clock_now() to ticks */
    uint64_t look_cycles; /* between two readings of the port's clock */
    uint16_t port_id;
};

/* Learns how the port's clock runs beside clock_now(), which takes some ms. 0, or negative errno if
 * the port's clock cannot be read or stands still. */
int nic_clock_learn(struct nic_clock *c, uint16_t port_id, uint64_t hz);
/* Reads the port's clock again, if the last reading is look_cycles old. */
void nic_clock_follow(struct nic_clock *c, uint64_t now);

#endif
