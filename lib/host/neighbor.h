/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbour table of a host: the MAC addresses of on-link IP addresses (ARP, RFC 826; ND,
 * RFC 4861). Its size is fixed; when it is full, the entry unused for longest makes room. Owned by
 * the worker.
 *
 *   unknown -(any word)-> known -(doubt)-> known, in doubt -(answer)-> known
 *                           '--(not confirmed for long)--> unknown <--(no answer)--'
 *
 * This is RFC 4861's unreachability detection (7.3) with other times, for both families. An entry
 * in doubt keeps its MAC address while questions go out: the first NEIGHBOR_UNICASTS to that
 * address alone, as the RFC and Linux do, the others to every station. Doubt begins if a connection
 * hears nothing (host/route.c), or if a message claims another MAC address for a known neighbour
 * (gratuitous ARP, an unsolicited advertisement, the sender of a question). A claim alone changes
 * nothing: if the known MAC address still answers, it stays. So a stranger that cannot silence a
 * neighbour cannot take its place. If the known one does not answer, its successor answers the
 * question to every station.
 *
 * With T the ASK interval: a neighbour in doubt is asked at 0, T/16, T/8 (every station), T/4, T/2,
 * and is unknown at T. It is not asked again sooner than T/8 after it answered; a doubt in that
 * time waits. So an address that failed over to another station is found within T/4 = 100 ms of
 * the doubt, for T of 400 ms at most.
 */
#ifndef SLUICE_HOST_NEIGHBOR_H
#define SLUICE_HOST_NEIGHBOR_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "base/clock.h"
#include "wire/addr.h"

#define NEIGHBOR_MAX       256u
#define NEIGHBOR_DOUBLINGS 4u   /* the first interval is T/16; each of the next is twice as long */
#define NEIGHBOR_SOON      32u  /* answers come within T / this */
#define NEIGHBOR_KEEP_ASKS 150u /* an entry not confirmed for this many T is unknown */
#define NEIGHBOR_UNICASTS  2u   /* two, since one may get lost */
#define NEIGHBOR_PROBES    5u   /* questions of one doubt, those to every station included */
#define NEIGHBOR_CALM      8u   /* no questions for T / this after an answer */

struct neighbor {
    struct addr addr; /* unset: free */
    struct rte_ether_addr mac;
    bool known;
    uint64_t used_tsc;   /* last looked up or learnt */
    uint64_t asked_tsc;  /* while unknown: when last asked for; 0: never */
    uint32_t asks;       /* questions without an answer, at most NEIGHBOR_DOUBLINGS + 1 */
    uint32_t probes;     /* in doubt: questions sent so far */
    uint64_t probe_tsc;  /* in doubt: when the next one is due; TIME_NEVER: not in doubt */
    uint64_t learnt_tsc; /* last confirmed */
    bool lost; /* several questions were sent, and the answer came soon after the last: the others
                  were lost */
};

/* An entry for other threads, under a sequence lock: seq is odd while the worker writes. */
struct neighbor_public {
    uint64_t seq;
    uint64_t addr[2]; /* 0, 0: free */
    uint64_t mac;     /* its first byte is bits 40 to 47; bit 63: known */
    uint64_t learnt_tsc;
};

struct neighbor_table {
    struct neighbor entries[NEIGHBOR_MAX];
    struct neighbor_public shown[NEIGHBOR_MAX];
    uint32_t count;
    uint64_t ask_tsc;   /* T, the longest time between questions, in cycles */
    uint64_t probe_tsc; /* the earliest entries[].probe_tsc, or earlier */
};

/* How a message gives a neighbour's MAC address. */
enum neighbor_word {
    NEIGHBOR_CLAIM,   /* without a question */
    NEIGHBOR_CONFIRM, /* in an answer that must not replace a known address (RFC 4861 7.2.5) */
    NEIGHBOR_ANSWER,  /* in an answer */
    NEIGHBOR_PROOF,   /* as the source of a packet that only the neighbour can have sent */
};

void neighbor_init(struct neighbor_table *t, uint64_t ask_tsc);

/* True, with *mac, if known. Otherwise *ask says whether to ask now, which then counts as asked. */
bool neighbor_find(struct neighbor_table *t, const struct addr *a, uint64_t now,
                   struct rte_ether_addr *mac, bool *ask);

/* Was its address learnt just now, after a question had been lost? */
bool neighbor_was_lost(struct neighbor_table *t, const struct addr *a, uint64_t now);

/* The entry of a, as a hint for neighbor_at(). It is below NEIGHBOR_MAX even if there is none. */
uint16_t neighbor_slot(const struct neighbor_table *t, const struct addr *a);
/* Like neighbor_find(), but in O(1): true, with *mac, if the entry is a's and known. */
bool neighbor_at(struct neighbor_table *t, uint16_t slot, const struct addr *a, uint64_t now,
                 struct rte_ether_addr *mac);

/* What the table knows of a may be wrong. mac: the address that the caller has, for a new entry;
 * NULL: it has none. */
void neighbor_doubt(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, uint64_t now);

/* A message gives mac for a. Only addresses that were looked up, or that are proved, are kept. True
 * if the address was unknown and now is known. */
bool neighbor_learn(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, enum neighbor_word word, uint64_t now);

/* Is the entry in this slot in doubt? It may have another address by now. */
static inline bool neighbor_doubted(const struct neighbor_table *t, uint16_t slot)
{
    return t->entries[slot].probe_tsc != TIME_NEVER;
}

struct neighbor_question {
    struct addr addr;          /* the address that is asked for */
    struct rte_ether_addr mac; /* the station that is asked */
    bool all;                  /* every station is asked */
};

/* Gives a question about a neighbour in doubt that is due now, which then counts as asked. False if
 * none is. */
bool neighbor_ask(struct neighbor_table *t, uint64_t now, struct neighbor_question *q);
/* When neighbor_ask() must be called next; TIME_NEVER: no entry is in doubt. */
static inline uint64_t neighbor_next(const struct neighbor_table *t)
{
    return t->probe_tsc;
}

/* The shortest time between two questions, T/16. A connection that hears nothing for longer may
 * doubt its next hop. */
static inline uint64_t neighbor_quick(const struct neighbor_table *t)
{
    return t->ask_tsc >> NEIGHBOR_DOUBLINGS;
}

/* [any] A consistent copy of entry i: address, MAC address, known and learnt_tsc only. False if
 * there is none. */
bool neighbor_read(const struct neighbor_table *t, uint32_t i, struct neighbor *out);

#endif
