/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbour table of a host: which MAC address has an on-link IP address (ARP, RFC 826; ND,
 * RFC 4861). Fixed size; when full, the entry unused for longest makes room. Owned by the worker.
 *
 *   unknown -(any word)-> known -(doubt)-> known, in doubt -(answer)-> known
 *                           '--(not confirmed for long)--> unknown <--(no answer)--'
 *
 * This is RFC 4861's unreachability detection (7.3) with other times, for both families. An entry
 * in doubt keeps its MAC address while questions go out: the first NEIGHBOR_UNICASTS to that
 * address alone, as the RFC and Linux do, the others to everybody. Doubt begins where a connection
 * hears nothing (host/route.c), or where somebody claims another MAC address for a known neighbour
 * (gratuitous ARP, an unsolicited advertisement, the sender of a question). A claim is never
 * believed: if the known address still answers, nothing changes, so a stranger that cannot silence
 * a neighbour cannot take its place; if it does not, its heir answers the question to everybody.
 *
 * With T the ASK interval: a doubted neighbour is asked at 0, T/16, T/8 (everybody), T/4, T/2, and
 * is unknown at T. It is not asked again sooner than T/8 after it answered; a doubt in that time
 * waits. So one that failed over is found within T/4 = 100 ms of the doubt, for T of 400 ms at
 * most.
 */
#ifndef SLUICE_HOST_NEIGHBOR_H
#define SLUICE_HOST_NEIGHBOR_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "base/clock.h"
#include "wire/addr.h"

#define NEIGHBOR_MAX       256u
#define NEIGHBOR_DOUBLINGS 4u   /* the first ASK interval is a 16th, each of the next twice that */
#define NEIGHBOR_SOON      32u  /* a part of an ASK interval in which answers come */
#define NEIGHBOR_KEEP_ASKS 150u /* forgotten when not heard of for so many ASK intervals */
#define NEIGHBOR_UNICASTS  2u   /* one may get lost */
#define NEIGHBOR_PROBES    5u   /* of one doubt, those to everybody included */
#define NEIGHBOR_CALM      8u   /* the part of an ASK interval after an answer without questions */

struct neighbor {
    struct addr addr; /* unset: free */
    struct rte_ether_addr mac;
    bool known;
    uint64_t used_tsc;   /* last looked up or learnt */
    uint64_t asked_tsc;  /* while unknown: last asked for; 0: never */
    uint32_t asks;       /* unanswered, as far as they count */
    uint32_t probes;     /* in doubt: questions so far */
    uint64_t probe_tsc;  /* in doubt: when the next one is due; TIME_NEVER: not in doubt */
    uint64_t learnt_tsc; /* last confirmed */
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
    uint64_t ask_tsc;   /* T: cycles between questions, in the end */
    uint64_t probe_tsc; /* the earliest entries[].probe_tsc, or earlier */
};

/* How it was said where a neighbour is. */
enum neighbor_word {
    NEIGHBOR_CLAIM,   /* unasked */
    NEIGHBOR_CONFIRM, /* in an answer that overrides nothing that is known (RFC 4861 7.2.5) */
    NEIGHBOR_ANSWER,  /* in an answer */
    NEIGHBOR_PROOF,   /* by a packet that only the neighbour itself can have sent */
};

void neighbor_init(struct neighbor_table *t, uint64_t ask_tsc);

/* True and *mac if known. Otherwise *ask says whether to ask now (and counts as asked). */
bool neighbor_find(struct neighbor_table *t, const struct addr *a, uint64_t now,
                   struct rte_ether_addr *mac, bool *ask);

/* Has it just been found, and a question was lost before? */
bool neighbor_was_lost(struct neighbor_table *t, const struct addr *a, uint64_t now);

/* The entry of a, as a hint for neighbor_at(): below NEIGHBOR_MAX, also where there is none. */
uint16_t neighbor_slot(const struct neighbor_table *t, const struct addr *a);
/* The same as neighbor_find() in O(1): true and *mac if the entry is a's and known. */
bool neighbor_at(struct neighbor_table *t, uint16_t slot, const struct addr *a, uint64_t now,
                 struct rte_ether_addr *mac);

/* What is known of a may be wrong. mac: what its user knows, for one that has no entry; NULL: it
 * knows none. */
void neighbor_doubt(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, uint64_t now);

/* Somebody said where a is. Only addresses that were looked up are kept, or what is proved. True if
 * that made an address known that was waited for. */
bool neighbor_learn(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, enum neighbor_word word, uint64_t now);

/* Is the entry in doubt, whosever it is? */
static inline bool neighbor_doubted(const struct neighbor_table *t, uint16_t slot)
{
    return t->entries[slot].probe_tsc != TIME_NEVER;
}

struct neighbor_question {
    struct addr addr;          /* that is asked for */
    struct rte_ether_addr mac; /* asked there */
    bool all;                  /* everybody is asked */
};

/* A question about one in doubt that is due now, which counts as asked; false if none is. */
bool neighbor_ask(struct neighbor_table *t, uint64_t now, struct neighbor_question *q);
/* When neighbor_ask() must be called next; TIME_NEVER: nobody is in doubt. */
static inline uint64_t neighbor_next(const struct neighbor_table *t)
{
    return t->probe_tsc;
}

/* The shortest time between two questions, T/16: a host that hears nothing for longer may doubt. */
static inline uint64_t neighbor_quick(const struct neighbor_table *t)
{
    return t->ask_tsc >> NEIGHBOR_DOUBLINGS;
}

/* [any] Entry i as it was at one moment: address, MAC address, known and learnt_tsc, no more; false
 * if there is none. */
bool neighbor_read(const struct neighbor_table *t, uint32_t i, struct neighbor *out);

#endif
