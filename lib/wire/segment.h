/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP frames that are larger than the MTU: Linux makes one of many (TCP segmentation offload, GSO)
 * for a device to cut, or of many that came (GRO). This is the cutting (RFC 9293, 3.1, and
 * Documentation/networking/segmentation-offloads.rst of Linux): each segment has the frame's
 * headers with its own length, sequence number, IPv4 identification and checksums; FIN and PSH
 * stand on the last one, CWR (RFC 3168, 6.1.2) on the first.
 *
 * How large the sender's segments were meant to be is not in the frame. They are made as large as
 * the MTU allows, which is what two hosts with that MTU agree on.
 */
#ifndef SLUICE_WIRE_SEGMENT_H
#define SLUICE_WIRE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

struct segments {
    uint32_t l3_off, l4_off;
    uint32_t header_len; /* bytes of the frame up to the payload */
    uint32_t payload_len;
    uint32_t mss;   /* payload bytes of each segment but the last */
    uint32_t count; /* >= 2 */
};

/* Is the whole frame of len bytes at p TCP over IPv4 or IPv6 with more than mtu bytes of IP? Then
 * *out says of what. */
bool segments_find(const uint8_t *p, uint32_t len, uint32_t mtu, struct segments *out);
/* Writes segment i of the frame at p to `to`, which has room for header_len + mss bytes; returns
 * its length. */
uint32_t segment_put(const uint8_t *p, const struct segments *s, uint32_t i, uint8_t *to);

#endif
