/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host without a network, for tests of the client side. It has the operations of host.h, between
 * connections of the same host. It is slow on purpose: it reads the tail of a provisional send some
 * rounds after its first completion. Like a NIC, it reads the memory of a closed connection's
 * requests for some rounds before host_conn_gone(). So memory that is reused or unmapped too early
 * shows as wrong data or as a crash.
 *
 * Used by one thread at a time, except for the atomics of struct fake_counts.
 */
#ifndef TEST_CLIENT_FAKE_HOST_H
#define TEST_CLIENT_FAKE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct host;

struct fake_counts {
    uint32_t conns;      /* in use */
    uint32_t services;   /* listened to */
    uint64_t operations; /* accepted so far */
    uint64_t ends[8];    /* host_close() calls by reason */
};

struct fake_host_config {
    uint32_t conns, depth;
    uint64_t seed;
    uint32_t linger;       /* longest delay of an operation, in rounds */
    uint64_t rtt_ns;       /* reported as is */
    uint64_t tx_rate_Bps;  /* reported as is */
    uint32_t services_max; /* more services: -ENOSPC */
    const char *peer_name; /* of the peer of every accepted connection; NULL: "" */
};

struct host *fake_host_create(const struct fake_host_config *cfg);
void fake_host_destroy(struct host *h);
/* [any thread] */
void fake_host_counts(const struct host *h, struct fake_counts *out);

#ifdef __cplusplus
}
#endif
#endif
