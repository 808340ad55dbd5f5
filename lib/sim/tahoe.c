/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/tahoe.h"

#include <rte_common.h>

#include "base/check.h"
#include "base/clock.h"
#include "sim/segment.h"

#define TICK_NS      500000000u
#define RTO_FIRST    6u /* ticks, until a round trip has been timed */
#define RTO_MIN      2u
#define RTO_MAX      128u
#define BACKOFF_MAX  12u
#define DUPLICATES   3u
#define SSTHRESH_MIN 2u /* segments */

void tahoe_init(struct tahoe *t, const struct tahoe_config *cfg, uint64_t now)
{
    struct clock clock = {cfg->hz};

    CHECK(cfg->hz > 0 && cfg->mss_bytes > 0 && cfg->window_bytes > 0 &&
          cfg->mss_bytes <= SEGMENT_DATA_MAX);
    *t = (struct tahoe){.cfg = *cfg};
    t->tick = clock_cycles(&clock, cfg->tick_ns != 0 ? cfg->tick_ns : TICK_NS);
    t->tick_at = now + t->tick;
    t->cwnd = cfg->mss_bytes;
    t->ssthresh = cfg->window_bytes;
}

bool tahoe_done(const struct tahoe *t)
{
    return t->cfg.limit_bytes != 0 && t->una == t->cfg.limit_bytes;
}

/* ---- timers ----------------------------------------------------------------------------------
 */

static uint32_t rto_ticks(const struct tahoe *t)
{
    uint32_t rto = t->srtt == 0 ? RTO_FIRST : (uint32_t)((t->srtt >> 3) + t->rttvar);

    rto = RTE_MAX(rto, RTO_MIN) << t->backoff;
    return RTE_MIN(rto, RTO_MAX);
}

/* A round trip took so many ticks (Jacobson 1988, appendix A). */
static void rtt_add(struct tahoe *t, int32_t ticks)
{
    if (t->srtt == 0) {
        t->srtt = RTE_MAX(ticks << 3, 1);
        t->rttvar = ticks << 1;
        return;
    }
    int32_t error = ticks - (t->srtt >> 3);

    t->srtt = RTE_MAX(t->srtt + error, 1);
    error = error < 0 ? -error : error;
    t->rttvar = RTE_MAX(t->rttvar + error - (t->rttvar >> 2), 1);
}

static void loss_seen(struct tahoe *t)
{
    uint32_t half = RTE_MIN(t->cwnd, t->cfg.window_bytes) / 2 / t->cfg.mss_bytes;

    t->ssthresh = RTE_MAX(half, SSTHRESH_MIN) * t->cfg.mss_bytes;
    t->cwnd = t->cfg.mss_bytes;
    t->timing = 0; /* of data sent twice, it is unknown which came (Karn) */
}

static void timed_out(struct tahoe *t)
{
    t->counts.timeouts++;
    t->backoff = RTE_MIN(t->backoff + 1, BACKOFF_MAX);
    t->rexmt = rto_ticks(t);
    t->duplicates = 0;
    t->once = false;
    loss_seen(t);
    t->nxt = t->una;
}

static void ticks_run(struct tahoe *t, uint64_t now)
{
    while (t->tick_at <= now) {
        t->tick_at += t->tick;
        t->timing += t->timing != 0;
        if (t->rexmt != 0 && --t->rexmt == 0)
            timed_out(t);
    }
}

/* ---- acknowledgements ------------------------------------------------------------------------
 */

static void window_open(struct tahoe *t)
{
    uint32_t mss = t->cfg.mss_bytes, most = RTE_MAX(t->cfg.window_bytes, mss);
    uint32_t more = t->cwnd > t->ssthresh ? RTE_MAX(mss * mss / t->cwnd, 1u) : mss;

    if (!t->opened && t->cfg.open_at_once)
        more = t->cfg.window_bytes;
    t->cwnd = RTE_MIN(t->cwnd + more, most);
    t->opened = true;
}

static void duplicate_take(struct tahoe *t)
{
    if (t->rexmt == 0 || t->una == t->top || ++t->duplicates != DUPLICATES ||
        t->cfg.no_fast_retransmit)
        return;
    t->counts.fast_retransmits++;
    t->rexmt = 0;
    loss_seen(t);
    t->once = true;
}

