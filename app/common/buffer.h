/* SPDX-License-Identifier: BSD-3-Clause */
/* The mbufs that a frame takes. DPDK counts the room of one in 16 bits, so the longest frames need
 * two. */
#ifndef COMMON_BUFFER_H
#define COMMON_BUFFER_H

#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>

/* Bytes of a frame that an mbuf holds at most. */
#define BUFFER_BYTES_MAX ((uint32_t)UINT16_MAX - RTE_PKTMBUF_HEADROOM)

/* How many mbufs a frame takes. */
static inline uint32_t buffer_parts(uint32_t frame_bytes)
{
    return (frame_bytes + BUFFER_BYTES_MAX - 1) / BUFFER_BYTES_MAX;
}

/* Bytes of the frame that each of them holds, a multiple of `step` as far as there is room. */
static inline uint32_t buffer_bytes(uint32_t frame_bytes, uint32_t step)
{
    uint32_t parts = buffer_parts(frame_bytes);

    return RTE_MIN(RTE_ALIGN_CEIL((frame_bytes + parts - 1) / parts, step), BUFFER_BYTES_MAX);
}

#endif
