/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUBIC as a law of the sender. CUBIC sets the window while no segment is missing; proportional
 * rate reduction (RFC 6937) sets it while losses are repaired. There is no pacing.
 */
#include <rte_common.h>

#include "model/tcp_law.h"

static void cwnd_set(struct tcp_law *l, double cwnd)
{
    l->cwnd = l->cubic.window.cwnd = cwnd;
}

static void law_init(struct tcp_law *l, const struct tcp_law_config *cfg)
{
    cubic_init(&l->cubic.window, cfg->cwnd_first, !cfg->no_hystart);
}

static void law_rtt(struct tcp_law *l, const struct tcp_timed *timed)
{
    cubic_rtt(&l->cubic.window, timed->rtt_ns, timed->una, timed->nxt);
}

static void law_lost(struct tcp_law *l, const struct tcp_lost *lost)
{
    RTE_SET_USED(l);
    RTE_SET_USED(lost);
}

static void law_recovered(struct tcp_law *l, enum tcp_state from)
{
    if (from == TCP_RECOVERY)
        cwnd_set(l, l->cubic.window.ssthresh);
}

static void law_recovery(struct tcp_law *l, const struct tcp_ack *ack)
{
    l->cubic.reduction.delivered = l->cubic.reduction.sent = 0;
    l->cubic.reduction.in_flight = RTE_MAX(ack->nxt - ack->una, 1ull);
    cubic_loss(&l->cubic.window);
}

/* Sets cwnd while losses are repaired (RFC 6937). */
static void window_reduce(struct tcp_law *l, const struct tcp_ack *ack)
{
    struct cubic_tcp *c = &l->cubic;
    double flying = (double)ack->in_flight, ssthresh = c->window.ssthresh, more;

    c->reduction.delivered += ack->delivered;
    if (flying > ssthresh) {
        more = (double)c->reduction.delivered * ssthresh / (double)c->reduction.in_flight -
               (double)c->reduction.sent;
    } else {
        double limit = (double)c->reduction.delivered - (double)c->reduction.sent;

        limit = RTE_MAX(limit, (double)ack->delivered) + 1;
        more = RTE_MIN(ssthresh - flying, limit);
    }
    /* the first repeat does not wait */
    cwnd_set(l, flying + RTE_MAX(more, c->reduction.sent == 0 ? 1.0 : 0.0));
}

static void law_ack(struct tcp_law *l, const struct tcp_ack *ack)
{
    if (ack->state == TCP_RECOVERY)
        window_reduce(l, ack);
    else if (ack->delivered > 0)
        cubic_ack(&l->cubic.window, ack->delivered, (double)ack->srtt_ns * 1e-9,
                  (double)ack->now_ns * 1e-9);
    l->cwnd = l->cubic.window.cwnd;
}

static void law_timeout(struct tcp_law *l, enum tcp_state from)
{
    if (from == TCP_OPEN)
        cubic_loss(&l->cubic.window);
    cwnd_set(l, 1);
}

static void law_sent(struct tcp_law *l)
{
    l->cubic.reduction.sent++;
}

const struct tcp_law_ops cubic_law = {
    .name = "cubic",
    .init = law_init,
    .rtt = law_rtt,
    .lost = law_lost,
    .recovered = law_recovered,
    .recovery = law_recovery,
    .ack = law_ack,
    .timeout = law_timeout,
    .sent = law_sent,
};
