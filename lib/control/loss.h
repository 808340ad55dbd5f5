/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which packets a path loses whatever is sent (radio, a bad cable), and which were too many for it.
 *
 * Both kinds come in runs: packets lost one after the other. Of n packets, a path that loses the
 * share p in runs of L packets on average loses n p, with the variance 2 n p L (the number of runs
 * is Poisson's, their length geometric). More than
 *
 *   n p + 2 sqrt(2 n p L) + n / 8 + 2
 *
 * were too many for it. The eighth is how far a sender may exceed what a link carries before its
 * losses tell so. A sender that exceeds it loses packets in many runs, since some get through
 * between them; a single run is an accident. Too many losses in fewer than three runs are a doubt,
 * and the next packets count together with these.
 *
 * p is the least share that was lost in one of the last eight blocks, a third at most. A block ends
 * with eight runs, or with 512 packets. Rates are known by maximum, delays and losses by minimum.
 * The owner adds packets only where the sender gave way (control/pathrate.h): a link that still
 * loses them then loses them anyway.
 *
 * BBR (draft-ietf-ccwg-bbr) accepts 2 % of losses and PCC Vivace 5 %, whatever the path is.
 *
 * Doubles inside, and no libm. Owned by the worker that receives.
 */
#ifndef SLUICE_CONTROL_LOSS_H
#define SLUICE_CONTROL_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#define LOSS_BLOCKS 8u

struct loss_sum {
    uint64_t packets, lost; /* packets: that came */
    uint64_t runs;          /* of lost ones */
};

/* All zero at first. */
struct loss {
    struct loss_sum doubt; /* too many were lost, in too few runs to say so */
    struct loss_sum block; /* so far */
    struct loss_sum blocks[LOSS_BLOCKS];
    uint32_t count; /* of blocks, so far */
};

/* What became of packets of a sender that gave way, and that met no queue. */
void loss_add(struct loss *l, const struct loss_sum *s);

/* Were these packets too many for the path, together with those of a doubt? */
bool loss_exceeds(struct loss *l, const struct loss_sum *s);

#endif
