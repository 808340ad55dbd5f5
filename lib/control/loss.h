/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells packets that a path loses whatever is sent (radio, a bad cable) from packets that were too
 * many for it.
 *
 * Both kinds are lost in runs, one packet after the other. Of n packets, a path that loses the
 * share p in runs of L packets on average loses n p, with the variance 2 n p L (the number of runs
 * is Poisson's, their length geometric). If more of them are lost than
 *
 *   n p + 2 sqrt(2 n p L) + n / 8 + 2
 *
 * the n packets were too many for the path. The term n / 8 is how far a sender may exceed what a
 * link carries before its losses show it. A sender that exceeds what a link carries loses packets
 * in many runs, since some packets get through between them; a single run is an accident. Too many
 * losses in fewer than three runs are a doubt: they are counted together with the next packets.
 *
 * p is the smallest share that was lost in one of the last eight blocks, a third at most. A block
 * ends with eight runs, or with 512 packets. A path's rate shows in the maximum of measurements,
 * its delay and its loss in the minimum. The owner adds only packets that met no queue, of a sender
 * that sends no more than what came when too many were lost (control/pathrate.h). What such a
 * sender still loses, the path loses whatever is sent.
 *
 * BBR (draft-ietf-ccwg-bbr) accepts 2 % of losses and PCC Vivace 5 %, whatever the path is.
 *
 * Computes in double, without libm. Owned by the worker that receives.
 */
#ifndef SLUICE_CONTROL_LOSS_H
#define SLUICE_CONTROL_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#define LOSS_BLOCKS 8u

struct loss_sum {
    uint64_t packets, lost;  /* packets: those that arrived */
    uint64_t runs;           /* of lost packets */
    uint64_t bytes, span_ns; /* of those that arrived, and the time that they took to arrive */
};

/* All zero at first. */
struct loss {
    struct loss_sum doubt; /* losses that were too many, but in too few runs to be sure */
    double many_Bps; /* rate of arrival of the packets that loss_exceeds() last found too many: the
                        newest of them may have met a single run of losses, and tell less */
    struct loss_sum block; /* the present block, not complete yet */
    struct loss_sum blocks[LOSS_BLOCKS];
    uint32_t count; /* blocks completed so far */
};

/* Adds packets that met no queue, of a sender that sends no more than what came when too many were
 * lost. */
void loss_add(struct loss *l, const struct loss_sum *s);

/* Were these packets, and those in doubt, too many for the path? */
bool loss_exceeds(struct loss *l, const struct loss_sum *s);

#endif
