/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/pathrate.h"

#include "base/clock.h"
#include "control/root.h"

#define EMPTY_TRIALS       24u        /* the queue is emptied once in so many */
#define EMPTY_SHARE        (1.0 / 64) /* of target: a shorter queue is empty */
#define STUCK_TRIALS       3u         /* without a fall of the queue: then a competitor fills it */
#define STUCK_SHARE        0.125
#define STUCK_PACKETS      3          /* a flow with a sixth of our rate may keep so long a queue */
#define ALARM_NS           1e6        /* so long may a kernel below a port keep packets */
#define ALARM_GROWTH       1.1        /* sent rate over arrived rate */
#define EASY_TRIALS        64u        /* in a row, with less than half of the ceiling granted */
#define CALM_MORE          (1.0 / 32) /* beyond what came when too much was lost */
#define DEPTH              12         /* D = RTT / 12: fits into the shortest queues, of RTT / 10 */
#define GAIN               0.5        /* share of the way to target in a trial */
#define FALL_MAX           0.5
#define RISE_TIMES         2 /* times the rate of arrival: the largest grant, as in slow start */
#define STEP_MAX           1e6
#define MIN_BYTES          1e3 /* at least so much, or a packet, is granted each round trip */
#define MIN_NS             5e7 /* a shorter round trip counts as so long for MIN_BYTES */
#define COMPETING_CUT      0.7
#define MARK_CUT           0.85        /* RFC 8511, section 3 */
#define COMPETING_RISE     (1.0 / 128) /* of the ceiling, and a packet, each round trip */
#define COMPETING_RISE_MAX (1.0 / 8)   /* of the ceiling, each trial */
#define REFERENCE_RISE     (1.0 / 16)
#define REFERENCE_FALL     (1.0 / 64)
#define COMPETITOR_TRIALS  512u /* until a competitor is forgotten, at most */
#define COMPETITOR_DEPTH   0.75
#define COMPETITOR_TIMES   32u  /* a competitor is remembered so many times as long as it stayed */
#define USAGE_MIN          0.94 /* of a grant: a sender that uses less is late */
#define USAGE_FULL         0.98
#define TIMELY_TRIALS      64u
#define BURST_TIMES_MAX    32u
#define BURST_MIN_NS       1000000ull
#define BURST_PARTS        8u
#define JITTER_RISE        0.5 /* of the way to a trial's jitter */
#define JITTER_FALL        (1.0 / 8)
#define BLIND_RISE         (1.0 / 32)

#define FAIR_MAX 0.25 /* largest rise in a trial: by GAIN, half a turn's data might queue */

#define HOLD_PACKETS 4   /* a rate is held with at most so many a round trip */
#define HOLD_TRIALS  16u /* with a held rate, before one that sends more */
#define HOLD_SETTLE  3u  /* trials that the queue may take to empty */
#define HOLD_LESS    0.01
#define HOLD_MORE    (1.0 / 16)
#define HOLD_QUEUE   0.25 /* of a packet's time: more is a queue */
#define APART_MIN    64u  /* trials without a held rate after others were found; doubles */
#define APART_MAX    1024u

/* What a trial shows. */
struct observation {
    double arrived_Bps, sent_Bps;
    double came_Bps;  /* arrived_Bps over the time in which neither path nor receiver stood still */
    double max_Bps;   /* upper bound of what the path carries */
    double packet_ns; /* time of a packet at the rate of arrival */
    double rtt_ns, turn_ns;
    double queue_ns;        /* the queue's length when the next grant is in force */
    double min_ns, mean_ns; /* delays of the trial */
    double noise_ns;        /* standard deviation of delays */
    double growth;          /* of the queue, in ns for each ns */
    bool lossy, used;
    bool late; /* all through the trial, the sender used less than 3/4 of the grant */
};

