/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of `sluice perf` over time: for each interval, a line for people and a JSON object; and
 * the CSV of rates.h. Bytes are payload that moved, without repeats.
 */
#ifndef SLUICE_COMMAND_METER_H
#define SLUICE_COMMAND_METER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "client/sluice.h"
#include "sluice/perf/perf_record.h"
#include "sluice/perf/rates.h"

#define METER_STREAMS      (2 * PERF_STREAMS_MAX) /* a server may run several tests at once */
#define METER_SUM          METER_STREAMS          /* index of the sum of all streams */
#define METER_STREAM_LINES 8                      /* with more streams, only the sum gets lines */

struct meter_point {
    uint64_t tx_bytes, rx_bytes, repeats;
};

struct meter {
    uint64_t interval_ns; /* 0: no intervals */
    bool lines;
    bool tx, rx; /* directions that have data */
    uint32_t streams;
    uint64_t start_ns, last_ns;
    struct meter_point now[METER_SUM + 1], last[METER_SUM + 1];
    json_t *intervals; /* array */
    struct rates rates;
};

/* Both return an exit code. */
int meter_open(struct meter *m, uint64_t interval_ns, bool lines, const char *rates_path);
int meter_close(struct meter *m);
void meter_start(struct meter *m, uint64_t now_ns, uint32_t streams, bool tx, bool rx);
/* When the next sample is due, ns; UINT64_MAX: never. */
uint64_t meter_next(const struct meter *m);
/* Samples n connections (NULL ones are skipped) if a sample is due. last: the test has ended, so
 * sample in any case. */
void meter_sample(struct meter *m, uint64_t now_ns, struct sluice_conn *const *conns, uint32_t n,
                  bool last);

/* Prints a line for people about one direction. id: "1" or "SUM"; what: a label, as "sent". */
void meter_line(const char *id, double from_s, double to_s, uint64_t bytes, uint64_t repeats,
                const char *what);

#endif
