/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of lib/assoc share. The public interface is assoc.h. */
#ifndef SLUICE_ASSOC_ASSOC_INTERNAL_H
#define SLUICE_ASSOC_ASSOC_INTERNAL_H

#include "assoc/assoc.h"
#include "assoc/mac.h"
#include "base/counter.h"
#include "crypto/drbg.h"

#define NONE UINT32_MAX

/* The associations of a peer that may exist at a time. */
enum role {
    OUT_CURRENT,
    OUT_PREVIOUS,
    IN_PENDING,
    IN_REWOUND, /* pending, too: its INIT had an earlier time than one before */
    IN_CURRENT,
    IN_PREVIOUS,
    ROLES,
};
/* A power of 2: one for each role, one for what we ask for, and one to replace another with while
 * workers have not given that back. */
#define PEER_SLOTS 8u

enum slot_use {
    SLOT_FREE,
    SLOT_USED,    /* named by a role, and installed in the workers; or by the attempt */
    SLOT_OVER,    /* to be taken from the workers */
    SLOT_LEAVING, /* being taken from the workers */
};

struct slot {
    enum slot_use use;
    uint32_t number;
    uint64_t born_ns;
};

/* Our own INIT, until its RESPONSE comes. */
struct attempt {
    uint64_t number; /* of the handshake; 0: there is none */
    uint64_t begun_ns;
    uint32_t repeats; /* up to ASSOC_DOUBLINGS */
    uint32_t slot;    /* for the association */
    struct noise noise;
    uint8_t bytes[WIRE_INIT_BYTES];
};

/* The INIT that we answered with a pending association. */
struct answered {
    uint64_t time_ns; /* in it */
    uint8_t mac1[WIRE_MAC_BYTES];
    struct addr from;
    uint16_t port;
    uint8_t bytes[WIRE_RESPONSE_BYTES];
};

struct peer {
    bool used;
    struct assoc_peer cfg;
    uint32_t slot_of[ROLES]; /* or NONE */
    struct slot slots[PEER_SLOTS];
    struct attempt attempt;
    uint64_t time_ns; /* of its INIT that counts: later ones must have a later time */
    struct answered pending, rewound; /* for IN_PENDING and IN_REWOUND */
    struct mac_cookie cookie;         /* what the peer wants in our INIT */
    struct assoc_state state;
};

struct assoc {
    struct assoc_config cfg;
    struct drbg random;
    struct mac_secret secret; /* of the cookies that we hand out */
    struct peer *peers;
    uint32_t entries;                   /* of peers: assoc_numbers() */
    uint32_t order[ASSOC_PEERS_MAX], n; /* the numbers of the configured peers, in their order */
    uint32_t look;                      /* where assoc_over() goes on */
    uint64_t time_ns;                   /* in our newest INIT */
    struct assoc_counters count;
};

#define COUNT(a, name) counter_add(&(a)->count.name, 1)

/* assoc.c */
/* A free slot of the peer, with a new number that nobody can guess; NONE: workers have not given
 * back enough of them. */
uint32_t slot_new(struct assoc *a, struct peer *p, uint64_t now);
/* The slot, SLOT_USED from now on, takes the role; what had the role before is over. */
void slot_install(struct peer *p, enum role role, uint32_t slot, uint64_t now);
/* Gives a slot up that was never installed. */
void slot_drop(struct peer *p, uint32_t slot);
/* Gives our INIT up, with its slot, if there is one. */
void attempt_drop(struct peer *p);
/* Does the address lie in a network of the peer? */
bool peer_at(const struct peer *p, const struct addr *address);
/* The number of the peer's slot among those of all peers. */
uint32_t slot_index(const struct assoc *a, const struct peer *p, uint32_t slot);

/* May an answer to our INIT still count? */
static inline bool attempt_lives(const struct attempt *t, uint64_t now)
{
    return t->number != 0 && now - t->begun_ns < 2 * ASSOC_ATTEMPT_NS;
}

/* The age of the association in a role; UINT64_MAX: there is none. */
static inline uint64_t role_age_ns(const struct peer *p, enum role role, uint64_t now)
{
    return p->slot_of[role] == NONE ? UINT64_MAX : now - p->slots[p->slot_of[role]].born_ns;
}

#endif
