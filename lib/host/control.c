/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control walk: every interval, for all connections of a port's hosts: measure -> estimate ->
 * share -> grant. It reads what workers publish and writes grants, nothing else; a worker whose
 * control has stopped goes on with the grants it has.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "base/check.h"
#include "control/capacity.h"
#include "control/estimate.h"
#include "control/share.h"
#include "host/station.h"

#define START_BPS         12500000000ull /* 100 Gbit/s until something is known */
#define CHANGE_SHIFT      6u             /* changes below 1/64 are not worth a CNTL */
#define BURST_NS          100000ull      /* a burst lasts 100 us at the granted rate */
#define QUIET_INTERVALS   2u             /* and a round trip: of who said that he has more */
#define QUIET_MOST        64u            /* of who sends a packet now and then */
#define SLACK_INTERVALS   8u             /* until who uses less than he may counts with that */
#define OVERRUN_INTERVALS 16u            /* until losses of an overrun have been found */
#define BURST_UNITS_MIN   4u
#define BURST_UNITS_MAX   64u

struct conn_record {
    struct estimate estimate;
    uint64_t epoch, bytes, arrived, lost, tx_bytes;
    uint64_t grant_Bps, burst_bytes;
    uint32_t peers;       /* whose connection it is, or SHARE_NO_PEER */
    uint64_t rate_Bps;    /* received in the last interval */
    uint32_t slack;       /* intervals in a row in which less than 7/8 of the grant was used */
    uint32_t quiet;       /* intervals in a row in which nothing came */
    uint64_t backlog;     /* bytes that the peer last said it had */
    uint64_t backlog_end; /* rx_bytes when these will have come */
    uint32_t flow;        /* its place in the sharing, if it is active */
    bool active;
};

struct host_control {
    struct host *hosts[HOST_WORKERS_MAX];
    struct conn_record *records[HOST_WORKERS_MAX];
    struct share_flow *flows;    /* the active connections, as share_run() wants them */
    struct conn_record **owners; /* the same, as they were found */
    struct host_peers peers[HOST_PEERS_MAX];
    struct share_peer sums[HOST_PEERS_MAX];
    uint32_t n_peers, n_active;
    uint64_t spare_Bps; /* a part for each of them of what nobody uses */
    struct share *share;
    uint32_t n;
    uint64_t ceiling_Bps; /* hard ceiling; 0: none */
    uint64_t most_Bps;    /* what there is to share; UINT64_MAX: no limit is known */
    uint64_t own_losses;  /* packets that the port dropped and that may still be found missing, */
    uint32_t own_for;     /* for so many intervals */
    struct capacity capacity;
    struct capacity_sample sample; /* of this interval */
    struct host_port_counters seen;
    uint64_t last;
};

static uint32_t conns_in_all(const struct host_control *c)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < c->n; i++)
        all += c->hosts[i]->cfg.conns;
    return all;
}

struct host_control *host_control_create(struct host *const *hosts, uint32_t n, uint64_t now,
                                         char *err, size_t err_len)
{
    struct host_control *c = rte_zmalloc("control", sizeof *c, 64);
    bool ok = c != NULL && n > 0 && n <= HOST_WORKERS_MAX;

    for (uint32_t i = 0; ok && i < n; i++) {
        c->n = i + 1;
        c->hosts[i] = hosts[i];
        c->records[i] = rte_zmalloc("records", hosts[i]->cfg.conns * sizeof *c->records[i], 64);
        ok = c->records[i] != NULL;
    }
    if (ok) {
        uint32_t all = conns_in_all(c);
        void *storage = rte_zmalloc("share", share_storage_bytes(all), 64);

        c->share = storage != NULL ? share_init(storage, all) : NULL;
        c->flows = rte_zmalloc("flows", all * sizeof *c->flows, 64);
        c->owners = rte_zmalloc("owners", all * sizeof(void *), 64);
        ok = c->share != NULL && c->flows != NULL && c->owners != NULL;
    }
    if (!ok) {
        snprintf(err, err_len, "no memory for control; lower connections or give EAL more (-m)");
        host_control_destroy(c);
        return NULL;
    }
    c->ceiling_Bps = hosts[0]->cfg.capacity_Bps;
    c->most_Bps = c->ceiling_Bps != 0 ? c->ceiling_Bps : UINT64_MAX;
    capacity_init(&c->capacity);
    c->last = now;
    return c;
}

