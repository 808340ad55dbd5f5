/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/tcp.h"

#include <rte_common.h>

#include "base/check.h"

#define DUPLICATES  3u
#define RTO_MIN_NS  200000000ull
#define RTO_MAX_NS  60000000000ull
#define RTO_FIRST   1000000000ull
#define BACKOFF_MAX 12u
#define WINDOW_MIN  1024u
#define NO_SLOT     UINT32_MAX
#define LATE_NS     1e6
#define LATE_BYTES  65536.0

uint32_t tcp_window(uint64_t segments)
{
    return rte_align32pow2((uint32_t)RTE_MAX(RTE_MIN(2 * segments, 1ull << 31), WINDOW_MIN));
}

void tcp_init(struct tcp *t, const struct tcp_config *cfg)
{
    struct tcp_law_config law = {
        .cwnd_first = TCP_CWND_FIRST, .seed = cfg->seed, .no_hystart = cfg->no_hystart};

    CHECK(cfg->hz > 0 && cfg->mss_bytes > 0 && cfg->mss_bytes <= SEGMENT_DATA_MAX &&
          cfg->flight != NULL && rte_is_power_of_2(cfg->window_segments));
    *t = (struct tcp){.cfg = *cfg, .clock = {cfg->hz}, .expires = TIME_NEVER};
    t->min_rtt_ns = UINT64_MAX;
    t->again_head = t->again_tail = NO_SLOT;
    law.now_ns = clock_ns(&t->clock, cfg->start);
    tcp_law_init(&t->law, cfg->law, &law);
}

static uint32_t slot_of(const struct tcp *t, uint64_t segment)
{
    return (uint32_t)segment & (t->cfg.window_segments - 1);
}

static struct tcp_flight *flight_of(struct tcp *t, uint64_t segment)
{
    return &t->cfg.flight[slot_of(t, segment)];
}

static uint64_t in_flight(const struct tcp *t)
{
    return t->nxt - t->una - t->sacked - t->lost;
}

/* ---- the list of repeats in flight -------------------------------------------------------------
 */

static void again_add(struct tcp *t, uint32_t slot)
{
    struct tcp_flight *f = &t->cfg.flight[slot];

    f->before = t->again_tail;
    f->after = NO_SLOT;
    if (t->again_tail != NO_SLOT)
        t->cfg.flight[t->again_tail].after = slot;
    else
        t->again_head = slot;
    t->again_tail = slot;
}

static void again_remove(struct tcp *t, uint32_t slot)
{
    struct tcp_flight *f = &t->cfg.flight[slot];

    if (f->before != NO_SLOT)
        t->cfg.flight[f->before].after = f->after;
    else
        t->again_head = f->after;
    if (f->after != NO_SLOT)
        t->cfg.flight[f->after].before = f->before;
    else
        t->again_tail = f->before;
}

/* ---- timer ------------------------------------------------------------------------------------
 */

static void timer_set(struct tcp *t, uint64_t now)
{
    uint64_t rto = t->srtt_ns == 0 ? RTO_FIRST : t->srtt_ns + RTE_MAX(4 * t->rttvar_ns, RTO_MIN_NS);

    rto = RTE_MIN(rto << t->backoff, RTO_MAX_NS);
    t->expires = t->una == t->nxt ? TIME_NEVER : now + clock_cycles(&t->clock, rto);
}

static void rtt_add(struct tcp *t, uint64_t rtt_ns, uint64_t now_ns)
{
    struct tcp_timed timed = {now_ns, rtt_ns, t->una, t->nxt};
    int64_t error = (int64_t)(rtt_ns - t->srtt_ns);

    t->min_rtt_ns = RTE_MIN(t->min_rtt_ns, rtt_ns);
    if (t->srtt_ns == 0) {
        t->srtt_ns = RTE_MAX(rtt_ns, 1ull);
        t->rttvar_ns = rtt_ns / 2;
    } else {
        uint64_t off = (uint64_t)(error < 0 ? -error : error);

        t->srtt_ns = (uint64_t)((int64_t)t->srtt_ns + error / 8);
        t->rttvar_ns += (uint64_t)((int64_t)(off - t->rttvar_ns) / 4);
    }
    t->law.ops->rtt(&t->law, &timed);
}

static void lost_set(struct tcp *t, uint64_t segment, uint64_t now_ns)
{
    struct tcp_flight *f = flight_of(t, segment);
    struct tcp_lost lost = {segment, now_ns, &f->mark, &t->delivery};

    if (f->again)
        again_remove(t, slot_of(t, segment));
    f->lost = true;
    t->lost++;
    t->lost_from = RTE_MIN(t->lost_from, segment);
    t->delivery.lost++;
    t->law.ops->lost(&t->law, &lost);
}

