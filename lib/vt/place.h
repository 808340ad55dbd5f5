/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement: the only copy on the receiving side, from the packet into the application's buffer. A
 * unit counts as received only after its placement has returned.
 *
 * `stream` selects non-temporal stores, which bypass the caches. They suit requests too large to be
 * read from cache afterwards, and save reading the destination's lines before overwriting them.
 */
#ifndef SLUICE_VT_PLACE_H
#define SLUICE_VT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

/* Requests of at least this many bytes are streamed. */
#define PLACE_STREAM_BYTES (256u * 1024)

/* Copies len bytes. */
void place_copy(uint8_t *dst, const uint8_t *src, uint32_t len, bool stream);

/*
 * Copies len bytes and returns their unfolded ones-complement sum in memory order (RFC 1071), like
 * frame_sum(), in one pass over memory instead of two.
 */
uint64_t place_copy_sum(uint8_t *dst, const uint8_t *src, uint32_t len, bool stream);

/*
 * Copies len bytes from offset `off` of an mbuf chain, which must hold them. Unless sum is NULL,
 * adds their sum to *sum, as if they started at an even offset.
 */
void place_mbuf(uint8_t *dst, const struct rte_mbuf *m, uint32_t off, uint32_t len, bool stream,
                uint64_t *sum);

/* The sum of len bytes from offset `off` of an mbuf chain, without copying. */
uint64_t place_mbuf_sum(const struct rte_mbuf *m, uint32_t off, uint32_t len);

/* Makes streamed stores visible before any later store. Called once per burst. */
void place_fence(void);

#endif
