/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What became of the numbered frames of one stream (stream.h): exact losses, duplicates and order.
 *
 *   received + missing = frames up to the highest number seen, as long as beyond = 0
 *
 * A bit for each of the newest TALLY_SPAN numbers says whether it was received. So a frame is a
 * duplicate if its bit is set, however late it comes. A frame that is TALLY_SPAN or more numbers
 * behind the highest one cannot be told from a duplicate: it is counted in `beyond`, and nowhere
 * else. The caller knows how many were sent, so lost = sent - received.
 *
 * Order is per flow, after RFC 4737, section 3.3: a frame is reordered if a higher number of its
 * flow was received before it; a duplicate never is. Its displacement is how far behind it is: the
 * number of frames of its flow from it to the highest one that was there before. (RFC 5236 counts
 * places of arrival instead, which losses shift.)
 *
 * Numbers arrive as their lower 32 bits; the tally finds the rest, so a frame may be up to 2^31
 * numbers from the highest one. Written by the receiver that owns it; counters may be read by
 * others.
 */
#ifndef SLUICE_TRAFFIC_TALLY_H
#define SLUICE_TRAFFIC_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/histogram.h"

#define TALLY_BITS (1u << 20)
#define TALLY_SPAN (TALLY_BITS - 64) /* bits are cleared by words, ahead of the highest number */

struct tally {
    uint64_t next;     /* the highest number seen, plus 1; 0: none seen */
    uint64_t received; /* different frames */
    uint64_t duplicates, reordered, beyond;
    uint64_t flows_seen;
    uint64_t earlier_frames;       /* sum of `next` of the runs that tally_again() ended */
    uint32_t flows;                /* the stream has */
    struct histogram displacement; /* of reordered frames, in frames of their flow */
    uint64_t *bits;                /* TALLY_BITS of them; number n has bit n mod TALLY_BITS */
    uint64_t *flow_next;           /* of each flow: the highest number seen, plus 1 */
};

/* What a frame is. */
enum tally_kind { TALLY_NEW, TALLY_DUPLICATE, TALLY_BEYOND, TALLY_BAD_FLOW };

/* Bytes of storage for a tally with this many flows. */
size_t tally_storage_bytes(uint32_t flows);
/* storage is aligned to 64 and lives as long as the tally. */
void tally_init(struct tally *t, uint32_t flows, void *storage);
/* The stream starts over at number 0; counters go on. */
void tally_again(struct tally *t);

static inline uint64_t tally_bit(uint64_t number)
{
    return 1ull << (number & 63);
}

static inline uint64_t *tally_word(const struct tally *t, uint64_t number)
{
    return &t->bits[(number & (TALLY_BITS - 1)) / 64];
}

/* A new highest number: clears the bits of the numbers that were passed. */
void tally_advance(struct tally *t, uint64_t number);

/* A new frame that is not the highest of its flow. */
void tally_reordered(struct tally *t, uint64_t flow_next, uint64_t number);

/* Counts a frame. A flow that the stream does not have is refused, and nothing is counted. */
static inline enum tally_kind tally_add(struct tally *t, uint32_t number32, uint32_t flow)
{
    uint64_t number = t->next + (uint64_t)(int64_t)(int32_t)(number32 - (uint32_t)t->next);
    uint64_t *word, *flow_next;

    if (flow >= t->flows)
        return TALLY_BAD_FLOW;
    if ((int64_t)number < 0) /* before the first frame: a forgery, or from long ago */
        number = t->next - TALLY_SPAN - 1;
    if (number == t->next && (number & 63) != 0) {
        counter_set(&t->next, number + 1);
    } else if ((int64_t)(number - t->next) >= 0) {
        tally_advance(t, number);
    } else if (t->next - number > TALLY_SPAN) {
        counter_add(&t->beyond, 1);
        return TALLY_BEYOND;
    }
    word = tally_word(t, number);
    if ((*word & tally_bit(number)) != 0) {
        counter_add(&t->duplicates, 1);
        return TALLY_DUPLICATE;
    }
    *word |= tally_bit(number);
    counter_add(&t->received, 1);
    flow_next = &t->flow_next[flow];
    if (number >= *flow_next) {
        t->flows_seen += *flow_next == 0;
        *flow_next = number + 1;
    } else {
        tally_reordered(t, *flow_next, number);
    }
    return TALLY_NEW;
}

/* Numbers up to the highest one that were not received. */
uint64_t tally_missing(const struct tally *t);

#endif
