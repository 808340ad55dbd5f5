/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive-side scaling as NICs do it: the port hashes a frame's addresses (and UDP ports) with
 * Toeplitz's function and looks the queue up in an indirection table:
 *
 *   queue = reta[toeplitz(key, tuple) % reta_size]
 *
 * The tuple is source address, destination address and, for UDP where udp4 or udp6 is set, source
 * port and destination port, in network byte order (Microsoft, "RSS hashing types"; the key and the
 * test vectors of that page are those that ixgbe, i40e and ice default to). UDP without that flag,
 * ICMP and ICMPv6 hash by their addresses where ip4 or ip6 is set. Frames that are not hashed, such
 * as ARP, go to queue 0: ixgbe and ice do the same by a hash of 0 and reta[0] = 0.
 */
#ifndef SLUICE_SIM_RSS_H
#define SLUICE_SIM_RSS_H

#include <stdbool.h>
#include <stdint.h>

#define RSS_KEY_BYTES 40
#define RSS_RETA_MAX  512

struct rss {
    uint8_t key[RSS_KEY_BYTES];
    bool udp4, udp6, ip4, ip6; /* what is hashed */
    uint16_t reta_size;        /* 1 .. RSS_RETA_MAX */
    uint16_t reta[RSS_RETA_MAX];
};

/* Sets what ixgbe, i40e and ice start with: the usual key, everything hashed, 128 entries that name
 * the queues in turn. */
void rss_init(struct rss *r, uint16_t queues);
/* Toeplitz's function of len bytes, at most RSS_KEY_BYTES - 4. */
uint32_t rss_hash(const struct rss *r, const uint8_t *tuple, uint32_t len);
/* The queue of a frame of len contiguous bytes. */
uint16_t rss_queue(const struct rss *r, const uint8_t *frame, uint32_t len);

#endif
