/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trial of a path: what became of the packets of one connection that were sent under one grant.
 * Between the first packet's arrival and the last's, on polls' boundaries,
 *
 *   arrived rate = bytes / arrived_ns;   sent rate = bytes (packets + lost) / packets / sent_ns
 *
 * so that neither how long the trial was nor how it was polled distorts them, and with a queue on
 * the way that never was empty the first is the path's own rate. The worker that receives takes
 * trials, pathrate.h judges them. Owned by one worker.
 *
 * A sender that loses its core between stamping packets and giving them to its port makes that
 * burst late, and nothing else. All packets of such a burst have one time of sending. A trial whose
 * second half has a single time of sending goes on, so that its line does not end in such a burst.
 * A receiver that was away may have read the last packet late; pathrate.h uses that time. What came
 * in earlier pauses of a trial lies between its first and its last packet anyway.
 *
 * Growth is the slope b of a line through the increments, by least squares. Its standard error is
 *
 *   s / sqrt(var(t) n_eff),   n_eff = n (1 - r) / (1 + r), at least 1
 *
 * where s is the standard deviation from the line and r the correlation of each deviation with the
 * one before, since increments of packets that wait for the same thing are no independent samples
 * (Zwiers, von Storch: Taking serial correlation into account in tests of the mean, 1995).
 *
 * On a path that reorders, some packets of a trial are still under way when it ends. About as many
 * packets of the earlier grant were under way when it began, and arrive during it. The two cancel
 * (RFC 3550, appendix A.3: lost = numbers expected - packets received, of whichever number).
 */
#ifndef SLUICE_CONTROL_TRIAL_H
#define SLUICE_CONTROL_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#define TRIAL_PACKETS 8u /* at least, and not all of them empty */

struct trial_packet {
    uint64_t number; /* as its sender counts them */
    uint64_t bytes;  /* of the user */
    uint64_t sent_ns, arrived_ns;
    uint64_t increment_ns; /* control/owd.h: how long it was in queues, at least */
    uint64_t away_ns; /* before arrived_ns, in which the receiver did not look, beyond the usual */
    bool refused;     /* our port may have been full, and refused packets since the last one came */
    bool marked;      /* by a router that met congestion (RFC 3168) */
};

struct trial_result {
    uint64_t packets, bytes;      /* that came after the first */
    uint64_t lost;                /* between the first and the last, */
    uint64_t runs;                /* in so many runs, one packet or more each, */
    uint64_t refused;             /* and those that our port may have refused */
    uint64_t reordered;           /* did not come either, but as many sent earlier came meanwhile */
    uint64_t marked;              /* of packets */
    uint64_t arrived_ns, sent_ns; /* between these two */
    uint64_t away_ns; /* by which the last packet may have come earlier: the receiver was away */
    uint64_t late_ns; /* by which a grant lately came into force later than after the shortest
                         round trip and the queue, while CNTL were held for a thin way back */
    double growth;    /* of the increments, in ns for each ns in which they were sent, */
    double error;     /* its standard error, */
    double noise_ns;  /* and the standard deviation of the increments from that line */
    uint64_t min_ns, mean_ns, max_ns; /* of the increments */
};

struct trial {
    struct trial_packet first, last; /* the last by number, and when the newest came */
    uint64_t packets, bytes, marked; /* after the first */
    uint64_t refused;                /* as far as it may have been */
    uint64_t runs;                   /* of packets that were passed over, not refused */
    uint64_t older;                  /* of an earlier grant, that came after the first */
    uint64_t min_ns, max_ns, sum_ns;
    uint64_t late_sent_ns; /* of the first packet of its second half */
    uint32_t late_packets;
    double sum_t, sum_tt, sum_dd, sum_td; /* of times of sending and of increments */
    double sum_next, last_d;              /* of each increment times the one before it */
    bool open, late;                      /* late: in its second half */
    bool spread;                          /* the second half was sent at more than one time */
};

/* Another grant is in force: what was seen so far does not count. */
void trial_reset(struct trial *t);

/* A packet of an earlier grant came. */
void trial_older(struct trial *t);

/* The next packet. True if a trial that took at least min_ns is complete; *out is its result, and
 * the next trial begins. */
bool trial_add(struct trial *t, const struct trial_packet *p, uint64_t min_ns,
               struct trial_result *out);

#endif
