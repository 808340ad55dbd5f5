/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long packets waited on their path, though both hosts may have been away from it meanwhile.
 *
 * Model. A packet is stamped when it is offered to the sender's port, and read when the receiver
 * looks at its port. By its stamp, it took `bound` longer than the fastest packets (owd.h). Not all
 * of that is the path's:
 *
 *   - The receiver had last found its port empty `unseen_ns` before it read the packet, which may
 *     have come at any time since.
 *   - A sender that loses its core between the stamp and the port delays one burst, whose packets
 *     have one stamp. Its next stamp comes late, too: by more than the time in which the packets
 *     between both go at the rate that they may have.
 *
 *       late = next stamp - stamp - bytes between / rate, at least 0
 *
 * So the path made the packet wait for a time w with
 *
 *   bound - unseen - late <= w <= bound
 *
 * Estimate. Of all courses that keep within these bounds, the one that changes least is taken: the
 * wait stays what it was, unless a bound moves it.
 *
 *   w := min(max(w, bound - unseen - late), bound)
 *
 * Where both hosts are prompt, w is `bound`. A host that was away makes a packet say less. A host
 * that looks at its port seldom, but regularly, hides nothing: of the packets that it reads at one
 * time, the first have their lower bounds near w, and the last their upper ones.
 *
 * The burst. Whether a sender was late shows only when its next stamp comes, so the packets of a
 * burst are judged together then. Until then their waits are known but for a constant, which falls
 * by up to `late`.
 *
 * The rule is the play operator (Krejci: Hysteresis, Convexity and Dissipation in Hyperbolic
 * Equations, 1996) with bounds that change. Averages of the pauses (as RFC 6298 averages round
 * trips) were tried: after a few long pauses, long pauses were usual, and packets that had waited
 * in the receiver's port counted as waiting on the path.
 *
 * Times in ns. Owned by one worker.
 */
#ifndef SLUICE_CONTROL_SOJOURN_H
#define SLUICE_CONTROL_SOJOURN_H

#include <stdbool.h>
#include <stdint.h>

#define SOJOURN_NONE_NS 1e300 /* the least wait of no packets */

struct sojourn_packet {
    uint64_t number;    /* as the sender counts packets */
    uint64_t bytes;     /* user bytes */
    uint64_t rate_Bps;  /* what its sender may send; > 0 */
    uint64_t sent_ns;   /* its stamp */
    uint64_t bound_ns;  /* the longest that it may have waited */
    uint64_t unseen_ns; /* the receiver had last found its port empty so long before it read it */
};

/* Packets with one stamp, and the sums of their waits. */
struct sojourn_burst {
    uint64_t number, bytes, sent_ns; /* number: of the first packet */
    double packets, sum_ns, sum_squares;
    double sum_next; /* of each wait times the one before it */
    double first_ns, last_ns, min_ns, max_ns;
};

struct sojourn {
    double before_ns;           /* w before the newest burst */
    struct sojourn_burst burst; /* the newest; late is still taken for 0 */
};

void sojourn_init(struct sojourn *s);

/* Adds the next packet. True if the burst before it is judged: *out has it. */
bool sojourn_add(struct sojourn *s, const struct sojourn_packet *p, struct sojourn_burst *out);

/* The wait of the newest packet, if its sender was prompt. */
static inline uint64_t sojourn_ns(const struct sojourn *s)
{
    return (uint64_t)s->burst.last_ns;
}

#endif
