/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds how much a path can carry for one connection, by trials (control/trial.h) at the receiver.
 * The path includes sender, links and queues. Nothing about it is configured.
 *
 * States
 *
 *   FREE    the path never limited: no ceiling
 *   QUEUE   the path limits: the flow keeps a queue of about `target` there
 *   COMPETING  a competitor keeps the queue long: the flow takes its part as a TCP does
 *
 *   FREE   -> QUEUE   too much was lost, or a long queue grows
 *   QUEUE  -> COMPETING  a long queue does not fall while we send less
 *   COMPETING -> QUEUE   the queue is short again
 *   QUEUE  -> FREE    the grant was less than half of the ceiling, for 64 trials
 *
 * QUEUE. Let R be the rate at which packets came, and S that at which they were sent. While the
 * queue is never empty, R is our part of the link, and the queue grows by (S - R) / R. Let q be its
 * length when the next grant is in force. The grant
 *
 *   R (1 + (target - q) / T)      T: from grant to grant: a round trip, a trial, and what a grant
 *                                 waits on a thin return path (late_ns)
 *
 * brings the queue to target. The flow goes half of the way, since others on the link do the same.
 *
 * Fairness. All flows on a link see one queue, and a flow with a higher rate has a shorter target:
 *
 *   target = p / 2 + D (10 p / RTT)^(1/4)      p: the time that a packet of ours takes, bytes / R
 *   D = RTT / 12
 *
 * So the faster flow gives way until all have the same rate. Swift's and Copa's targets fall with
 * the rate, too. While the queue is shorter than target / 2, each trial's grant rises by twice the
 * share of the one before. One trial in 24 aims at a queue below zero, which empties it, unless the
 * queue was found empty since. All flows on the link learn from an empty queue how long it is
 * otherwise. Connections that end at one host are given their parts (fair_Bps,
 * control/bottleneck.h). In a trial each moves half of the way to its part, and rises by a quarter
 * of its grant at most. A queue is the evidence that others want what a flow would give up. So a
 * flow that sees none keeps its grant, while that is below the rate at which its path last showed
 * one (`keeps`, carried_Bps), and has no part meanwhile. Two flows with links of their own that are
 * taken for one thus keep their links.
 *
 * Overload before a grant is in force. Packets of the newest grant arrive a round trip later, and
 * behind the queue, which may take many round trips if the link has become slower. Meanwhile
 * packets of earlier grants arrive. The path is overloaded if all of them wait for longer than
 * twice the target and an eighth of a round trip, and either some got lost, or 1/10 more were sent
 * than came, and they waited for more than 1 ms, for which a kernel below a port may keep them. If
 * that is longer than twice the jitter, too, and 1.1 times their rate of arrival R is less than the
 * newest grant, it falls at once to
 *
 *   R (1 + (target - q) / 2 T),   R / 2 at least, or 8 packets a turn T, if that is less
 *
 * and the next one is found by a trial again. A grant below R waits for its trial, so one overload
 * lowers the grant once.
 *
 * Few packets. Where less than four packets are under way, half a packet is a long queue. A flow
 * that is alone there holds the rate that it knows to be its part, less 1/100, so that there is no
 * queue. In one trial of 16 it sends 1/16 more, to see whether a queue begins. If packets wait
 * while it holds the rate, it is not alone.
 *
 * COMPETING. The flow rises by a packet and 1/128 each round trip, by an eighth a trial at most,
 * and falls by 3/10 when packets get lost: as TCP does. Where much is under way, it recovers as
 * soon as a TCP (RFC 5681, RFC 9438). It falls to twice the rate of arrival if that is less: then
 * the link has become slower, and its long queue may not drop a packet for many round trips. A
 * queue counts as long, and as a competitor's, if it is longer than three of our packets, than
 * twice the target of our recent rate, reference_Bps, and than twice the jitter. The rate
 * reference_Bps falls slowly, since a flow that yields to a TCP would otherwise yield until nothing
 * is left. COMPETING begins at reference_Bps.
 *
 * Other connections of our host are no competitor. They follow a queue in their own round trips,
 * and keep it as long as their targets want. So the longest round trip of all flows whose paths
 * limit them counts (rtt_max_ns): a queue is a competitor's only if it is too long for the target
 * of that round trip, and does not fall for three such round trips. All of these flows also
 * remember their shortest delay for the same time (host/path_grant.c). Otherwise a flow with a
 * round trip of 5 ms beside flows with 100 ms takes their queue for a competitor's, or forgets how
 * long its path is without a queue.
 *
 * The competitor is remembered for 32 times as long as it was there, 512 trials at most
 * (competitor_trials). Until then
 *   - 3/4 of D, in place of D, makes a queue long: a TCP that gave way comes back little by little,
 *     and a flow that waits until the TCP's queue is long leaves it the link;
 *   - the share by which a grant rises does not double, for the TCP soon takes back what it left;
 *   - a queue is no reason to fall below 7/10 of reference_Bps, for the TCP does not yield to one;
 *   - the owner remembers the shortest delay for a longer time, since the queue may not be empty
 *     for long.
 *
 * Jitter. The delays of a trial waver about the line through them (control/trial.h). The growth of
 * the queue is known no better than the slope's standard error allows, so a slope b with error e
 * counts as b * b^2 / (b^2 + e^2). A trial lasts at least eight times as long as the recent jitter,
 * since the rate of arrival is wrong by about the jitter's share of the trial. The queue is the
 * least delay of a trial: jitter lengthens the mean and the longest delay; a standing queue
 * lengthens all of them.
 *
 * Losses. A path that loses packets whatever is sent loses them behind the queue, so lost packets
 * count in the rate of arrival. If more got lost than the path loses anyway (control/loss.h), they
 * did not fit, and only those that arrived count. The rate is then that of all trials by which too
 * many are known to be lost: the newest trial may have met one long run of losses.
 * What a path loses anyway is learnt from packets that met no queue, while no more than 1/32 more
 * is sent than what came when too much was lost. That there is no queue excuses no loss: a policer
 * has none. A sender that learns while it sends 1/8 more, or takes a trial with losses but without
 * a queue for chance, learns its own drops; behind a policer, half as much as came was dropped.
 * Only a connection that is the only one of its host learns. Several on a link with a short queue
 * would each take the others' losses for the path's, and send ever more.
 *
 * Absent hosts. Waits leave out what the absence of either host may explain (control/sojourn.h).
 * Rates: a receiver that was away from its port does not know when in that time a packet came. A
 * sender may leave its grant unused because it was away, its port had no room, or its application
 * had nothing to send. Such a trial does not show what the path carries. A trial bounds the path's
 * rate on both sides:
 *
 *   least = bytes / arrived_ns
 *   most  = bytes / (arrived_ns - max(away_ns, stall_ns))
 *
 * where arrived_ns begins as early as the first packet may have come, and away_ns is by how much
 * the last one may have come before it was read: as far as the wait of either shows it. For
 * stall_ns the path stood still (control/trial.h); it is 0 if packets got lost, since no queue then
 * corrects a rate that is too high. There is no upper bound if less than 3/4 of the grant was sent.
 * Before the queue is judged, the grant is raised to least, or lowered to most. RFC 9438, section
 * 5.8, and BBR treat a sender limited by its application in the same way. A port that was full
 * when the receiver came back may have refused packets; the path did not lose them. While no queue
 * is seen, a flow's grant may rise up to twice its rate of arrival, however much of the grant it
 * uses.
 *
 * Marks. A router that marks packets (RFC 3168) signals by a mark, not by a loss, that its queue
 * grows. A trial with a mark ends FREE, and the next grant is at most 0.85 times the last one, in
 * QUEUE and, unless the trial ends it, in COMPETING (RFC 8511, section 3, of TCPs that answer
 * marks: routers mark while queues are short, so that a smaller cut than after a loss empties
 * them). Each trial leads to one grant, and sees packets sent under the grant before, so this
 * happens at most once a round trip. The move toward fair_Bps comes after the cut.
 *
 * Rates are in user bytes a second, computed in double without libm. Owned by the worker that
 * receives.
 */
