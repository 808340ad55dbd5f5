/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cuts TCP frames that are larger than the MTU into segments. Linux makes such frames for a device
 * to cut (TCP segmentation offload, GSO), or merges received frames into one (GRO). Each segment
 * has the frame's headers with its own length, sequence number, IPv4 identification and checksums.
 * Only the last segment keeps FIN and PSH, only the first keeps CWR (RFC 3168, 6.1.2). Sources: RFC
 * 9293, 3.1, and Documentation/networking/segmentation-offloads.rst of Linux.
 *
 * The frame does not say how large the sender meant its segments to be. They are made as large as
 * the MTU allows: two hosts with that MTU agree on this size.
 */
#ifndef SLUICE_WIRE_SEGMENT_H
#define SLUICE_WIRE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

struct segments {
    uint32_t l3_off, l4_off;
    uint32_t header_len; /* bytes of the frame before the payload */
    uint32_t payload_len;
    uint32_t mss;   /* payload bytes of each segment but the last */
    uint32_t count; /* >= 2 */
};

/* Is the frame of len contiguous bytes at p TCP over IPv4 or IPv6, with an IP packet of more than
 * mtu bytes? If so, *out says how to cut it. */
bool segments_find(const uint8_t *p, uint32_t len, uint32_t mtu, struct segments *out);
/* Writes segment i of the frame at p to `to`, which has room for header_len + mss bytes; returns
 * the segment's length. */
uint32_t segment_put(const uint8_t *p, const struct segments *s, uint32_t i, uint8_t *to);

#endif
