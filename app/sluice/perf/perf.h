/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice perf: constants and configuration that both sides share. */
#ifndef SLUICE_COMMAND_PERF_H
#define SLUICE_COMMAND_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/perf/perf_record.h"

#define PERF_REQUEST_MAX   (16u << 20) /* bytes, unless --length says otherwise */
#define PERF_REQUEST_MIN   (64u << 10)
#define PERF_MEMORY        (128u << 20)
#define PERF_MEMORY_SERVER (1ull << 30) /* limit of a server, per direction of a test */

struct perf_config {
    struct options common;
    const char *host;     /* client only */
    uint16_t port;        /* server only */
    uint64_t duration_ns; /* 0: total_bytes ends the test */
    uint64_t total_bytes; /* per direction, all streams together; 0: duration_ns ends the test */
    uint64_t request_bytes;
    bool request_given;    /* request_bytes is from --length; else the granted rate decides it */
    uint64_t memory_bytes; /* per direction, all streams together */
    uint64_t interval_ns;  /* between printed lines; 0: no lines */
    uint32_t streams, outstanding;
    uint32_t parent; /* ID of the parent process, whose end also ends this process; 0: not given */
    bool bidir, reverse, go_back_n, sync, check, one_off;
};

/* Both return an exit code. */
int perf_client(const struct perf_config *c);
int perf_server(const struct perf_config *c);

#endif
