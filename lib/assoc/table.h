/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's half of associations: it seals the packets that it sends, and opens those that come.
 * Control's half, which makes the keys, is assoc.h.
 *
 * ## A sealed packet
 * Bytes 4 to 7 of the header have the receiver's number of the association, and a trailer ends the
 * packet: the sender's number of the packet, and a tag (doc/protocol.md, section 11). The nonce is
 * the packet's number, so no two packets under a key have the same. The highest 8 bits are the
 * sending worker, bit 55 says that the packet is a FIRST, and the others count. So no worker knows
 * what another one has sent.
 *
 *   FIRST, CNTL   not encrypted; the tag covers addresses, UDP ports, and the whole packet without
 *                 what routers may write (seal_state())
 *   DATA          the tag covers the header, and the payload is encrypted. Addresses and ports need
 *                 no tag: they must be those of the connection, whose FIRST had them
 *
 * ## Replays
 * DATA and CNTL that come again change nothing in a connection: both are numbered (lib/vt,
 * lib/host/cntl.c), and the tag binds them to the connection's key. A FIRST would open another
 * connection. So of each sending worker the newest FIRST is known, and which of the FIRSTS_SEEN - 1
 * before came (RFC 6479); older ones are refused. A FIRST that was refused by mistake is repeated
 * with a new number. All workers of a port share this knowledge, for a FIRST that is sent again may
 * come to another queue: the other end of a memif or vhost chooses it.
 *
 * Owned by one worker. Time is in ns of a clock that does not go back.
 */
#ifndef SLUICE_ASSOC_TABLE_H
#define SLUICE_ASSOC_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "assoc/assoc.h"
#include "crypto/aead.h"

#define TABLE_WORKERS_MAX 32u /* workers of a peer */

/*
 * Which FIRST of an association have come: a word for each worker of the peer. The highest 40 bits
 * are the newest count, and bit i of the lowest FIRSTS_SEEN: newest - i has come. Workers change a
 * word by compare-and-swap.
 */
#define FIRSTS_SEEN 24u
struct table_firsts {
    uint64_t words[TABLE_WORKERS_MAX];
};

struct table_entry {
    uint32_t number; /* in packets that come; 0: the entry is free */
    uint32_t remote; /* in packets that go */
    uint32_t peer;
    bool outgoing;              /* we asked for the association, and open connections under it */
    bool confirmed;             /* a packet has come under it */
    uint64_t born_ns, heard_ns; /* when it was installed; when a packet last came under it */
    struct aead *seal, *open;
    struct table_firsts *firsts; /* of the port; all zero when the association was made */
};

struct table {
    struct table_entry *entries;
    uint32_t slots, peers;
    uint32_t *current;              /* for each peer: the slot of the newest outgoing association */
    uint64_t sent_data, sent_first; /* numbers of packets */
    uint8_t *clear;                 /* the payload of the packet opened last; WIRE_UNIT_MAX bytes */
    uint8_t worker;
};

/* Room for the associations of assoc_create() with this peers_max. Returns 0 or -ENOMEM. worker:
 * below TABLE_WORKERS_MAX, and different in each table. */
int table_init(struct table *t, uint32_t peers_max, uint8_t worker);
/* Frees the table, and all ciphers in it. Does nothing to a table that is all zero. */
void table_fini(struct table *t);

/* Takes the ciphers over. The slot must be free. firsts: shared with the tables of the port's other
 * workers, and valid as long as the slot is used. */
void table_install(struct table *t, const struct assoc_keys *k, struct aead *seal,
                   struct aead *open, struct table_firsts *firsts, uint64_t now_ns);
/* Frees the slot, and gives its ciphers to the caller. NULL if the slot was free. */
void table_remove(struct table *t, uint32_t slot, struct aead **seal, struct aead **open);

/* The association with this number of ours that a packet names; NULL: there is none. */
struct table_entry *table_find(struct table *t, uint32_t number);
/* The association for a packet of a connection that we opened; NULL: there is none, or it is too
 * old to send under. */
struct table_entry *table_current(struct table *t, uint32_t peer, uint64_t now_ns);
/* The association with this number, for a packet that we send; NULL: there is none, or it is too
 * old to send under. */
struct table_entry *table_young(struct table *t, uint32_t number, uint64_t now_ns);

/* Is the FIRST with this number of its trailer new? If so, it is not new any more. */
bool table_first_new(struct table_entry *e, uint64_t number);

#endif