#ifndef SLUICE_CONTROL_PATHRATE_H
#define SLUICE_CONTROL_PATHRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/loss.h"
#include "control/trial.h"

#define PATHRATE_MAX_BPS (1ull << 47)

enum pathrate_mode { PATHRATE_FREE, PATHRATE_QUEUE, PATHRATE_COMPETING };

struct pathrate {
    enum pathrate_mode mode;
    uint64_t ceiling_Bps;   /* the most that may be sent; PATHRATE_MAX_BPS while FREE */
    struct loss loss;       /* what the path loses anyway */
    uint64_t narrow_Bps;    /* rate of arrival when the path last lost too much; 0: never */
    bool lossy;             /* the last trial lost packets that did not fit */
    bool used;              /* 3/4 of the grant was sent in the last trial */
    bool marked;            /* packets of the last trial were marked by a router */
    uint64_t target_ns;     /* the queue that is aimed at; 0: none yet */
    uint64_t min_Bps;       /* lowest ceiling: max(packet, 1 kB) each max(50 ms, round trip) */
    uint64_t jitter_ns;     /* recent standard deviation of delays */
    double usage;           /* sent rate over grant, smoothed */
    uint32_t burst_times;   /* how much longer a burst the sender needs to use its grant */
    uint32_t timely;        /* trials in a row in which the sender used all of its grant */
    double step;            /* factor on the usual rise */
    uint32_t trials;        /* trials since the queue was last empty */
    uint32_t stuck;         /* trials in a row in which the queue was long and did not fall */
    uint32_t easy;          /* trials in a row without a long queue and with little granted */
    uint64_t fair_Bps;      /* our part of a link that other connections of our host share; 0: not
                               known. Set by the owner before a trial (control/bottleneck.h) */
    uint64_t carried_Bps;   /* rate of arrival of the last trial that saw a queue; 0: none did */
    bool keeps;             /* the last trial saw no queue, and ceiling_Bps is below carried_Bps */
    uint64_t rtt_max_ns;    /* the longest round trip of our host's connections whose paths limit
                               them; 0: not known. Set by the owner before a trial */
    bool alone;             /* no other connection of our host is active; set by the owner */
    uint64_t part_Bps;      /* our part of the link, if the last trial showed it, else 0;
                               FREE: the highest rate of an alarming trial, fading */
    uint64_t reference_Bps; /* recent rate of arrival; falls slowly */
    uint32_t spell;         /* trials since COMPETING began */
    uint32_t competitor_trials; /* trials until the competitor is forgotten */
    bool rising;         /* COMPETING, and a little more is granted: the next trial should follow
                            this one at once, so that every loss is seen */
    uint32_t held;       /* trials for which the rate has been held; 0: none is held */
    uint64_t held_Bps;   /* our part of the link; a little more than the rate held */
    uint32_t apart;      /* trials until a rate may be held again */
    uint32_t apart_next; /* the next value of apart, if others are found once more */
};

