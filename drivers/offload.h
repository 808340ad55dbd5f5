/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does what a Linux kernel leaves to a device, where there is no device. A packet socket (or
 * AF_XDP) on a veth gets frames with a partial checksum (wire/partial.h), and TCP frames of up to
 * 64 KiB that a device was to cut (wire/segment.h). Here they become what a wire would carry.
 *
 * A frame beyond the MTU that is not TCP cannot be cut: only a device would be told where. A frame
 * that the socket's ring truncated is incomplete. Both are dropped and counted.
 *
 * Owner: the thread that calls the functions. Another thread may read the counts (base/counter.h).
 */
#ifndef DRIVERS_OFFLOAD_H
#define DRIVERS_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "wire/segment.h"

struct offload_counts {
    uint64_t summed;         /* frames whose partial checksum was completed, without cut ones */
    uint64_t cut;            /* TCP frames beyond the MTU that were cut */
    uint64_t segments;       /* frames that TCP frames were cut into */
    uint64_t drop_large;     /* beyond the MTU, and not TCP */
    uint64_t drop_truncated; /* too long for the frames of the socket's ring */
    uint64_t drop_no_mbuf;
};

struct offload {
    struct rte_mempool *pool; /* of all frames given out; room for mtu_bytes of IP in each */
    uint32_t mtu_bytes;
    uint32_t ring_bytes; /* frames of this length or longer may be truncated; 0: none is */
    struct offload_counts counts;
    /* the current frame */
    struct rte_mbuf *m; /* NULL: there is no current frame */
    struct segments segments;
    uint32_t next; /* number of the current frame's next segment */
};

/* Takes a frame, which lies in one mbuf; there must be no current frame. */
void offload_take(struct offload *o, struct rte_mbuf *m);
/* Gives up to max frames made of the current one, in their order; 0: there are no more. The caller
 * owns them. */
uint16_t offload_give(struct offload *o, struct rte_mbuf **m, uint16_t max);

#endif
