/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/bbr.h"

#include <rte_common.h>

#include "model/tcp_law.h"

#define LOSS_MAX          0.02
#define BETA              0.7
#define HEADROOM          0.15
#define CWND_MIN          4.0
#define MARGIN            0.99
#define GROWTH            1.25
#define GROWTH_ROUNDS     3u
#define STARTUP_RANGES    6u
#define DRAIN_ROUNDS      3u
#define MIN_RTT_NS        10000000000ull
#define PROBE_RTT_NS      5000000000ull
#define PROBE_RTT_HOLD_NS 200000000ull
#define WAIT_MIN_NS       2000000000ull
#define WAIT_SPREAD_NS    1000000000ull
#define RENO_ROUNDS       63.0
#define UP_ROUNDS_MAX     30u
#define NOMINAL_RTT_NS    1000000ull

struct gains {
    const char *name;
    double pacing, cwnd;
};

static const struct gains gains[BBR_STATES] = {
    [BBR_STARTUP] = {"startup", 2.77, 2},    [BBR_DRAIN] = {"drain", 0.5, 2},
    [BBR_DOWN] = {"down", 0.9, 2},           [BBR_CRUISE] = {"cruise", 1, 2},
    [BBR_REFILL] = {"refill", 1, 2},         [BBR_UP] = {"up", 1.25, 2.25},
    [BBR_PROBE_RTT] = {"probe-rtt", 1, 0.5},
};

const char *bbr_state_name(enum bbr_state state)
{
    return gains[state].name;
}

static bool probes_bw(const struct bbr *b) /* one of the four states of ProbeBW */
{
    return b->state == BBR_DOWN || b->state == BBR_CRUISE || b->state == BBR_REFILL ||
           b->state == BBR_UP;
}

/* ---- volumes [5.6.4.2] ------------------------------------------------------------------------
 */

/* The bdp of a rate; the first window while no round trip was timed. */
static double bdp_of(const struct bbr *b, double bw)
{
    return b->min_rtt_ns == UINT64_MAX ? b->cwnd_first : bw * (double)b->min_rtt_ns * 1e-9;
}

static double quantized(const struct bbr *b, double inflight)
{
    return RTE_MAX(inflight, CWND_MIN) + (b->state == BBR_UP ? 2 : 0);
}

static double headroom_left(const struct bbr *b)
{
    if (b->long_inflight >= BBR_UNBOUND)
        return BBR_UNBOUND;
    return RTE_MAX(b->long_inflight - RTE_MAX(1.0, HEADROOM * b->long_inflight), CWND_MIN);
}

static double extra_acked(const struct bbr *b)
{
    uint32_t rounds = b->full_bw_reached ? BBR_EXTRA_ROUNDS : 1;
    double most = 0;

    for (uint32_t i = 0; i < rounds && i <= b->rounds; i++)
        most = RTE_MAX(most, b->extra[(b->rounds - i) % BBR_EXTRA_ROUNDS]);
    return most;
}

static double probe_rtt_cwnd(const struct bbr *b)
{
    return RTE_MAX(gains[BBR_PROBE_RTT].cwnd * bdp_of(b, b->bw), CWND_MIN);
}

/* The volume wanted in flight: bdp, unless losses have cut the window [5.3.3.6]. */
static double inflight_wanted(const struct tcp_law *l)
{
    return RTE_MIN(l->bbr.bdp, l->cwnd);
}

/* ---- signs of congestion [5.5.10] -------------------------------------------------------------
 */

static void short_term_forget(struct bbr *b)
{
    b->short_bw = b->short_inflight = BBR_UNBOUND;
}

static void signals_clear(struct bbr *b)
{
    b->loss_in_round = false;
    b->latest_bw = b->latest_inflight = 0;
}

static void full_bw_restart(struct bbr *b, double bw)
{
    b->full_bw = bw;
    b->full_bw_rounds = 0;
    b->full_bw_now = false;
}

static void cwnd_save(struct tcp_law *l)
{
    struct bbr *b = &l->bbr;

    if (!b->recovering && b->state != BBR_PROBE_RTT)
        b->prior_cwnd = l->cwnd;
    else
        b->prior_cwnd = RTE_MAX(b->prior_cwnd, l->cwnd);
}

static void cwnd_restore(struct tcp_law *l)
{
    l->cwnd = RTE_MAX(l->cwnd, l->bbr.prior_cwnd);
}

static bool too_high(double lost, double in_flight)
{
    return lost > in_flight * LOSS_MAX;
}

