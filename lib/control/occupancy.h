/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multi-threshold control of a level ([THRESHOLDS]): the receiver
 * compares a level with thresholds ... Th-1 < Th0 < Th1 ... and says when it has crossed one; at
 * every packet the sender changes the interval between packets by what was said last:
 *
 *   above Th0:  I_j = beta_k I_{j-1}               k: the highest threshold exceeded
 *   below it:   I_j = 1 / (alpha_k + 1 / I_{j-1})  k: -Th-k is the lowest one not exceeded
 *
 * with beta_{k+1} > beta_k > 1 and alpha_{k+1} > alpha_k > 0. So an interval grows in proportion
 * and shrinks by a constant step of the rate.
 *
 * The level is any number that rises when the sender is too fast: packets in a receive buffer, ns
 * of delay on a path. What is said is a zone: k >= 0 above Th0, -1 - k below it.
 *
 * A level that equals a threshold has not crossed it, from either side: it stays in the zone that
 * it comes from. (The paper leaves that open.)
 *
 * Doubles without libm. Each half has one owner.
 */
#ifndef SLUICE_CONTROL_OCCUPANCY_H
#define SLUICE_CONTROL_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCCUPANCY_THRESHOLDS_MAX 8u

/* The caller owns and fills it. Both halves refer to it as long as they live. */
struct occupancy_law {
    uint32_t n;                                    /* thresholds, 1 .. */
    uint32_t zero;                                 /* which of them is Th0 */
    uint64_t level[OCCUPANCY_THRESHOLDS_MAX];      /* ascending, in the level's unit */
    double alpha_per_us[OCCUPANCY_THRESHOLDS_MAX]; /* [0 .. zero]: packets/us a packet */
    double beta[OCCUPANCY_THRESHOLDS_MAX];         /* [0 .. n - zero): a factor a packet */
};

/* The paper's, in packets, for 20 Mbit/s of packets of 3 kB: Th0 = 1; Th0 = 1, Th1 = 7;
 * Th-1 = 1, Th0 = 2, Th1 = 7. Of the last it does not print alpha_0 and beta_0, but says how it
 * chose them: so that power is largest at load 2 for 1 s. These were found so (doc/lab.md). */
extern const struct occupancy_law occupancy_single, occupancy_dual, occupancy_triple;

/* Is it one, by the rules above? */
bool occupancy_law_right(const struct occupancy_law *law);

/*
 * A law from text: "single", "dual", "triple", which may have levels of their own behind them
 * ("dual 1ms,4ms"), or LEVELS/ALPHAS/BETAS ("1,7/1e-5/1.003,1.2"). times: levels are times, kept
 * in ns. 0, or -EINVAL with "CAUSE; CURE" in err.
 */
int occupancy_law_parse(const char *text, bool times, struct occupancy_law *law, char *err,
                        size_t err_len);

/* The receiver's half. */
struct occupancy {
    const struct occupancy_law *law;
    int8_t zone;        /* where the level is; also what was said last */
    uint64_t crossings; /* so often was something to say */
};

/* Begins below all thresholds, as the sender assumes. */
void occupancy_init(struct occupancy *o, const struct occupancy_law *law);
/* The level changed. True if a control packet is due, which says o->zone. */
bool occupancy_update(struct occupancy *o, uint64_t level);

/* The sender's half: the pending interval, I_j, began at sent_ns; before_us is I_{j-1}. */
struct occupancy_pace {
    const struct occupancy_law *law;
    int8_t zone;
    double interval_us, before_us, min_us, max_us; /* least <= interval <= most */
    uint64_t sent_ns;
};

/* The first interval, and what all stay within; all > 0. */
void occupancy_pace_init(struct occupancy_pace *p, const struct occupancy_law *law,
                         uint64_t interval_ns, uint64_t min_ns, uint64_t max_ns);
/* A packet leaves now. */
void occupancy_pace_sent(struct occupancy_pace *p, uint64_t now_ns);
/* A control packet has come: if it says anything new, the pending interval is worked out again at
 * once, from the one before (the paper's footnote to figure 2). A zone that the law has not is
 * taken as the nearest that it has. */
void occupancy_pace_signal(struct occupancy_pace *p, int8_t zone);
/* When the next packet may leave; may have passed. */
uint64_t occupancy_pace_next(const struct occupancy_pace *p);

#endif
