/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving half of a VT connection ([VT], sections 3.2-3.4): posted buffers, and which
 * units are missing. No payload is held: a unit for which no buffer is posted is discarded, and
 * asked for the moment one is.
 *
 * Numbers, all wrap-safe:   base <= done <= tail (requests);   ack <= edge <= announced (positions)
 * `edge` ends what is accounted for: every position before it is placed or lies in `gaps`;
 * edge <= start of request tail. `announced` ends what the peer is known to have sent.
 * ack = first gap, or edge without one: everything before it is placed. Requests before
 * done = request of ack are complete, those before base also reported.
 *
 * A request whose units become smaller in mid-flow keeps what came if the new size divides the old
 * one: each old unit is so many new ones, and all positions of the request are multiplied. For any
 * other smaller size the request starts anew, which only one may that is not acknowledged in part.
 *
 * A unit passes in three steps: vt_receiver_check() says where it goes and changes nothing; the
 * caller copies and verifies; vt_receiver_commit() accounts for it (or vt_receiver_note() for one
 * that cannot be placed). So a corrupt unit leaves no trace but bytes in a place still missing.
 *
 * NAK: a gap is asked for at once, or, once reordering was seen, when packets that many later have
 * arrived; again `again_tsc` (what an answer takes, and its spread) after that, or after the newest
 * repeat from before it came, never sooner: repeats come in order, so it is still on its way, or
 * waits for its turn.
 *
 * Gaps: one span each, as long as there is room for spans. When it runs out, neighbours that were
 * asked for at about the same time are joined, and what came between them is noted in `arrived`: it
 * is not thrown away, nor asked for. All of `arrived` lies in gaps; the first unit of a gap does
 * not. With s spans and p pages, s gaps are kept however far apart they lie, and any number within
 * p pages of units.
 *
 * Reordering: `tolerance` grows at once to the distance over which a unit was late. After
 * TOLERANCE_REPAIRS round trips in which repeats filled gaps it shrinks to the longest distance
 * seen meanwhile, 0 if there was none: the persistence of RACK's reordering window (RFC 8985,
 * section 6.2, step 4). While it is above 0, no gap is asked for earlier than a round trip and its
 * spread after it was found, unless so many packets have come since: not for a timer or a question
 * of the peer, either. That is the largest window that RACK allows.
 *
 * Losses are counted by packet number: packets + lost = packet_end. A number that comes twice (the
 * network doubled it) counts once; one that is more than VT_WINDOW numbers late stays lost. Owned
 * by one worker.
 */
#ifndef SLUICE_VT_RECEIVER_H
#define SLUICE_VT_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/seq.h"
#include "base/span.h"
#include "vt/unit_set.h"
#include "wire/packet.h"

#define VT_WINDOW 4096u /* packet numbers remembered (512 B): a power of 2 */

struct vt_buffer {
    uint8_t *data;
    uint64_t len; /* bytes of the buffer */
    uint64_t user;
    uint64_t request_len; /* valid once unit_bytes > 0 */
    uint32_t unit_bytes;  /* 0: nothing of the request placed yet */
    int32_t status;
};

enum vt_verdict {
    VT_PLACE,        /* to be placed */
    VT_DUPLICATE,    /* had it */
    VT_UNPOSTED,     /* no buffer waits for it: discarded, asked for later */
    VT_OUT_OF_ORDER, /* go-back-N: not the next one */
    VT_NO_ROOM,      /* would need more gaps, or refusals, than are kept: counts as lost */
    VT_TOO_LONG,     /* the request is longer than its buffer: the request fails */
    VT_MISMATCH,     /* disagrees with earlier units of its request */
    VT_BEYOND,       /* after the last request, or absurdly far ahead */
    VT_VERDICTS,
};

struct vt_receiver {
    struct vt_buffer *ring;
    uint32_t mask;
    uint32_t origin; /* request `origin` stands at ring[0] */
    uint32_t base, tail;
    uint64_t edge, announced;
    struct span_set gaps;    /* stamp: when asked for (0: not yet); mark: packet number then */
    struct unit_set arrived; /* units in gaps that have come nevertheless */
    uint64_t again_tsc;      /* as the newest call of vt_receiver_naks() had it */
    bool go_back_n;
    uint64_t asked_at; /* go-back-N: when all before asked_end was asked for; 0: never */
    uint64_t asked_end;
    bool closing; /* WCLOSE seen: requests end at close_request */
    uint32_t close_request;
    bool over; /* nothing more is placed; what waits completes with over_status */
    int32_t over_status;
    uint64_t packet_end;           /* highest packet number seen + 1 */
    uint64_t repeat_pos;           /* the newest repeat that filled a gap, */
    uint64_t repeat_at;            /* and when it came; 0: never */
    uint64_t packets;              /* packet numbers that came, repeated units too */
    uint64_t lost;                 /* and those before packet_end that did not */
    uint64_t came[VT_WINDOW / 64]; /* bit n mod VT_WINDOW: number n of the newest VT_WINDOW came */
    bool recovering;     /* packets were found missing, the peer has not heard of it yet */
    uint32_t run_seq;    /* CNTL that first said so; 0: none yet */
    uint64_t loss_runs;  /* times that began */
    uint64_t clean;      /* packets received while it was not so */
    uint32_t tolerance;  /* packets of reordering to wait for before a NAK */
    uint32_t reached;    /* the longest such distance since it was last set anew, */
    uint32_t repairs;    /* and round trips since then in which repeats filled gaps; */
    uint64_t repair_end; /* a gap asked for before this packet number is of the newest of them */
    uint64_t settled;    /* gaps found before this packet number have waited for a round trip, */
    uint64_t settles;    /* before this one: they have at settles_at + again_tsc */
    uint64_t settles_at;
    struct wire_refused refused[WIRE_REFUSED_MAX];
    uint32_t refused_seq[WIRE_REFUSED_MAX]; /* CNTL that first said so; 0: none yet */
    uint32_t refused_count;
    uint64_t bytes, units, naks; /* counters: placed, asked for */
};

