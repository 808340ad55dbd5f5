/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The UDP port that a connection is opened from. Its packets carry it in both directions, as source
 * or destination, so that it says which way they take: which queue, link and path of those that are
 * chosen by a hash of addresses and ports.
 *
 * Each connection takes the next port of the range whose answers come to the queue of its own
 * worker, where it is known how the port chooses. What the peer's port, a link aggregate or a
 * router makes of it is not known. Ports are taken in turn, not at random: hashes of this kind are
 * linear or nearly so (Toeplitz, CRC, exclusive or), and such a hash spreads 2^k numbers that
 * follow each other evenly, wherever its table has that many ways, but for unlucky keys.
 */
#ifndef SLUICE_HOST_SOURCE_H
#define SLUICE_HOST_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct frame;
struct frame_route;
struct host;
struct wire_header;

/* Sets r->sport of a way whose other fields are set. */
void source_choose(struct host *h, struct frame_route *r);
/*
 * Is a packet with header w, which came to another port than the host's own, that of a connection
 * opened from there, or may it be another worker's? If not, it is for the owner of that port.
 */
bool source_takes(struct host *h, const struct frame *f, const struct wire_header *w);

#endif
