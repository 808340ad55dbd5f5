/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits a grant to what the path to us carries, and to what the application allows. This runs on
 * the worker, which watches the path packet by packet. So the grant follows the path from one round
 * trip to the next, whatever control's interval is.
 */
#include <string.h>

#include "host/host_internal.h"

#define WINDOW_RTTS           64u /* round trips: window of control/owd.h, to see an empty queue */
#define WINDOW_COMPETING_RTTS 1024u
#define WINDOW_MIN_NS         100000000ull
#define WINDOW_MAX_NS         30000000000ull
#define TRIAL_MIN_NS          100000ull
#define TRIAL_MAX_NS          10000000000ull
#define LOSSY_TRIALS          8u /* more good trials than this end an alarm for losses or marks */
#define CLEAR_RUNS            2u
#define TRIAL_SHARE           4u /* a trial takes 1/4 of a round trip, up to half as much again */
#define TRIAL_MIX             0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: spreads close numbers */
#define TRIAL_JITTERS         8u /* a trial lasts 8 times the jitter: rates are known to 1/8 */
#define LONG_SHARE            8u /* packets shorter by 1/8 than the longest say nothing of queues */
#define LONG_FADES            32u       /* a shorter packet lowers longest_bytes by 1/32 */
#define MARK_AGE_MAX          (1 << 30) /* numbers of CNTL wrap around */
#define SHARE_SHIFT           6u        /* changes of a grant below 1/64 wait for the next CNTL */
#define PATH_SHIFT            16u /* changes below 1/65536 wait for a CNTL, if the path limits */

static enum grant_reason path_grant_reason(const struct pathrate *p)
{
    if (p->lossy)
        return GRANT_LOSS;
    if (p->marked)
        return GRANT_ECN;
    return p->mode == PATHRATE_COMPETING ? GRANT_COMPETING : GRANT_QUEUE;
}

bool path_grant_join(struct conn *c)
{
    const struct pathrate *p = &c->path.rate;
    uint64_t rate = counter_get(&c->pub.share_Bps), reason = counter_get(&c->pub.share_reason);
    uint64_t burst = counter_get(&c->pub.share_burst_bytes);
    uint64_t limit_Bps = counter_get(&c->pub.rx_limit_Bps);
    uint64_t unit = counter_get(&c->pub.rx_unit_bytes);
    bool limits = p->mode != PATHRATE_FREE && p->ceiling_Bps < rate;

    if (limits) {
        rate = p->ceiling_Bps;
        reason = (uint64_t)path_grant_reason(p);
    }
    if (c->occupancy.pace_Bps < rate) {
        rate = c->occupancy.pace_Bps;
        reason = GRANT_OCCUPANCY;
        burst = RTE_MIN(burst, grant_path_burst(rate, unit));
    }
    if (limit_Bps != 0 && limit_Bps < rate) {
        rate = limit_Bps;
        reason = GRANT_LIMIT;
        if (p->mode == PATHRATE_FREE) /* else the path decides, below */
            burst = RTE_MIN(burst, grant_path_burst(rate, unit));
    }
    if (p->mode != PATHRATE_FREE)
        burst = RTE_MIN(burst, pathrate_burst_bytes(p, rate, unit));
    counter_set(&c->pub.path_Bps, p->mode == PATHRATE_FREE ? 0 : p->ceiling_Bps);
    counter_set(&c->pub.rx_rate_Bps, rate);
    counter_set(&c->pub.rx_burst_bytes, burst);
    counter_set(&c->pub.rx_reason, reason);
    c->path.bursts_ns =
        (uint64_t)RTE_MIN((unsigned __int128)burst * 2 * CLOCK_NS_PER_S / (rate + 1),
                          (unsigned __int128)TRIAL_MAX_NS);
    return rate_differs(rate, c->cntl.rate_Bps, limits ? PATH_SHIFT : SHARE_SHIFT) ||
           rate_differs(burst, c->cntl.burst_bytes, SHARE_SHIFT);
}

void path_grant_start(struct conn *c)
{
    owd_init(&c->path.owd);
    sojourn_init(&c->path.sojourn);
    c->path.longest_bytes = 0;
    memset(&c->path.look, 0, sizeof c->path.look);
    trial_reset(&c->path.trial);
    c->path.early = false;
    counter_set(&c->pub.path_wait_ns, CONN_NO_WAIT);
    pathrate_init(&c->path.rate);
    c->path.mark = 1;
    c->path.alarm = (struct conn_alarm){0};
}

