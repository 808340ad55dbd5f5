/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weighted max-min fair sharing ([XTP-RATE], section 4.3.2): no flow gets more than it can use, and
 * the rest is shared by weight among the flows that can use more.
 *
 *   grant = weight * L, but not below the reserved minimum, nor above demand or ceiling
 *
 * with one level L for all flows, chosen so that the grants reach the capacity. So the sum of
 * grants is min(capacity, sum of demands), except for rounding: up to 1 byte/s a flow less, or
 * 2^-12 more.
 *
 * Further rules:
 * - A minimum is cut to the demand: what is reserved but not used is shared.
 * - If the minimums sum to more than the capacity (which admission should prevent), the capacity is
 *   shared by weight up to the minimums.
 * - A peer (all flows from one host) may have a minimum and a ceiling for the sum of its flows.
 *   They move the level of its flows up and down.
 * - Flows of a higher priority get all that they demand before flows of a lower one get more than
 *   their minimums.
 *
 * O(n) in time and memory. Rates in bytes/s. Owned by the control lcore.
 */
#ifndef SLUICE_CONTROL_SHARE_H
#define SLUICE_CONTROL_SHARE_H

#include <stddef.h>
#include <stdint.h>

#define SHARE_RATE_MAX_BPS (1ull << 48)
#define SHARE_PRIORITIES   8u
#define SHARE_NO_PEER      UINT32_MAX

enum share_bound {
    SHARE_DEMAND,  /* the flow has all that it can use */
    SHARE_CEILING, /* the flow's ceiling */
    SHARE_PEER,    /* the ceiling of the flow's peer */
    SHARE_MINIMUM, /* the flow's minimum or its peer's: its share would be less */
    SHARE_LEVEL,   /* the flow's share of the capacity */
};

struct share_flow {
    uint64_t demand_Bps;  /* what the flow can use; cut to SHARE_RATE_MAX_BPS */
    uint64_t min_Bps;     /* reserved */
    uint64_t ceiling_Bps; /* UINT64_MAX: none */
    uint64_t grant_Bps;   /* out */
    uint32_t peer;        /* number of the flow's peer, or SHARE_NO_PEER */
    uint16_t weight;      /* 0 counts as 1 */
    uint8_t priority;     /* 0 goes first; below SHARE_PRIORITIES */
    uint8_t bound;        /* out: enum share_bound, what limits the grant */
};

struct share_peer {
    uint64_t min_Bps;
    uint64_t ceiling_Bps; /* UINT64_MAX: none */
    uint64_t grant_Bps;   /* out: sum over the peer's flows */
};

struct share;

/* Bytes of storage for up to so many flows. The storage stays the caller's, aligned to 16; the
 * struct share lies in it. */
size_t share_storage_bytes(uint32_t flows);
struct share *share_init(void *storage, uint32_t flows);

/*
 * Sets the grants. Flows must be in the order of their priorities; within a priority, the flows of
 * a peer with limits must be side by side. They are not sorted here, since the owner of the
 * connections knows when their order changes. Numbers of peers are below n_peers.
 */
void share_run(struct share *s, struct share_flow *flows, uint32_t n, struct share_peer *peers,
               uint32_t n_peers, uint64_t capacity_Bps);

/* How much of the capacity the last share_run() had left for flows of this priority: what earlier
 * ones got, and the minimums of later ones, are gone. 0 before the first. */
uint64_t share_left(const struct share *s, uint8_t priority);

#endif
