/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Associations: the keys under which two hosts seal the packets of all connections that one of them
 * opens to the other. Control's half: handshakes. The worker's half, which seals and opens, is
 * table.h and seal.h.
 *
 * ## Model
 * A host knows the public keys of its peers beforehand. To open a connection it needs an
 * association with the peer, which it asks for: INIT -> RESPONSE (crypto/noise.h). That costs one
 * round trip at first contact. All its connections to that peer use the newest association, and
 * move on to the next one while data flow. The peer answers under the association under which the
 * connection's newest packet came. So an association has a direction: the host that asked for it
 * (here: outgoing) opens connections under it, the other one (incoming) accepts them. Two hosts
 * that ask each other at the same time get two associations, and neither has to give way.
 *
 * ## States of one peer
 *   outgoing:  none -> asked (INIT sent) -> current (RESPONSE came) -> previous -> gone
 *   incoming:  none -> pending (RESPONSE sent) -> current (a sealed packet came) -> previous
 *              -> gone
 * A pending association replaces the pending one before, and nothing else, until a packet under it
 * has come. So a replayed INIT can end no association that is in use.
 *
 * ## Times
 * An association is renewed once it is ASSOC_RENEW_NS old and in use. From ASSOC_REJECT_NS on
 * nothing is sealed with it, and from ASSOC_KEEP_NS on nothing is opened (the difference is the
 * time that packets may be under way). So a host's memory has keys of the last four minutes at
 * most, whenever it falls into wrong hands. While nobody answers, an INIT is repeated byte by byte,
 * however many connections wait: after ASSOC_REPEAT_NS, then after twice as long, with
 * ASSOC_DOUBLINGS (FIRST comes a little later each time). After ASSOC_ATTEMPT_NS a new INIT
 * replaces it. After twice that time no answer to it counts: the responder may have forgotten the
 * association.
 *
 * A peer that was restarted knows no association, and says nothing. So if a peer has not been heard
 * for ASSOC_DOUBT_NS under an association, and does not answer, there is a new one (`doubt`).
 *
 * ## What an attacker can do
 * - Without our public key: nothing. mac1 of INIT is keyed with it, and a wrong one costs us one
 *   hash and gets no answer.
 * - With it: make us compute. Under pressure (`pressed`) an INIT must bring a cookie, a MAC of its
 *   source address under a secret of ours that changes every ASSOC_COOKIE_NS. Without one we answer
 *   with COOKIE, which is shorter than INIT, and compute no Diffie-Hellman.
 * - By sending an INIT of a peer again: nothing. The time in it must be later than in all before.
 *   The same INIT again, from the same address, while its association is pending, gets the same
 *   RESPONSE again: the first one may be lost.
 * A peer whose clock was set back is asked for a cookie: with a cookie that is fresh, an INIT with
 * an earlier time is answered, too. An attacker on the path, with our public key, can give an old
 * INIT a fresh cookie. So such an association is pending on its own (rewound): it replaces only one
 * of its kind, and no younger than ASSOC_REWIND_NS. The earlier time counts once a packet under it
 * has come, which the attacker cannot send.
 *
 * ## Sources
 * [WIREGUARD] (sections 5.3 cookies, 5.4 messages, 6.1 timers), from which this differs: an
 * association has a direction; no keepalive confirms it, because the connection's first packet
 * does; INIT is repeated as it is; clocks may go back.
 *
 * `now` is in ns of a clock that does not go back; `wall_ns` is the time since 1970, which may.
 * Nothing here draws from the kernel or reads a clock. One thread owns a struct assoc.
 */
#ifndef SLUICE_ASSOC_ASSOC_H
#define SLUICE_ASSOC_ASSOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/drbg.h"
#include "crypto/noise.h"
#include "wire/addr.h"
#include "wire/assoc.h"

#define ASSOC_RENEW_NS   120000000000ull
#define ASSOC_REJECT_NS  180000000000ull
#define ASSOC_KEEP_NS    210000000000ull
#define ASSOC_REPEAT_NS  15000000ull
#define ASSOC_DOUBLINGS  5u
#define ASSOC_ATTEMPT_NS 5000000000ull
#define ASSOC_DOUBT_NS   500000000ull
#define ASSOC_REWIND_NS  1000000000ull
#define ASSOC_COOKIE_NS  120000000000ull
#define ASSOC_PEERS_MAX  1024u
#define ASSOC_PEER_NONE  UINT32_MAX

#define ASSOC_NAME_MAX   64u /* with the final 0 */
#define ASSOC_RANGES_MAX 16u

/* What a peer is called, and which services it may connect to. Nothing here looks at it, and no
 * association changes with it: it is for those that handle the peer's packets. */
struct assoc_rights {
    char name[ASSOC_NAME_MAX];
    uint32_t n_services; /* ranges; 0: all services */
    struct {
        uint16_t first, last;
    } services[ASSOC_RANGES_MAX];
};

static inline bool assoc_rights_allow(const struct assoc_rights *r, uint16_t service)
{
    for (uint32_t i = 0; i < r->n_services; i++)
        if (service >= r->services[i].first && service <= r->services[i].last)
            return true;
    return r->n_services == 0;
}

/* A peer as configured. */
struct assoc_peer {
    uint8_t public_key[DH_BYTES];
    uint8_t shared_key[NOISE_KEY_BYTES]; /* all zero: none */
    struct addr address[2];              /* the peer's addresses lie in one of these networks; */
    uint8_t prefix_len[2];               /* prefix_len[i] 0: there is no address[i] */
    struct assoc_rights rights;
};

