/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thresholds (control/occupancy.h) on buffers in use, or on delay of the path, drive a connection.
 * This runs on the worker that receives. In [THRESHOLDS], the sender changes the interval between
 * its packets at every packet, by the zone that it last heard. Here, the receiver keeps that
 * interval, changes it at every packet that comes, and grants the rate that it gives. So any sender
 * obeys, and all other limits of a grant hold as well.
 *
 *   granted rate = unit / interval <= the connection's share
 */
#include "host/host_internal.h"

#define MIN_NS 50000000.0 /* one unit in this time is always granted */

/* Bounds the interval: at the shortest one, the rate is the connection's share. A share may be 0
 * for a while, and only a packet shortens the interval again. */
static void pace_bound(struct conn *c)
{
    uint64_t share_Bps = counter_get(&c->pub.share_Bps);
    double share_us = (double)counter_get(&c->pub.rx_unit_bytes) * 1e6 / (double)(share_Bps + 1);

    c->occupancy.pace.max_us = MIN_NS / 1e3;
    c->occupancy.pace.min_us = RTE_MIN(share_us, c->occupancy.pace.max_us);
}

void occupancy_grant_start(const struct host *h, struct conn *c)
{
    uint64_t first_ns =
        counter_get(&c->pub.rx_unit_bytes) * CLOCK_NS_PER_S / (h->cfg.first_rate_Bps + 1) + 1;

    c->occupancy.pace_Bps = UINT64_MAX;
    c->occupancy.posted_max = 0;
    if (h->cfg.occupancy == HOST_OCCUPANCY_OFF)
        return;
    occupancy_init(&c->occupancy.level, &h->cfg.occupancy_law);
    occupancy_pace_init(&c->occupancy.pace, &h->cfg.occupancy_law, first_ns, 1, (uint64_t)MIN_NS);
}

static uint64_t level_of(const struct host *h, struct conn *c, uint64_t increment_ns)
{
    if (h->cfg.occupancy == HOST_OCCUPANCY_DELAY)
        return increment_ns;
    uint32_t posted = c->rx.tail - pos_request(vt_receiver_ack(&c->rx));

    c->occupancy.posted_max = RTE_MAX(c->occupancy.posted_max, posted);
    return c->occupancy.posted_max - posted;
}

bool occupancy_grant_watch(struct host *h, struct conn *c, uint64_t increment_ns)
{
    uint64_t before = c->occupancy.pace_Bps;

    pace_bound(c);
    occupancy_pace_sent(&c->occupancy.pace, host_now_ns(h));
    if (occupancy_update(&c->occupancy.level, level_of(h, c, increment_ns)))
        occupancy_pace_signal(&c->occupancy.pace, c->occupancy.level.zone);
    c->occupancy.pace_Bps = (uint64_t)((double)counter_get(&c->pub.rx_unit_bytes) * 1e6 /
                                       c->occupancy.pace.interval_us);
    return c->occupancy.pace_Bps != before;
}
