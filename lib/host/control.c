/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control walk. Every interval, for all connections of a port's hosts: measure -> share ->
 * grant. It reads what workers publish, and writes grants and nothing else. If control has stopped,
 * a worker goes on with the grants that it has.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "base/mul_div.h"
#include "host/control_internal.h"

#define CHANGE_SHIFT      8u        /* changes of rate below 1/256 are not advertised */
#define IDLE_SHIFT        2u        /* idle connections: changes below 1/4 are not advertised */
#define IDLE_RTIMER_NS    10000000u /* a burst may go this often, for one alone may get lost */
#define LINK_OVERHEAD     38u       /* bytes: Ethernet header, FCS, preamble, gap */
#define OVERRUN_INTERVALS 16u       /* intervals until losses of an overrun have been found */
#define PART_SHARE        8u        /* a worker takes part with 1/8 of an equal part, or more */
#define BURST_SHIFT       4u        /* changes of burst below 1/16 are not advertised */

static uint32_t conns_in_all(const struct host_control *c)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < c->n; i++)
        all += c->hosts[i]->cfg.conns;
    return all;
}

/* Takes the user bytes of all workers since the last interval. Connections that began and ended in
 * between count, too. */
static void bytes_take(struct host_control *c)
{
    uint64_t tx_bytes = 0;

    c->sample.rx_bytes = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        uint64_t rx_bytes = counter_get(&c->hosts[k]->count[COUNT_rx_payload_bytes]);

        c->work_rx_bytes[k] = rx_bytes - c->seen_rx_bytes[k];
        c->seen_rx_bytes[k] = rx_bytes;
        c->sample.rx_bytes += c->work_rx_bytes[k];
        tx_bytes += counter_get(&c->hosts[k]->count[COUNT_tx_payload_bytes]);
    }
    c->sample.tx_bytes = tx_bytes - c->seen_tx_bytes;
    c->seen_tx_bytes = tx_bytes;
}

struct host_control *host_control_create(struct host *const *hosts, uint32_t n, uint64_t now,
                                         char *err, size_t err_len)
{
    struct host_control *c = rte_zmalloc("control", sizeof *c, 64);
    bool ok = c != NULL && n > 0 && n <= HOST_WORKERS_MAX;

    for (uint32_t i = 0; ok && i < n; i++) {
        c->n = i + 1;
        c->hosts[i] = hosts[i];
        c->stats[i] = rte_zmalloc("stats", hosts[i]->cfg.conns * sizeof *c->stats[i], 64);
        c->counted[i] = rte_zmalloc("counted", hosts[i]->cfg.conns * sizeof *c->counted[i], 64);
        ok = c->stats[i] != NULL && c->counted[i] != NULL;
    }
    if (ok) {
        uint32_t all = conns_in_all(c);
        void *storage = rte_zmalloc("share", share_storage_bytes(all), 64);

        c->share = storage != NULL ? share_init(storage, all) : NULL;
        c->flows = rte_zmalloc("flows", all * sizeof *c->flows, 64);
        c->open = rte_zmalloc("open", all * sizeof *c->open, 64);
        c->owners = rte_zmalloc("owners", all * sizeof(void *), 64);
        ok = c->share != NULL && c->flows != NULL && c->open != NULL && c->owners != NULL;
    }
    if (!ok) {
        snprintf(err, err_len, "no memory for control; lower connections or give EAL more (-m)");
        host_control_destroy(c);
        return NULL;
    }
    c->ceiling_Bps = hosts[0]->cfg.capacity_Bps;
    c->max_Bps = c->ceiling_Bps != 0 ? c->ceiling_Bps : UINT64_MAX;
    c->notice_Bps = grant_start_burst(hosts[0], 0, hosts[0]->cfg.mtu) *
                    (uint64_t)(CLOCK_NS_PER_S / IDLE_RTIMER_NS);
    capacity_init(&c->capacity);
    host_control_set_link(c, 0);
    bytes_take(c);
    c->last = now;
    c->n_totals = 1;
    return c;
}

void host_control_destroy(struct host_control *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->n; i++) {
        rte_free(c->stats[i]);
        rte_free(c->counted[i]);
    }
    assoc_destroy(c->assoc);
    rte_free(c->leaving);
    rte_free(c->firsts);
    rte_free(c->flows);
    rte_free(c->owners);
    rte_free(c->open);
    rte_free(c->share);
    rte_free(c);
}

void host_control_set_capacity(struct host_control *c, uint64_t capacity_Bps)
{
    c->ceiling_Bps = capacity_Bps;
}

