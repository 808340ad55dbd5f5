/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multi-threshold control of a level ([THRESHOLDS]). The receiver compares a level with thresholds
 * ... Th-1 < Th0 < Th1 ... and signals when it crosses one. At every packet, the sender changes the
 * interval I_j between packets by the last signal:
 *
 *   above Th0:  I_j = beta_k I_{j-1}               k: the highest threshold exceeded
 *   below Th0:  I_j = 1 / (alpha_k + 1 / I_{j-1})  k: Th-k is the lowest threshold not exceeded
 *
 * with beta_{k+1} > beta_k > 1 and alpha_{k+1} > alpha_k > 0. So the interval grows by a factor,
 * and shrinks such that the rate grows by a constant step.
 *
 * The level is any number that rises when the sender is too fast: packets in a receive buffer, ns
 * of delay on a path. A signal carries a zone: k >= 0 above Th0, -1 - k below it.
 *
 * A level that equals a threshold has not crossed it, from either side: it stays in its zone. (The
 * paper leaves that open.)
 *
 * Computes in double, without libm. The receiver's half and the sender's half have one owner each.
 */
#ifndef SLUICE_CONTROL_OCCUPANCY_H
#define SLUICE_CONTROL_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCCUPANCY_THRESHOLDS_MAX 8u

/* Owned and filled by the caller; must live as long as the halves that refer to it. */
struct occupancy_law {
    uint32_t n;                                    /* number of thresholds, at least 1 */
    uint32_t zero;                                 /* index of Th0 */
    uint64_t level[OCCUPANCY_THRESHOLDS_MAX];      /* ascending, in the level's unit */
    double alpha_per_us[OCCUPANCY_THRESHOLDS_MAX]; /* [0 .. zero]: steps of the rate, packets/us */
    double beta[OCCUPANCY_THRESHOLDS_MAX];         /* [0 .. n - zero): factors on the interval */
};

/* The paper's laws, for packets of 3 kB at 20 Mbit/s. Thresholds in packets: Th0 = 1 (single);
 * Th0 = 1, Th1 = 7 (dual); Th-1 = 1, Th0 = 2, Th1 = 7 (triple). The paper does not print alpha_0
 * and beta_0 of the triple law, but it says that they maximise power (throughput over delay) at
 * load 2 for 1 s. Ours were found in this way (doc/lab.md). */
extern const struct occupancy_law occupancy_single, occupancy_dual, occupancy_triple;

/* Do the law's levels, alphas and betas ascend, with alphas above 0 and betas above 1? */
bool occupancy_law_right(const struct occupancy_law *law);

/*
 * Reads a law from text: "single", "dual" or "triple", optionally followed by other levels ("dual
 * 1ms,4ms"), or LEVELS/ALPHAS/BETAS ("1,7/1e-5/1.003,1.2"). times: levels are times, kept in ns.
 * Returns 0, or -EINVAL with "CAUSE; CURE" in err.
 */
int occupancy_law_parse(const char *text, bool times, struct occupancy_law *law, char *err,
                        size_t err_len);

/* The receiver's half. */
struct occupancy {
    const struct occupancy_law *law;
    int8_t zone;        /* where the level is; also the last signal */
    uint64_t crossings; /* number of signals so far */
};

/* The level starts below all thresholds, as the sender assumes. */
void occupancy_init(struct occupancy *o, const struct occupancy_law *law);
/* The level changed. True if a control packet with o->zone is due. */
bool occupancy_update(struct occupancy *o, uint64_t level);

/* The sender's half: the pending interval, I_j, began at sent_ns; before_us is I_{j-1}. */
struct occupancy_pace {
    const struct occupancy_law *law;
    int8_t zone;
    double interval_us, before_us, min_us, max_us; /* min <= interval <= max */
    uint64_t sent_ns;
};

/* interval_ns: the first one; min_ns, max_ns: bounds of all intervals; all > 0. */
void occupancy_pace_init(struct occupancy_pace *p, const struct occupancy_law *law,
                         uint64_t interval_ns, uint64_t min_ns, uint64_t max_ns);
/* A packet leaves now. */
void occupancy_pace_sent(struct occupancy_pace *p, uint64_t now_ns);
/* A control packet has come. If its zone is new, the pending interval is computed again at once
 * from the one before (the paper's footnote to figure 2). A zone that the law does not have is
 * taken as the nearest one that it has. */
void occupancy_pace_signal(struct occupancy_pace *p, int8_t zone);
/* When the next packet may leave; that time may have passed. */
uint64_t occupancy_pace_next(const struct occupancy_pace *p);

#endif