void pathrate_init(struct pathrate *p)
{
    *p =
        (struct pathrate){.ceiling_Bps = PATHRATE_MAX_BPS, .step = 1, .usage = 1, .burst_times = 1};
}

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

static double min_of(double a, double b)
{
    return a < b ? a : b;
}

/* Was the sender late all through the trial? It always had more to send, and used less than 3/4 of
 * the grant even beside the longest gap, which may be a single absence. `bytes`: sent in the trial.
 */
static bool always_late(const struct trial_result *t, double bytes, uint64_t grant_Bps)
{
    double sent_ns = (double)t->sent_ns, busy_ns = sent_ns - min_of((double)t->gap_ns, sent_ns);

    return !t->paused && bytes * CLOCK_NS_PER_S < (double)grant_Bps * 3 / 4 * busy_ns;
}

/* lossy_Bps: of lossy_find() */
static struct observation trial_judge(const struct trial_result *t, double lossy_Bps,
                                      uint64_t grant_Bps, uint64_t rtt_ns)
{
    double bytes = (double)t->bytes, span = (double)t->arrived_ns;
    double sent = (double)(t->packets + t->lost + t->refused + t->reordered);
    double all = bytes * sent / (double)t->packets;
    /* where packets get lost, no queue corrects a rate that is too high */
    double stall = t->lost > 0 ? 0 : (double)t->stall_ns;
    double still = min_of(max_of((double)t->away_ns, stall), span);
    struct observation o = {0};

    o.lossy = lossy_Bps > 0;
    o.arrived_Bps = min_of(o.lossy ? lossy_Bps : all * CLOCK_NS_PER_S / span, PATHRATE_MAX_BPS);
    o.sent_Bps = all * CLOCK_NS_PER_S / (double)t->sent_ns;
    o.packet_ns = bytes / (double)t->packets * CLOCK_NS_PER_S / o.arrived_Bps;
    o.rtt_ns = (double)rtt_ns;
    double answer_ns = o.rtt_ns + (double)t->late_ns; /* until the next grant is in force */

    o.turn_ns = span + answer_ns;
    o.used = o.sent_Bps >= (double)grant_Bps * 3 / 4;
    o.late = always_late(t, all, grant_Bps);
    o.came_Bps = still < span ? o.arrived_Bps * span / (span - still) : PATHRATE_MAX_BPS;
    o.max_Bps = o.used ? o.came_Bps : PATHRATE_MAX_BPS;
    /* the slope, shrunk as by Wiener's filter: by half if it is as large as its error */
    double growth = t->growth, power = growth * growth;

    if (power > 0)
        growth *= power / (power + t->error * t->error);
    growth = min_of(growth, 1);
    o.noise_ns = min_of(t->noise_ns, span); /* a trial cannot show more than its length */
    o.min_ns = (double)t->min_ns;
    o.mean_ns = (double)t->mean_ns;
    o.queue_ns = o.lossy ? (double)t->max_ns
                         : max_of(0, o.min_ns + max_of(growth, 0) * span + growth * answer_ns);
    o.growth = growth;
    return o;
}

/* The part of the target beyond half a packet, for a flow whose packets take packet_ns. */
static double depth_of(double packet_ns, double rtt_ns)
{
    double rtt = max_of(rtt_ns, 1);

    return rtt / DEPTH * root(root(10 * packet_ns / rtt));
}

static void target_find(struct pathrate *p, const struct observation *o)
{
    double target = o->packet_ns / 2 + depth_of(o->packet_ns, o->rtt_ns);

    double jitter = (double)p->jitter_ns;

    jitter += (o->noise_ns > jitter ? JITTER_RISE : JITTER_FALL) * (o->noise_ns - jitter);
    p->jitter_ns = (uint64_t)jitter;
    p->target_ns = (uint64_t)target + 1;
}

static struct loss_sum losses_of(const struct trial_result *t)
{
    return (struct loss_sum){t->packets, t->lost, t->runs, t->bytes, t->arrived_ns};
}

