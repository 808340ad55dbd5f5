/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a peer is granted, on the worker: the part of the host's capacity that control says, and no
 * more than its path carries. The path is watched here, packet by packet, so that what it carries
 * is followed from one round trip to the next, whatever control's interval is.
 */
#include "host/station.h"

#define WINDOW_RTTS   64u /* of one-way delay; time to see the queue empty (pathrate.h) */
#define WINDOW_MIN_NS 100000000ull
#define WINDOW_MAX_NS 30000000000ull
#define TRIAL_MIN_NS  100000ull
#define CLEAR_RUNS    2u
#define TRIAL_SHARE   4u  /* of a round trip */
#define CHANGE_SHIFT  16u /* what changes less is not said */

static enum grant_reason path_reason(const struct pathrate *p)
{
    return p->lossy ? GRANT_LOSS : p->mode == PATHRATE_BESIDE ? GRANT_BESIDE : GRANT_QUEUE;
}

/* Both limits together; the peer is told if that changes anything. */
static void grant_update(struct host *h, struct conn *c)
{
    uint64_t rate = c->share_Bps, burst = c->share_burst_bytes, reason = c->share_reason;
    uint64_t old = counter_get(&c->pub.rx_rate_Bps);

    if (c->path.mode != PATHRATE_FREE) {
        burst = RTE_MIN(burst, pathrate_burst_bytes(&c->path, RTE_MIN(rate, c->path.ceiling_Bps),
                                                    c->tx.unit_bytes));
        if (c->path.ceiling_Bps < rate) {
            rate = c->path.ceiling_Bps;
            reason = (uint64_t)path_reason(&c->path);
        }
    }
    counter_set(&c->pub.path_Bps, c->path.mode == PATHRATE_FREE ? 0 : c->path.ceiling_Bps);
    counter_set(&c->pub.rx_reason, reason);
    if ((rate > old ? rate - old : old - rate) <= old >> CHANGE_SHIFT &&
        burst == counter_get(&c->pub.rx_burst_bytes))
        return;
    counter_set(&c->pub.rx_rate_Bps, rate);
    counter_set(&c->pub.rx_burst_bytes, burst);
    trial_reset(&c->trial);
    c->trial_mark = c->cntl_seq + 1;
    conn_want(h, c, WANT_CNTL);
}

/* A connection begins with what control has for newcomers. */
void grant_start(struct host *h, struct conn *c)
{
    owd_init(&c->owd);
    trial_reset(&c->trial);
    pathrate_init(&c->path);
    c->trial_mark = 1;
    c->clear_runs = 0;
    c->share_Bps = counter_get(&h->newcomer_rate_Bps);
    c->share_burst_bytes = counter_get(&h->newcomer_burst_bytes);
    c->share_reason = GRANT_NEWCOMER;
    counter_set(&c->pub.rx_rate_Bps, c->share_Bps);
    counter_set(&c->pub.rx_burst_bytes, c->share_burst_bytes);
    counter_set(&c->pub.rx_reason, c->share_reason);
    counter_set(&c->pub.path_Bps, 0);
}

/*
 * A trial counts unless the host was too slow itself, for then packets wait for it, and get lost.
 * Control tells, a moment later: so a path of which nothing bad was known is found to limit only
 * after control has looked twice and seen nothing. True if the path's limit has changed.
 */
static bool trial_judged(struct host *h, struct conn *c, const struct trial_result *t,
                         uint64_t rtt_ns)
{
    uint64_t clear = counter_get(&h->clear_runs), rate = counter_get(&c->pub.rx_rate_Bps);

    if (clear < CLEAR_RUNS) {
        c->clear_runs = clear;
        return pathrate_blind(&c->path, t, rate);
    }
    if (c->path.mode == PATHRATE_FREE) {
        if (!pathrate_alarm(&c->path, t, rate, rtt_ns) || clear < c->clear_runs)
            c->clear_runs = clear;
        if (clear - c->clear_runs < CLEAR_RUNS)
            return false;
    }
    return pathrate_update(&c->path, t, rate, rtt_ns);
}

/* A round trip that is not known yet may be long. */
static uint64_t window_of(uint64_t rtt_ns)
{
    if (rtt_ns == 0)
        return WINDOW_MAX_NS;
    return RTE_MIN(RTE_MAX(WINDOW_RTTS * rtt_ns, WINDOW_MIN_NS), WINDOW_MAX_NS);
}

/*
 * What a DATA packet says of the path, if its sender had our newest grant. Whatever becomes of its
 * unit: it came this way.
 */
void grant_watch(struct host *h, struct conn *c, const struct wire_data *d)
{
    uint64_t rtt_ns = clock_ns(&h->clock, c->rtt.min_tsc), now_ns = clock_ns(&h->clock, h->now);
    struct trial_packet p = {
        .number = d->packet,
        .bytes = d->payload_len,
        .sent_ns = d->time_ns,
        .arrived_ns = now_ns,
        .increment_ns = owd_increment(&c->owd, d->time_ns, now_ns, window_of(rtt_ns)),
    };
    struct trial_result out;

    if (seq32_before(d->cntl_seen, c->trial_mark) ||
        !trial_add(&c->trial, &p, RTE_MAX(rtt_ns / TRIAL_SHARE, TRIAL_MIN_NS), &out))
        return;
    if (trial_judged(h, c, &out, rtt_ns))
        grant_update(h, c);
}

/* Takes what control has changed. */
void grants_apply(struct host *h)
{
    if (__atomic_load_n(&h->grants_any, __ATOMIC_RELAXED) == 0)
        return;
    __atomic_exchange_n(&h->grants_any, 0, __ATOMIC_ACQ_REL);
    for (uint32_t w = 0; w < (h->cfg.conns + 63) / 64; w++) {
        uint64_t bits = __atomic_exchange_n(&h->grants_dirty[w], 0, __ATOMIC_ACQUIRE);

        for (; bits != 0; bits &= bits - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);
            struct conn *c = &h->conns[i];

            if (c->state != HOST_OPEN || c->pub.epoch != counter_get(&h->grants[i].epoch))
                continue;
            c->share_Bps = counter_get(&h->grants[i].rate_Bps);
            c->share_burst_bytes = counter_get(&h->grants[i].burst_bytes);
            c->share_reason = counter_get(&h->grants[i].reason);
            grant_update(h, c);
        }
    }
}
