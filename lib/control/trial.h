/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trial of a path: what became of the packets of one connection that were sent under one grant. A
 * trial lasts from the first packet's arrival to the last's, both on the boundaries of polls:
 *
 *   arrived rate = bytes / arrived_ns;   sent rate = bytes (packets + lost) / packets / sent_ns
 *
 * So neither the length of the trial nor its polling distorts the rates. With a queue on the path
 * that never was empty, the arrived rate is the path's own rate. The worker that receives takes
 * trials; pathrate.h judges them. Owned by one worker.
 *
 * Waits are those of sojourn.h, which leaves out what either host's absence may explain. They are
 * known only of bursts whose sender's next stamp has come: the last burst of a trial counts in the
 * next one. A receiver that was away may have read the first packet late, and what came with it
 * counts; so arrived_ns begins that much earlier. It may have read the last packet late, by up to
 * away_ns; pathrate.h allows for that. Packets that arrived in other pauses of a trial lie between
 * its first and its last packet anyway.
 *
 * `growth` is the slope of the line through the waits over their sending times, by least squares.
 * Its standard error is
 *
 *   s / sqrt(var(t) n_eff),   n_eff = n (1 - r) / (1 + r), at least 1
 *
 * where s is the standard deviation from the line, and r is the correlation of each deviation with
 * the one before: waits of packets that wait for the same thing are no independent samples
 * (Zwiers, von Storch: Taking serial correlation into account in tests of the mean, 1995).
 *
 * Stalls. A path may stand still for a moment: a virtual switch loses its core, a radio link waits
 * for its turn. Then one packet takes far longer than the one before it, and those behind it follow
 * closely. While a queue grows, each packet takes a little longer than the last. So
 *
 *   stall_i = i-th largest increase of delay from a packet to the next
 *             - third largest - mean time from packet to packet,   at least 0,   i = 1, 2
 *
 * is nearly all of each of two stalls, and nothing of a queue's growth, whether steady or in the
 * steps of a receiver that looks at its port at intervals, or of a flow with few packets that comes
 * behind a packet of another one. What the receiver's absence explains is no increase. A path that
 * stalls more often in a trial is a slow path. A trial lasts as long as it must beside its stalls.
 *
 * On a path that reorders, some packets of a trial are still under way when it ends. About as many
 * packets of the earlier grant were under way when it began, and arrive during it. The two cancel
 * (RFC 3550, appendix A.3: lost = numbers expected - packets received, whatever their numbers).
 */
#ifndef SLUICE_CONTROL_TRIAL_H
#define SLUICE_CONTROL_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "control/sojourn.h"

#define TRIAL_PACKETS 8u /* at least so many in a trial, and not all of them empty */
#define TRIAL_JUDGED  4u /* of so many packets, at least, the waits must be known */
#define TRIAL_STALLS  2u /* at most so many are seen: most packets must tell the rate */

struct trial_packet {
    uint64_t number; /* as the sender counts packets */
    uint64_t bytes;  /* user bytes */
    uint64_t sent_ns, arrived_ns;
    uint64_t away_ns; /* how much of its delay the receiver's absence made (sojourn.h), at most */
    bool refused; /* our port may have been full and refused packets since the last one arrived */
    bool marked;  /* by a router that met congestion (RFC 3168) */
    bool ended;   /* its sender had nothing more to send for now */
};

struct trial_result {
    uint64_t packets, bytes;      /* that arrived after the first */
    uint64_t lost;                /* between the first and the last packet */
    uint64_t runs;                /* of lost packets, one packet or more each */
    uint64_t refused;             /* packets that our port may have refused */
    uint64_t reordered;           /* missing, but as many of an earlier grant arrived meanwhile */
    uint64_t marked;              /* packets marked by a router */
    uint64_t arrived_ns, sent_ns; /* from the first packet to the last */
    uint64_t gap_ns;              /* the longest time in it for which nothing was sent */
    bool paused;                  /* the sender had nothing to send for a part of the trial */
    uint64_t stall_ns;            /* for so long the path stood still, as far as it shows */
    uint64_t away_ns; /* the last packet may have arrived so much earlier: the receiver was away */
    uint64_t late_ns; /* delay of a recent grant beyond the shortest round trip and the queue, while
                         CNTL were held for a thin return path */
    double growth;    /* slope of the waits, in ns for each ns of sending time */
    double error;     /* standard error of growth */
    double noise_ns;  /* standard deviation of the waits from the line */
    uint64_t min_ns, mean_ns, max_ns; /* of the waits */
};

struct trial {
    struct trial_packet first, last; /* last: highest number, but arrival of the newest packet */
    uint64_t packets, bytes, marked; /* of packets after the first */
    uint64_t refused;                /* packets that our port may have refused */
    uint64_t runs;                   /* of missing packets that were not refused */
    uint64_t older;                  /* packets of an earlier grant that arrived after the first */
    double judged;                   /* packets whose waits are known, and in the sums */
    double min_ns, max_ns;           /* of the waits */
    double sum_t, sum_tt, sum_d, sum_dd, sum_td; /* over sending times t and waits d */
    double sum_next, last_d; /* sum_next: of each wait times the one before it */
    bool open;
    uint64_t gap_ns; /* the longest time for which nothing was sent */
    bool paused;     /* the sender had nothing to send for a part of the trial */
    /* the largest increases of delay from a packet to the next, the largest first */
    uint64_t increases_ns[TRIAL_STALLS + 1];
};

/* Another grant is in force: what was seen so far is dropped. */
void trial_reset(struct trial *t);

/* A packet of an earlier grant came. */
void trial_older(struct trial *t);

/* Adds the next packet; burst: the one that it shows to be complete (sojourn.h), or NULL. True if a
 * trial of at least min_ns is complete: *out is its result, and the next trial begins. */
bool trial_add(struct trial *t, const struct trial_packet *p, const struct sojourn_burst *burst,
               uint64_t min_ns, struct trial_result *out);

#endif
