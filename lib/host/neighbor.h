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
 * A fixed entry is known from the start, and no message changes it.
 *
 * Let T be ask_tsc. A neighbour in doubt is asked at 0, T/16, T/8 (every station), T/4, T/2,
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
#define NEIGHBOR_DOUBLINGS 4u   /* questions are T/16, T/8, T/4, T/2 and then T apart */
#define NEIGHBOR_SOON      32u  /* an answer comes within T/32 of its question */
#define NEIGHBOR_KEEP_ASKS 150u /* an entry that was not confirmed for 150 T is unknown */
#define NEIGHBOR_UNICASTS  2u   /* questions to the known MAC address; one may get lost */
#define NEIGHBOR_PROBES    5u   /* questions in one doubt, those to every station included */
#define NEIGHBOR_CALM      8u   /* no questions for T/8 after an answer */

struct neighbor {
    struct addr addr; /* unset: free */
    struct rte_ether_addr mac;
    bool known;
    bool fixed;          /* configured: it is never in doubt, and stays for ever */
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

/* Sets the MAC address of a for ever. To be called before any other address is looked up, for at
 * most half of NEIGHBOR_MAX addresses. */
void neighbor_fix(struct neighbor_table *t, const struct addr *a, const struct rte_ether_addr *mac,
                  uint64_t now);

/* True, with *mac, if the MAC address of a is known. Otherwise *ask says whether to send a question
 * now; the table then counts the question as sent. */
bool neighbor_find(struct neighbor_table *t, const struct addr *a, uint64_t now,
                   struct rte_ether_addr *mac, bool *ask);

/* Was the MAC address of a learnt just now, after a question had been lost? */
bool neighbor_was_lost(struct neighbor_table *t, const struct addr *a, uint64_t now);

/* The slot of a's entry, as a hint for neighbor_at(); 0 if there is none. */
uint16_t neighbor_slot(const struct neighbor_table *t, const struct addr *a);
/* Like neighbor_find(), but in O(1): true, with *mac, if the entry in this slot is a's and
 * known. */
bool neighbor_at(struct neighbor_table *t, uint16_t slot, const struct addr *a, uint64_t now,
                 struct rte_ether_addr *mac);

/* What the table knows of a may be wrong. mac: the MAC address that the caller has, for a new
 * entry; NULL: it has none. */
void neighbor_doubt(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, uint64_t now);

/* A message gives mac as the MAC address of a. The table keeps this only if a was looked up before,
 * or if the message is a proof. True if a was unknown and now is known. */
bool neighbor_learn(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, enum neighbor_word word, uint64_t now);

/* Is the entry in this slot a's, and fixed? */
static inline bool neighbor_fixed(const struct neighbor_table *t, uint16_t slot,
                                  const struct addr *a)
{
    return t->entries[slot].fixed && addr_equal(&t->entries[slot].addr, a);
}

/* Is the entry in this slot in doubt? By now the slot may hold the entry of another address. */
static inline bool neighbor_doubted(const struct neighbor_table *t, uint16_t slot)
{
    return t->entries[slot].probe_tsc != TIME_NEVER;
}

struct neighbor_question {
    struct addr addr;          /* the address that is asked for */
    struct rte_ether_addr mac; /* the station that is asked */
    bool all;                  /* every station is asked */
};

/* Gives a question that is due now, about a neighbour in doubt, and counts it as sent. False if
 * none is due. */
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
