/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between control, which has the handshakes, and one worker, which has the packets: two
 * rings with one writer and one reader each. Nobody waits: a writer whose ring is full tries again
 * later, or drops what its peer will repeat.
 */
#ifndef SLUICE_ASSOC_MAIL_H
#define SLUICE_ASSOC_MAIL_H

#include <rte_ring.h>

#include "assoc/assoc.h"
#include "assoc/table.h"
#include "wire/frame.h"

#define MAIL_MESSAGES 64u /* that each ring holds */

/* From the worker. */
enum mail_up_kind {
    MAIL_WANT,         /* peer, conn, doubt: an association is needed (assoc_want()) */
    MAIL_HANDSHAKE,    /* route (of an answer), bytes: INIT, RESPONSE or COOKIE came */
    MAIL_CONFIRM,      /* slot, number: a packet came under an incoming association */
    MAIL_REMOVED,      /* slot, seal, open: no longer used */
    MAIL_NETWORKS_OLD, /* networks: no longer used */
};

/* To the worker. */
enum mail_down_kind {
    MAIL_ANSWER,   /* route, bytes: to be sent */
    MAIL_ASK,      /* peer, conn, bytes: to be sent to the peer of this connection, if it is open */
    MAIL_INSTALL,  /* keys (without the secrets), seal, open, firsts */
    MAIL_REMOVE,   /* slot */
    MAIL_NETWORKS, /* networks: replaces the one before */
};

/* Which addresses belong to which peer, what a peer may do, and what peers have to know of us.
 * Owned by control; read by the worker that has it. */
struct mail_networks {
    uint8_t public_key[DH_BYTES]; /* our own */
    uint32_t n;
    struct {
        uint32_t peer; /* of lib/assoc */
        struct addr address[2];
        uint8_t prefix_len[2]; /* 0: there is no address[i] */
        struct assoc_rights rights;
    } at[];
};

struct mail {
    union {
        enum mail_up_kind up;
        enum mail_down_kind down;
    };
    bool doubt;
    uint32_t peer, conn, slot, number;
    struct assoc_keys keys;
    struct aead *seal, *open;
    struct table_firsts *firsts;
    struct mail_networks *networks;
    struct frame_route route;
    uint32_t len; /* of bytes */
    uint8_t bytes[WIRE_INIT_BYTES];
};

struct mailbox {
    struct rte_ring *up, *down;
};

/* Returns 0 or -ENOMEM. name: at most 20 characters, of no other mailbox. */
int mailbox_init(struct mailbox *b, const char *name);
/* Frees the rings, whose messages the caller has taken out. Does nothing to one that is all zero.
 */
void mailbox_fini(struct mailbox *b);

/* False: the ring is full, or empty. */
bool mail_put(struct rte_ring *ring, const struct mail *m);
bool mail_get(struct rte_ring *ring, struct mail *m);
/* How many messages the ring has room for. */
uint32_t mail_room(const struct rte_ring *ring);
bool mail_waits(const struct rte_ring *ring);

#endif
