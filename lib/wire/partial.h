/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partial checksums. A sender that leaves the checksum of TCP or UDP to a device writes the sum of
 * the pseudo header into its field, and the device adds the rest (Linux: CHECKSUM_PARTIAL, in
 * include/linux/skbuff.h; virtio 1.2, 5.1.6.2: VIRTIO_NET_HDR_F_NEEDS_CSUM). Where no device comes
 * in between, as between virtual machines of one host or on a veth, a frame arrives like that.
 *
 * A field that equals the pseudo header's sum is taken for a partial one. A right checksum does so
 * for one frame in 65535 by chance. Completing it changes nothing: both ways add up the same bytes.
 * A frame that was damaged under way does so as rarely, and then passes for a right one; so many
 * damaged frames pass the checksum anyway.
 */
#ifndef SLUICE_WIRE_PARTIAL_H
#define SLUICE_WIRE_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

struct partial {
    uint32_t off, len; /* bytes to sum: the TCP or UDP header and what follows it */
    uint32_t sum_off;  /* where the checksum stands */
    bool udp;
};

/* Has the frame (as in frame_parse()) a partial checksum? Then *out says of what. */
bool partial_find(const uint8_t *p, uint32_t head_len, uint32_t frame_len, struct partial *out);
/* Completes it, given the unfolded sum of those bytes as they are. */
void partial_complete(uint8_t *p, const struct partial *s, uint64_t sum);

#endif
