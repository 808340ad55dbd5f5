/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a Linux kernel leaves to a device, done where there is none: a packet socket (or AF_XDP) on
 * a veth gets frames whose checksum is partial (wire/partial.h), and TCP frames of up to 64 KiB
 * which a device was to cut (wire/segment.h). Here they become what a wire would carry.
 *
 * A frame beyond the MTU that is no TCP cannot be cut: a device would be told where. One that the
 * socket's ring truncated is not there as a whole. Both are dropped and counted.
 *
 * Owner: the thread that runs it; counts may be read by another (base/counter.h).
 */
#ifndef DRIVERS_OFFLOAD_H
#define DRIVERS_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "wire/segment.h"

struct offload_counts {
    uint64_t summed;         /* frames whose partial checksum was completed; cut ones not */
    uint64_t cut;            /* TCP frames beyond the MTU, and */
    uint64_t segments;       /* what became of them */
    uint64_t drop_large;     /* beyond the MTU, and no TCP */
    uint64_t drop_truncated; /* the ring's frames were too small for it */
    uint64_t drop_no_mbuf;
};

struct offload {
    struct rte_mempool *pool; /* of what it gives, with room for a frame of mtu_bytes of IP */
    uint32_t mtu_bytes;
    uint32_t ring_bytes; /* frames of so many bytes or more may be truncated; 0: none is */
    struct offload_counts counts;
    /* the frame at hand */
    struct rte_mbuf *m; /* NULL: there is none */
    struct segments segments;
    uint32_t next; /* segment */
};

/* Takes a frame in one piece; there is none at hand. */
void offload_take(struct offload *o, struct rte_mbuf *m);
/* Gives up to max frames of it, in their order; 0: there are no more. The caller owns them. */
uint16_t offload_give(struct offload *o, struct rte_mbuf **m, uint16_t max);

#endif
