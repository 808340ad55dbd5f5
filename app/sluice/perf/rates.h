/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transfer over time as CSV, a row every 10 ms: t_s (since the start), rx_bytes and tx_bytes
 * (payload, sum so far), rate_Bps (granted), momentary_Bps (as the receiver measures it; at a
 * sender, from the bytes sent since the previous row).
 */
#ifndef SLUICE_COMMAND_RATES_H
#define SLUICE_COMMAND_RATES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/sluice.h"

#define RATES_INTERVAL_NS 10000000u

/* The sum over connections at one moment. */
struct flow {
    uint64_t rx_bytes, tx_bytes;
    uint64_t rate_Bps;
    uint64_t momentary_Bps;
    uint64_t repeats; /* units sent again; of a flow being received: units lost */
    bool outward;     /* nothing but control records is received */
};

/* Adds a connection. sending: grant and repeats are those of the sending direction. */
void flow_add(struct flow *f, const struct sluice_stats *stats, bool sending);

struct rates {
    FILE *file; /* NULL: no CSV is written */
    const char *path;
    uint64_t start_ns, last_ns, last_tx_bytes;
};

/* path NULL: nothing will be written. Returns an exit code; the error is printed. */
int rates_open(struct rates *r, const char *path);
/* When the next row is due; UINT64_MAX: never. */
uint64_t rates_next(const struct rates *r);
/* Writes a row if it is due. The first call starts the time. */
void rates_sample(struct rates *r, uint64_t now_ns, const struct flow *f);
/* Returns an exit code: SAY_LOCAL if rows could not be written. */
int rates_close(struct rates *r);

#endif