void host_control_destroy(struct host_control *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->n; i++)
        rte_free(c->records[i]);
    rte_free(c->flows);
    rte_free(c->owners);
    rte_free(c->share);
    rte_free(c);
}

void host_control_set_peers(struct host_control *c, const struct host_peers *peers, uint32_t n)
{
    CHECK(n <= HOST_PEERS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(peers[i].priority < SHARE_PRIORITIES);
        c->peers[i] = peers[i];
        c->sums[i] = (struct share_peer){
            .min_Bps = peers[i].all_min_Bps,
            .ceiling_Bps = peers[i].all_ceiling_Bps != 0 ? peers[i].all_ceiling_Bps : UINT64_MAX,
        };
    }
    c->n_peers = n;
}

/* The first that the address is one of. */
static uint32_t peers_find(const struct host_control *c, const struct addr *a)
{
    for (uint32_t i = 0; i < c->n_peers; i++)
        if (addr_is_v4(&c->peers[i].address) == addr_is_v4(a) &&
            addr_same_prefix(&c->peers[i].address, a, c->peers[i].prefix_len))
            return i;
    return SHARE_NO_PEER;
}

void host_control_set_capacity(struct host_control *c, uint64_t capacity_Bps)
{
    c->ceiling_Bps = capacity_Bps;
}

void host_control_capacity(const struct host_control *c, struct host_capacity *out)
{
    static const char *const why[] = {[CAPACITY_UNKNOWN] = "unknown",
                                      [CAPACITY_MEASURED] = "measured",
                                      [CAPACITY_OVERRUN] = "overrun",
                                      [CAPACITY_SATURATED] = "saturated",
                                      [CAPACITY_PROBED] = "probed"};

    *out = (struct host_capacity){
        .ceiling_Bps = c->ceiling_Bps,
        .measured_Bps = c->capacity.capacity_Bps,
        .why = why[c->capacity.why],
        .granted_Bps = c->most_Bps != UINT64_MAX ? c->most_Bps : 0,
        .overruns = c->capacity.overruns,
    };
}

static uint64_t burst_for(const struct host *h, uint64_t rate_Bps, uint64_t unit_bytes)
{
    if (h->cfg.burst_bytes != 0)
        return h->cfg.burst_bytes;
    uint64_t burst = (uint64_t)((unsigned __int128)rate_Bps * BURST_NS / CLOCK_NS_PER_S);
    uint64_t least = BURST_UNITS_MIN * unit_bytes, most = BURST_UNITS_MAX * unit_bytes;

    return burst < least ? least : burst > most ? most : burst;
}

/* Tells the worker, if it differs enough to be worth a packet. */
static void grant_write(struct host *h, uint32_t i, struct conn_record *r, uint64_t rate,
                        enum grant_reason reason)
{
    uint64_t unit = counter_get(&h->conns[i].pub.unit_bytes);
    uint64_t burst = burst_for(h, rate, unit != 0 ? unit : 1);
    uint64_t change = rate > r->grant_Bps ? rate - r->grant_Bps : r->grant_Bps - rate;

    if (change <= r->grant_Bps >> CHANGE_SHIFT && r->grant_Bps != 0)
        return;
    r->grant_Bps = rate;
    r->burst_bytes = burst;
    counter_set(&h->grants[i].epoch, r->epoch);
    counter_set(&h->grants[i].rate_Bps, rate);
    counter_set(&h->grants[i].burst_bytes, burst);
    counter_set(&h->grants[i].reason, reason);
    __atomic_fetch_or(&h->grants_dirty[i / 64], 1ull << (i % 64), __ATOMIC_RELEASE);
    __atomic_store_n(&h->grants_any, 1, __ATOMIC_RELEASE);
}