/* The rate of arrival if too many were lost, else 0. */
static double lossy_find(struct pathrate *p, const struct trial_result *t)
{
    struct loss_sum s = losses_of(t);

    return loss_exceeds(&p->loss, &s) ? p->loss.many_Bps : 0;
}

/* Packets that met no queue show what the path loses anyway, if no more was sent than what came
 * when too many were lost: what is sent beyond that may be what is lost. They show nothing if other
 * connections of our host are active, which may send more than the path carries. */
static void loss_find(struct pathrate *p, const struct trial_result *t, const struct observation *o)
{
    bool calm = o->sent_Bps <= (double)p->narrow_Bps * (1 + CALM_MORE);
    struct loss_sum s = losses_of(t);

    if (calm && p->alone && o->mean_ns <= (double)p->target_ns / 2)
        loss_add(&p->loss, &s);
    if (o->lossy)
        p->narrow_Bps = (uint64_t)o->came_Bps;
}

/* A sender that is often late, because it sleeps or has much to do, needs longer bursts, however
 * little of its grant it uses. If it had nothing to send, or was away once, it may not be late.
 * Bursts that the path drops or marks are too long. */
static void burst_find(struct pathrate *p, const struct observation *o, uint64_t grant_Bps)
{
    if (o->lossy || p->marked) {
        p->burst_times = 1;
        p->usage = 1;
        return;
    }
    if (!o->used && !o->late)
        return; /* it has no more to send, waits to learn what has arrived, or was away once */
    p->usage += (min_of(o->sent_Bps / (double)grant_Bps, 1) - p->usage) / 8;
    p->timely = p->usage > USAGE_FULL ? p->timely + 1 : 0;
    if (p->usage < USAGE_MIN && p->burst_times < BURST_TIMES_MAX) {
        p->burst_times *= 2;
        p->usage = 1;
    } else if (p->timely >= TIMELY_TRIALS && p->burst_times > 1) {
        p->burst_times /= 2;
        p->timely = 0;
    }
}

static void ceiling_set(struct pathrate *p, double rate_Bps)
{
    p->ceiling_Bps = (uint64_t)min_of(max_of(rate_Bps, (double)p->min_Bps), PATHRATE_MAX_BPS);
}

/* A rate after a change by this share, which may not raise it, and lowers it by fall_max at most.
 */
static double lowered(double rate_Bps, double change, double fall_max)
{
    return rate_Bps * (1 + max_of(min_of(change, 0), -fall_max));
}

/* The change that brings the queue half of the way to target in a turn. */
static double change_of(const struct pathrate *p, const struct observation *o)
{
    return GAIN * ((double)p->target_ns - o->queue_ns) / o->turn_ns;
}

static void free_set(struct pathrate *p)
{
    p->mode = PATHRATE_FREE;
    p->ceiling_Bps = PATHRATE_MAX_BPS;
}

/* reference_Bps follows the recent rate of arrival. It falls slowly, so that a flow that gave way
 * to a competitor still knows what it had. */
static void reference_find(struct pathrate *p, const struct observation *o, uint64_t grant_Bps)
{
    double reference = (double)p->reference_Bps;
    double came = max_of(o->arrived_Bps, min_of(reference, o->max_Bps));
    bool competitor = p->competitor_trials > 0 && p->mode == PATHRATE_QUEUE;

    if (competitor)
        came = min_of(came, (double)grant_Bps);
    if (competitor && came < reference)
        return; /* else a flow that yields to a TCP ends with nothing */
    double gain = reference == 0 ? 1 : came > reference ? REFERENCE_RISE : REFERENCE_FALL;

    p->reference_Bps = (uint64_t)(reference + gain * (came - reference));
}

/* The longest queue that flows under this control keep: twice the target of our recent rate, or of
 * the longest round trip among our host's flows. It is less if there was a competitor, which comes
 * back little by little. Where few packets are under way, half a packet is most of the target of a
 * flow that has less than we do, so that flow may keep a queue of STUCK_PACKETS. */
