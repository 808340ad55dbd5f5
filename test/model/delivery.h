/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delivery rate of a sender, after "Delivery Rate Samples" of draft-ietf-ccwg-bbr-06 (section 4.1;
 * formerly draft-cheng-iccrg-delivery-rate-estimation), in segments instead of bytes.
 *
 * Model: each segment carries a mark, with the deliveries up to the moment when it was sent. When
 * an acknowledgement comes, the mark of the segment sent last among those it names gives one
 * sample:
 *
 *   delivered = segments delivered from when that segment was sent until now
 *   interval  = max(time over which these were sent, time over which their answers came)
 *   rate      = delivered / interval, if interval >= the shortest round trip ever; else none
 *
 * The longer of the two intervals counts. Answers that were held up and come at once say nothing of
 * the path's rate, and neither do segments that were sent at once. A sample is `limited` if the
 * sender sent less than it might while that segment was under way: such a sample may be too low.
 *
 * Invariant: delivered and lost never fall; mark.delivered <= delivered. Times: ns. Owned by one
 * thread.
 */
#ifndef SLUICE_MODEL_DELIVERY_H
#define SLUICE_MODEL_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

struct delivery {
    uint64_t delivered;     /* segments, ever */
    uint64_t delivered_ns;  /* when the last of them came */
    uint64_t first_sent_ns; /* when the segment that begins the next interval was sent */
    uint64_t lost;          /* segments taken for lost, ever */
    uint64_t limited_until; /* samples are limited until so many are delivered; 0: they are not */
};

/* The mark of a segment, from its last transmission. */
struct delivery_mark {
    uint64_t sent_ns;
    uint64_t delivered, delivered_ns, first_sent_ns, lost; /* of struct delivery, at that time */
    uint32_t in_flight;                                    /* segments, this one included */
    bool limited;
};

struct delivery_sample {
    bool some;          /* a segment with a mark to trust came: the fields below are set */
    uint64_t newest;    /* segment: the one sent last of those that came */
    double rate;        /* segments a second; 0: no reliable one */
    uint64_t prior;     /* delivered when that segment was sent */
    uint32_t volume;    /* segments delivered since; 0: none */
    uint32_t lost;      /* segments taken for lost since */
    uint32_t in_flight; /* of its mark */
    bool limited;
    uint64_t interval_ns;
    /* kept between delivery_came() and delivery_end() */
    uint64_t sending_ns, answering_ns, prior_ns, prior_lost;
};

/* A segment is sent while `in_flight` others are in flight. */
void delivery_sent(struct delivery *d, struct delivery_mark *mark, uint64_t now_ns,
                   uint64_t in_flight);
void delivery_begin(struct delivery_sample *s);
/* A segment has come. If mark is NULL, it counts, but it is not known which transmission came. */
void delivery_came(struct delivery *d, struct delivery_sample *s, uint64_t segment,
                   const struct delivery_mark *mark, uint64_t now_ns);
/* Called after delivery_came() for all segments of an acknowledgement. */
void delivery_end(struct delivery *d, struct delivery_sample *s, uint64_t min_rtt_ns);
/* Samples are limited for the segments that are sent until all now in flight have come. */
void delivery_limit(struct delivery *d, uint64_t in_flight);

#endif