/* ---- states of ProbeBW [5.3.3.6] --------------------------------------------------------------
 */

static void round_begin(struct bbr *b, uint64_t delivered)
{
    b->round_end = delivered;
}

static void down_begin(struct bbr *b, uint64_t delivered, uint64_t now_ns)
{
    signals_clear(b);
    b->up_acked_each = BBR_UNBOUND;
    b->rounds_since_up = (uint32_t)rng_below(&b->rng, 2);
    b->probe_wait_ns = WAIT_MIN_NS + rng_below(&b->rng, WAIT_SPREAD_NS + 1);
    b->cycle_at_ns = now_ns;
    b->acks = BBR_ACKS_STOPPING;
    round_begin(b, delivered);
    b->state = BBR_DOWN;
}

static void refill_begin(struct bbr *b, uint64_t delivered)
{
    short_term_forget(b);
    b->up_rounds = 0;
    b->up_acked = 0;
    b->probe_cautious = false;
    b->acks = BBR_ACKS_REFILLING;
    round_begin(b, delivered);
    b->state = BBR_REFILL;
}

/* `long` grows by 1, 2, 4 ... segments a round, evenly over the round. */
static void up_steepen(struct tcp_law *l)
{
    struct bbr *b = &l->bbr;
    double growth = (double)(1ull << b->up_rounds);

    b->up_rounds = RTE_MIN(b->up_rounds + 1, UP_ROUNDS_MAX);
    b->up_acked_each = RTE_MAX(l->cwnd / growth, 1.0);
}

static void up_begin(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;

    b->acks = BBR_ACKS_STARTING;
    round_begin(b, ack->delivered_ever);
    full_bw_restart(b, ack->sample.rate);
    b->state = BBR_UP;
    up_steepen(l);
}

static void long_raise(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;

    if (!(b->limited || b->limited_before) || l->cwnd < b->long_inflight)
        return;
    b->up_acked += ack->delivered;
    if (b->up_acked >= b->up_acked_each) {
        double steps = (double)(uint64_t)(b->up_acked / b->up_acked_each);

        b->up_acked -= steps * b->up_acked_each;
        b->long_inflight += steps;
    }
    if (b->round_start)
        up_steepen(l);
}

/* Takes in what acknowledgements show of the last probe. True if this changed the state. */
static bool long_adapt(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;
    const struct delivery_sample *s = &ack->sample;

    if (b->acks == BBR_ACKS_STARTING && b->round_start)
        b->acks = BBR_ACKS_FEEDBACK;
    if (b->acks == BBR_ACKS_STOPPING && b->round_start) {
        b->probe_sample = false;
        b->acks = BBR_ACKS_INIT;
        if (probes_bw(b) && !s->limited) {
            b->bw_of_cycle[1] = b->bw_of_cycle[0];
            b->bw_of_cycle[0] = 0;
        }
        if (probes_bw(b) && b->probe_cautious && !b->probe_too_high) {
            refill_begin(b, ack->delivered_ever);
            return true;
        }
    }
    if (b->long_inflight >= BBR_UNBOUND || !s->some || too_high(s->lost, s->in_flight))
        return false;
    b->long_inflight = RTE_MAX(b->long_inflight, (double)s->in_flight);
    if (b->state == BBR_UP)
        long_raise(l, ack);
    return false;
}

static bool probe_time(const struct tcp_law *l, const struct tcp_ack *ack)
{
    const struct bbr *b = &l->bbr;

    return ack->now_ns > b->cycle_at_ns + b->probe_wait_ns ||
           (double)b->rounds_since_up >= RTE_MIN(inflight_wanted(l), RENO_ROUNDS);
}

static bool cruise_time(const struct bbr *b, uint64_t in_flight)
{
    return (double)in_flight <= headroom_left(b) &&
           (double)in_flight <= quantized(b, bdp_of(b, b->max_bw));
}

static bool down_time(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;

    if (b->probe_too_high && (double)ack->in_flight >= b->long_inflight) {
        b->probe_cautious = true;
        return true;
    }
    if ((b->limited || b->limited_before) && l->cwnd >= b->long_inflight)
        full_bw_restart(b, ack->sample.rate); /* `long` bounds the rate */
    else if (b->full_bw_now)
        return true;
    return false;
}

