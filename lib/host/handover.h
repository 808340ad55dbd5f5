/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which worker of the port a packet belongs to, if not the one that received it.
 *
 * Once the peer knows our key, that names the worker. Before, its packets are marked EARLY: a FIRST
 * goes to a worker that has a connection waiting for the service, if the worker that received it
 * has none, so that an application which accepts on one worker is reached by every peer. What
 * follows FIRST goes the same way: the receiving worker remembers the newest that it handed over,
 * in sets of HANDOVER_SET_SIZE, of which the oldest is forgotten. A connection that was forgotten
 * loses early data, which are repeated once the peer knows the key, and its FIRST is looked at
 * anew.
 *
 * Workers read of each other which services they have and how many connections wait; each writes
 * its own (base/counter.h). What was read may be old by the time the FIRST arrives: a worker that
 * has nobody waiting any more hands it on in the same way, or drops it, and it is repeated.
 */
#ifndef SLUICE_HOST_HANDOVER_H
#define SLUICE_HOST_HANDOVER_H

#include <stdint.h>

#include "host/conn.h"

#define HANDOVER_SETS     64u /* a power of 2 */
#define HANDOVER_SET_SIZE 4u

struct frame;
struct host;
struct wire_first;
struct wire_header;

/* A FIRST that was handed over. */
struct handover {
    struct conn_early_key key; /* key.key 0: free */
    uint64_t at;               /* when */
    uint8_t worker;            /* to which; our own: it came back */
};

/* The worker of a packet with header w that the port received; FIRST: our own, see below. */
uint8_t handover_worker(const struct host *h, const struct frame *f, const struct wire_header *w);
/* The worker that is to take a FIRST. */
uint8_t handover_first(struct host *h, const struct frame *f, const struct wire_first *v);

#endif