/* One connection's part in what the host did. */
static void sample_add(struct host_control *c, struct conn_record *r, uint64_t bytes, uint64_t sent,
                       uint64_t interval_ns)
{
    r->rate_Bps = (uint64_t)((unsigned __int128)(bytes - r->bytes) * CLOCK_NS_PER_S / interval_ns);
    c->sample.rx_bytes += bytes - r->bytes;
    c->sample.tx_bytes += sent - r->tx_bytes;
    if (r->grant_Bps != 0 && r->rate_Bps >= r->grant_Bps / 4 * 3)
        c->sample.hungry = true;
    r->tx_bytes = sent;
}

/* Intervals that a connection of few packets may be quiet between them; none with 8 in each. */
static uint32_t packet_intervals(const struct conn_public *p, const struct conn_record *r,
                                 uint64_t interval_ns)
{
    unsigned __int128 packets_ns =
        (unsigned __int128)8 * counter_get(&p->unit_bytes) * CLOCK_NS_PER_S / (r->grant_Bps + 1);

    return (uint32_t)RTE_MIN(packets_ns / interval_ns, (unsigned __int128)QUIET_MOST);
}

/* What the host itself dropped says nothing of the path. */
static uint64_t path_losses(struct host_control *c, uint64_t lost)
{
    uint64_t own = RTE_MIN(lost, c->own_losses);

    c->own_losses -= own;
    return lost - own;
}

/* Has not all come yet that the peer last said it had? */
static bool backlog_left(const struct conn_public *p, struct conn_record *r, uint64_t bytes)
{
    uint64_t backlog = counter_get(&p->peer_backlog_bytes);

    if (backlog != r->backlog) {
        r->backlog = backlog;
        r->backlog_end = bytes + backlog;
    }
    return r->backlog_end > bytes;
}

/* One connection's interval; true if it takes part in the sharing. */
static bool record_update(struct host_control *c, struct host *h, uint32_t i, struct conn_record *r,
                          uint64_t interval_ns)
{
    const struct conn_public *p = &h->conns[i].pub;
    uint64_t epoch = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE);

    r->active = false;
    if (counter_get(&p->state) != HOST_OPEN)
        return false;
    uint64_t bytes = counter_get(&p->rx_bytes), arrived = counter_get(&p->rx_arrived);
    uint64_t lost = counter_get(&p->rx_lost), sent = counter_get(&p->tx_bytes);
    uint64_t ceiling = c->ceiling_Bps;
    uint32_t rtt_intervals = (uint32_t)(counter_get(&p->rtt_ns) / interval_ns) + 1;

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (counter_get(&p->epoch) != epoch)
        return false; /* another connection begins, these may be its figures */
    if (r->epoch != epoch) {
        *r = (struct conn_record){.epoch = epoch, .peers = peers_find(c, &h->conns[i].peer)};
        estimate_init(&r->estimate, ceiling != 0 ? ceiling : START_BPS);
    }
    estimate_update(&r->estimate, bytes - r->bytes, arrived - r->arrived,
                    path_losses(c, lost > r->lost ? lost - r->lost : 0), r->grant_Bps, interval_ns,
                    rtt_intervals);
    if (ceiling != 0 && r->estimate.ceiling_Bps > ceiling)
        r->estimate.ceiling_Bps = ceiling;
    sample_add(c, r, bytes, sent, interval_ns);
    r->quiet = bytes != r->bytes ? 0 : r->quiet + 1;
    r->active = r->grant_Bps == 0 ||
                r->quiet <= packet_intervals(p, r, interval_ns) +
                                (backlog_left(p, r, bytes) ? QUIET_INTERVALS + rtt_intervals : 0);
    r->bytes = bytes;
    r->arrived = arrived;
    r->lost = lost;
    return true;
}

/*
 * What a connection is counted with (spec, step 2): all that its way can carry, if it uses what it
 * is granted, or did so not long ago; else what it uses, and a little more.
 */
