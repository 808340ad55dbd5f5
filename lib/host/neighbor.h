/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbour table of a host: which MAC address has an on-link IP address (ARP, RFC 826; ND,
 * RFC 4861). Fixed size; when full, the entry unused for longest makes room. An entry is asked for
 * at most every ASK interval and forgotten when not confirmed for long. Owned by the worker.
 */
#ifndef SLUICE_HOST_NEIGHBOR_H
#define SLUICE_HOST_NEIGHBOR_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "wire/addr.h"

#define NEIGHBOR_MAX       256u
#define NEIGHBOR_DOUBLINGS 4u   /* the first ASK interval is a 16th, each of the next twice that */
#define NEIGHBOR_SOON      32u  /* a part of an ASK interval in which answers come */
#define NEIGHBOR_KEEP_ASKS 150u /* forgotten when not heard of for so many ASK intervals */

struct neighbor {
    struct addr addr; /* unset: free */
    struct rte_ether_addr mac;
    bool known;
    uint64_t used_tsc;   /* last looked up or learnt */
    uint64_t asked_tsc;  /* last asked for; 0: never */
    uint32_t asks;       /* unanswered, as far as they count */
    uint64_t learnt_tsc; /* last heard of */
    bool lost;           /* and soon after the last of several questions: those before were lost */
};

/* The same for other threads, under a sequence lock: seq is odd while the worker writes. */
struct neighbor_public {
    uint64_t seq;
    uint64_t addr[2]; /* 0, 0: free */
    uint64_t mac;     /* its bytes in the order of the wire from bit 40 down; bit 63: known */
    uint64_t learnt_tsc;
};

struct neighbor_table {
    struct neighbor entries[NEIGHBOR_MAX];
    struct neighbor_public shown[NEIGHBOR_MAX];
    uint32_t count;
    uint64_t ask_tsc; /* cycles between questions, in the end */
};

void neighbor_init(struct neighbor_table *t, uint64_t ask_tsc);

/* True and *mac if known. Otherwise *ask says whether to ask now (and counts as asked). */
bool neighbor_find(struct neighbor_table *t, const struct addr *a, uint64_t now,
                   struct rte_ether_addr *mac, bool *ask);

/* Has it just been found, and a question was lost before? */
bool neighbor_was_lost(struct neighbor_table *t, const struct addr *a, uint64_t now);

/* The address known for a may be wrong: it is asked for anew. */
void neighbor_doubt(struct neighbor_table *t, const struct addr *a);

/* Somebody said where a is. Only addresses that were looked up, or `create`, are kept. True if that
 * made an address known that was waited for. */
bool neighbor_learn(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, bool create, uint64_t now);

/* [any] Entry i as it was at one moment, but for used_tsc and asked_tsc; false if there is none. */
bool neighbor_read(const struct neighbor_table *t, uint32_t i, struct neighbor *out);

#endif
