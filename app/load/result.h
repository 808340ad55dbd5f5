/* SPDX-License-Identifier: BSD-3-Clause */
/* What a window showed, in one direction or in both together, and its forms: a table for people,
 * JSON and CSV for programs (sluice-load(8)). */
#ifndef LOAD_RESULT_H
#define LOAD_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/histogram.h"
#include "load/plan.h"

struct result {
    const struct plan *plan;
    bool listening, interrupted;
    bool counts;          /* what arrived was counted, and not read */
    double seconds;       /* that the senders sent, or the receivers listened */
    double rx_seconds;    /* for which arrivals are counted */
    double requested_pps; /* 0: as fast as it can */
    double link_bps;      /* 0: not known */
    uint64_t sent, sent_bytes, refused;
    uint64_t received, duplicates, reordered, beyond, missing, flows_seen;
    uint64_t arrived, arrived_bytes; /* while the window was measured, whenever sent */
    uint64_t earlier, corrupt, foreign;
    struct histogram latency, displacement, late;
};

/* The share of the frames that were sent and did not arrive (while listening, that are missing
 * below the highest number), of what was sent, or must have been; 0 of nothing. */
double result_loss(const struct result *r);

/* Adds a direction to a sum; seconds stay the longer ones. */
void result_add(struct result *sum, const struct result *r);

/* Each writes one window; n directions stand in `directions`. */
void result_table(const struct result *r, FILE *out);
void result_json(const struct result *sum, const struct result *directions, unsigned int n,
                 FILE *out);
void result_csv(const struct result *r, FILE *out);
void result_csv_head(FILE *out);

#endif
