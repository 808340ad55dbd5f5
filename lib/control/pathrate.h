/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a path can carry, for one connection: sender, links and queues on the way, found by trial
 * (control/trial.h) and without being told anything.
 *
 *   FREE    nothing was ever too much for the path: no limit
 *   QUEUE   the path is the bottleneck: a queue of about `target` is kept on it
 *   BESIDE  somebody else keeps a queue there whatever we do: more by a packet and 1/128 each round
 *           trip (an eighth a trial at most), 3/10 less when packets get lost: as TCP does it,
 *           which is as soon back where much is under way (RFC 5681, RFC 9438)
 *
 *   FREE -(much lost, or a long queue that grows)-> QUEUE -(long, and does not fall)-> BESIDE
 *   BESIDE -(short again)-> QUEUE -(more than is granted, for 64 trials)-> FREE
 *
 * QUEUE: let R be the rate at which packets came, S that at which they were sent. With a queue that
 * is never empty R is our part of the link, and the queue grows by (S - R) / R. By the time the
 * next grant is in force it will be q, and a grant of
 *
 *   R (1 + (target - q) / T)      T: from grant to grant, a round trip, a trial, and what the
 *                                 grant waits on a thin way back (late_ns)
 *
 * brings it to target; half of that is done, for others do the same. All who share the link see the
 * same queue; since
 *
 *   target = p / 2 + D (10 p / RTT)^(1/4)      p: the time that a packet of ours takes, bytes / R
 *   D = RTT / 12
 *
 * is shorter for a flow that has more, that flow gives way until all have the same. It gives way
 * the faster, the longer it has done so: what is wrong for all flows is right soon, but a flow that
 * has more finds the queue too long each time. While the queue is shorter than half of target, each
 * trial rises by twice the share of the one before. One trial in 24 aims below nothing and makes
 * the queue empty, unless an earlier one found it empty. From an empty queue, all flows that share
 * it learn how long it is otherwise. Connections that end at different hosts become equal by the
 * shorter target. Connections that end at one host are told their parts (fair_Bps,
 * control/bottleneck.h). In a trial, each moves half of the way to its part, and rises by a quarter
 * of its grant at most.
 *
 * Where less than four packets are under way, half of one is a long queue. Who is alone there holds
 * what he knows to be his part, less 1/100, so that there is none, and sends 1/16 more in one trial
 * of 16, to see whether a queue begins. Who finds packets waiting meanwhile is not alone.
 *
 * A queue is long, and somebody else's, if it is longer than twice the target of what we had lately
 * (usual_Bps: it falls slowly, since who yields to a TCP would else yield until nothing is left),
 * and than three of its packets, and BESIDE begins with that rate. That there was somebody else is
 * remembered for 32 times as long as he was there, 512 trials at most (rival). Meanwhile 3/4 of
 * that D makes a queue long, since a TCP that gave way comes back little by little, and whoever
 * waits until his queue is long leaves him the link; rises are by one share, for what he left is
 * his again soon; a queue is no reason to fall below 7/10 of that rate, for he will not yield; and
 * whoever measures delays should know the shortest of a longer time, for others' queue may not be
 * empty for long.
 *
 * Jitter: delays waver about the line through those of a trial (control/trial.h). How fast the
 * queue grows is known no better than the slope's standard error allows, so a slope b with error e
 * counts as b * b^2 / (b^2 + e^2). A trial lasts at least eight times what delays wavered by
 * lately, since the rate of arrival is wrong by about the share that this is of the trial. The
 * queue is the least delay of a trial: jitter lengthens the mean and the longest, a queue that
 * stands all of them.
 *
 * Losses: a path that loses packets anyway lost them behind the queue, so the rate is that of
 * packet numbers, lost ones included; unless more got lost than it loses anyway (control/loss.h):
 * then those did not fit in. One such trial alone may be chance: if it found no long queue, and the
 * next one none, its grant counts as if it had not been. What a path loses anyway is learnt while
 * no more is sent than came (and 1/8) when too much was lost, from packets that met no queue:
 * trials without such a loss, or the third with one in a row, since giving way twice did not help.
 * It is learnt only by a connection that is its host's only one. Several on a link with a short
 * queue would each take the others' losses for the path's, and send ever more.
 *
 * Absent hosts: a receiver that was away from its port does not know when a packet came in that
 * time. A sender may leave its grant unused: it was away, its port had no room, or its application
 * had nothing to send. Such a trial does not show what the path carries. A trial bounds the path's
 * rate on both sides:
 *
 *   least = bytes / arrived_ns
 *   most  = bytes / (arrived_ns - away_ns);  none, if less than 3/4 of the grant was sent
 *
 * where away_ns is the pause before the last packet was read, beyond the usual.
 * Before the queue is judged, the grant is raised to least, or lowered to most. RFC 9438, section
 * 5.8, and BBR treat a sender that its application limits in the same way. A port that was full
 * when the receiver came back may have refused packets; the path did not lose them. Each wait is
 * given as the least time that the packet may have waited on the path. While no queue is seen, a
 * flow's grant may rise up to twice its rate of arrival, however much of the grant it uses.
 *
 * Marks: a router that marks packets (RFC 3168) says in place of a loss that its queue grows. A
 * trial with a mark ends FREE, and the next grant is at most 0.85 times the last one, in QUEUE and
 * in BESIDE (RFC 8511, section 3, of TCPs that answer marks: routers mark while queues are short,
 * so that less than a loss's cut empties them). One grant comes of a trial, and each trial sees
 * packets sent under the grant before, so that this happens at most once a round trip.
 *
 * Rates in user bytes a second; doubles inside, and no libm. Owned by the worker that receives.
 */
#ifndef SLUICE_CONTROL_PATHRATE_H
#define SLUICE_CONTROL_PATHRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/loss.h"
#include "control/trial.h"

#define PATHRATE_MAX_BPS (1ull << 47)

enum pathrate_mode { PATHRATE_FREE, PATHRATE_QUEUE, PATHRATE_BESIDE };

struct pathrate {
    enum pathrate_mode mode;
    uint64_t ceiling_Bps;   /* what it may be sent at most; PATHRATE_MAX_BPS while FREE */
    struct loss loss;       /* what the path loses anyway */
    uint64_t narrow_Bps;    /* what came when the path lost too much, the last time; 0: never */
    uint32_t cuts;          /* trials in a row that did */
    bool lossy;             /* the last trial lost more than fitted in */
    bool used;              /* 3/4 of the grant was sent in it */
    bool marked;            /* packets of the last trial were marked by a router */
    uint64_t target_ns;     /* 0: none */
    uint64_t least_Bps;     /* a packet, or 1 kB, each 50 ms, or round trip */
    uint64_t waver_ns;      /* by how much delays waver: the standard deviation, lately */
    double usage;           /* sent rate over grant, smoothed */
    uint32_t burst_packets; /* what the sender needs to use its grant */
    uint32_t timely;        /* trials in which it used all of it */
    double step;            /* how many times the usual share it may rise */
    double lean;            /* how steadily the queue was too long (1), or too short (-1) */
    uint32_t trials;        /* since the queue was made empty */
    uint32_t stuck;         /* trials in which the queue was long and did not fall */
    uint32_t easy;          /* trials in which less was granted than the path carries */
    uint64_t fair_Bps;      /* our part of a link that others of our host share; 0: none is known.
                               Its owner sets it before a trial (control/bottleneck.h) */
    bool alone;             /* no other connection of our host is active; set as fair_Bps is */
    uint64_t part_Bps;      /* our part of the link in the last trial that told it; 0: it did not;
                               FREE: the most that came in a trial that alarmed, fading */
    uint64_t usual_Bps;     /* what came lately, which falls slowly */
    uint32_t spell;         /* trials since BESIDE began */
    uint32_t rival;         /* trials until somebody else is forgotten */
    bool rising;            /* BESIDE, and a little more is granted: the next trial should follow
                               this one at once, so that whatever gets lost is seen */
    uint32_t held;          /* trials for which a rate was held; 0: none is */
    uint64_t held_Bps;      /* a little more than it: our part of the link */
    uint32_t apart;         /* trials until one is held again, */
    uint32_t apart_next;    /* and how many the next time, if others are found once more */
};

void pathrate_init(struct pathrate *p);

/* Is somebody there who keeps the queue long, or was he lately? */
static inline bool pathrate_rival(const struct pathrate *p)
{
    return p->mode == PATHRATE_BESIDE || p->rival > 0;
}

/* The next trial, under a grant; rtt_ns: the shortest round trip known. True if what it may be sent
 * has changed. */
bool pathrate_update(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps,
                     uint64_t rtt_ns);

/* The next trial where packets may have waited for the host, or been lost there: whoever is limited
 * by his path, and uses all of that, may use a little more. True as above. */
bool pathrate_blind(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps);

/* Would pathrate_update() take this trial of a FREE path as a sign that it limits? */
bool pathrate_alarm(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps,
                    uint64_t rtt_ns);

/* The longest burst that does not lengthen the queue much, or that the sender needs, for the credit
 * rule takes from who is late; UINT64_MAX: any. */
uint64_t pathrate_burst_bytes(const struct pathrate *p, uint64_t rate_Bps, uint64_t unit_bytes);

#endif