struct vt_received {
    uint64_t user, len;
    int32_t status;
};

struct vt_receiver_config {
    struct vt_buffer *ring;
    uint32_t depth; /* power of two */
    struct span *spans;
    uint32_t gaps;
    uint32_t initial_request;
    bool go_back_n;
    struct unit_set_page *pages; /* page_count of them; 0: what needs more than `gaps` is dropped */
    uint32_t page_count;
};

void vt_receiver_init(struct vt_receiver *r, const struct vt_receiver_config *cfg);
/* The peer's first request number, learnt when it opens; buffers posted before keep their order.
 * Only before anything was received. */
void vt_receiver_set_initial(struct vt_receiver *r, uint32_t initial_request);

/* Posts a buffer: 0 or -ENOBUFS. One that can never be filled completes in its turn with -ENODATA.
 * *ask is set if units known to be missing are now wanted: send CNTL at once. */
int vt_receiver_post(struct vt_receiver *r, uint8_t *data, uint64_t len, uint64_t user, bool *ask);

/* Where does this unit go? *dst is set for VT_PLACE. Changes nothing. */
enum vt_verdict vt_receiver_check(const struct vt_receiver *r, const struct wire_data *d,
                                  uint8_t **dst);
/* A unit to be placed that begins a new attempt: its place may hold units of the one before, so it
 * is verified before anything is written. */
bool vt_receiver_anew(const struct vt_receiver *r, const struct wire_data *d);
/* The unit was placed, now (cycles). True if it opened a gap that wants a NAK at once. */
bool vt_receiver_commit(struct vt_receiver *r, const struct wire_data *d, uint64_t now);
/* The unit was not placed, for the reason check gave. True if that wants a CNTL at once. */
bool vt_receiver_note(struct vt_receiver *r, const struct wire_data *d, enum vt_verdict v);

/* The peer says it has sent everything before `sent`. True if that showed a gap. */
bool vt_receiver_heard(struct vt_receiver *r, uint64_t sent);
/* The peer says there are no requests from close_request on. False if that contradicts the past. */
bool vt_receiver_close(struct vt_receiver *r, uint32_t close_request);

uint64_t vt_receiver_ack(const struct vt_receiver *r);
/* Everything the peer will ever send has been placed. */
bool vt_receiver_all_done(const struct vt_receiver *r);

/*
 * Fills spans with gaps that are due, and marks them asked for at now. force: also those that
 * were found at least again_tsc ago, or any while nothing is reordered. Returns their number, at
 * most max.
 */
uint32_t vt_receiver_naks(struct vt_receiver *r, uint64_t now, uint64_t again_tsc, bool force,
                          struct wire_span *spans, uint32_t max);
/* Is there a gap that was never asked for, and that reordering does not explain? */
bool vt_receiver_unasked(const struct vt_receiver *r);
/* When is the next gap due (TIME_NEVER: none)? Gaps never asked for: after wait_tsc from now,
 * or again_tsc where units are reordered. */
uint64_t vt_receiver_next(const struct vt_receiver *r, uint64_t now, uint64_t again_tsc,
                          uint64_t wait_tsc);

/* Fills the refusals the peer may not know of yet, as said by CNTL number seq. */
uint8_t vt_receiver_refused(struct vt_receiver *r, uint32_t seq, struct wire_refused *out);
/* The peer has seen our CNTL number cntl_seen. */
void vt_receiver_confirm(struct vt_receiver *r, uint32_t cntl_seen);

/* Nothing more will be placed: what is outstanding, and what is posted later, completes with
 * status. A last request that was announced counts no more, unless all before it has come. */
void vt_receiver_abort(struct vt_receiver *r, int status);

/* Takes the next completion, in order. */
bool vt_receiver_complete(struct vt_receiver *r, struct vt_received *out);

#endif
