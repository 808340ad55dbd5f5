/* SPDX-License-Identifier: BSD-3-Clause */
/* What control knows of one connection, brought up to date once an interval; and what all
 * connections with a peer have carried. */
#include "base/mul_div.h"
#include "host/control_internal.h"

/* A connection stays active if nothing comes for as long as QUIET_UNITS packets or a burst take,
 * and 1/QUIET_SHARE of an interval more, since packets may be late; QUIET_MAX intervals in all, or
 * the time of two bursts at its grant, if that is longer. If more is to come, QUIET_INTERVALS and a
 * round trip are added. The connection also stays active for QUIET_INTERVALS and a round trip after
 * its grant was raised. If the peer used all of its grant and had no more to send, ENDED_UNITS and
 * ENDED_SHARE apply instead, and packets may be late by two round trips at most. */
#define QUIET_INTERVALS 2u
#define QUIET_MAX       64u
#define QUIET_UNITS     8u
#define QUIET_SHARE     16u
#define ENDED_UNITS     2u
#define ENDED_SHARE     8u
#define SINCE_MAX       7u /* intervals; from then on the newest one weighs 1/8 in throughput_Bps */
#define FEW_UNITS       16u /* a grant allows few packets if it allows fewer in an interval */
#define REST_INTERVALS  4u  /* a connection that rested for so long is measured from the start */
#define OWN_FOUND_NS    100000000ull /* until packets that the host dropped are found missing */

static bool uses_grant(const struct flow_stats *r)
{
    return r->grant_Bps != 0 && r->rate_Bps >= r->grant_Bps / 4 * 3;
}

/* Finds one connection's rate, and whether it would send more than it is granted. */
static void rate_find(struct host_control *c, struct flow_stats *r, uint64_t bytes,
                      uint64_t interval_ns)
{
    r->rate_Bps = mul_div(bytes - r->bytes, CLOCK_NS_PER_S, interval_ns);
    r->throughput_Bps =
        (uint64_t)((int64_t)r->throughput_Bps +
                   ((int64_t)r->rate_Bps - (int64_t)r->throughput_Bps) / (int64_t)(r->since + 1));
    if (uses_grant(r))
        c->sample.hungry = true;
}

/* The rate at which packets come. Intervals in which none came count once the next packet has come,
 * but no more than QUIET_MAX of them: so a slow sender's rate is low, and a long pause does not
 * lower a rate further. */
static void pace_update(struct flow_stats *r, uint64_t bytes, uint64_t interval_ns)
{
    uint64_t intervals = RTE_MIN(r->quiet, QUIET_MAX) + 1;
    uint64_t rate = mul_div(bytes - r->bytes, CLOCK_NS_PER_S, intervals * interval_ns);

    if (bytes == r->bytes) {
        r->quiet++;
        return;
    }
    r->quiet = 0;
    r->pace_Bps = r->pace_Bps == 0 ? rate : (3 * r->pace_Bps + rate) / 4;
    r->pace_Bps += r->pace_Bps == 0;
}

/* How long nothing may come before a sender counts as pausing: the time that these bytes take at
 * its pace, and late_ns, by which packets may be late. QUIET_MAX is the most, but for a sender that
 * may not send two bursts in that time. */
static uint64_t pause_ns(const struct flow_stats *r, uint64_t bytes, uint64_t late_ns,
                         uint64_t interval_ns)
{
    typedef unsigned __int128 u128;
    u128 pause = (u128)bytes * CLOCK_NS_PER_S / (r->pace_Bps + 1) + late_ns;
    u128 most = (u128)QUIET_MAX * interval_ns;
    u128 granted = r->grant_Bps != 0 ? 2 * (u128)r->burst_bytes * CLOCK_NS_PER_S / r->grant_Bps : 0;

    return (uint64_t)RTE_MIN(pause, RTE_MAX(most, granted));
}

