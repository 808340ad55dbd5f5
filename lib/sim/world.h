/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world in virtual time: hosts on one link, each packet's fate in the caller's hands. The same
 * calls in the same order give the same world, bit for bit.
 *
 * Time: cycles at WORLD_HZ (1 GHz: a cycle is a nanosecond). Hosts are polled when they ask
 * (host_next) or when a packet arrives, and no two polls are nearer than poll_ns. Frames are copied
 * onto the wire, so a sender's memory is free once its frame has left.
 */
#ifndef SLUICE_SIM_WORLD_H
#define SLUICE_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "host/host.h"

#define WORLD_HZ        1000000000ull
#define WORLD_HOSTS_MAX 256u

struct world;

/* What becomes of one frame. */
struct world_fate {
    uint32_t copies;      /* 0: lost; 1: as usual; 2: delivered twice */
    uint64_t extra_ns[2]; /* further delay of each copy */
};

struct world_config {
    uint64_t delay_ns;   /* one way */
    uint64_t rate_Bps;   /* of each host's link, wire bytes; 0: infinitely fast */
    uint64_t queue_ns;   /* frames that would wait longer for the link are dropped; 0: no limit */
    uint64_t poll_ns;    /* least time between polls, > 0 */
    uint64_t control_ns; /* control interval; 0: no control core */
    uint32_t frames_max; /* in flight at once */
    struct rte_mempool *pool; /* for frames on the wire, whole ones */
    /* Decides each frame's fate, in the order of sending; NULL: all arrive. It may read the frame
     * (linear) and, after fate->copies is decided, change its bytes. */
    void (*fate)(void *ctx, uint32_t from, struct rte_mbuf *m, uint64_t now,
                 struct world_fate *fate);
    /* The hosts' users: called after each poll of host i. */
    void (*app)(void *ctx, uint32_t i, struct host *h, uint64_t now);
    void *ctx;
};

struct world *world_create(const struct world_config *cfg);
void world_destroy(struct world *w); /* and its hosts */

/* Adds a host; cfg->hz is set to WORLD_HZ. Its number, or -1 with a message in err. */
int world_add(struct world *w, struct host_config *cfg, char *err, size_t err_len);
struct host *world_host(struct world *w, uint32_t i);
/* Its control half; NULL without a control core. */
struct host_control *world_control(struct world *w, uint32_t i);

uint64_t world_now(const struct world *w);
/* Runs until the time. False if nothing can happen any more. */
bool world_run(struct world *w, uint64_t until);
/* Puts a frame on the wire as if host i had sent it: fate and delay apply. Takes the mbuf, which is
 * copied. Not from within fate(). */
void world_emit(struct world *w, uint32_t i, struct rte_mbuf *m);
/* Puts a frame on the wire towards host i, arriving now. Takes the mbuf. */
void world_inject(struct world *w, uint32_t i, struct rte_mbuf *m);

/* Frames sent, delivered and dropped by a full link queue so far. */
struct world_counts {
    uint64_t sent, delivered, overflowed;
    uint64_t polls;
};
const struct world_counts *world_counts(const struct world *w);

#endif