/*
 * True if the path looks bad in this trial (alarm), and has done so since before the last
 * CLEAR_RUNS runs of control, which found that the host was fast enough. An alarm for long delays
 * ends with one trial without them, since packets also wait for a process that was away from its
 * core. Losses and marks may come and go.
 */
static bool alarm_lasts(struct conn *c, bool alarm, uint64_t clear)
{
    struct conn_alarm *a = &c->path.alarm;

    if (!alarm) {
        if (++a->age > (a->lossy ? LOSSY_TRIALS : 0))
            a->on = false;
        return false;
    }
    if (!a->on)
        *a = (struct conn_alarm){.on = true, .clear_run = clear};
    a->age = 0;
    a->lossy = a->lossy || c->path.rate.lossy || c->path.rate.marked;
    return clear - a->clear_run >= CLEAR_RUNS;
}

/*
 * Judges a trial. It does not count if the host itself was too slow, for then packets wait for the
 * host, or get lost there. Control finds out a moment later that the host was too slow, so a trial
 * counts only after CLEAR_RUNS runs of control that found the host fast enough. True if the path's
 * limit has changed.
 */
static bool trial_judged(struct host *h, struct conn *c, const struct trial_result *t)
{
    uint64_t clear = counter_get(&h->clear_runs), rate = counter_get(&c->pub.rx_rate_Bps);

    if (clear < CLEAR_RUNS) {
        c->path.alarm.on = false;
        return !c->path.early && pathrate_blind(&c->path.rate, t, rate);
    }
    if (c->path.early)
        return pathrate_early(&c->path.rate, t, rate, c->rtt_min_ns);
    if (c->path.rate.mode == PATHRATE_FREE &&
        !alarm_lasts(c, pathrate_alarm(&c->path.rate, t, rate, c->rtt_min_ns), clear))
        return false;

    const struct grant *g = &h->grants[c->index];
    bool holds = grant_holds(h, c);

    c->path.rate.fair_Bps = holds ? counter_get(&g->fair_Bps) : 0;
    c->path.rate.rtt_max_ns = holds ? counter_get(&g->rtt_max_ns) : 0;
    c->path.rate.alone = counter_get(&h->start.active) <= 1;
    bool changed = pathrate_update(&c->path.rate, t, rate, c->rtt_min_ns);

    counter_set(&c->pub.path_rtt_ns, c->rtt_min_ns);
    counter_set(&c->pub.path_lost_ppm, 1000000 * t->lost / (t->packets + t->lost));
    counter_set(&c->pub.path_keeps, c->path.rate.keeps);
    counter_set(&c->pub.path_wait_ns,
                c->path.rate.mode != PATHRATE_FREE && c->path.rate.used ? t->min_ns : CONN_NO_WAIT);
    return changed;
}

/* The window for the shortest one-way delay (control/owd.h). A round trip that is not known yet may
 * be long. A flow that shares the path with a TCP may not see the queue empty for a long time.
 * Flows of our host that share a link empty its queue together, in the longest of their round
 * trips. */
static uint64_t window_of(const struct conn *c)
{
    uint64_t rtts = pathrate_competes(&c->path.rate) ? WINDOW_COMPETING_RTTS : WINDOW_RTTS;
    uint64_t rtt_ns = RTE_MAX(c->rtt_min_ns, c->path.rate.rtt_max_ns);

    if (c->rtt_min_ns == 0)
        return WINDOW_MAX_NS;
    return RTE_MIN(RTE_MAX(rtts * rtt_ns, WINDOW_MIN_NS), WINDOW_MAX_NS);
}

/*
 * How long a trial lasts at least. It must see two bursts begin, since packets behind the first one
 * of a burst wait for that burst. No two trials are equally long: of two flows that took turns, one
 * would always measure just after the other has changed their queue. If delays waver, a trial is
 * longer (control/pathrate.h).
 */
static uint64_t trial_ns(const struct conn *c)
{
    uint64_t share_ns = c->path.early ? 0 : c->rtt_min_ns / TRIAL_SHARE;
    uint64_t ns = RTE_MAX(RTE_MAX(share_ns, TRIAL_MIN_NS), c->path.bursts_ns);

    if (c->path.rate.mode != PATHRATE_FREE)
        ns = RTE_MAX(ns, RTE_MIN(TRIAL_JITTERS * c->path.rate.jitter_ns, TRIAL_MAX_NS));
    uint64_t mixed = (c->own_key + c->cntl.seq) * TRIAL_MIX;

    return ns + (ns / 2 * (mixed >> 48) >> 16);
}

