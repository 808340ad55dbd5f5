/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving half of a VT connection ([VT], sections 3.2-3.4): posted buffers, and which
 * units are missing. No payload is held: a unit without a posted buffer is discarded, and asked for
 * as soon as its buffer is posted.
 *
 * Numbers, all wrap-safe:   base <= done <= tail (requests);   ack <= edge <= announced (positions)
 * Every position before `edge` is placed or lies in `gaps`; edge <= start of request tail.
 * Positions before `announced` are known to have been sent by the peer. ack is the first position
 * in `gaps`, or edge if there are no gaps: everything before ack is placed. `done` is the request
 * that ack lies in: requests before it are complete, and those before `base` are also reported.
 *
 * Smaller units in mid-request: if the new size divides the old one, the request keeps its placed
 * units. Each old unit becomes several new ones, and all positions of the request are multiplied.
 * For any other smaller size the request starts over, which is allowed only while no part of it is
 * acknowledged.
 *
 * A unit passes in three steps: vt_receiver_check() says where it goes and changes nothing; the
 * caller copies and verifies it; vt_receiver_commit() accounts for it (vt_receiver_note() for a
 * unit that is not placed). So a corrupt unit leaves nothing behind but bytes where a unit is
 * missing.
 *
 * NAK: a gap is asked for at once. After reordering was seen, it is asked for when more than
 * `tolerance` packets have come behind it. It is asked for again `again_tsc` (the time an answer
 * takes, and its spread) after the last NAK, or after the newest repeat from before the gap if that
 * is later. Repeats come in order: until then the gap's own repeat is still under way, or waits its
 * turn.
 *
 * Gaps: each has a span of its own as long as spans are free. When they run out, neighbours that
 * were asked for at about the same time are joined, and the units that came between them are noted
 * in `arrived`: these are neither discarded nor asked for. All units of `arrived` lie in gaps; the
 * first unit of a gap is never in `arrived`. With s spans and p pages, s gaps fit however far apart
 * they lie, and any number of gaps within p pages of units.
 *
 * Reordering: when a unit comes late that was asked for already, `tolerance` grows at once to the
 * number of packets that overtook it. After TOLERANCE_REPAIRS round trips in which repeats filled
 * gaps, `tolerance` shrinks to the longest such distance seen meanwhile, 0 if there was none, as
 * RACK's reordering window does (RFC 8985, section 6.2, step 4). While `tolerance` is above 0, a
 * timer or a question of the peer (SREQ) may have a gap asked for before so many packets have come,
 * but not before a round trip and its spread have passed since the gap was found: the largest
 * window that RACK allows.
 *
 * Losses are counted by packet number: packets + lost = packet_end. A number that comes twice (the
 * network duplicated it) counts once; one that is more than VT_WINDOW numbers late stays lost, and
 * an absurd one does not count.
 * Owned by one worker.
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
    uint64_t request_len; /* bytes; valid once unit_bytes > 0 */
    uint32_t unit_bytes;  /* 0: nothing of the request placed yet */
    int32_t status;
};

enum vt_verdict {
    VT_PLACE,        /* place the unit at *dst */
    VT_DUPLICATE,    /* placed already */
    VT_UNPOSTED,     /* no buffer is posted: discarded, asked for later */
    VT_OUT_OF_ORDER, /* go-back-N: not the next unit */
    VT_NO_ROOM,      /* leaves more gaps, or refusals, than can be kept: counts as lost */
    VT_TOO_LONG,     /* the request is longer than its buffer: the request fails */
    VT_MISMATCH,     /* contradicts earlier units of its request */
    VT_BEYOND,       /* after the last request, or absurdly far ahead */
    VT_VERDICTS,
};

struct vt_receiver {
    struct vt_buffer *ring;
    uint32_t mask;
    uint32_t origin; /* ring[0] holds request `origin` */
    uint32_t base, tail;
    uint64_t edge, announced;
    struct span_set gaps;    /* stamp: when last asked for (0: never); mark: packet_end
                                when found or last asked for */
    struct unit_set arrived; /* units within gaps that have come */
    uint64_t again_tsc;      /* argument of the newest call of vt_receiver_naks() */
    bool go_back_n;
    uint64_t asked_at; /* go-back-N: when [edge, asked_end) was asked for; 0: never */
    uint64_t asked_end;
    bool closing; /* WCLOSE seen: there are no requests from close_request on */
    uint32_t close_request;
    bool over; /* nothing more is placed; pending requests get over_status */
    int32_t over_status;
    uint64_t packet_end;           /* highest packet number seen + 1 */
    uint64_t repeat_pos;           /* position of the newest repeat that filled a gap */
    uint64_t repeat_at;            /* when the newest repeat that filled a gap came; 0: never */
    uint64_t packets;              /* packet numbers that came, repeated units included */
    uint64_t lost;                 /* packet numbers before packet_end that did not come */
    uint64_t came[VT_WINDOW / 64]; /* bit n mod VT_WINDOW: packet number n came */
    bool recovering;     /* a loss was found; neither repaired yet nor known to the peer */
    uint32_t run_seq;    /* number of the first CNTL that reported the loss; 0: none */
    uint64_t loss_runs;  /* times `recovering` was set */
    uint64_t clean;      /* packets received while `recovering` was not set */
    uint32_t tolerance;  /* packets that may overtake a unit before it is asked for */
    uint32_t reached;    /* longest reordering distance since `tolerance` last shrank */
    uint32_t repairs;    /* round trips with repeats that filled gaps, since `tolerance` changed */
    uint64_t repair_end; /* gaps with a lower mark belong to the newest of `repairs` */
    uint64_t settled;    /* gaps with a mark up to this value have waited for a round trip */
    uint64_t settles;    /* the value of `settled` from settles_at + again_tsc on */
    uint64_t settles_at;
    struct wire_refused refused[WIRE_REFUSED_MAX];
    uint32_t refused_seq[WIRE_REFUSED_MAX]; /* number of the first CNTL with each; 0: none yet */
    uint32_t refused_count;
    uint64_t bytes, units, naks; /* counters: bytes and units placed, NAK spans */
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
    struct unit_set_page *pages; /* page_count entries; with 0, units that need more than `gaps`
                                    gaps are dropped */
    uint32_t page_count;
};