static void cycle_turn(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;

    if (!b->full_bw_reached || long_adapt(l, ack))
        return;
    switch (b->state) {
    case BBR_DOWN:
    case BBR_CRUISE:
        if (probe_time(l, ack))
            refill_begin(b, ack->delivered_ever);
        else if (b->state == BBR_DOWN && cruise_time(b, ack->in_flight))
            b->state = BBR_CRUISE;
        break;
    case BBR_REFILL:
        if (b->round_start) {
            b->probe_sample = true;
            up_begin(l, ack);
        }
        break;
    case BBR_UP:
        if (down_time(l, ack)) {
            b->probe_too_high = false;
            down_begin(b, ack->delivered_ever, ack->now_ns);
        }
        break;
    default:
        break;
    }
}

/* ---- Startup and Drain [5.3.1, 5.3.2] ---------------------------------------------------------
 */

static void full_bw_check(struct bbr *b, const struct delivery_sample *s)
{
    if (b->full_bw_now || !b->round_start || s->limited)
        return;
    if (s->rate >= b->full_bw * GROWTH) {
        full_bw_restart(b, s->rate);
        return;
    }
    b->full_bw_now = ++b->full_bw_rounds >= GROWTH_ROUNDS;
    b->full_bw_reached |= b->full_bw_now;
}

/* Startup ends if a whole round in recovery lost more than 2 %, in six places or more. */
static void startup_loss_check(struct bbr *b, const struct tcp_ack *ack)
{
    if (b->state != BBR_STARTUP || !b->loss_round_start)
        return;
    if (b->recovering && b->loss_ranges >= STARTUP_RANGES &&
        too_high(ack->sample.lost, ack->sample.in_flight)) {
        b->full_bw_reached = true;
        b->long_inflight = RTE_MAX(b->bdp, b->latest_inflight);
    }
    b->loss_ranges = 0;
}

static void startup_turn(struct bbr *b, const struct tcp_ack *ack)
{
    startup_loss_check(b, ack);
    if (b->state == BBR_STARTUP && b->full_bw_reached) {
        b->state = BBR_DRAIN;
        b->drain_round = b->rounds;
    }
    if (b->state == BBR_DRAIN && ((double)ack->in_flight <= quantized(b, bdp_of(b, b->bw)) ||
                                  b->rounds > b->drain_round + DRAIN_ROUNDS))
        down_begin(b, ack->delivered_ever, ack->now_ns);
}

/* ---- the shortest round trip, and ProbeRTT [5.3.4] --------------------------------------------
 */

static void min_rtt_update(struct bbr *b, const struct tcp_ack *ack)
{
    b->probe_rtt_expired = ack->now_ns > b->probe_rtt_min_at_ns + PROBE_RTT_NS;
    if (ack->rtt_ns != UINT64_MAX && (ack->rtt_ns < b->probe_rtt_min_ns || b->probe_rtt_expired)) {
        b->probe_rtt_min_ns = ack->rtt_ns;
        b->probe_rtt_min_at_ns = ack->now_ns;
    }
    if (b->probe_rtt_min_ns < b->min_rtt_ns || ack->now_ns > b->min_rtt_at_ns + MIN_RTT_NS) {
        b->min_rtt_ns = b->probe_rtt_min_ns;
        b->min_rtt_at_ns = b->probe_rtt_min_at_ns;
    }
}

static void probe_rtt_exit(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;

    b->probe_rtt_min_at_ns = ack->now_ns;
    cwnd_restore(l);
    short_term_forget(b);
    if (b->full_bw_reached) {
        down_begin(b, ack->delivered_ever, ack->now_ns);
        b->state = BBR_CRUISE;
    } else {
        b->state = BBR_STARTUP;
    }
}

static void probe_rtt_turn(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;

    if (b->state != BBR_PROBE_RTT && b->probe_rtt_expired) {
        cwnd_save(l);
        b->state = BBR_PROBE_RTT;
        b->probe_rtt_end_ns = 0;
        b->acks = BBR_ACKS_STOPPING;
        round_begin(b, ack->delivered_ever);
    }
    if (b->state != BBR_PROBE_RTT)
        return;
    if (b->probe_rtt_end_ns == 0 && (double)ack->in_flight <= probe_rtt_cwnd(b)) {
        b->probe_rtt_end_ns = ack->now_ns + PROBE_RTT_HOLD_NS;
        b->probe_rtt_round = false;
        round_begin(b, ack->delivered_ever);
    } else if (b->probe_rtt_end_ns != 0) {
        b->probe_rtt_round |= b->round_start;
        if (b->probe_rtt_round && ack->now_ns > b->probe_rtt_end_ns)
            probe_rtt_exit(l, ack);
    }
}

