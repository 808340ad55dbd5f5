/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cable: an emulated wire between two ethdev ports. What one port receives goes through a path
 * (lib/path) and is sent by the other. An end is a port that exists, or one that is made here
 * (rte_eth_from_rings) for a user inside this process. One thread calls cable_run() over and over
 * to move the packets, or two threads each call cable_run_direction() for one direction.
 *
 * A direction takes one queue of both ports, or several. What comes from several queues goes
 * through the same path, and each frame leaves by the queue with the number of the one that it came
 * from: as a cable, it keeps what its neighbours do with queues. So frames of one queue stay in the
 * order that the path gives them. A queue that takes nothing for CABLE_KEEP_MS loses its frames,
 * and then, if there are several, all that it does not take at once, until it takes a whole burst.
 *
 * The clock is the TSC, read right after rte_eth_rx_burst() and right before rte_eth_tx_burst(). A
 * path's delay lies between these two readings, and no packet leaves early.
 *
 * The thread that runs a direction owns everything of it, except what is marked [control]: that is
 * for one other thread, or the same.
 */
#ifndef DRIVERS_CABLE_H
#define DRIVERS_CABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "drivers/offload.h"
#include "path/path.h"

#define CABLE_BURST      64u
#define CABLE_MAKE       UINT16_MAX /* instead of a port's number: cable_create() makes a port */
#define CABLE_KEEP_MS    20u
#define CABLE_RING       1024u /* frames in a made port's rings */
#define CABLE_QUEUES_MAX 32u

struct cable;

struct cable_config {
    char name[24];    /* made ports are net_ring_NAME0 and net_ring_NAME1 */
    uint16_t port[2]; /* configured by the caller, with these queues; or CABLE_MAKE */
    uint16_t queue;   /* the first queue of both ports; 0 if ports are made */
    /* [i]: how many queues direction i takes. 0: this cable has no direction i. 1 if ports are
     * made. */
    uint16_t queues[2];
    const char *spec[2]; /* [i]: of the path from port i to the other */
    /* [i]: handles the frames that come from port i; NULL: they need no handling. */
    struct offload *offload[2];
    uint64_t hz;              /* of the TSC */
    uint64_t seed;            /* of path 0; path 1 has seed + 1; the first queue is their copy */
    uint32_t packets_max[2];  /* [i]: packets that path i can hold */
    struct rte_mempool *pool; /* for copies, and for all from a made port; a whole frame fits */
    uint32_t compact_bytes;   /* of both paths: path/path.h */
    int socket;               /* NUMA node, or SOCKET_ID_ANY */
};

/* [control] NULL on failure, with a message in err. Made ports are started. */
struct cable *cable_create(const struct cable_config *cfg, char *err, size_t err_len);
/* [control] Call when no thread runs the cable any more. Frees packets, closes made ports. */
void cable_destroy(struct cable *w);
/* [control] The ethdev number of an end. */
uint16_t cable_port(const struct cable *w, unsigned int end);

/* When cable_run() next has something to send, if nothing arrives: TSC, 0 (now), or TIME_NEVER. */
uint64_t cable_next(const struct cable *w);
/* One round in both directions. Returns how many packets were moved. */
uint32_t cable_run(struct cable *w);
/* One round in direction i, for a thread that runs no other. */
uint32_t cable_run_direction(struct cable *w, unsigned int i);

/*
 * [control] Sets another path for direction i. Packets under way in the old path leave it at their
 * times. Returns 0; -EINVAL with a message (position, word); -EBUSY if 8 old paths still hold
 * packets; -ETIMEDOUT if no thread runs the cable. After an error all stays as it was.
 */
int cable_set(struct cable *w, unsigned int i, const char *spec, char *err, size_t err_len);
/* [control] The path of direction i, for its counters, until the next cable_set(). */
const struct path *cable_path(const struct cable *w, unsigned int i);

/* Counts at the ends of direction i since the beginning. Written by cable_run(), read by
 * [control]. */
struct cable_counts {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t tx_dropped;   /* packets dropped because the port took none for CABLE_KEEP_MS */
    uint64_t drop_no_mbuf; /* no room for a copy of what a made port sent */
    struct histogram late; /* cycles from when a packet was due to the TSC before tx_burst */
    /* Cycles from the start of a round that moved packets in this direction to the start of its
     * next round, whether that one moves any or not. */
    struct histogram round;
};
/* [control] True if queue k of direction i, counted from the cable's first, took no frames for
 * CABLE_KEEP_MS, and has not taken a whole burst since. */
bool cable_stuck(const struct cable *w, unsigned int i, uint16_t k);
const struct cable_counts *cable_counts(const struct cable *w, unsigned int i);

#endif
