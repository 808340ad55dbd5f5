/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending half of a VT connection ([VT], sections 3.2-3.4): a queue of send requests cut
 * into units. No payload is held or copied here: a unit is a pointer into the application's buffer.
 *
 * Numbers, all wrap-safe:    base <= una <= tail           (requests)
 *                            ack <= next <= sent, more within [ack, sent)   (positions)
 * Requests before `una` are acknowledged (or failed), those before `base` also reported. Positions
 * before `ack` are placed at the peer; `next` is the next unit of the main walk, `sent` the end of
 * what was sent at least once (next < sent only while going back n).
 *
 * A request completes when it is acknowledged and no mbuf refers to its memory (its reference count
 * is back to 1). Owned by one worker.
 */
#ifndef SLUICE_VT_SENDER_H
#define SLUICE_VT_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/seq.h"
#include "base/span.h"
#include "vt/rtt.h"
#include "vt/unit_set.h"
#include "wire/packet.h"

struct vt_piece {
    const uint8_t *data;
    uint64_t len; /* bytes */
};

struct vt_send {
    struct vt_piece pieces[2]; /* the request is [0] followed by [1] */
    bool provisional;          /* [1] is a copied tail: report when [0] has arrived */
    uint64_t user;
    uint64_t posted_tsc; /* when; returned with its completion */
};

struct vt_request {
    struct vt_send op;
    uint64_t len;        /* of both pieces */
    uint32_t unit_bytes; /* 0 until its first unit is about to be sent */
    uint32_t units;
    uint32_t flagged_unit; /* carries the provisional-ACK flag; UINT32_MAX: none */
    int32_t status;        /* 0 or negative errno, once acknowledged or failed */
    bool provisional_reported;
    struct rte_mbuf_ext_shared_info shared[2]; /* references to each piece's memory; 1: only ours */
};

struct vt_sender {
    struct vt_request *ring;
    uint32_t mask;   /* ring size - 1 */
    uint32_t origin; /* request `origin` stands at ring[0] */
    uint32_t base, una, tail;
    uint64_t next, sent, ack;
    struct span_set repeat; /* positions to send again, */
    struct unit_set more;   /* and those that did not fit there */
    uint32_t posted;        /* the peer has buffers for requests before this */
    uint32_t ahead;         /* how many further ones we may send */
    uint32_t unit_bytes;    /* for requests that start now */
    bool go_back_n;
    bool closing;           /* no further requests: the last unit carries WCLOSE */
    bool aborted;           /* what was outstanding has failed: no further requests either */
    bool closed;            /* and the peer confirmed that it has them all: RCLOSE */
    uint64_t packet;        /* next packet number */
    uint64_t backlog_bytes; /* posted, not sent once */
    /* the ACK-request timer */
    uint64_t ask_at;                                 /* TIME_NEVER when nothing is unconfirmed */
    uint32_t ask_backoff;                            /* doublings so far */
    uint64_t ask_max_tsc;                            /* no wait is longer */
    uint64_t acked_bytes, repeats, naks, recoveries; /* counters */
};

/* One unit, ready to be sent: pieces point into the application's buffer. */
struct vt_unit {
    struct vt_request *request;
    uint64_t pos;
    struct vt_piece pieces[2]; /* parts of the request's two pieces; either may be empty */
    uint32_t len;
    uint8_t flags; /* DREQ, WCLOSE, PACK, REPEAT */
};

struct vt_sent {
    uint64_t user;
    uint64_t len; /* bytes that are the application's again */
    int32_t status;
    bool provisional;
    uint64_t posted_tsc; /* as vt_send had it */
};

struct vt_sender_config {
    struct vt_request *ring; /* depth of them */
    uint32_t depth;          /* power of two */
    struct span *spans;      /* gaps of them */
    uint32_t gaps;
    struct unit_set_page *pages; /* page_count of them; 0: what needs more than `gaps` waits to be
                                    asked for again */
    uint32_t page_count;
    uint32_t initial_request;
    uint32_t unit_bytes;
    uint32_t early;       /* requests that may go before the first CNTL */
    uint64_t ask_max_tsc; /* longest wait of the ACK-request timer */
    bool go_back_n;
};

void vt_sender_init(struct vt_sender *s, const struct vt_sender_config *cfg);

/* Our first request number, when the peer chooses it; what was posted keeps its order. Only before
 * anything was sent. */
void vt_sender_set_initial(struct vt_sender *s, uint32_t initial_request);

/* Queues a request: 0, -ENOBUFS (depth are outstanding), -EMSGSIZE, -EPIPE (closing, aborted). */
int vt_sender_post(struct vt_sender *s, const struct vt_send *op);

/* Describes the next unit to send, without taking it: repeats first. False: nothing may go. */
bool vt_sender_peek(struct vt_sender *s, struct vt_unit *u);
/* Takes the unit that was peeked. ask_tsc: how long to wait for news of it. */
void vt_sender_take(struct vt_sender *s, const struct vt_unit *u, uint64_t now, uint64_t ask_tsc);

/*
 * Units for requests that have not started may be at most this large from now on. A request that is
 * under way with larger ones goes on in smaller ones where the size divides its own; what of it is
 * unacknowledged is sent again. Otherwise it starts anew, with all after it, unless some of it is
 * acknowledged: then it stays as it is.
 */
void vt_sender_set_unit(struct vt_sender *s, uint32_t unit_bytes);
/* Bytes of the packet with the unit that is to be acknowledged next; 0: it has not been sent. */
uint32_t vt_sender_awaited(const struct vt_sender *s);

/* Applies posted, ack, refused and NAK spans of a CNTL. ask_tsc as above. False if it acknowledges
 * what was never sent: it is ignored. */
bool vt_sender_control(struct vt_sender *s, const struct wire_cntl *c, uint64_t now,
                       uint64_t ask_tsc);

/* True if the ACK-request timer has expired: send CNTL with SREQ. Arms it again, doubled. */
bool vt_sender_ask(struct vt_sender *s, uint64_t now, uint64_t ask_tsc);

/* Fails everything that is outstanding with status. That is no orderly end: `closing` stays what it
 * was. */
void vt_sender_abort(struct vt_sender *s, int status);

/* Everything posted is acknowledged. */
bool vt_sender_all_acked(const struct vt_sender *s);
/* No mbuf refers to application memory and nothing is outstanding. */
bool vt_sender_idle(const struct vt_sender *s);
/* Does the next completion only wait for mbufs to come back? */
bool vt_sender_lingers(const struct vt_sender *s);

/* Takes the next completion, in order. */
bool vt_sender_complete(struct vt_sender *s, struct vt_sent *out);

#endif
