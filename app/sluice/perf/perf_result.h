/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a `sluice perf` test, seen from one side: for people and as JSON. */
#ifndef SLUICE_COMMAND_PERF_RESULT_H
#define SLUICE_COMMAND_PERF_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include <jansson.h>

#include "client/sluice.h"
#include "sluice/perf/perf_record.h"

struct perf_result {
    bool server;
    char peer[64];
    struct perf_start parameters; /* limit_bytes, memory_bytes: of one stream */
    bool go_back_n, sync;
    uint64_t memory_bytes;   /* memory that data cycle through on this side, all streams */
    uint32_t streams;        /* streams that have ended; all sums are over these */
    struct perf_side tx, rx; /* sums; time_ns: the longest */
    bool peer_known;
    struct perf_report other; /* sums of the other side's reports; time_ns: the longest */
    struct rusage before;     /* of this process, at GO */
    uint64_t start_ns, end_ns;
    uint64_t cpu_user_us, cpu_system_us; /* of this process from start to end */
    uint64_t rate_grant_Bps;             /* sum over the streams */
    uint64_t rtt_ns;
    uint32_t unit_bytes;
    int exit_code;
    json_t *stream_list; /* array */
};

void perf_result_start(struct perf_result *r, uint64_t now_ns);
/* Adds a stream that has ended. report: the other side's; NULL: none came. */
void perf_result_add(struct perf_result *r, const struct perf_side *tx, const struct perf_side *rx,
                     const struct sluice_stats *stats, const struct perf_report *report);
/* Records the end of the test, and the CPU time until then. */
void perf_result_end(struct perf_result *r, uint64_t now_ns);
void perf_result_print(const struct perf_result *r);
/* Prints one line of JSON on stdout. intervals: an array, or NULL. */
void perf_result_json(const struct perf_result *r, json_t *intervals);
void perf_result_free(struct perf_result *r);

#endif