void pathrate_init(struct pathrate *p);

/* Is there a competitor that keeps the queue long, or was there one lately? */
static inline bool pathrate_competes(const struct pathrate *p)
{
    return p->mode == PATHRATE_COMPETING || p->competitor_trials > 0;
}

/* Judges the next trial, which was sent under grant_Bps; rtt_ns: the shortest round trip known.
 * True if ceiling_Bps or burst_times has changed. */
bool pathrate_update(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps,
                     uint64_t rtt_ns);

/* Judges a trial that was sent under an earlier grant than grant_Bps, the newest. If the path is
 * overloaded, and carries less than grant_Bps, the ceiling falls without waiting for packets of the
 * newest grant, which come behind the queue. True if ceiling_Bps has changed. */
bool pathrate_early(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps,
                    uint64_t rtt_ns);

/* Called in place of pathrate_update(), if packets may have waited for the host, or been lost
 * there. If the ceiling limits the grant, and more than half of the grant arrives, the ceiling
 * rises a little. True if ceiling_Bps has changed. */
bool pathrate_blind(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps);

/* Would pathrate_update() take this trial of a FREE path as a sign that the path limits? */
bool pathrate_alarm(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps,
                    uint64_t rtt_ns);

/* The longest burst that does not lengthen the queue much, times what the sender needs: by the
 * credit rule (pace/credit.h), a late sender loses credit. UINT64_MAX: any. */
uint64_t pathrate_burst_bytes(const struct pathrate *p, uint64_t rate_Bps, uint64_t unit_bytes);

#endif