/* The link's user bytes if all frames are full; frames of small requests carry less. */
void host_control_set_link(struct host_control *c, uint64_t link_Bps)
{
    const struct host_config *cfg = &c->hosts[0]->cfg;
    uint64_t unit =
        conn_unit_max(c->hosts[0], &cfg->address[0], cfg->security != HOST_SECURITY_NONE);
    unsigned __int128 rate = (unsigned __int128)link_Bps * unit / (cfg->mtu + LINK_OVERHEAD);

    c->link_Bps = link_Bps != 0 ? (uint64_t)rate : UINT64_MAX;
}

static const char *why_name(enum capacity_why why)
{
    static const char *const names[] = {[CAPACITY_UNKNOWN] = "unknown",
                                        [CAPACITY_MEASURED] = "measured",
                                        [CAPACITY_OVERRUN] = "overrun",
                                        [CAPACITY_SATURATED] = "saturated",
                                        [CAPACITY_PROBED] = "probed"};

    return names[why];
}

void host_control_capacity(const struct host_control *c, struct host_capacity *out)
{
    *out = (struct host_capacity){
        .ceiling_Bps = c->ceiling_Bps,
        .measured_Bps = c->capacity.capacity_Bps,
        .why = why_name(c->capacity.why),
        .granted_Bps = c->max_Bps != UINT64_MAX ? c->max_Bps : 0,
        .overruns = c->capacity.overruns,
        .open_conns = c->n_open,
    };
}

const struct trace *host_control_trace(const struct host_control *c)
{
    return &c->trace;
}

uint64_t host_control_decisions(const struct host_control *c)
{
    return c->history.count;
}

uint32_t host_control_history(const struct host_control *c, uint64_t from,
                              struct host_decision *out, uint32_t max)
{
    const struct history *h = &c->history;
    uint32_t n = 0;

    if (h->count > HOST_HISTORY && from < h->count - HOST_HISTORY)
        from = h->count - HOST_HISTORY;
    for (; from < h->count && n < max; from++)
        out[n++] = h->ring[from % HOST_HISTORY];
    return n;
}

/* The burst to grant a connection: what the host can take of it back to back. If the path limits
 * the connection, its worker cuts the burst to what the path can take. */
static uint64_t burst_of(const struct host *h, const struct flow_stats *r, uint64_t rate_Bps,
                         uint64_t unit_bytes, bool idle)
{
    uint64_t burst =
        idle ? grant_start_burst(h, rate_Bps, unit_bytes) : grant_burst(h, rate_Bps, unit_bytes);

    if (r->override.burst_bytes != 0)
        return RTE_MAX(r->override.burst_bytes, unit_bytes);
    if (r->path_limited && h->cfg.burst_bytes == 0) /* the worker cuts bursts for the path */
        burst = BURST_UNITS_MAX * unit_bytes;
    return burst_bound(&r->burst, burst, unit_bytes);
}

/* Writes the grant of connection i of host k, if it differs enough to be worth a packet. */
static void grant_write_one(struct host_control *c, uint32_t k, uint32_t i, uint64_t rate,
                            enum grant_reason reason)
{
    struct host *h = c->hosts[k];
    struct flow_stats *r = &c->stats[k][i];
    const struct conn_public *p = &h->conns[i].pub;
    uint64_t unit = RTE_MAX(counter_get(&p->rx_unit_bytes), 1ull);
    bool idle = reason == GRANT_IDLE;
    uint64_t burst = burst_of(h, r, rate, unit, idle);

    counter_set(&h->grants[i].max_Bps, sharing_max(c, r));
    if (r->active) /* in a pause of a slow connection, its part stays in force */
        counter_set(&h->grants[i].fair_Bps, bottleneck_fair(&c->bottleneck, &r->bottleneck));
    counter_set(&h->grants[i].rtt_max_ns, c->path_rtt_max_ns);
    counter_set(&h->grants[i].epoch, r->epoch);
    if (reason == counter_get(&p->share_reason) &&
        !rate_differs(rate, counter_get(&p->share_Bps), idle ? IDLE_SHIFT : CHANGE_SHIFT) &&
        !rate_differs(burst, counter_get(&p->share_burst_bytes), BURST_SHIFT))
        return;
    counter_set(&h->grants[i].rate_Bps, rate);
    counter_set(&h->grants[i].burst_bytes, burst);
    counter_set(&h->grants[i].reason, reason);
    grant_mark(h, i);
    history_add(&c->history, (struct host_decision){
                                 .time = c->last,
                                 .why = host_reason_name((uint16_t)reason),
                                 .rate_Bps = rate,
                                 .burst_bytes = burst,
                                 .rx_Bps = r->rate_Bps,
                                 .lost = r->lost,
                                 .peer = conn_public_peer(p),
                                 .conn = i,
                                 .worker = (uint8_t)k,
                                 .decided = HOST_DECIDED_GRANT,
                             });
}