static double limit_of(const struct pathrate *p, const struct observation *o)
{
    double reference_ns = o->packet_ns * o->arrived_Bps / max_of((double)p->reference_Bps, 1);
    double packet_ns = min_of(reference_ns, o->packet_ns);
    double depth = depth_of(packet_ns, max_of(o->rtt_ns, (double)p->rtt_max_ns));

    if (pathrate_competes(p))
        depth *= COMPETITOR_DEPTH;
    return max_of(2 * max_of(o->packet_ns / 2 + depth, (double)p->jitter_ns),
                  STUCK_PACKETS * packet_ns);
}

/* What the path carries, by this trial: the grant, raised to the rate of arrival and lowered to the
 * upper bound. If neither bound applies, the grant stays. */
static double carries(const struct observation *o, uint64_t grant_Bps)
{
    return min_of(max_of((double)grant_Bps, o->arrived_Bps), o->max_Bps);
}

/* The rate that the next grant starts from: our part of the link, if it is known. */
static double base_find(struct pathrate *p, const struct observation *o, uint64_t grant_Bps)
{
    double part = (double)p->part_Bps, now = carries(o, grant_Bps);

    p->part_Bps = o->queue_ns > (double)p->target_ns / 2 ? (uint64_t)now : 0;
    if (o->queue_ns > (double)p->target_ns)
        return now;
    return max_of((double)grant_Bps, part);
}

/* Our part of the link is known: empties the queue in one turn; then a little less is held. */
static void hold_begin(struct pathrate *p, const struct observation *o, uint64_t grant_Bps)
{
    double part = carries(o, grant_Bps);

    p->held = 1;
    p->held_Bps = (uint64_t)part;
    ceiling_set(p, lowered(part, -o->queue_ns / o->turn_ns, FALL_MAX));
}

/* Another flow is there: the queue control finds its part and ours. Each time it takes longer until
 * a rate is held again. */
static void hold_part(struct pathrate *p)
{
    p->apart_next = p->apart_next == 0 ? APART_MIN : 2 * p->apart_next;
    if (p->apart_next > APART_MAX)
        p->apart_next = APART_MAX;
    p->apart = p->apart_next;
    p->held = 0;
}

/* True if the rate is held, or begins to be. */
static bool hold_update(struct pathrate *p, const struct observation *o, uint64_t grant_Bps)
{
    bool more = p->held > HOLD_TRIALS; /* this trial sent more than the held rate */
    bool waits = (more ? o->queue_ns : o->mean_ns) > HOLD_QUEUE * o->packet_ns;

    if (o->rtt_ns > HOLD_PACKETS * o->packet_ns || o->lossy || p->marked ||
        p->competitor_trials > 0) {
        p->held = 0;
    } else if (!o->used) {
        return p->held > 0;
    } else if (p->held == 0) {
        p->apart -= p->apart > 0;
        if (p->apart == 0 && o->queue_ns >= (double)p->target_ns)
            hold_begin(p, o, grant_Bps);
    } else if (more && waits) {
        p->apart_next = 0;
        hold_begin(p, o, grant_Bps);
    } else if (more) {
        p->held = 0; /* the path carries more */
    } else if (waits && p->held > HOLD_SETTLE) {
        hold_part(p);
    } else {
        more = ++p->held > HOLD_TRIALS;
        ceiling_set(p, (double)p->held_Bps * (more ? 1 + HOLD_MORE : 1 - HOLD_LESS));
    }
    return p->held > 0;
}

static void competing_begin(struct pathrate *p, const struct observation *o, uint64_t grant_Bps)
{
    double reference = (double)p->reference_Bps;

    p->mode = PATHRATE_COMPETING;
    p->spell = 0;
    /* an earlier competitor has not yet taken back all of arrived_Bps */
    ceiling_set(p, p->competitor_trials > 0
                       ? reference
                       : max_of(reference, min_of(o->arrived_Bps, (double)grant_Bps)));
}