void vt_receiver_init(struct vt_receiver *r, const struct vt_receiver_config *cfg);
/* Sets the peer's first request number, learnt when the connection opens. Buffers posted before
 * that keep their order. Allowed only before anything was received. */
void vt_receiver_set_initial(struct vt_receiver *r, uint32_t initial_request);

/* Posts a buffer: 0 or -ENOBUFS. A buffer that can never be filled completes in its turn with
 * -ENODATA. *ask is set if the buffer is for units that the peer has sent already: send CNTL at
 * once. */
int vt_receiver_post(struct vt_receiver *r, uint8_t *data, uint64_t len, uint64_t user, bool *ask);

/* What a packet's number says. */
enum vt_number {
    VT_NUMBER_NEW,    /* it has not come before */
    VT_NUMBER_CAME,   /* it has come: the network doubled the packet, or somebody replays it */
    VT_NUMBER_LATE,   /* more than VT_WINDOW numbers late: it may have come */
    VT_NUMBER_ABSURD, /* the peer cannot have sent so many packets */
};
enum vt_number vt_receiver_number(const struct vt_receiver *r, uint64_t packet);

/* Where does this unit go? *dst is set for VT_PLACE. Changes nothing. */
enum vt_verdict vt_receiver_check(const struct vt_receiver *r, const struct wire_data *d,
                                  uint8_t **dst);
/* For VT_PLACE: does the unit change its request's unit size? Its place may then hold units that
 * were placed before, so verify the unit before anything is written. */
bool vt_receiver_anew(const struct vt_receiver *r, const struct wire_data *d);
/* The unit was placed, at `now` (cycles). True if it opened a gap that needs a NAK at once. */
bool vt_receiver_commit(struct vt_receiver *r, const struct wire_data *d, uint64_t now);
/* The unit was not placed, since vt_receiver_check() said v. True if that needs a CNTL at once. */
bool vt_receiver_note(struct vt_receiver *r, const struct wire_data *d, enum vt_verdict v);

/* The peer says it has sent everything before `sent`. True if that revealed a gap. */
bool vt_receiver_heard(struct vt_receiver *r, uint64_t sent);
/* The peer says there are no requests from close_request on. False if what it sent or said before
 * contradicts that. */
bool vt_receiver_close(struct vt_receiver *r, uint32_t close_request);

uint64_t vt_receiver_ack(const struct vt_receiver *r);
/* Everything the peer will ever send has been placed. */
bool vt_receiver_all_done(const struct vt_receiver *r);

/* ---- nak.c: which gaps to ask for, and when ------------------------------------------------ */

/*
 * Fills spans with the gaps that are due, and marks them as asked for at `now`. force: gaps not
 * asked for yet are also due if found at least again_tsc ago, or if nothing is reordered. Returns
 * the number of spans, at most max.
 */
uint32_t vt_receiver_naks(struct vt_receiver *r, uint64_t now, uint64_t again_tsc, bool force,
                          struct wire_span *spans, uint32_t max);
/* Is there a gap that was not asked for yet, and that reordering does not explain? */
bool vt_receiver_unasked(const struct vt_receiver *r);
/* When the next gap is due; TIME_NEVER: there is none. A gap not asked for yet is due wait_tsc from
 * now, or again_tsc from now where units are reordered. */
uint64_t vt_receiver_next(const struct vt_receiver *r, uint64_t now, uint64_t again_tsc,
                          uint64_t wait_tsc);

/* ---- refusals, completions ----------------------------------------------------------------- */

/* Fills `out` with the refusals that the peer may not know of yet, for the CNTL with number seq.
 * Returns how many refusals there are. */
uint8_t vt_receiver_refused(struct vt_receiver *r, uint32_t seq, struct wire_refused *out);
/* The peer has seen our CNTL with number cntl_seen. */
void vt_receiver_confirm(struct vt_receiver *r, uint32_t cntl_seen);

/* Nothing more will be placed: requests that are outstanding, or posted later, complete with
 * status. The peer's WCLOSE is forgotten, unless everything before it has been placed. */
void vt_receiver_abort(struct vt_receiver *r, int status);

/* Takes the next completion, in order. */
bool vt_receiver_complete(struct vt_receiver *r, struct vt_received *out);

/* ---- between receiver.c and nak.c ---------------------------------------------------------- */

/* Names the missing units of gap i in at most `max` spans, and returns the number of spans. They
 * cover all of the gap before *end. */
uint32_t vt_receiver_gap_spans(const struct vt_receiver *r, uint32_t i, struct wire_span *spans,
                               uint32_t max, uint64_t *end);

/* Go-back-N: has the unit at the edge been asked for? */
static inline bool vt_receiver_go_back_asked(const struct vt_receiver *r)
{
    return r->asked_at != 0 && seq64_before(r->edge, r->asked_end);
}

#endif