struct assoc_config {
    struct noise_self self;
    uint8_t seed[DRBG_SEED_BYTES]; /* of all random numbers; nobody else knows it */
    uint16_t ciphers;              /* those that may be used, a bit for each enum aead_cipher */
    enum aead_cipher cipher;       /* the one that is preferred */
    uint32_t peers_max;            /* 1 .. ASSOC_PEERS_MAX */
};

/* Does an address lie in one of a peer's two networks? prefix_len[i] 0: there is no network[i]. */
static inline bool assoc_peer_at(const struct addr network[2], const uint8_t prefix_len[2],
                                 const struct addr *address)
{
    for (uint32_t i = 0; i < 2; i++)
        if (prefix_len[i] != 0 && addr_same_prefix(&network[i], address, prefix_len[i]))
            return true;
    return false;
}

/* A new association, for all workers. */
struct assoc_keys {
    uint32_t slot;   /* below assoc_slots() */
    uint32_t number; /* in packets that come to us */
    uint32_t remote; /* in packets that we send */
    uint32_t peer;   /* number of the peer, see assoc_set_peers() */
    bool outgoing;   /* we asked for it */
    enum aead_cipher cipher;
    struct noise_keys keys; /* wiped by the caller, once it has expanded them */
};

/* What a call wants done. */
struct assoc_out {
    uint32_t len; /* of a packet to send: to the source of the packet that was taken, or to the
                     peer that was wanted. 0: none */
    uint8_t bytes[WIRE_INIT_BYTES];
    bool install;
    struct assoc_keys keys;
};

/* X(name): what handshakes came to; doc/counters.md. */
/* clang-format off */
#define ASSOC_COUNTERS(X)                                                                          \
    X(init_sent) X(init_taken) X(init_again) X(response_taken) X(cookie_sent) X(cookie_taken)      \
    X(drop_mac) X(drop_no_cookie) X(drop_unreadable) X(drop_stranger) X(drop_from) X(drop_replay) \
    X(drop_cipher) X(drop_full) X(drop_unasked) X(drop_response)
/* clang-format on */

struct assoc_counters {
#define X(name) uint64_t name; /* base/counter.h */
    ASSOC_COUNTERS(X)
#undef X
};

/* What is known of a peer, for people. */
struct assoc_state {
    uint64_t asked_at, answered_at; /* when an INIT was last sent; when a handshake was last
                                       completed, either way; 0: never */
    uint32_t outgoing, incoming;    /* associations that are held */
    uint64_t failures;              /* RESPONSE that could not be read: the shared keys differ? */
};

struct assoc;

/* NULL: no memory. */
struct assoc *assoc_create(const struct assoc_config *cfg);
/* Wipes all keys. a may be NULL. */
void assoc_destroy(struct assoc *a);

/* How many numbers of peers there are: twice peers_max, as those of a reload may exist beside those
 * before, until workers have given these back. */
uint32_t assoc_numbers(uint32_t peers_max);
/* Number of slots: of assoc_keys.slot, and so of the tables of workers. */
uint32_t assoc_slots(uint32_t peers_max);

/*
 * Replaces the peers by these n, at most peers_max. A peer whose keys and addresses are unchanged
 * keeps its number and its associations; number[i] is that of peers[i]. The associations of all
 * others are over at once: assoc_over() gives them. Returns 0; -EEXIST: two peers have one public
 * key, or one of them is our own; -EBUSY: workers have not given back what was over before.
 */
int assoc_set_peers(struct assoc *a, const struct assoc_peer *peers, uint32_t n, uint32_t *number);

/* The number of the first peer in whose network an address lies, in the order of
 * assoc_set_peers(); ASSOC_PEER_NONE if there is none. */
uint32_t assoc_peer_of(const struct assoc *a, const struct addr *address);

/*
 * A worker needs an association with a peer, or a newer one (renew). Fills out with an INIT,
 * unless that is not needed: the association is young, or the INIT before was repeated just now.
 * doubt: the peer does not answer under the association there is; it may have been restarted.
 */
void assoc_want(struct assoc *a, uint32_t peer, bool doubt, uint64_t now, uint64_t wall_ns,
                struct assoc_out *out);

/*
 * Takes INIT, RESPONSE or COOKIE: len bytes that came from this address and UDP port. pressed: more
 * handshakes come than this host likes to compute. Any bytes may come; wrong ones are counted.
 */
void assoc_take(struct assoc *a, const uint8_t *p, uint32_t len, const struct addr *from,
                uint16_t port, bool pressed, uint64_t now, uint64_t wall_ns, struct assoc_out *out);

/* A worker has opened a packet under this incoming association: it is current. Another slot or
 * number than one of a pending association changes nothing. */
void assoc_confirm(struct assoc *a, uint32_t slot, uint32_t number, uint64_t now);

/*
 * The next association that is over: it was replaced, too old, or its peer is gone. True, and *slot
 * is to be taken from all workers; after that assoc_freed() says that the slot may be used again.
 * False: there is none at the moment. To be called until false, now and then.
 */
bool assoc_over(struct assoc *a, uint64_t now, uint32_t *slot);
void assoc_freed(struct assoc *a, uint32_t slot);

const struct assoc_counters *assoc_counters(const struct assoc *a);
void assoc_state(const struct assoc *a, uint32_t peer, struct assoc_state *out);

#endif
