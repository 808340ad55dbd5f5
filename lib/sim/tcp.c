/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/tcp.h"

#include <rte_common.h>

#include "base/check.h"

#define CWND_FIRST  10.0
#define DUPLICATES  3u
#define RTO_MIN_NS  200000000ull
#define RTO_MOST_NS 60000000000ull
#define RTO_FIRST   1000000000ull
#define BACKOFF_MAX 12u

void tcp_init(struct tcp *t, const struct tcp_config *cfg)
{
    CHECK(cfg->hz > 0 && cfg->mss_bytes > 0 && cfg->mss_bytes <= SEGMENT_DATA_MAX &&
          cfg->window_segments <= TCP_WINDOW);
    *t = (struct tcp){.cfg = *cfg, .clock = {cfg->hz}, .expires = TIME_NEVER};
    if (cfg->window_segments == 0)
        t->cfg.window_segments = TCP_WINDOW;
    t->least_rtt_ns = UINT64_MAX;
    cubic_init(&t->law, CWND_FIRST, !cfg->no_hystart);
}

static struct tcp_flight *flight_of(struct tcp *t, uint64_t segment)
{
    return &t->flight[segment % TCP_WINDOW];
}

static uint64_t in_flight(const struct tcp *t)
{
    return t->nxt - t->una - t->sacked - t->lost;
}

/* ---- timer ------------------------------------------------------------------------------------
 */

static void timer_set(struct tcp *t, uint64_t now)
{
    uint64_t rto = t->srtt_ns == 0 ? RTO_FIRST : t->srtt_ns + RTE_MAX(4 * t->rttvar_ns, RTO_MIN_NS);

    rto = RTE_MIN(rto << t->backoff, RTO_MOST_NS);
    t->expires = t->una == t->nxt ? TIME_NEVER : now + clock_cycles(&t->clock, rto);
}

static void rtt_add(struct tcp *t, uint64_t rtt_ns)
{
    int64_t error = (int64_t)(rtt_ns - t->srtt_ns);

    t->least_rtt_ns = RTE_MIN(t->least_rtt_ns, rtt_ns);
    if (t->srtt_ns == 0) {
        t->srtt_ns = RTE_MAX(rtt_ns, 1ull);
        t->rttvar_ns = rtt_ns / 2;
    } else {
        uint64_t off = (uint64_t)(error < 0 ? -error : error);

        t->srtt_ns = (uint64_t)((int64_t)t->srtt_ns + error / 8);
        t->rttvar_ns += (uint64_t)((int64_t)(off - t->rttvar_ns) / 4);
    }
    cubic_rtt(&t->law, rtt_ns, t->una, t->nxt);
}

static void lost_set(struct tcp *t, uint64_t segment)
{
    flight_of(t, segment)->lost = true;
    t->lost++;
    t->lost_from = RTE_MIN(t->lost_from, segment);
}

static void timed_out(struct tcp *t, uint64_t now)
{
    t->counts.timeouts++;
    t->backoff = RTE_MIN(t->backoff + 1, BACKOFF_MAX);
    if (t->state == TCP_OPEN)
        cubic_loss(&t->law);
    for (uint64_t s = t->una; s < t->nxt; s++)
        if (!flight_of(t, s)->sacked && !flight_of(t, s)->lost)
            lost_set(t, s);
    t->law.cwnd = 1;
    t->state = TCP_TIMED_OUT;
    t->recover = t->nxt;
    timer_set(t, now);
}

/* ---- acknowledgements -------------------------------------------------------------------------
 */

/* A segment has come: true if that is news. */
static bool came(struct tcp *t, uint64_t segment, uint64_t now_ns)
{
    struct tcp_flight *f = flight_of(t, segment);

    if (f->sacked)
        return false;
    t->lost -= f->lost;
    f->lost = false;
    if (f->again && now_ns - f->sent_ns < t->least_rtt_ns)
        return true; /* it was the first one that came */
    if (!f->again)
        rtt_add(t, now_ns - f->sent_ns);
    if (f->sent_ns > t->newest.sent_ns ||
        (f->sent_ns == t->newest.sent_ns && segment > t->newest.segment)) {
        t->newest.sent_ns = f->sent_ns;
        t->newest.segment = segment;
    }
    return true;
}

/* What was sent before one that came is lost. */
static void losses_find(struct tcp *t)
{
    if (t->sacked == 0 || (t->state == TCP_OPEN && t->sacked < DUPLICATES))
        return;
    for (uint64_t s = t->una; s < t->nxt; s++) {
        const struct tcp_flight *f = flight_of(t, s);

        if (!f->sacked && !f->lost &&
            (f->sent_ns < t->newest.sent_ns ||
             (f->sent_ns == t->newest.sent_ns && s < t->newest.segment)))
            lost_set(t, s);
    }
}

/* What cwnd is while losses are repaired (RFC 6937). */
static void window_reduce(struct tcp *t, uint32_t delivered)
{
    double flying = (double)in_flight(t), ssthresh = t->law.ssthresh, more;

    t->reduction.delivered += delivered;
    if (flying > ssthresh) {
        more = (double)t->reduction.delivered * ssthresh / (double)t->reduction.in_flight -
               (double)t->reduction.sent;
    } else {
        double limit = (double)t->reduction.delivered - (double)t->reduction.sent;

        limit = RTE_MAX(limit, (double)delivered) + 1;
        more = RTE_MIN(ssthresh - flying, limit);
    }
    /* the first one that is sent again does not wait */
    t->law.cwnd = flying + RTE_MAX(more, t->reduction.sent == 0 ? 1.0 : 0.0);
}