static uint64_t record_demand(const struct host_control *c, struct conn_record *r)
{
    uint64_t used = r->estimate.throughput_Bps;

    r->slack = RTE_MAX(used, r->rate_Bps) < r->grant_Bps / 8 * 7 ? r->slack + 1 : 0;
    if (r->slack < SLACK_INTERVALS || c->most_Bps == UINT64_MAX)
        return r->estimate.ceiling_Bps;
    return RTE_MIN(r->estimate.ceiling_Bps, used + used / 32 + ESTIMATE_MIN_BPS);
}

/* Who has all he uses may use more, until that is seen: his part of what is left over, too. */
static uint64_t record_room(const struct host_control *c, const struct conn_record *r)
{
    uint64_t used = RTE_MAX(r->estimate.throughput_Bps, r->rate_Bps);

    return RTE_MIN(r->estimate.ceiling_Bps, used + used / 4 + c->spare_Bps + ESTIMATE_MIN_BPS);
}

/* ---- sharing -------------------------------------------------------------------------------- */

static struct share_flow flow_of(const struct host_control *c, struct conn_record *r)
{
    struct share_flow f = {.demand_Bps = record_demand(c, r),
                           .ceiling_Bps = UINT64_MAX,
                           .peer = r->peers,
                           .weight = 1};

    if (r->peers != SHARE_NO_PEER) {
        const struct host_peers *p = &c->peers[r->peers];

        f.weight = p->weight;
        f.priority = p->priority;
        f.min_Bps = p->min_Bps;
        f.ceiling_Bps = p->ceiling_Bps != 0 ? p->ceiling_Bps : UINT64_MAX;
    }
    return f;
}

/* Places for flows by priority, and by peers within one. */
static uint32_t place_of(const struct host_control *c, const struct conn_record *r)
{
    if (r->peers == SHARE_NO_PEER)
        return 0;
    return c->peers[r->peers].priority * (HOST_PEERS_MAX + 1) + 1 + r->peers;
}

/* The active connections become flows, in the order that share_run() wants: by counting. */
static void flows_make(struct host_control *c)
{
    uint32_t starts[SHARE_PRIORITIES * (HOST_PEERS_MAX + 1) + 1] = {0};

    for (uint32_t i = 0; i < c->n_active; i++)
        starts[place_of(c, c->owners[i]) + 1]++;
    for (uint32_t k = 1; k < RTE_DIM(starts); k++)
        starts[k] += starts[k - 1];
    for (uint32_t i = 0; i < c->n_active; i++) {
        struct conn_record *r = c->owners[i];

        r->flow = starts[place_of(c, r)]++;
        c->flows[r->flow] = flow_of(c, r);
    }
}

static void spare_find(struct host_control *c)
{
    uint64_t given = 0;

    for (uint32_t i = 0; i < c->n_active; i++)
        given += c->flows[i].grant_Bps;
    c->spare_Bps = c->most_Bps > given && c->n_active > 0 ? (c->most_Bps - given) / c->n_active : 0;
}

/* What who is quiet may have at once. */
static uint64_t idle_rate(const struct host_control *c, const struct conn_record *r,
                          uint64_t newcomer)
{
    uint64_t rate = RTE_MIN(newcomer, r->estimate.ceiling_Bps);

    if (r->peers == SHARE_NO_PEER)
        return rate;
    if (c->peers[r->peers].ceiling_Bps != 0)
        rate = RTE_MIN(rate, c->peers[r->peers].ceiling_Bps);
    return RTE_MIN(rate, c->sums[r->peers].ceiling_Bps);
}

