/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON with each connection's histograms (base/spread.h): of its delays, rates and latencies. */
#ifndef SLUICED_SHOW_SPREAD_H
#define SLUICED_SHOW_SPREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sluiced/daemon.h"

/* Writes `before` and one connection's histograms, as the text of a JSON object. If the connection
 * is free, writes nothing and returns false. Any thread may call this. */
bool show_spread(FILE *f, const char *before, const struct port_queue *q, uint32_t number);
/* {"uptime_ns": ..., "spread": [...]} of all connections that the viewer sees, to free(); NULL: no
 * memory. For the control lcore. */
char *show_spreads(const struct daemon *d, const struct access_user *viewer, uint64_t uptime_ns);

#endif
