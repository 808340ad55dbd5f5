/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of a port that sends frames at times, which counts in ticks of its own. Its worker's.
 */
#ifndef SLUICED_NIC_CLOCK_H
#define SLUICED_NIC_CLOCK_H

#include <stdint.h>

#include "base/clock_map.h"

struct nic_clock {
    struct clock_map map; /* from TSC */
    uint64_t look_cycles; /* between looks at it */
    uint16_t port_id;
};

/* Takes some ms. 0, or negative errno if the port does not tell its time. */
int nic_clock_learn(struct nic_clock *c, uint16_t port_id, uint64_t hz);
/* Looks at the port's clock again if it is time. */
void nic_clock_follow(struct nic_clock *c, uint64_t now);

#endif