/* Rate and reason of one connection; newcomer: of those that are quiet. */
static uint64_t grant_of(const struct host_control *c, const struct conn_record *r,
                         uint64_t newcomer, enum grant_reason *why)
{
    static const enum grant_reason reasons[] = {
        [SHARE_DEMAND] = GRANT_DEMAND,  [SHARE_CEILING] = GRANT_CEILING,
        [SHARE_PEER] = GRANT_CEILING,   [SHARE_MINIMUM] = GRANT_MINIMUM,
        [SHARE_LEVEL] = GRANT_CAPACITY,
    };
    const struct share_flow *f = &c->flows[r->flow];

    if (!r->active) {
        *why = GRANT_IDLE;
        return idle_rate(c, r, newcomer);
    }
    *why = reasons[f->bound];
    if (f->bound != SHARE_DEMAND)
        return f->grant_Bps;
    if (r->slack >= SLACK_INTERVALS && c->most_Bps != UINT64_MAX)
        return RTE_MIN(record_room(c, r), f->ceiling_Bps);
    *why = r->estimate.hold > 0 ? GRANT_LOSS : GRANT_PROBE;
    return f->grant_Bps;
}

static void grants_write(struct host_control *c, uint64_t newcomer)
{
    for (uint32_t k = 0; k < c->n; k++) {
        struct host *h = c->hosts[k];

        for (uint32_t i = 0; i < h->cfg.conns; i++) {
            struct conn_record *r = &c->records[k][i];
            enum grant_reason why;
            uint64_t rate;

            if (counter_get(&h->conns[i].pub.state) != HOST_OPEN || r->estimate.ceiling_Bps == 0)
                continue;
            rate = grant_of(c, r, newcomer, &why);
            grant_write(h, i, r, rate, why);
        }
        counter_set(&h->newcomer_rate_Bps, newcomer);
        counter_set(&h->newcomer_burst_bytes, burst_for(h, newcomer, h->cfg.mtu));
    }
}

/* Since the last interval. */
static void sample_take(struct host_control *c, const struct host_port_counters *port)
{
    struct capacity_sample *s = &c->sample;

    s->overruns = port->imissed - c->seen.imissed + port->rx_nombuf - c->seen.rx_nombuf +
                  port->ring_full - c->seen.ring_full;
    s->time = port->time - c->seen.time;
    s->busy = RTE_MIN(port->busy - c->seen.busy, s->time); /* work may be counted as it begins */
    s->bursts = port->bursts - c->seen.bursts;
    s->full = port->full - c->seen.full;
    c->seen = *port;
    c->own_losses += 2 * s->overruns; /* what is sent again may be dropped again */
    if (s->overruns > 0)
        c->own_for = OVERRUN_INTERVALS;
    else if (c->own_for > 0 && --c->own_for == 0)
        c->own_losses = 0;
}

void host_control(struct host_control *c, const struct host_port_counters *port, uint64_t now)
{
    uint64_t interval_ns = clock_ns(&c->hosts[0]->clock, now - c->last);
    uint64_t newcomer = START_BPS;

    if (interval_ns == 0)
        return;
    c->last = now;
    c->sample = (struct capacity_sample){.interval_ns = interval_ns};
    sample_take(c, port);
    c->n_active = 0;
    for (uint32_t k = 0; k < c->n; k++)
        for (uint32_t i = 0; i < c->hosts[k]->cfg.conns; i++) {
            struct conn_record *r = &c->records[k][i];

            if (record_update(c, c->hosts[k], i, r, interval_ns) && r->active)
                c->owners[c->n_active++] = r;
        }
    capacity_update(&c->capacity, &c->sample);
    c->most_Bps =
        RTE_MIN(capacity_grant(&c->capacity), c->ceiling_Bps != 0 ? c->ceiling_Bps : UINT64_MAX);
    flows_make(c);
    share_run(c->share, c->flows, c->n_active, c->sums, c->n_peers, c->most_Bps);
    spare_find(c);
    if (c->most_Bps != UINT64_MAX)
        newcomer = RTE_MIN(c->most_Bps / (c->n_active + 1), (uint64_t)START_BPS);
    grants_write(c, newcomer);
}

/* The worker's side: takes what control has changed. */
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
            counter_set(&c->pub.rx_rate_Bps, counter_get(&h->grants[i].rate_Bps));
            counter_set(&c->pub.rx_burst_bytes, counter_get(&h->grants[i].burst_bytes));
            counter_set(&c->pub.rx_reason, counter_get(&h->grants[i].reason));
            conn_want(h, c, WANT_CNTL);
        }
    }
}