/* True if packets wait for half of the target at least, now or when the next grant is in force. */
static bool shows_queue(const struct pathrate *p, const struct observation *o)
{
    return max_of(o->queue_ns, o->min_ns) >= (double)p->target_ns / 2;
}

/* True if twice the rate of arrival is above the grant. */
static bool may_rise(const struct observation *o, uint64_t grant_Bps)
{
    return RISE_TIMES * o->arrived_Bps > (double)grant_Bps;
}

/* Brings the queue to target, or empties it. */
static void queue_update(struct pathrate *p, const struct observation *o, uint64_t grant_Bps)
{
    double target = (double)p->target_ns;
    bool limits = grant_Bps >= p->ceiling_Bps / 2, empty;

    if (!limits) {
        p->held = 0;
    } else if (hold_update(p, o, grant_Bps)) {
        p->trials = p->easy = p->stuck = 0;
        p->step = 1;
        return;
    }
    if (o->min_ns <= target * EMPTY_SHARE)
        p->trials = 0; /* the queue was just empty */
    empty = limits && ++p->trials >= EMPTY_TRIALS;
    double change = empty ? (-target - o->queue_ns) / o->turn_ns : change_of(p, o);
    double base = base_find(p, o, grant_Bps);

    if (empty) {
        p->trials = 0;
        p->part_Bps = (uint64_t)base;
    }
    if (!shows_queue(p, o) && may_rise(o, grant_Bps) && !o->lossy)
        p->step = p->competitor_trials > 0
                      ? 1
                      : min_of(2 * p->step, STEP_MAX); /* a TCP comes back slowly */
    else
        p->step = 1;
    if (o->lossy || change <= 0)
        ceiling_set(p, lowered(o->lossy ? o->came_Bps : base, change, FALL_MAX));
    else
        ceiling_set(p, max_of((double)p->ceiling_Bps,
                              min_of(base * (1 + change * p->step), RISE_TIMES * o->arrived_Bps)));
    if (p->competitor_trials > 0 && !o->lossy && !empty)
        ceiling_set(p, max_of((double)p->ceiling_Bps,
                              min_of((double)grant_Bps, COMPETING_CUT * (double)p->reference_Bps)));
    p->easy = o->queue_ns <= target && !limits ? p->easy + 1 : 0;
    if (p->easy >= EASY_TRIALS)
        free_set(p);
    /* if we send less and the queue stays as long, others fill it */
    double round_trips = o->min_ns / o->rtt_ns; /* a short queue need not fall so much */
    double fall = round_trips < STUCK_SHARE ? STUCK_SHARE * round_trips : STUCK_SHARE;
    bool stuck = o->min_ns > limit_of(p, o) && !o->lossy && o->growth >= -fall;

    p->stuck = stuck ? p->stuck + 1 : 0;
    if (p->stuck > STUCK_TRIALS * max_of(1, (double)p->rtt_max_ns / o->turn_ns))
        competing_begin(p, o, grant_Bps);
    else
        p->competitor_trials -= p->competitor_trials > 0;
}

/* Moves the ceiling toward our part of a link that other flows of our host share; they move toward
 * theirs. Where no queue is seen, nobody waits for what this flow would give up, so it keeps its
 * ceiling, while that is below what its path carried when it last showed a queue. */
static void fair_update(struct pathrate *p, const struct observation *o)
{
    double now = (double)p->ceiling_Bps, lack = (double)p->fair_Bps - now;
    bool queue = shows_queue(p, o) || o->lossy || p->marked;

    if (queue)
        p->carried_Bps = (uint64_t)o->arrived_Bps;
    p->keeps = !queue && now < (double)p->carried_Bps;
    if (p->fair_Bps > 0 && !p->keeps)
        ceiling_set(p, now + min_of(GAIN * lack, FAIR_MAX * now));
}