/* The capacity is decided in every interval. The history keeps it only if it changed. */
static void capacity_note(struct host_control *c)
{
    const struct capacity *k = &c->capacity;

    if (k->why == c->noted_why && !rate_differs(k->capacity_Bps, c->noted_Bps, CHANGE_SHIFT))
        return;
    c->noted_why = k->why;
    c->noted_Bps = k->capacity_Bps;
    history_add(&c->history,
                (struct host_decision){
                    .time = c->last,
                    .why = why_name(k->why),
                    .rate_Bps = k->capacity_Bps,
                    .rx_Bps = mul_div(c->sample.rx_bytes, CLOCK_NS_PER_S, c->sample.interval_ns),
                    .lost = c->sample.overruns,
                    .decided = HOST_DECIDED_CAPACITY,
                });
}

/* The rate kept ready for idle connections: all of them may begin at once. */
static uint64_t idle_rate(const struct host_control *c, uint64_t pool_Bps)
{
    uint64_t rate = pool_Bps >> (c->n_open > 1 ? 32 - __builtin_clz(c->n_open - 1) : 0);

    return RTE_MIN(RTE_MAX(rate, c->notice_Bps), pool_Bps / (c->n_active + 1));
}

/* What is known of the port, without measuring. */
static uint64_t port_rate(const struct host_control *c)
{
    uint64_t ceiling_Bps = c->ceiling_Bps != 0 ? c->ceiling_Bps : UINT64_MAX;
    uint64_t rate = RTE_MIN(ceiling_Bps, c->link_Bps);

    return rate != UINT64_MAX ? rate : 0;
}

static void start_write(const struct host_control *c, struct host *h, uint64_t pool_Bps,
                        uint64_t idle_Bps)
{
    counter_set(&h->start.pool_Bps, pool_Bps);
    counter_set(&h->start.active, c->n_active);
    counter_set(&h->start.idle_Bps, idle_Bps);
    counter_set(&h->start.port_Bps, port_rate(c));
    counter_set(&h->start.idle_burst_bytes, grant_start_burst(h, idle_Bps, h->cfg.mtu));
    counter_add(&h->start.interval, 1);
}

/* May packets have waited or got lost because of worker k? Then they prove nothing of a path. They
 * wait in its port while it spends nearly all its time and finds more than it takes at once. A
 * worker that is as busy and finds few takes them at once. */
static bool own_trouble(const struct host_control *c, uint32_t k)
{
    const struct host_work *w = &c->work[k];

    return c->own_for > 0 || (w->busy / 8 > c->sample.time / 9 && 2 * w->full > w->bursts);
}

static void grant_write_all(struct host_control *c, uint64_t pool_Bps)
{
    uint64_t idle_Bps = idle_rate(c, pool_Bps);

    for (uint32_t n = 0; n < c->n_open; n++) {
        uint32_t k = c->open[n].host, i = c->open[n].conn;
        const struct flow_stats *r = &c->stats[k][i];
        enum grant_reason why;

        if (counter_get(&c->hosts[k]->conns[i].pub.state) != HOST_OPEN || r->path_limit_Bps == 0)
            continue;
        uint64_t rate = sharing_grant(c, r, idle_Bps, &why);

        grant_write_one(c, k, i, rate, why);
    }
    for (uint32_t k = 0; k < c->n; k++) {
        struct host *h = c->hosts[k];

        counter_set(&h->clear_runs, own_trouble(c, k) ? 0 : h->clear_runs + 1);
        start_write(c, h, pool_Bps, idle_Bps);
    }
}

/* Does worker k receive so much of what comes that it may limit the port? One that receives next to
 * nothing may be busy with other ports. all: the sum of all workers' bursts; a worker also takes
 * part if it finds packets for others to take. */
static bool takes_part(const struct host_control *c, uint32_t k, const struct host_work *all)
{
    return c->work_rx_bytes[k] * PART_SHARE * c->n >= c->sample.rx_bytes ||
           (c->work[k].bursts > 0 && c->work[k].bursts * PART_SHARE * c->n >= all->bursts);
}

/* Finds each worker's work in the interval. Returns the sum of their bursts. */
static struct host_work works_find(struct host_control *c, const struct host_port_counters *port)
{
    struct host_work all = {0};

    for (uint32_t k = 0; k < c->n; k++) {
        const struct host_work *now = &port->worker[k], *seen = &c->seen.worker[k];

        c->work[k] = (struct host_work){now->busy - seen->busy, now->bursts - seen->bursts,
                                        now->full - seen->full, now->shared};
        all.bursts += c->work[k].bursts;
        all.full += c->work[k].full;
    }
    return all;
}

/* Takes the work of the busiest worker. Packets are spread by their connections, so while these
 * last, the others cannot take over what is too much for one. A worker that finds no packets itself
 * gets them from the others' queues, so their bursts are its own. */