static void recovery_begin(struct tcp *t)
{
    t->counts.recoveries++;
    t->state = TCP_RECOVERY;
    t->recover = t->nxt;
    t->reduction.delivered = t->reduction.sent = 0;
    t->reduction.in_flight = RTE_MAX(t->nxt - t->una, 1ull);
    cubic_loss(&t->law);
}

static uint32_t sacks_take(struct tcp *t, const struct segment_spans *spans, uint64_t now_ns)
{
    uint32_t delivered = 0;

    for (uint32_t i = 0; i < spans->n; i++) {
        uint64_t first = t->una + (uint32_t)(spans->first[i] - (uint32_t)t->una);
        uint64_t end = first + (uint32_t)(spans->end[i] - spans->first[i]);

        if (end > t->nxt)
            continue; /* below una, or never sent */
        for (uint64_t s = first; s < end; s++)
            if (came(t, s, now_ns)) {
                flight_of(t, s)->sacked = true;
                t->sacked++;
                delivered++;
            }
    }
    return delivered;
}

static void ack_take(struct tcp *t, uint32_t answer, const struct segment_spans *spans,
                     uint64_t now)
{
    uint64_t ack = t->una + (uint32_t)(answer - (uint32_t)t->una), una = t->una;
    uint64_t now_ns = clock_ns(&t->clock, now);
    uint32_t delivered = 0;

    if (ack > t->nxt)
        return; /* an old one */
    for (; t->una < ack; t->una++) {
        delivered += came(t, t->una, now_ns);
        t->sacked -= flight_of(t, t->una)->sacked;
    }
    delivered += sacks_take(t, spans, now_ns);
    losses_find(t);
    if (t->una > una) {
        t->backoff = 0;
        timer_set(t, now);
    }
    if (t->state != TCP_OPEN && t->una >= t->recover) {
        t->law.cwnd = t->state == TCP_RECOVERY ? t->law.ssthresh : t->law.cwnd;
        t->state = TCP_OPEN;
    }
    if (t->state == TCP_OPEN && t->lost > 0)
        recovery_begin(t);
    if (t->state == TCP_RECOVERY)
        window_reduce(t, delivered);
    else if (delivered > 0)
        cubic_ack(&t->law, delivered, (double)t->srtt_ns * 1e-9, (double)now_ns * 1e-9);
}

static void timer_run(struct tcp *t, uint64_t now)
{
    if (t->expires <= now)
        timed_out(t, now);
}

void tcp_rx(struct tcp *t, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    struct segment_spans spans;
    struct segment s;

    for (uint16_t i = 0; i < n; i++) {
        if (segment_parse(m[i], &s, NULL) && segment_spans_get(m[i], &spans))
            ack_take(t, s.answer, &spans, now);
        rte_pktmbuf_free(m[i]);
    }
    timer_run(t, now);
}

/* ---- segments ---------------------------------------------------------------------------------
 */

static bool segment_due(const struct tcp *t)
{
    return (double)in_flight(t) + 1 <= t->law.cwnd &&
           (t->lost > 0 || t->nxt - t->una < t->cfg.window_segments);
}

/* Which one goes next: lost ones first. */
static uint64_t segment_choose(struct tcp *t)
{
    if (t->lost == 0) {
        t->lost_from = UINT64_MAX;
        *flight_of(t, t->nxt) = (struct tcp_flight){0};
        return t->nxt++;
    }
    t->lost_from = RTE_MAX(t->lost_from, t->una);
    while (!flight_of(t, t->lost_from)->lost)
        t->lost_from++;
    t->lost--;
    flight_of(t, t->lost_from)->lost = false;
    flight_of(t, t->lost_from)->again = true;
    t->counts.retransmitted++;
    return t->lost_from;
}

uint16_t tcp_tx(struct tcp *t, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint16_t n = 0;

    timer_run(t, now);
    if (now < t->cfg.start)
        return 0;
    while (n < max && segment_due(t)) {
        uint64_t number = segment_choose(t);
        struct segment s = {(uint32_t)number, 0, 0, t->cfg.mss_bytes};

        flight_of(t, number)->sent_ns = clock_ns(&t->clock, now);
        t->counts.segments++;
        t->reduction.sent++;
        if (t->expires == TIME_NEVER)
            timer_set(t, now);
        m[n] = segment_build(t->cfg.pool, &t->cfg.route, &s);
        t->counts.no_mbuf += m[n] == NULL;
        n += m[n] != NULL;
    }
    return n;
}

uint64_t tcp_next(const struct tcp *t, uint64_t now)
{
    if (now < t->cfg.start)
        return t->cfg.start;
    return segment_due(t) ? now : t->expires;
}

static void node_rx(void *self, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    tcp_rx(self, m, n, now);
}

static uint16_t node_tx(void *self, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    return tcp_tx(self, m, max, now);
}

static uint64_t node_next(const void *self, uint64_t now)
{
    return tcp_next(self, now);
}

struct node tcp_node(struct tcp *t)
{
    return (struct node){t, t->cfg.route.sport, node_rx, node_tx, node_next};
}