static void competing_update(struct pathrate *p, const struct trial_result *t,
                             const struct observation *o)
{
    double rtt = o->rtt_ns + (double)t->mean_ns;
    double packet = (double)t->bytes / (double)t->packets, ceiling = (double)p->ceiling_Bps;

    p->spell++;
    if (max_of(o->queue_ns, o->min_ns) <= limit_of(p, o)) {
        p->mode = PATHRATE_QUEUE;
        p->stuck = 0;
        p->reference_Bps = p->ceiling_Bps;
        p->competitor_trials = (uint32_t)min_of(
            COMPETITOR_TRIALS, p->competitor_trials + COMPETITOR_TIMES * (double)p->spell);
    } else if (t->lost > 0 || p->marked) {
        ceiling_set(p, (t->lost > 0 ? COMPETING_CUT : MARK_CUT) * min_of(o->came_Bps, ceiling));
    } else if (o->used && RISE_TIMES * o->came_Bps < ceiling) {
        ceiling_set(p, RISE_TIMES * o->came_Bps); /* the link has become slower */
    } else if (o->used) {
        double rise = packet * CLOCK_NS_PER_S / rtt + ceiling * COMPETING_RISE;

        rise *= (double)t->arrived_ns / rtt;
        ceiling_set(p, ceiling + min_of(rise, ceiling * COMPETING_RISE_MAX));
        p->rising = true;
    }
}

/* True if packets wait, and some are lost, too; or if more are sent than arrive, and they wait for
 * longer than a kernel may keep them. */
static bool overloaded(const struct pathrate *p, const struct trial_result *t,
                       const struct observation *o)
{
    bool grows = o->min_ns > ALARM_NS && o->sent_Bps > ALARM_GROWTH * o->came_Bps;
    double long_ns = 2 * (double)p->target_ns + o->rtt_ns / 8;

    return o->min_ns > long_ns && (t->lost > 0 || grows);
}

/* True if too much is lost, or packets are marked, or the path is overloaded. */
static bool alarming(const struct pathrate *p, const struct trial_result *t,
                     const struct observation *o)
{
    return o->lossy || t->marked > 0 || overloaded(p, t, o);
}

bool pathrate_alarm(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps,
                    uint64_t rtt_ns)
{
    if (p->mode != PATHRATE_FREE)
        return false;
    struct observation o = trial_judge(t, lossy_find(p, t), grant_Bps, rtt_ns);

    target_find(p, &o);
    p->lossy = o.lossy;
    p->marked = t->marked > 0;
    if (!alarming(p, t, &o)) {
        p->part_Bps -= p->part_Bps / 8;
        return false;
    }
    p->part_Bps = (uint64_t)max_of((double)p->part_Bps, o.arrived_Bps);
    return true;
}

