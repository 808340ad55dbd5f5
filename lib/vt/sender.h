/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending half of a VT connection ([VT], sections 3.2-3.4): a queue of send requests cut
 * into units. No payload is held or copied here: a unit is a pointer into the application's buffer.
 *
 * Numbers, all wrap-safe:    base <= una <= tail           (requests)
 *                            ack <= next <= sent            (positions)
 * Requests before `una` are acknowledged (or failed), those before `base` also reported. Positions
 * before `ack` are placed at the peer. `next` is the next unit to send in order; positions before
 * `sent` were sent at least once (next < sent only while going back n). All positions in the set
 * `more` are in [ack, sent).
 *
 * A request completes when it is acknowledged and no mbuf refers to its memory any more (its
 * reference count is back to 1). Owned by one worker.
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
    bool provisional;          /* [1] is a copied tail: also report when [0] has arrived */
    uint64_t user;
    uint64_t posted_tsc; /* time of posting; returned with the completion */
};

struct vt_request {
    struct vt_send op;
    uint64_t len;        /* bytes of both pieces */
    uint32_t unit_bytes; /* 0 until the request's first unit is about to be sent */
    uint32_t units;
    uint32_t flagged_unit; /* the unit with the provisional-ACK flag; UINT32_MAX: none */
    int32_t status;        /* 0 or negative errno, once acknowledged or failed */
    bool provisional_reported;
    struct rte_mbuf_ext_shared_info shared[2]; /* reference count of a piece; 1: no mbuf has it */
};

struct vt_sender {
    struct vt_request *ring;
    uint32_t mask;   /* ring size - 1 */
    uint32_t origin; /* ring[0] holds request `origin` */
    uint32_t base, una, tail;
    uint64_t next, sent, ack;
    struct span_set repeat; /* positions to send again */
    struct unit_set more;   /* positions to send again that did not fit in `repeat` */
    uint32_t posted;        /* the peer has buffers for requests before this number */
    uint32_t ahead;         /* requests beyond `posted` that may be sent */
    uint32_t unit_bytes;    /* unit size of requests that start now */
    bool go_back_n;
    bool closing;           /* no further requests: the last unit carries WCLOSE */
    bool aborted;           /* outstanding requests have failed; no further requests either */
    bool closed;            /* the peer has confirmed that it has all requests: RCLOSE */
    uint64_t packet;        /* next packet number */
    uint64_t backlog_bytes; /* bytes that are posted and not sent yet */
    /* the ACK-request timer */
    uint64_t ask_at;                                 /* when to ask; TIME_NEVER: all is confirmed */
    uint32_t ask_backoff;                            /* how often the wait was doubled */
    uint64_t ask_max_tsc;                            /* the longest wait */
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

/* What a sender waits for. TCP tells the same of a socket (tcpi_busy_time, tcpi_rwnd_limited). */
enum vt_limit {
    VT_LIMIT_APP,  /* the application: all that it has posted was sent */
    VT_LIMIT_PEER, /* buffers of the peer, for what is posted */
    VT_LIMIT_RATE, /* pacing or the port: a unit may be sent */
    VT_LIMITS,
};

struct vt_sent {
    uint64_t user;
    uint64_t len; /* bytes of the request that the application owns again */
    int32_t status;
    bool provisional;
    uint64_t posted_tsc; /* from vt_send */
};

struct vt_sender_config {
    struct vt_request *ring; /* depth entries */
    uint32_t depth;          /* power of two */
    struct span *spans;      /* `gaps` entries */
    uint32_t gaps;
    struct unit_set_page *pages; /* page_count entries; with 0, repeats beyond `gaps` spans are
                                    dropped, and asked for again */
    uint32_t page_count;
    uint32_t initial_request;
    uint32_t unit_bytes;
    uint32_t early;       /* requests that may be sent before the first CNTL */
    uint64_t ask_max_tsc; /* longest wait of the ACK-request timer */
    bool go_back_n;
};

void vt_sender_init(struct vt_sender *s, const struct vt_sender_config *cfg);

/* Sets our first request number, when the peer chooses it. Posted requests keep their order.
 * Allowed only before anything was sent. */
void vt_sender_set_initial(struct vt_sender *s, uint32_t initial_request);

/* Queues a request. 0, -ENOBUFS (`depth` requests are outstanding), -EMSGSIZE (too long), or -EPIPE
 * (closing or aborted). */
int vt_sender_post(struct vt_sender *s, const struct vt_send *op);

/* Describes the next unit to send, repeats first, without taking it. False: none may be sent. */
bool vt_sender_peek(struct vt_sender *s, struct vt_unit *u);
/* Takes the unit that vt_sender_peek() described. ask_tsc: how long to wait for an answer before
 * asking for one. */
void vt_sender_take(struct vt_sender *s, const struct vt_unit *u, uint64_t now, uint64_t ask_tsc);

enum vt_limit vt_sender_limit(const struct vt_sender *s);

/*
 * Sets the unit size of requests that start from now on. A request under way with larger units goes
 * on in the smaller ones if unit_bytes divides its size; its unacknowledged units are sent again.
 * Otherwise it is sent from its start, with all requests after it, unless part of it is
 * acknowledged: then it keeps its size.
 */
void vt_sender_set_unit(struct vt_sender *s, uint32_t unit_bytes);
/* Bytes of the packet with the unit that is next to be acknowledged; 0: it has not been sent. */
uint32_t vt_sender_awaited(const struct vt_sender *s);

/* Applies posted, ack, refused and NAK spans of a CNTL. ask_tsc: as in vt_sender_take(). False, and
 * the CNTL is ignored, if it acknowledges units that were never sent. */
bool vt_sender_control(struct vt_sender *s, const struct wire_cntl *c, uint64_t now,
                       uint64_t ask_tsc);

/* True if the ACK-request timer has expired: send CNTL with SREQ. Arms the timer again, with twice
 * the wait. */
bool vt_sender_ask(struct vt_sender *s, uint64_t now, uint64_t ask_tsc);

/* Fails all outstanding requests with status. That is no orderly end: `closing` does not change. */
void vt_sender_abort(struct vt_sender *s, int status);

/* Everything posted is acknowledged. */
bool vt_sender_all_acked(const struct vt_sender *s);
/* No mbuf refers to application memory and nothing is outstanding. */
bool vt_sender_idle(const struct vt_sender *s);
/* Does the next completion wait for nothing but mbufs to be freed? */
bool vt_sender_lingers(const struct vt_sender *s);

/* Takes the next completion, in order. */
bool vt_sender_complete(struct vt_sender *s, struct vt_sent *out);

#endif