static void timed_out(struct tcp *t, uint64_t now)
{
    enum tcp_state from = t->state;

    t->counts.timeouts++;
    t->backoff = RTE_MIN(t->backoff + 1, BACKOFF_MAX);
    for (uint64_t s = t->una; s < t->nxt; s++)
        if (!flight_of(t, s)->sacked && !flight_of(t, s)->lost)
            lost_set(t, s, clock_ns(&t->clock, now));
    t->state = TCP_TIMED_OUT;
    t->recover = t->nxt;
    t->law.ops->timeout(&t->law, from);
    timer_set(t, now);
}

/* ---- acknowledgements -------------------------------------------------------------------------
 */

/* A segment has come; true if it had not come before. */
static bool came(struct tcp *t, uint64_t segment, struct tcp_ack *ack)
{
    struct tcp_flight *f = flight_of(t, segment);
    uint64_t sent_ns = f->mark.sent_ns, rtt_ns = ack->now_ns - sent_ns;

    if (f->sacked)
        return false;
    if (f->again && !f->lost)
        again_remove(t, slot_of(t, segment));
    t->lost -= f->lost;
    f->lost = false;
    if (f->again && rtt_ns < t->min_rtt_ns) { /* its first transmission came */
        delivery_came(&t->delivery, &ack->sample, segment, NULL, ack->now_ns);
        return true;
    }
    if (!f->again) {
        rtt_add(t, rtt_ns, ack->now_ns);
        ack->rtt_ns = RTE_MIN(ack->rtt_ns, rtt_ns);
    }
    if (sent_ns > t->newest.sent_ns ||
        (sent_ns == t->newest.sent_ns && segment > t->newest.segment)) {
        t->newest.sent_ns = sent_ns;
        t->newest.segment = segment;
    }
    delivery_came(&t->delivery, &ack->sample, segment, &f->mark, ack->now_ns);
    return true;
}

/* True if the segment was sent before the newest one that came. */
static bool overtaken(const struct tcp *t, uint64_t segment, const struct tcp_flight *f)
{
    return f->mark.sent_ns < t->newest.sent_ns ||
           (f->mark.sent_ns == t->newest.sent_ns && segment < t->newest.segment);
}

/* A segment that was sent before one that came is lost. */
static void losses_find(struct tcp *t, uint64_t now_ns)
{
    if (t->sacked == 0 || (t->state == TCP_OPEN && t->sacked < DUPLICATES))
        return;
    for (t->judged = RTE_MAX(t->judged, t->una); t->judged < t->nxt; t->judged++) {
        const struct tcp_flight *f = flight_of(t, t->judged);

        if (f->again || f->sacked || f->lost)
            continue;
        if (!overtaken(t, t->judged, f))
            break;
        lost_set(t, t->judged, now_ns);
    }
    while (t->again_head != NO_SLOT) {
        uint32_t at = (t->again_head - (uint32_t)t->una) & (t->cfg.window_segments - 1);

        if (!overtaken(t, t->una + at, &t->cfg.flight[t->again_head]))
            break;
        lost_set(t, t->una + at, now_ns);
    }
}

/* Takes in one span of segments that came beyond una. */
static void sack_take(struct tcp *t, uint64_t first, uint64_t end, struct tcp_ack *ack)
{
    for (uint64_t s = first; s < end;) {
        struct tcp_flight *f = flight_of(t, s);

        if (came(t, s, ack)) {
            f->sacked = true;
            f->run = 1;
            t->sacked++;
            ack->delivered++;
        }
        s += f->run;
    }
    flight_of(t, first)->run = (uint32_t)RTE_MAX(end - first, flight_of(t, first)->run);
}

static void sacks_take(struct tcp *t, const struct segment_spans *spans, struct tcp_ack *ack)
{
    for (uint32_t i = 0; i < spans->n; i++) {
        uint64_t first = t->una + (uint32_t)(spans->first[i] - (uint32_t)t->una);
        uint64_t end = first + (uint32_t)(spans->end[i] - spans->first[i]);

        if (end <= t->nxt && first < end) /* else it is below una, or was never sent */
            sack_take(t, first, end, ack);
    }
}