/* Sets the limit of a connection's rate: what its worker found that the path carries. Until the
 * worker has found a limit, the rate may be START_BPS, and rises by 1/32 in each interval in which
 * the connection used its grant. */
static void ceiling_update(const struct host_control *c, const struct conn_public *p,
                           struct flow_stats *r)
{
    uint64_t path_Bps = counter_get(&p->path_Bps);

    if (uses_grant(r) && r->free_Bps < PATHRATE_MAX_BPS)
        r->free_Bps += r->free_Bps / 32;
    r->path_limited = path_Bps != 0;
    r->path_limit_Bps = path_Bps != 0 ? path_Bps : r->free_Bps;
    if (c->ceiling_Bps != 0)
        r->path_limit_Bps = RTE_MIN(r->path_limit_Bps, c->ceiling_Bps);
    r->path_rtt_ns = counter_get(&p->path_rtt_ns);
    r->path = (struct bottleneck_sample){
        .wait_ns = counter_get(&p->path_wait_ns),
        .lost_ppm = counter_get(&p->path_lost_ppm),
        .rtt_ns = counter_get(&p->rtt_ns),
        .rate_Bps = r->path_limit_Bps,
        .unit_bytes = counter_get(&p->rx_unit_bytes),
        .keeps = counter_get(&p->path_keeps),
    };
}

/* Does the host drop packets because bursts are too large? */
static void burst_sample(const struct host_control *c, const struct conn_public *p,
                         struct flow_stats *r, uint64_t loss_runs, uint64_t clean)
{
    /* the loss of a burst's last packet is found when the next burst begins */
    uint64_t period_ns = mul_div(r->burst_bytes, CLOCK_NS_PER_S, r->grant_Bps + 1);
    uint64_t found_ns = OWN_FOUND_NS + 2 * period_ns;
    struct burst_sample s = {
        .packets = clean - r->clean,
        .runs = loss_runs - r->loss_runs,
        .own = c->overrun_ns != 0 && c->time_ns - c->overrun_ns < found_ns,
        .bounded = r->burst_bytes >= r->burst.limit_packets * counter_get(&p->rx_unit_bytes),
        .time_ns = c->time_ns,
        .host_bytes = c->rx_bytes,
        .could_Bps = c->capacity.capacity_Bps,
    };

    burst_update(&r->burst, &s);
    r->loss_runs = loss_runs;
    r->clean = clean;
}

/* Is part of the backlog that the peer last reported still to come? */
static bool backlog_left(const struct conn_public *p, struct flow_stats *r, uint64_t bytes)
{
    uint64_t backlog = counter_get(&p->peer_backlog_bytes);

    if (backlog != r->backlog) {
        r->backlog = backlog;
        r->backlog_end = bytes + backlog;
    }
    return r->backlog_end > bytes;
}

/* Did the worker raise the grant so recently that no DATA sent under it may have come yet? */
static bool woken(const struct host_control *c, const struct host *h, const struct conn_public *p,
                  const struct flow_stats *r, uint64_t interval_ns)
{
    uint64_t at = counter_get(&p->woken_at), rtt_ns = counter_get(&p->rtt_ns);

    if (rtt_ns == 0 && r->pace_Bps != 0)
        rtt_ns = HOST_UNKNOWN_RTT_NS;
    /* the worker's clock may be ahead of control's (c->last) */
    return at != 0 && clock_ns(&h->clock, c->last > at ? c->last - at : 0) <=
                          RTE_MIN(QUIET_INTERVALS * interval_ns + rtt_ns, QUIET_MAX * interval_ns);
}

