/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partial checksums. A sender that leaves the checksum of TCP or UDP to a device writes the sum of
 * the pseudo header into the checksum field, and the device adds the rest (Linux: CHECKSUM_PARTIAL,
 * in include/linux/skbuff.h; virtio 1.2, 5.1.6.2: VIRTIO_NET_HDR_F_NEEDS_CSUM). Where the frame
 * meets no device, as between virtual machines of one host or on a veth, it arrives with the
 * partial checksum.
 *
 * A checksum field that equals the pseudo header's sum is taken for a partial checksum. A correct
 * full checksum equals that sum by chance, in one frame of 65535. To complete such a checksum
 * changes nothing: both computations add up the same bytes. The field of a damaged frame equals the
 * sum as rarely; such a frame then passes as correct. The checksum lets as many damaged frames pass
 * anyway.
 */
#ifndef SLUICE_WIRE_PARTIAL_H
#define SLUICE_WIRE_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

struct partial {
    uint32_t off, len; /* bytes to sum: the TCP or UDP header and what follows it */
    uint32_t sum_off;  /* offset of the checksum field */
    bool udp;
};

/* Does the frame (as in frame_parse()) have a partial checksum? If so, *out says where. */
bool partial_find(const uint8_t *p, uint32_t head_len, uint32_t frame_len, struct partial *out);
/* Completes the checksum, given the unfolded sum of s->len bytes, in which the partial checksum is
 * included. */
void partial_complete(uint8_t *p, const struct partial *s, uint64_t sum);

#endif
