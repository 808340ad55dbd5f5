/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK for fuzz targets: the EAL without hugepages or devices, and memory of rte_malloc() from
 * libc, so that AddressSanitizer sees where each piece ends. The linker wraps these functions for
 * all objects of the target (meson.build).
 */
#ifndef SLUICE_TEST_FUZZ_EAL_H
#define SLUICE_TEST_FUZZ_EAL_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

/* Starts the EAL, once. */
void fuzz_eal_start(void);
/* A pool of n mbufs with `room` bytes each. Aborts if there is no memory. */
struct rte_mempool *fuzz_pool(const char *name, uint32_t n, uint16_t room);
/* Aborts unless all mbufs have come back. */
void fuzz_pool_check(const struct rte_mempool *pool);
/* An mbuf whose frame ends where its memory ends. NULL: the pool is empty. */
struct rte_mbuf *fuzz_mbuf(struct rte_mempool *pool, const uint8_t *frame, uint16_t len);

#endif
