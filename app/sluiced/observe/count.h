/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of ports as the console shows them: since an operator last cleared them. The ports' own
 * counters are never cleared, because control, telemetry and others read them. Owned by the control
 * lcore.
 */
#ifndef SLUICED_COUNT_H
#define SLUICED_COUNT_H

#include <stdint.h>

#include <jansson.h>

#include <rte_ethdev.h>

struct access_user;
struct daemon;

/* One port's counters when they were last cleared. */
struct count {
    struct rte_eth_stats stats;
    uint64_t *xstats; /* by id in struct rte_eth_xstat; NULL: never cleared */
    int n_xstats;
    uint64_t cleared_ns; /* CLOCK_MONOTONIC; 0: never */
};

void count_clear(struct daemon *d, uint32_t port);
void count_free(struct daemon *d);

/* Puts the differences from *then to *now into o. If *then is all zero, o gets the port's own
 * counters. */
void count_stats_put(json_t *o, const struct rte_eth_stats *now, const struct rte_eth_stats *then);

/* JSON lists for show.c. */
json_t *count_stats_json(const struct daemon *d, const struct access_user *viewer);
json_t *count_xstats_json(const struct daemon *d, const struct access_user *viewer);

#endif
