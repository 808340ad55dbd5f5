/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the models of other hosts (tahoe, tcp, probe): Ethernet, IP and UDP by lib/wire, then
 * twelve bytes of the model's own. So a segment is as long as a TCP segment over IPv4 without
 * options (40 bytes and its data), and no frame is shorter than an acknowledgement.
 *
 *   offset 42: number u32 | answer u32 | size u32, big endian
 *   then data: spans (tcp), or bytes that nothing reads
 */
#ifndef SLUICE_SIM_SEGMENT_H
#define SLUICE_SIM_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "wire/frame.h"

#define SEGMENT_HEADER_BYTES 12u
#define SEGMENT_IP_BYTES     40u /* of a segment without data, from the IP header on (IPv4) */
#define SEGMENT_DATA_MAX     65000u
#define SEGMENT_SPANS        3u

struct segment {
    uint32_t number; /* of its first byte (TCP), of the frame (probes) */
    uint32_t answer; /* what has been received (TCP) */
    uint32_t size;   /* window (TCP) */
    uint16_t data_len;
};

/* What came beyond a gap: numbers from first to end - 1. An acknowledgement carries them as its
 * data. */
struct segment_spans {
    uint32_t n;
    uint32_t first[SEGMENT_SPANS], end[SEGMENT_SPANS];
};

static inline uint32_t segment_spans_bytes(const struct segment_spans *spans)
{
    return spans->n * 8;
}

/* Writes the spans into a frame that was built with segment_spans_bytes() of data. */
void segment_spans_put(struct rte_mbuf *m, const struct segment_spans *spans);
/* Reads the spans. False if the frame's data are no spans. */
bool segment_spans_get(const struct rte_mbuf *m, struct segment_spans *spans);

/* A frame on the route, which is IPv4; NULL if the pool is empty or its mbufs too small. */
struct rte_mbuf *segment_build(struct rte_mempool *pool, const struct frame_route *route,
                               const struct segment *s);
/* Reads a segment. False if the frame has none. f, if not NULL: the frame's headers. */
bool segment_parse(const struct rte_mbuf *m, struct segment *s, struct frame *f);

#endif