static void ack_take(struct tahoe *t, uint32_t answer)
{
    uint64_t ack = t->una + (uint64_t)(int64_t)(int32_t)(answer - (uint32_t)t->una);

    if (ack > t->top || ack + INT32_MAX < t->una)
        return;
    if (ack <= t->una) {
        if (ack == t->una)
            duplicate_take(t);
        return;
    }
    t->duplicates = 0;
    t->once = false;
    if (t->timing != 0 && ack > t->timed) {
        rtt_add(t, (int32_t)t->timing - 1);
        t->timing = 0;
        t->backoff = 0;
    }
    t->una = ack;
    t->nxt = RTE_MAX(t->nxt, ack);
    t->rexmt = ack == t->top ? 0 : rto_ticks(t);
    window_open(t);
}

void tahoe_rx(struct tahoe *t, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    struct segment s;

    ticks_run(t, now);
    for (uint16_t i = 0; i < n; i++) {
        if (segment_parse(m[i], &s, NULL) && s.data_len == 0)
            ack_take(t, s.answer);
        rte_pktmbuf_free(m[i]);
    }
}

/* ---- segments --------------------------------------------------------------------------------
 */

/* User bytes that may be sent now from byte `from` on. Segments that are not whole are sent only if
 * they are half a window (Clark 1982), or the last. */
static uint32_t sendable(const struct tahoe *t, uint64_t from)
{
    uint64_t window = t->once ? t->cfg.mss_bytes : RTE_MIN(t->cwnd, t->cfg.window_bytes);
    uint64_t left = t->cfg.limit_bytes == 0 ? UINT64_MAX : t->cfg.limit_bytes - from;
    uint64_t len = t->una + window > from ? t->una + window - from : 0;

    len = RTE_MIN(len, left);
    len = RTE_MIN(len, (uint64_t)t->cfg.mss_bytes);
    if (len == t->cfg.mss_bytes || len == left || 2 * len >= t->cfg.window_bytes)
        return (uint32_t)len;
    return 0;
}

/* Length of the next segment, from byte *from on; 0: none. */
static uint32_t segment_due(const struct tahoe *t, uint64_t *from)
{
    *from = t->once ? t->una : t->nxt;
    return sendable(t, *from);
}

static void sent(struct tahoe *t, uint64_t from, uint32_t len)
{
    t->counts.segments++;
    t->counts.retransmitted += from < t->top;
    if (t->timing == 0 && from >= t->top) {
        t->timing = 1;
        t->timed = from;
    }
    t->once = false;
    t->nxt = RTE_MAX(t->nxt, from + len);
    t->top = RTE_MAX(t->top, t->nxt);
    if (t->rexmt == 0)
        t->rexmt = rto_ticks(t);
}

uint16_t tahoe_tx(struct tahoe *t, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint64_t from;
    uint16_t n = 0;
    uint32_t len;

    ticks_run(t, now);
    if (now < t->cfg.start)
        return 0;
    while (n < max && (len = segment_due(t, &from)) > 0) {
        struct segment s = {(uint32_t)from, 0, t->cfg.window_bytes, (uint16_t)len};

        m[n] = segment_build(t->cfg.pool, &t->cfg.route, &s);
        t->counts.no_mbuf += m[n] == NULL;
        n += m[n] != NULL;
        sent(t, from, len);
    }
    return n;
}

uint64_t tahoe_next(const struct tahoe *t, uint64_t now)
{
    uint64_t from;

    if (now < t->cfg.start)
        return t->cfg.start;
    if (segment_due(t, &from) > 0)
        return now;
    return t->rexmt != 0 || t->timing != 0 ? t->tick_at : TIME_NEVER;
}

static void node_rx(void *self, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    tahoe_rx(self, m, n, now);
}

static uint16_t node_tx(void *self, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    return tahoe_tx(self, m, max, now);
}

static uint64_t node_next(const void *self, uint64_t now)
{
    return tahoe_next(self, now);
}

struct node tahoe_node(struct tahoe *t)
{
    return (struct node){t, t->cfg.route.sport, node_rx, node_tx, node_next};
}
