/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/copa.h"

#include <rte_common.h>

#include "model/tcp_law.h"

#define INVERSE      2.0 /* 1 / delta by default */
#define CWND_MIN     2.0
#define SAME_MIN     3u
#define EVER_NS      10000000000ull
#define EMPTY        0.1
#define EMPTY_ROUNDS 5u
#define MAX_ROUNDS   4u
#define PACE         2.0
#define PARTS        20u /* of a window over round trips */

static void law_init(struct tcp_law *l, const struct tcp_law_config *cfg)
{
    struct copa *c = &l->copa;

    *c = (struct copa){.slow_start = true,
                       .inverse = INVERSE,
                       .velocity = 1,
                       .up = true,
                       .cwnd_then = cfg->cwnd_first,
                       .empty_at_ns = cfg->now_ns};
}

static void law_rtt(struct tcp_law *l, const struct tcp_timed *timed)
{
    struct copa *c = &l->copa;
    uint64_t now = timed->now_ns, srtt = c->srtt_ns > 0 ? c->srtt_ns : timed->rtt_ns;

    recent_add(&c->standing, timed->rtt_ns, now, srtt / (2 * PARTS));
    recent_add(&c->lately, timed->rtt_ns, now, srtt * MAX_ROUNDS / PARTS);
    recent_add(&c->ever, timed->rtt_ns, now, EVER_NS / PARTS);
}

/* Sets RTTstanding and RTTmin; each stays as it is if nothing was timed in its window. */
static void delays_update(struct copa *c, const struct tcp_ack *ack)
{
    uint64_t least, most;

    c->srtt_ns = ack->srtt_ns;
    recent_get(&c->standing, ack->now_ns, c->srtt_ns / 2, &least, &most);
    c->standing_ns = least != UINT64_MAX ? least : c->standing_ns;
    recent_get(&c->ever, ack->now_ns, EVER_NS, &least, &most);
    c->min_ns = least != UINT64_MAX ? least : c->min_ns;
    c->standing_ns = RTE_MAX(c->standing_ns, c->min_ns);
}

/* A queue that was not nearly empty for EMPTY_ROUNDS has flows in it that never empty it [2.2]. */
static void mode_turn(struct copa *c, uint64_t now_ns)
{
    uint64_t least, most, queueing_ns = c->standing_ns - c->min_ns;

    recent_get(&c->lately, now_ns, MAX_ROUNDS * c->srtt_ns, &least, &most);
    if ((double)queueing_ns <= EMPTY * ((double)most - (double)c->min_ns) || c->slow_start)
        c->empty_at_ns = now_ns;
    c->competitive = now_ns - c->empty_at_ns > EMPTY_ROUNDS * c->srtt_ns;
    if (!c->competitive)
        c->inverse = INVERSE;
}

/* At the end of a round trip: notes the direction of cwnd, and sets its speed. */
static void round_turn(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct copa *c = &l->copa;
    bool up = l->cwnd > c->cwnd_then;

    c->same = up == c->up ? c->same + 1 : 0;
    c->up = up;
    if (c->same < SAME_MIN)
        c->velocity = 1;
    else
        c->velocity *= 2;
    if (c->competitive && !c->lost_in_round)
        c->inverse++;
    c->lost_in_round = false;
    c->cwnd_then = l->cwnd;
    c->round_end = ack->nxt;
}

static void cwnd_turn(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct copa *c = &l->copa;
    double queueing_s = (double)(c->standing_ns - c->min_ns) * 1e-9;
    double rate = l->cwnd / ((double)c->standing_ns * 1e-9), step;
    bool above = rate * queueing_s > c->inverse;
    bool used = l->cwnd <= 2 * (double)(ack->in_flight + ack->delivered);

    if (c->slow_start && above)
        c->slow_start = false;
    if (above == c->up) { /* cwnd turns round */
        c->velocity = 1;
        c->same = 0;
        c->up = !above;
    }
    c->velocity = RTE_MAX(RTE_MIN(c->velocity, l->cwnd / c->inverse), 1.0);
    step = c->slow_start ? ack->delivered : c->velocity * c->inverse / l->cwnd * ack->delivered;
    if (above)
        l->cwnd = RTE_MAX(l->cwnd - step, CWND_MIN);
    else if (used)
        l->cwnd += step;
}

static void law_ack(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct copa *c = &l->copa;

    if (ack->srtt_ns == 0 || ack->delivered == 0)
        return;
    delays_update(c, ack);
    mode_turn(c, ack->now_ns);
    cwnd_turn(l, ack);
    if (ack->una >= c->round_end)
        round_turn(l, ack);
    l->pace_sps = PACE * l->cwnd * 1e9 / (double)RTE_MAX(c->standing_ns, 1ull);
}

static void law_lost(struct tcp_law *l, const struct tcp_lost *lost)
{
    struct copa *c = &l->copa;

    RTE_SET_USED(lost);
    if (!c->competitive || c->lost_in_round)
        return;
    c->lost_in_round = true;
    c->inverse = RTE_MAX(c->inverse / 2, INVERSE);
}

static void law_recovered(struct tcp_law *l, enum tcp_state from)
{
    RTE_SET_USED(l);
    RTE_SET_USED(from);
}

static void law_recovery(struct tcp_law *l, const struct tcp_ack *ack)
{
    RTE_SET_USED(l);
    RTE_SET_USED(ack);
}

static void law_timeout(struct tcp_law *l, enum tcp_state from)
{
    RTE_SET_USED(from);
    l->copa.slow_start = true;
    l->copa.velocity = 1;
    l->cwnd = CWND_MIN;
}

static void law_sent(struct tcp_law *l)
{
    RTE_SET_USED(l);
}

const struct tcp_law_ops copa_law = {
    .name = "copa",
    .init = law_init,
    .rtt = law_rtt,
    .lost = law_lost,
    .recovered = law_recovered,
    .recovery = law_recovery,
    .ack = law_ack,
    .timeout = law_timeout,
    .sent = law_sent,
};
