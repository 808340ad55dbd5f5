/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of ports as the console shows them: since an operator cleared them. The ports' own go on
 * as they are, for control, telemetry and others read those. The control lcore's.
 */
#ifndef SLUICED_COUNT_H
#define SLUICED_COUNT_H

#include <stdint.h>

#include <jansson.h>

#include <rte_ethdev.h>

struct daemon;

/* Of one port, what there was when they were cleared. */
struct count {
    struct rte_eth_stats stats;
    uint64_t *xstats; /* by the driver's number; NULL: never cleared */
    int n_xstats;
    uint64_t cleared_ns; /* CLOCK_MONOTONIC; 0: never */
};

void count_clear(struct daemon *d, uint32_t port);
void count_free(struct daemon *d);

/* What there was since `then`; of a NIC's own counters, all if that is zeros. */
void count_stats_put(json_t *o, const struct rte_eth_stats *now, const struct rte_eth_stats *then);

/* Lists for show.c. */
json_t *count_stats_json(const struct daemon *d);
json_t *count_xstats_json(const struct daemon *d);

#endif
