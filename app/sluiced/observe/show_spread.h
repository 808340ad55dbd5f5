/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of connections, as the daemon shows them: counts by powers of two (base/spread.h). */
#ifndef SLUICED_SHOW_SPREAD_H
#define SLUICED_SHOW_SPREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sluiced/daemon.h"

/* `before`, and one connection's histograms as the text of a JSON object; false, and nothing, if it
 * is free. [any] */
bool show_spread(FILE *f, const char *before, const struct port_queue *l, uint32_t number);
/* {"uptime_ns": ..., "spread": [...]} of all connections, to free(), or NULL. [any] */
char *show_spreads(const struct daemon *d, uint64_t uptime_ns);

#endif