/* Does the connection take part in the sharing, since the peer sends or is about to? */
static bool flow_active(const struct host_control *c, const struct host *h,
                        const struct conn_public *p, struct flow_stats *r, uint64_t interval_ns)
{
    uint64_t at = counter_get(&p->rx_at), rtt_ns = counter_get(&p->rtt_ns);
    uint64_t gap_ns = clock_ns(&h->clock, c->last > at ? c->last - at : 0);
    uint64_t unit = counter_get(&p->rx_unit_bytes);
    bool more = backlog_left(p, r, r->bytes);

    r->ended = counter_get(&p->rx_ended) != 0;

    /* a sender that used all of its grant, and then had no more to send, has ended; a sender that
     * uses less runs out of data all the time */
    if (r->pace_Bps != 0 && !flow_stats_slack(r) && r->ended) {
        uint64_t late_ns = interval_ns / ENDED_SHARE;

        late_ns = rtt_ns != 0 ? RTE_MIN(2 * rtt_ns, late_ns) : late_ns;
        return gap_ns <= pause_ns(r, ENDED_UNITS * unit, late_ns, interval_ns);
    }
    if (woken(c, h, p, r, interval_ns))
        return true;
    if (r->pace_Bps == 0)
        return false;
    return gap_ns <= pause_ns(r, RTE_MAX(QUIET_UNITS * unit, r->burst_bytes),
                              interval_ns / QUIET_SHARE, interval_ns) +
                         (more ? QUIET_INTERVALS * interval_ns + rtt_ns : 0);
}

/* Does the connection's grant allow so few packets an interval that one more or less is much? */
static bool has_few(const struct conn_public *p, const struct flow_stats *r, uint64_t interval_ns)
{
    unsigned __int128 bytes = (unsigned __int128)r->grant_Bps * interval_ns / CLOCK_NS_PER_S;

    return bytes < FEW_UNITS * counter_get(&p->rx_unit_bytes);
}

/* A connection becomes active after REST_INTERVALS of rest. Its throughput, and its use of the
 * grant, are measured from here on. */
static void begin_find(struct flow_stats *r)
{
    r->begins = r->active && r->rest >= REST_INTERVALS;
    if (r->begins)
        r->since = r->slack = r->full = 0;
    else if (r->active && r->since < SINCE_MAX)
        r->since++;
    r->rest = r->active ? 0 : r->rest + 1;
}

bool flow_stats_update(struct host_control *c, struct host *h, uint32_t i, struct flow_stats *r,
                       uint64_t interval_ns)
{
    const struct conn_public *p = &h->conns[i].pub;
    uint64_t epoch = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE);

    r->active = false;
    if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != HOST_OPEN)
        return false;
    uint64_t bytes = counter_get(&p->rx_bytes);
    uint64_t loss_runs = counter_get(&p->rx_loss_runs), clean = counter_get(&p->rx_clean);
    uint64_t lost = counter_get(&p->rx_lost);

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (counter_get(&p->epoch) != epoch)
        return false; /* another connection begins; the figures may be that one's */
    if (r->epoch != epoch) {
        struct addr peer = conn_public_peer(p);

        *r = (struct flow_stats){
            .epoch = epoch,
            .peers = sharing_peers(c, &peer),
            .free_Bps = START_BPS,
            .rest = REST_INTERVALS,
        };
    }
    r->grant_Bps = counter_get(&p->rx_rate_Bps); /* by control; at first by the worker */
    r->burst_bytes = counter_get(&p->rx_burst_bytes);
    r->limit_Bps = counter_get(&p->rx_limit_Bps);
    if (r->limit_Bps == 0)
        r->limit_Bps = UINT64_MAX;
    r->few = has_few(p, r, interval_ns);
    rate_find(c, r, bytes, interval_ns);
    ceiling_update(c, p, r);
    burst_sample(c, p, r, loss_runs, clean);
    pace_update(r, bytes, interval_ns);
    r->bytes = bytes;
    r->active = flow_active(c, h, p, r, interval_ns);
    begin_find(r);
    r->lost = lost;
    return true;
}

/* ---- totals ------------------------------------------------------------------------------- */

/*
 * Once an interval, control adds what each connection has carried since the last time. The worker
 * tells it the final figures of each connection that is over, since its number may be in use again
 * by then.
 *
 * Invariant: a connection counts to the byte, unless more than HOST_ENDED_MAX end in an interval.
 * The worker counts those in totals_missed. When control sees a newer connection of a number, the
 * final figures of all older ones are in the ring.
 */