/* ---- the path, as acknowledgements show it [5.5] -----------------------------------------------
 */

static void round_count(struct bbr *b, const struct tcp_ack *ack)
{
    b->round_start = ack->sample.some && ack->sample.prior >= b->round_end;
    if (!b->round_start)
        return;
    round_begin(b, ack->delivered_ever);
    b->rounds++;
    b->rounds_since_up++;
    b->extra[b->rounds % BBR_EXTRA_ROUNDS] = 0;
    b->limited_before = b->limited;
    b->limited = false;
}

static void max_bw_update(struct bbr *b, const struct delivery_sample *s)
{
    if (s->rate > 0 && (s->rate >= b->max_bw || !s->limited))
        b->bw_of_cycle[0] = RTE_MAX(b->bw_of_cycle[0], s->rate);
    b->max_bw = RTE_MAX(b->bw_of_cycle[0], b->bw_of_cycle[1]);
}

/* Losses outside of a probe lower the bounds to what was delivered, by 30 % a round at most. */
static void short_term_adapt(struct tcp_law *l)
{
    struct bbr *b = &l->bbr;

    if (b->state == BBR_STARTUP || b->state == BBR_REFILL || b->state == BBR_UP ||
        !b->loss_in_round)
        return;
    if (b->short_bw >= BBR_UNBOUND)
        b->short_bw = b->max_bw;
    if (b->short_inflight >= BBR_UNBOUND)
        b->short_inflight = l->cwnd;
    b->short_bw = RTE_MAX(b->latest_bw, BETA * b->short_bw);
    b->short_inflight = RTE_MAX(b->latest_inflight, BETA * b->short_inflight);
}

static void congestion_update(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;
    const struct delivery_sample *s = &ack->sample;

    b->loss_round_start = s->some && s->prior >= b->loss_round_end;
    b->latest_bw = RTE_MAX(b->latest_bw, s->rate);
    b->latest_inflight = RTE_MAX(b->latest_inflight, (double)s->volume);
    if (b->loss_round_start)
        b->loss_round_end = ack->delivered_ever;
    round_count(b, ack);
    b->limited |= ack->cwnd_limited;
    max_bw_update(b, s);
    if (!b->loss_round_start)
        return;
    short_term_adapt(l);
    b->loss_in_round = false;
}

static void extra_update(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;
    double expected = b->bw * (double)(ack->now_ns - b->extra_at_ns) * 1e-9, *most;

    if (b->extra_delivered <= expected) {
        b->extra_delivered = expected = 0;
        b->extra_at_ns = ack->now_ns;
    }
    b->extra_delivered += ack->delivered;
    most = &b->extra[b->rounds % BBR_EXTRA_ROUNDS];
    *most = RTE_MAX(*most, RTE_MIN(b->extra_delivered - expected, l->cwnd));
}

/* ---- control [5.6] ----------------------------------------------------------------------------
 */

static void pace_set(struct tcp_law *l)
{
    struct bbr *b = &l->bbr;
    double rate = gains[b->state].pacing * b->bw * MARGIN;

    if (b->full_bw_reached || rate > l->pace_sps)
        l->pace_sps = rate;
}

static double cwnd_cap(const struct bbr *b)
{
    double cap = BBR_UNBOUND;

    if (b->state == BBR_CRUISE || b->state == BBR_PROBE_RTT)
        cap = headroom_left(b);
    else if (probes_bw(b))
        cap = b->long_inflight;
    return RTE_MAX(RTE_MIN(cap, b->short_inflight), CWND_MIN);
}

static void cwnd_set(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;
    double most;

    b->bdp = bdp_of(b, b->bw);
    most = quantized(b, gains[b->state].cwnd * b->bdp + extra_acked(b));
    if (b->full_bw_reached)
        l->cwnd = RTE_MIN(l->cwnd + ack->delivered, most);
    else if (l->cwnd < most || (double)ack->delivered_ever < b->cwnd_first)
        l->cwnd += ack->delivered;
    l->cwnd = RTE_MAX(l->cwnd, CWND_MIN);
    if (b->state == BBR_PROBE_RTT)
        l->cwnd = RTE_MIN(l->cwnd, probe_rtt_cwnd(b));
    l->cwnd = RTE_MIN(l->cwnd, cwnd_cap(b));
}

/* ---- the sender's events ----------------------------------------------------------------------
 */

