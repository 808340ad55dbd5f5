/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records that client and server of `sluice perf` exchange on every stream. Each has
 * PERF_RECORD_BYTES and is a request of its own. In order:
 *
 *   client START ->  parameters
 *   server READY <-  its memory is allocated, its receives are posted
 *   client GO    ->  time starts, data travel
 *   server REPORT <- what it measured; its last request, after the data
 *
 * Layout: magic (4), version (1), type (1), zero (2), then 64-bit words; all big-endian.
 */
#ifndef SLUICE_COMMAND_PERF_RECORD_H
#define SLUICE_COMMAND_PERF_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define PERF_MAGIC           0x534c5550u /* "SLUP" */
#define PERF_VERSION         1
#define PERF_WORDS           23
#define PERF_RECORD_BYTES    (8 + 8 * PERF_WORDS)
#define PERF_STREAMS_MAX     128
#define PERF_OUTSTANDING_MAX 1024
#define PERF_MEMORY_MAX      (1ull << 40)

enum perf_type {
    PERF_START = 1,
    PERF_READY,
    PERF_GO,
    PERF_REPORT,
};

enum perf_flag {
    PERF_CLIENT_SENDS = 1,
    PERF_SERVER_SENDS = 2,
    PERF_CHECK = 4, /* content is a pattern, which the receiver checks */
    PERF_FLAGS = 7,
};

struct perf_start {
    uint64_t test; /* the same for all streams of a test */
    uint64_t stream, streams;
    uint64_t flags;
    uint64_t request_bytes;
    uint64_t outstanding;  /* requests */
    uint64_t duration_ns;  /* 0: limit_bytes ends the test */
    uint64_t limit_bytes;  /* of this stream, per direction; 0: no limit */
    uint64_t memory_bytes; /* memory that data cycle through, per stream and direction */
    uint64_t slices; /* requests that the client's sending memory holds: the pattern's period */
};

struct perf_ready {
    uint64_t memory_bytes; /* memory that the server's data cycle through */
    uint64_t slices;
};

struct perf_side {
    uint64_t bytes, requests, time_ns;
    uint64_t units, repeats; /* repeats: units sent again; when receiving: units lost */
    uint64_t wrong_bytes;
};

struct perf_report {
    struct perf_side tx, rx;
    uint64_t cpu_user_us, cpu_system_us; /* of the server's process since GO */
    uint64_t memory_bytes;
};

struct perf_record {
    enum perf_type type;
    union {
        struct perf_start start;
        struct perf_ready ready;
        struct perf_report report;
        uint64_t words[PERF_WORDS];
    } u;
};

void perf_encode(uint8_t bytes[PERF_RECORD_BYTES], const struct perf_record *r);
/* 0, or -EINVAL with *why (a constant string). A START that is accepted has its fields within their
 * limits. */
int perf_decode(const uint8_t *bytes, uint64_t len, enum perf_type type, struct perf_record *r,
                const char **why);

#endif