/* The entry of this peer. A proven one gets a new one; when there are HOST_TOTALS_MAX peers, all
 * others share the first entry. */
static uint32_t entry_of(struct host_control *c, const struct addr *peer, bool proven)
{
    for (uint32_t i = 1; i < c->n_totals; i++)
        if (addr_equal(&c->totals[i].peer, peer))
            return i;
    if (!proven || c->n_totals > HOST_TOTALS_MAX)
        return 0;
    c->totals[c->n_totals].peer = *peer;
    return c->n_totals++;
}

/* Adds what a connection has carried since the last time; x: its figures so far. */
static void conn_add(struct host_control *c, struct counted *t, const struct ended *x)
{
    struct host_total *e;

    if (t->epoch != x->epoch) {
        if (t->open) /* its end was missed */
            c->totals[t->entry].open_conns--;
        *t = (struct counted){
            .epoch = x->epoch, .open = true, .entry = entry_of(c, &x->peer, x->proven)};
        c->totals[t->entry].conns++;
        c->totals[t->entry].open_conns++;
    }
    e = &c->totals[t->entry];
    e->rx_bytes += x->rx_bytes - t->rx_bytes;
    e->tx_bytes += x->tx_bytes - t->tx_bytes;
    e->tx_acked_bytes += x->tx_acked_bytes - t->tx_acked_bytes;
    t->rx_bytes = x->rx_bytes;
    t->tx_bytes = x->tx_bytes;
    t->tx_acked_bytes = x->tx_acked_bytes;
}

static void conn_end(struct host_control *c, struct counted *t, bool failed)
{
    c->totals[t->entry].open_conns -= t->open;
    c->totals[t->entry].conns_failed += t->open && failed;
    t->open = false;
}

void totals_take(struct host_control *c, uint32_t k)
{
    struct ended_ring *r = &c->hosts[k]->ended;
    uint64_t put = __atomic_load_n(&r->put, __ATOMIC_ACQUIRE);

    for (uint64_t n = r->taken; n < put; n++) {
        const struct ended *x = &r->ring[n % HOST_ENDED_MAX];

        conn_add(c, &c->counted[k][x->conn], x);
        conn_end(c, &c->counted[k][x->conn], x->failed);
    }
    __atomic_store_n(&r->taken, put, __ATOMIC_RELEASE);
}

void totals_update(struct host_control *c, uint32_t k, uint32_t i)
{
    const struct conn_public *p = &c->hosts[k]->conns[i].pub;
    struct counted *t = &c->counted[k][i];
    uint64_t epoch = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE);
    uint64_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
    bool proven = counter_get(&p->proven) != 0;

    if ((state != HOST_OPEN && state != HOST_CLOSED) || (!proven && counter_get(&p->opener) == 0) ||
        (t->epoch == epoch && !t->open))
        return;
    struct ended x = {.epoch = epoch,
                      .proven = proven,
                      .peer = conn_public_peer(p),
                      .failed = counter_get(&p->failed) != 0,
                      .rx_bytes = counter_get(&p->rx_bytes),
                      .tx_bytes = counter_get(&p->tx_bytes),
                      .tx_acked_bytes = counter_get(&p->tx_acked_bytes)};

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (counter_get(&p->epoch) != epoch)
        return; /* another connection begins; the figures may be that one's */
    if (t->epoch != epoch) {
        totals_take(c, k);
        if (t->epoch >= epoch)
            return; /* this connection has ended since, and is counted */
    }
    conn_add(c, t, &x);
    if (state == HOST_CLOSED)
        conn_end(c, t, x.failed);
}

uint32_t host_control_totals(const struct host_control *c, uint32_t from, struct host_total *out,
                             uint32_t max)
{
    uint32_t n = 0;

    for (; from < c->n_totals && n < max; from++)
        out[n++] = c->totals[from];
    return n;
}