/* Ends a repair that is complete, and begins one where segments are lost. */
static void state_turn(struct tcp *t, const struct tcp_ack *ack)
{
    if (t->state != TCP_OPEN && t->una >= t->recover) {
        enum tcp_state from = t->state;

        t->state = TCP_OPEN;
        t->law.ops->recovered(&t->law, from);
    }
    if (t->state == TCP_OPEN && t->lost > 0) {
        t->counts.recoveries++;
        t->state = TCP_RECOVERY;
        t->recover = t->nxt;
        t->law.ops->recovery(&t->law, ack);
    }
}

static void ack_take(struct tcp *t, uint32_t answer, const struct segment_spans *spans,
                     uint64_t now)
{
    uint64_t number = t->una + (uint32_t)(answer - (uint32_t)t->una), una = t->una;
    uint64_t lost_before = t->delivery.lost;
    struct tcp_ack ack = {.now_ns = clock_ns(&t->clock, now), .rtt_ns = UINT64_MAX};

    if (number > t->nxt)
        return; /* an old one */
    delivery_begin(&ack.sample);
    for (; t->una < number; t->una++) {
        ack.delivered += came(t, t->una, &ack);
        t->sacked -= flight_of(t, t->una)->sacked;
    }
    sacks_take(t, spans, &ack);
    delivery_end(&t->delivery, &ack.sample, t->min_rtt_ns);
    losses_find(t, ack.now_ns);
    if (t->una > una) {
        t->backoff = 0;
        timer_set(t, now);
    }
    ack.una = t->una;
    ack.nxt = t->nxt;
    ack.lost = (uint32_t)(t->delivery.lost - lost_before);
    ack.in_flight = in_flight(t);
    ack.delivered_ever = t->delivery.delivered;
    ack.srtt_ns = t->srtt_ns;
    ack.cwnd_limited = t->cwnd_limited;
    t->cwnd_limited = false;
    state_turn(t, &ack);
    ack.state = t->state;
    t->law.ops->ack(&t->law, &ack);
    if (t->law.restrained)
        delivery_limit(&t->delivery, in_flight(t));
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

static bool cwnd_full(const struct tcp *t)
{
    return (double)in_flight(t) + 1 > t->law.cwnd;
}

static bool segment_due(const struct tcp *t)
{
    return !cwnd_full(t) && (t->lost > 0 || t->nxt - t->una < t->cfg.window_segments);
}

static bool paced_out(const struct tcp *t, uint64_t now)
{
    return t->law.pace_sps > 0 && (double)clock_ns(&t->clock, now) < t->pace_ns;
}

static void pace_take(struct tcp *t, uint64_t now_ns)
{
    double late_ns, step_ns;

    if (t->law.pace_sps <= 0)
        return;
    step_ns = 1e9 / t->law.pace_sps;
    late_ns = RTE_MIN(LATE_NS, LATE_BYTES / t->cfg.mss_bytes * step_ns);
    t->pace_ns = RTE_MAX(t->pace_ns, (double)now_ns - late_ns) + step_ns;
}

/* Chooses the next segment: lost ones come first. */
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
    again_add(t, slot_of(t, t->lost_from));
    t->counts.retransmitted++;
    return t->lost_from;
}

uint16_t tcp_tx(struct tcp *t, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint64_t now_ns = clock_ns(&t->clock, now);
    uint16_t n = 0;

    timer_run(t, now);
    if (now < t->cfg.start)
        return 0;
    while (n < max && segment_due(t) && !paced_out(t, now)) {
        uint64_t flying = in_flight(t), number = segment_choose(t);
        struct segment s = {(uint32_t)number, 0, 0, t->cfg.mss_bytes};

        delivery_sent(&t->delivery, &flight_of(t, number)->mark, now_ns, flying);
        pace_take(t, now_ns);
        t->counts.segments++;
        t->law.ops->sent(&t->law);
        if (t->expires == TIME_NEVER)
            timer_set(t, now);
        m[n] = segment_build(t->cfg.pool, &t->cfg.route, &s);
        t->counts.no_mbuf += m[n] == NULL;
        n += m[n] != NULL;
    }
    t->cwnd_limited |= cwnd_full(t);
    return n;
}

uint64_t tcp_next(const struct tcp *t, uint64_t now)
{
    uint64_t at;

    if (now < t->cfg.start)
        return t->cfg.start;
    if (!segment_due(t))
        return t->expires;
    if (!paced_out(t, now))
        return now;
    at = clock_cycles(&t->clock, (uint64_t)t->pace_ns + 1);
    return time_min(RTE_MAX(at, now + 1), t->expires);
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