/* Was the port full since the packet before? It may have refused packets meanwhile. A packet too
 * short to tell how long it waited came in this pause, not in an earlier, longer one. */
static void look_update(struct host *h, struct conn *c)
{
    if (c->path.look.now == h->now)
        return;
    c->path.look.away_ns = RTE_MIN(c->path.look.away_ns, h->unseen_ns);
    c->path.look.refused = h->full || h->full_looks != c->path.look.full_looks;
    c->path.look.full_looks = h->full_looks;
    c->path.look.now = h->now;
}

/*
 * Finds how long the packet waited on its path. A longer packet takes longer on each link, with a
 * queue or without, so only packets about as long as the longest recent ones tell of queues. True
 * if the burst before it is judged: *burst has it.
 */
static bool sojourn_find(struct host *h, struct conn *c, const struct wire_data *d, uint64_t now_ns,
                         struct sojourn_burst *burst)
{
    uint32_t longest = c->path.longest_bytes;
    struct sojourn_packet p = {
        .number = d->packet,
        .bytes = d->payload_len,
        .rate_Bps = counter_get(&c->pub.rx_rate_Bps),
        .sent_ns = d->time_ns,
        .unseen_ns = h->unseen_ns,
    };

    if (d->payload_len < longest - longest / LONG_SHARE) {
        c->path.longest_bytes -= longest / LONG_FADES + 1;
        return false;
    }
    c->path.longest_bytes = RTE_MAX(longest, (uint32_t)d->payload_len);
    p.bound_ns = owd_increment(&c->path.owd, d->time_ns, now_ns, window_of(c));
    bool judged = sojourn_add(&c->path.sojourn, &p, burst);

    c->path.look.away_ns = p.bound_ns - sojourn_ns(&c->path.sojourn);
    return judged;
}

/*
 * Takes what a DATA packet says of the path. Until its sender has our newest grant, it counts in an
 * early trial, which shows only overload. Whether its unit was placed does not matter: the packet
 * came over this path.
 */
void path_grant_watch(struct host *h, struct conn *c, const struct wire_data *d, bool marked)
{
    uint64_t now_ns = host_now_ns(h);
    struct sojourn_burst burst;
    struct trial_result out;

    look_update(h, c);
    bool judged = sojourn_find(h, c, d, now_ns, &burst);
    struct trial_packet p = {
        .number = d->packet,
        .bytes = d->payload_len,
        .sent_ns = d->time_ns,
        .arrived_ns = now_ns,
        .away_ns = c->path.look.away_ns,
        .refused = c->path.look.refused,
        .ended = d->h.flags & WIRE_DREQ,
        .marked = marked,
    };

    uint64_t wait_ns = sojourn_ns(&c->path.sojourn);

    spread_add(&c->pub.spread.increment_ns, wait_ns);
    if (h->cfg.occupancy != HOST_OCCUPANCY_OFF && occupancy_grant_watch(h, c, wait_ns) &&
        path_grant_join(c))
        conn_want(h, c, WANT_CNTL);
    if (h->cfg.occupancy == HOST_OCCUPANCY_DELAY)
        return;
    /* where no grant changes, the mark stays while CNTL are counted on */
    if (!c->path.early && (int32_t)(c->cntl.seq - c->path.mark) > MARK_AGE_MAX)
        c->path.mark = c->cntl.seq - MARK_AGE_MAX;
    if (!seq32_before(d->cntl_seen, c->path.mark)) {
        if (c->path.early)
            trial_reset(&c->path.trial);
        c->path.early = false;
    } else if (!c->path.early) {
        trial_older(&c->path.trial);
        return;
    }
    if (!trial_add(&c->path.trial, &p, judged ? &burst : NULL, trial_ns(c), &out))
        return;
    out.late_ns = c->cntl.held ? cntl_late_ns(c, c->cntl.trip_ns) : 0;
    if (!c->path.early)
        c->cntl.held = false;
    if (!trial_judged(h, c, &out) || !path_grant_join(c))
        return;
    conn_want(h, c, WANT_CNTL);
    if (c->path.rate.rising)
        return;
    /* the next trial begins when the peer obeys this grant; grants that control changes meanwhile
     * do not restart the trial, for they may change more often than a trial takes */
    trial_reset(&c->path.trial);
    c->path.early = true;
    c->path.mark = c->cntl.seq + 1;
}
