/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The port and the loop of one host, as the simulator models them: an RX ring that may overflow, a
 * TX that may refuse, frames that the loop keeps until the port takes them, polls that come late.
 * The loop does what app/sluiced's port queue does: it receives, transmits kept frames before new
 * ones, and gives up frames that were refused for too long.
 *
 * If a port has several queues, each queue has its own struct port and host. They share a MAC
 * address, the links of the first queue, and the rules that assign frames to queues.
 *
 * Invariant: ring.count <= cfg.ring, unless cfg.ring is 0; received + overrun + no_mbuf = frames
 * that came to the port, if it counts overruns.
 */
#ifndef SLUICE_SIM_PORT_H
#define SLUICE_SIM_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/rng.h"
#include "host/host.h"
#include "sim/world.h"

#define PORT_BURST 32u

/* Frames in their order, chained through rte_mbuf.next of their last segments. */
struct port_frames {
    struct rte_mbuf *head; /* first segment of the first frame */
    struct rte_mbuf *tail; /* last segment of the last frame */
    uint32_t count;
};

struct port {
    struct world_port cfg;
    struct host *host;
    struct host_control *control; /* NULL: none */
    struct rng rng;
    struct port_frames ring, given; /* from the wire; from the other workers of the port */
    /* `first`: number of the host of the port's queue 0. `queues`: how many queues the port has,
     * in the struct port of queue 0 only. */
    uint32_t first, queues;
    struct rte_mbuf *kept[PORT_BURST]; /* made by the host, not yet taken by the port */
    uint16_t kept_first, kept_n;
    uint64_t kept_since;
    bool caught;      /* a stall began after frames were made, before they were offered */
    uint64_t free_at; /* no poll before this */
    uint64_t looked_at, stalled_at; /* when the ring was last seen empty; when a stall began */
    uint64_t user_at;               /* when the host's application wants a poll; TIME_NEVER: not */
    uint64_t link_free;
    uint64_t work_bytes; /* bytes of the present poll's frames, in both directions */
    bool trouble[WORLD_TROUBLES];
    /* mbufs taken away while WORLD_HEADS_OUT, WORLD_BODIES_OUT last */
    struct rte_mbuf **held[2];
    uint32_t held_n[2];
    struct host_port_counters seen;
};

/* Allocates memory for the held mbufs. False: there is none. */
bool port_create(struct port *p);
void port_destroy(struct port *p);

/* A frame arrives. False if it was lost; `seen` counts why, unless cfg.uncounted. */
bool port_receive(struct port *p, struct rte_mbuf *m, uint64_t now);
/* Takes frames from the ring. */
uint16_t port_take(struct port *p, struct rte_mbuf **m, uint16_t max);
/* Hands over a frame from another worker of the port; port_take_given() takes such frames. */
void port_give(struct port *p, struct rte_mbuf *m);
uint16_t port_take_given(struct port *p, struct rte_mbuf **m, uint16_t max);
/* Begins or ends a trouble. */
void port_trouble(struct port *p, enum world_trouble t, bool on);
/* How long until the trouble's next change, in ns. */
uint64_t port_trouble_wait(struct port *p, enum world_trouble t);
/* When the host is to be polled next, as far as is known now. */
uint64_t port_next(const struct port *p, uint64_t now);
/* A poll begins now. Sets free_at: there is no poll before it. */
void port_polled(struct port *p, uint64_t now);
/* The poll ends: n frames were received, work_bytes were moved in all, and the host is busy with
 * them. */
void port_worked(struct port *p, uint16_t n, uint64_t now);
/* The host naps, if it may. Returns for how much longer there is no poll. */
uint64_t port_nap(struct port *p, uint64_t now);

#endif