bool pathrate_update(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps,
                     uint64_t rtt_ns)
{
    bool known = p->mode == PATHRATE_FREE && p->lossy; /* pathrate_alarm() found the loss */
    double lossy_Bps = known ? p->loss.many_Bps : lossy_find(p, t);
    struct observation o = trial_judge(t, lossy_Bps, grant_Bps, rtt_ns);
    uint64_t before = p->ceiling_Bps;
    uint32_t burst_before = p->burst_times;

    target_find(p, &o);
    loss_find(p, t, &o);
    p->min_Bps = (uint64_t)(max_of((double)t->bytes / (double)t->packets, MIN_BYTES) *
                            CLOCK_NS_PER_S / max_of(o.rtt_ns, MIN_NS));
    p->lossy = o.lossy;
    p->used = o.used;
    p->marked = t->marked > 0;
    p->rising = false;
    if (p->mode == PATHRATE_FREE && alarming(p, t, &o)) {
        p->mode = PATHRATE_QUEUE;
        p->trials = p->stuck = p->easy = 0;
        /* a new sender sends bursts, and this trial may have seen only the end of one */
        o.arrived_Bps = max_of(o.arrived_Bps, (double)p->part_Bps);
        /* a grant that did not limit the sender does not bound what the path carries */
        o.max_Bps = o.came_Bps = max_of(o.came_Bps, o.arrived_Bps);
        p->part_Bps = 0;
        p->jitter_ns = p->reference_Bps = 0;
        p->held = p->apart = p->apart_next = 0;
        p->step = 1;
    }
    if (p->mode != PATHRATE_FREE) {
        burst_find(p, &o, grant_Bps);
        reference_find(p, &o, grant_Bps);
    }
    /* if the grant limited nothing, only the rate of arrival is known */
    double last_Bps = before == PATHRATE_MAX_BPS ? o.arrived_Bps : (double)before;

    if (p->mode == PATHRATE_QUEUE) {
        queue_update(p, &o, grant_Bps);
        if (p->marked)
            ceiling_set(p, min_of((double)p->ceiling_Bps, MARK_CUT * last_Bps));
    } else if (p->mode == PATHRATE_COMPETING)
        competing_update(p, t, &o);
    if (p->mode != PATHRATE_FREE)
        fair_update(p, &o);
    return p->ceiling_Bps != before || p->burst_times != burst_before;
}

bool pathrate_early(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps,
                    uint64_t rtt_ns)
{
    if (p->mode != PATHRATE_QUEUE)
        return false;
    struct observation o = trial_judge(t, 0, grant_Bps, rtt_ns);

    if (!overloaded(p, t, &o) || o.min_ns <= 2 * (double)p->jitter_ns)
        return false;
    o = trial_judge(t, lossy_find(p, t), grant_Bps, rtt_ns);
    if (ALARM_GROWTH * o.came_Bps > (double)grant_Bps)
        return false;
    double fall_max = max_of(FALL_MAX, 1 - TRIAL_PACKETS * o.packet_ns / o.turn_ns);

    ceiling_set(p, lowered(o.came_Bps, change_of(p, &o), fall_max));
    p->part_Bps = (uint64_t)o.came_Bps;
    p->lossy = o.lossy;
    p->step = 1;
    p->held = p->stuck = p->trials = 0;
    return true;
}

bool pathrate_blind(struct pathrate *p, const struct trial_result *t, uint64_t grant_Bps)
{
    struct observation o = trial_judge(t, 0, grant_Bps, 0);

    p->rising = false;
    if (p->mode == PATHRATE_FREE || !may_rise(&o, grant_Bps) || grant_Bps < p->ceiling_Bps)
        return false;
    ceiling_set(p, (double)p->ceiling_Bps * (1 + BLIND_RISE));
    return true;
}

/* The shortest burst to grant: a packet, or less on a slow link. While any credit is left, a packet
 * may go (pace/credit.h), so with a whole packet's burst, a short packet would let the next follow
 * at once. A sender that needs longer bursts needs whole packets. */
static uint64_t burst_min(const struct pathrate *p, uint64_t rate_Bps, uint64_t unit_bytes)
{
    uint64_t slow = rate_Bps / (CLOCK_NS_PER_S / BURST_MIN_NS);

    if (p->burst_times > 1 || slow >= unit_bytes)
        return unit_bytes;
    return slow > unit_bytes / BURST_PARTS ? slow : unit_bytes / BURST_PARTS;
}

uint64_t pathrate_burst_bytes(const struct pathrate *p, uint64_t rate_Bps, uint64_t unit_bytes)
{
    uint64_t burst = (uint64_t)((double)rate_Bps * (double)p->target_ns / 8 / CLOCK_NS_PER_S);
    uint64_t least = burst_min(p, rate_Bps, unit_bytes);

    if (p->mode == PATHRATE_FREE)
        return UINT64_MAX;
    return (burst > least ? burst : least) * p->burst_times;
}
