/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limits that routers on the path set for a sender, in RCNTL packets of their own and in the
 * hop fields of CNTL packets that pass them (doc/protocol.md; the paper on XTP rate control,
 * section on routers: "an intermediate node may lower rate and burst").
 *
 * Routers know nothing of each other, and their clocks have nothing in common. So each router has a
 * slot:
 *
 *   rate = min of the slots' rates,   burst = min of those bursts that are not 0
 *
 * A newer limit of a router replaces its older one. The hop fields of CNTL are one source,
 * HOP_CNTL: they carry the least of all routers on the path, ordered by the sequence number of the
 * CNTL. A slot is forgotten when its limit expires, and with it the time that the limit carried. So
 * a packet that claims a time in the far future shuts its router out for one expiry at most (65 s),
 * and no other router at all.
 *
 * If more routers send limits than there are slots, the highest limits are forgotten, so the
 * minimum stays right.
 *
 * Owned by the sender's worker.
 */
#ifndef SLUICE_PACE_HOP_H
#define SLUICE_PACE_HOP_H

#include <stdbool.h>
#include <stdint.h>

#define HOP_SLOTS 4u       /* one for the hop fields of CNTL, the others for routers */
#define HOP_CNTL  0x10000u /* a source beyond the 16-bit numbers that RCNTL carries */

struct hop_limit {
    uint32_t source;      /* the number in RCNTL, or HOP_CNTL */
    uint64_t rate_Bps;    /* user bytes */
    uint64_t burst_bytes; /* 0: no limit */
    uint64_t time_ns; /* of the router's clock; newer limits replace older ones, in serial order */
    uint64_t until_tsc; /* when it expires; 0: the slot is free */
};

struct hop_limits {
    struct hop_limit slot[HOP_SLOTS];
};

/* Takes a router's limit; its until_tsc is not 0. False if a newer one of the same router is known,
 * or if there is no free slot and the others limit more. */
bool hop_limits_take(struct hop_limits *l, const struct hop_limit *limit);

/* Forgets what has expired; true if anything has. */
bool hop_limits_expire(struct hop_limits *l, uint64_t now);

/* When the next limit expires; TIME_NEVER if there is none. */
uint64_t hop_limits_next(const struct hop_limits *l);

/* The least rate, and the least burst (0: no limit); false if there are no limits. */
bool hop_limits_min(const struct hop_limits *l, uint64_t *rate_Bps, uint64_t *burst_bytes);

#endif
