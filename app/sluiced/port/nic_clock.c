/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* rte_eth_read_clock(), which has been there since 19.08 */
#include "sluiced/port/nic_clock.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "common/clock.h"

#define LEARN_US    10000
#define LOOKS_PER_S 10

int nic_clock_learn(struct nic_clock *c, uint16_t port_id, uint64_t hz)
{
    uint64_t ticks;
    int rc = rte_eth_read_clock(port_id, &ticks);

    *c = (struct nic_clock){.look_cycles = hz / LOOKS_PER_S, .port_id = port_id};
    if (rc != 0)
        return rc;
    clock_map_start(&c->map, clock_now(), ticks);
    rte_delay_us_sleep(LEARN_US);
    rc = rte_eth_read_clock(port_id, &ticks);
    if (rc == 0 && !clock_map_sample(&c->map, clock_now(), ticks))
        rc = -EIO;
    return rc;
}

void nic_clock_follow(struct nic_clock *c, uint64_t now)
{
    uint64_t ticks;

    if (now - c->map.from > c->look_cycles && rte_eth_read_clock(c->port_id, &ticks) == 0)
        clock_map_sample(&c->map, clock_now(), ticks);
}