static void law_ack(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct bbr *b = &l->bbr;
    const struct delivery_sample *s = &ack->sample;

    congestion_update(l, ack);
    extra_update(l, ack);
    full_bw_check(b, s);
    startup_turn(b, ack);
    cycle_turn(l, ack);
    min_rtt_update(b, ack);
    probe_rtt_turn(l, ack);
    if (b->loss_round_start) {
        b->latest_bw = s->rate;
        b->latest_inflight = s->volume;
    }
    b->bw = RTE_MIN(b->max_bw, b->short_bw);
    l->restrained = b->state == BBR_PROBE_RTT;
    pace_set(l);
    cwnd_set(l, ack);
}

static void law_init(struct tcp_law *l, const struct tcp_law_config *cfg)
{
    struct bbr *b = &l->bbr;

    *b = (struct bbr){.state = BBR_STARTUP,
                      .acks = BBR_ACKS_INIT,
                      .long_inflight = BBR_UNBOUND,
                      .up_acked_each = BBR_UNBOUND,
                      .min_rtt_ns = UINT64_MAX,
                      .probe_rtt_min_ns = UINT64_MAX,
                      .min_rtt_at_ns = cfg->now_ns,
                      .probe_rtt_min_at_ns = cfg->now_ns,
                      .extra_at_ns = cfg->now_ns,
                      .cwnd_first = cfg->cwnd_first};
    rng_init(&b->rng, cfg->seed);
    short_term_forget(b);
    l->pace_sps = gains[BBR_STARTUP].pacing * cfg->cwnd_first * 1e9 / NOMINAL_RTT_NS;
}

/* The first round trip turns the first window into a rate [5.6.2]. */
static void law_rtt(struct tcp_law *l, const struct tcp_timed *timed)
{
    struct bbr *b = &l->bbr;

    if (b->timed)
        return;
    b->timed = true;
    l->pace_sps =
        gains[BBR_STARTUP].pacing * b->cwnd_first * 1e9 / (double)RTE_MAX(timed->rtt_ns, 1ull);
}

/* The probe that sent this segment went too high: `long` is what was in flight at 2 % of losses. */
static void long_lower(struct tcp_law *l, const struct tcp_lost *lost, double lost_volume)
{
    struct bbr *b = &l->bbr;
    double before = lost->mark->in_flight - 1.0;
    double prefix = (LOSS_MAX * before - (lost_volume - 1)) / (1 - LOSS_MAX);

    b->probe_too_high = true;
    b->probe_sample = false;
    if (!lost->mark->limited)
        b->long_inflight = RTE_MAX(before + prefix, inflight_wanted(l) * BETA);
    if (b->state == BBR_UP)
        down_begin(b, lost->delivery->delivered, lost->now_ns);
}

static void law_lost(struct tcp_law *l, const struct tcp_lost *lost)
{
    struct bbr *b = &l->bbr;
    double volume = (double)(lost->delivery->lost - lost->mark->lost);

    if (!b->loss_in_round) {
        b->loss_round_end = lost->delivery->delivered;
        b->loss_ranges = 0;
        cwnd_save(l);
    }
    b->loss_ranges += !b->loss_in_round || lost->segment != b->loss_segment + 1;
    b->loss_segment = lost->segment;
    b->loss_in_round = true;
    if (b->probe_sample && too_high(volume, lost->mark->in_flight))
        long_lower(l, lost, volume);
}

static void law_recovery(struct tcp_law *l, const struct tcp_ack *ack)
{
    RTE_SET_USED(ack);
    cwnd_save(l);
    l->bbr.recovering = true;
}

static void law_recovered(struct tcp_law *l, enum tcp_state from)
{
    RTE_SET_USED(from);
    l->bbr.recovering = false;
    cwnd_restore(l);
}

/* All segments in flight are lost: one may be sent [5.6.4.4]. */
static void law_timeout(struct tcp_law *l, enum tcp_state from)
{
    RTE_SET_USED(from);
    cwnd_save(l);
    l->bbr.recovering = true;
    l->cwnd = 1;
}

static void law_sent(struct tcp_law *l)
{
    RTE_SET_USED(l);
}

const struct tcp_law_ops bbr_law = {
    .name = "bbr",
    .init = law_init,
    .rtt = law_rtt,
    .lost = law_lost,
    .recovered = law_recovered,
    .recovery = law_recovery,
    .ack = law_ack,
    .timeout = law_timeout,
    .sent = law_sent,
};