static void work_take(struct host_control *c, const struct host_port_counters *port)
{
    struct capacity_sample *s = &c->sample;
    struct host_work all = works_find(c, port);

    for (uint32_t k = 0; k < c->n; k++) {
        struct host_work *work = &c->work[k];
        bool part = takes_part(c, k, &all);

        if (work->bursts == 0) {
            work->bursts = all.bursts;
            work->full = all.full;
        }
        if (!part || work->busy <= s->busy)
            continue;
        s->busy = work->busy;
        s->bursts = work->bursts;
        s->full = work->full;
        s->shared = work->shared;
    }
}

/* Takes the port's counts since the last interval. */
static void sample_take(struct host_control *c, const struct host_port_counters *port)
{
    struct capacity_sample *s = &c->sample;

    s->overruns = port->imissed - c->seen.imissed + port->rx_nombuf - c->seen.rx_nombuf +
                  port->ring_full - c->seen.ring_full;
    s->time = port->time - c->seen.time;
    bytes_take(c);
    work_take(c, port);
    c->seen = *port;
    if (s->overruns > 0) {
        trace_add(&c->trace, c->last, TRACE_OVERRUN, TRACE_NO_CONN, 0, s->overruns,
                  c->capacity.capacity_Bps);
        c->overrun_ns = c->time_ns;
        c->own_for = OVERRUN_INTERVALS;
    } else if (c->own_for > 0) {
        c->own_for--;
    }
}

static void conn_measure(struct host_control *c, uint32_t k, uint32_t i, uint64_t interval_ns,
                         uint64_t *others_Bps)
{
    struct flow_stats *r = &c->stats[k][i];

    totals_update(c, k, i);
    if (!flow_stats_update(c, c->hosts[k], i, r, interval_ns))
        return;
    c->open[c->n_open++] = (struct open_conn){k, i};
    c->n_new += r->begins;
    if (r->active)
        c->owners[c->n_active++] = r;
    else if (r->rest > 1)
        *others_Bps += r->rate_Bps;
}

/* Updates the statistics of all connections. Returns the rate of those that send too little to have
 * a share. */
static uint64_t conns_measure(struct host_control *c, uint64_t interval_ns)
{
    uint64_t others_Bps = 0;

    c->n_active = c->n_open = c->n_new = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        const struct host *h = c->hosts[k];

        totals_take(c, k);
        for (uint32_t w = 0; w * 64 < h->cfg.conns; w++)
            for (uint64_t bits = counter_get(&h->conns_bits[w]); bits != 0; bits &= bits - 1)
                conn_measure(c, k, w * 64 + (uint32_t)__builtin_ctzll(bits), interval_ns,
                             &others_Bps);
    }
    return others_Bps;
}

void host_control(struct host_control *c, const struct host_port_counters *port, uint64_t now)
{
    uint64_t interval_ns = clock_ns(&c->hosts[0]->clock, now - c->last);

    if (interval_ns == 0)
        return;
    c->last = now;
    association_run(c, now);
    c->time_ns += interval_ns;
    c->sample = (struct capacity_sample){.interval_ns = interval_ns,
                                         .link_Bps = c->link_Bps != UINT64_MAX ? c->link_Bps : 0};
    sample_take(c, port);
    uint64_t others_Bps = conns_measure(c, interval_ns);

    c->rx_bytes += c->sample.rx_bytes;
    capacity_update(&c->capacity, &c->sample);
    capacity_note(c);
    c->max_Bps =
        RTE_MIN(capacity_grant(&c->capacity), c->ceiling_Bps != 0 ? c->ceiling_Bps : UINT64_MAX);
    c->max_Bps = RTE_MIN(c->max_Bps, c->link_Bps);
    c->others_Bps = (7 * c->others_Bps + others_Bps) / 8;
    sharing_run(c);
    sharing_bottleneck(c, interval_ns);
    grant_write_all(c, RTE_MIN(c->max_Bps, (uint64_t)START_BPS));
    for (uint32_t k = 0; k < c->n; k++)
        counter_set(&c->hosts[k]->control_at, now);
}

/* On the worker: is control still running? Control's clock may be a little ahead of ours. */
void control_watch(struct host *h)
{
    uint64_t at = counter_get(&h->control_at);
    bool stalled =
        at != 0 && h->control_stall_tsc != 0 && time_before(at + h->control_stall_tsc, h->now);

    if (stalled == (h->control_stalled != 0))
        return;
    counter_set(&h->control_stalled, stalled);
    trace_add(&h->trace, h->now, stalled ? TRACE_STALL : TRACE_RUNS, TRACE_NO_CONN, 0,
              stalled ? clock_ns(&h->clock, h->now - at) : 0, 0);
    if (stalled)
        host_count(h, COUNT_control_stalls);
}

bool host_control_stalled(const struct host *h)
{
    return counter_get(&h->control_stalled) != 0;
}
