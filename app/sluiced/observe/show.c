/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the daemon shows, as JSON: an object with an array, which is named after the view that was
 * asked for (show_text() has all names). Units come last in the names: _bytes, _Bps (bytes/s), _ns;
 * no unit: a count.
 */
#include "sluiced/observe/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "base/clock.h"
#include "base/counter.h"
#include "common/clock.h"
#include "sluiced/config/reload.h"
#include "sluiced/observe/put.h"
#include "sluiced/observe/show_peers.h"
#include "sluiced/observe/show_spread.h"
#include "sluiced/observe/trace_show.h"
#include "sluiced/observe/viewer.h"

/* ---- connections ------------------------------------------------------------------------- */

static const char *state_name(enum host_state s)
{
    static const char *const names[] = {
        [HOST_FREE] = "free", [HOST_WAITING] = "waiting", [HOST_OPENING] = "opening",
        [HOST_OPEN] = "open", [HOST_CLOSED] = "closed",
    };

    return s < RTE_DIM(names) ? names[s] : "unknown";
}

/* Puts an operator's overrides of the connection. */
static void put_override(json_t *o, const struct daemon *d, const struct port_queue *q,
                         uint32_t number)
{
    struct host_override t;

    host_control_overrides(d->controls[q->port - d->ports], q->queue, number, &t);
    if (t.rate_Bps != 0)
        put_count(o, "set_rate_Bps", t.rate_Bps);
    if (t.ceiling_Bps != 0)
        put_count(o, "set_ceiling_Bps", t.ceiling_Bps);
    if (t.burst_bytes != 0)
        put_count(o, "set_burst_bytes", t.burst_bytes);
    if (t.weight != 0)
        put_count(o, "set_weight", t.weight);
}

json_t *show_conn(const struct port_queue *q, uint32_t number, const struct host_conn_info *c)
{
    json_t *o = json_object();
    char peer[ADDR_TEXT_MAX];

    put_text(o, "port", q->port->cfg->name);
    put_count(o, "worker", q->queue);
    put_count(o, "channel", q->number);
    put_count(o, "conn", number);
    put_text(o, "state", state_name(c->state));
    put_text(o, "peer", addr_is_unset(&c->peer) ? "" : addr_format(&c->peer, peer));
    put_count(o, "peer_port", c->peer_port);
    put_count(o, "service", c->service);
    put_count(o, "owner", c->owner);
    put_flag(o, "opener", c->opener);
    put_text(o, "recovery", c->go_back_n ? "go-back-n" : "selective");
    put_count(o, "unit_bytes", c->unit_bytes);
    put_count(o, "dropped_unit_bytes", c->dropped_unit_bytes);
    put_count(o, "tx_rate_Bps", c->tx_rate_Bps);
    put_count(o, "tx_burst_bytes", c->tx_burst_bytes);
    put_count(o, "tx_reason", c->tx_reason);
    put_text(o, "tx_why", host_reason_name(c->tx_reason));
    put_count(o, "rx_rate_Bps", c->rx_rate_Bps);
    put_count(o, "rx_burst_bytes", c->rx_burst_bytes);
    put_count(o, "rx_reason", c->rx_reason);
    put_text(o, "rx_why", host_reason_name(c->rx_reason));
    put_count(o, "rtt_ns", c->rtt_ns);
    put_count(o, "tx_bytes", c->tx_bytes);
    put_count(o, "tx_units", c->tx_units);
    put_count(o, "tx_repeats", c->tx_repeats);
    put_count(o, "tx_acked_bytes", c->tx_acked_bytes);
    put_count(o, "tx_app_limited_ns", c->tx_app_limited_ns);
    put_count(o, "tx_peer_limited_ns", c->tx_peer_limited_ns);
    put_count(o, "tx_rate_limited_ns", c->tx_rate_limited_ns);
    put_count(o, "rx_bytes", c->rx_bytes);
    put_count(o, "rx_units", c->rx_units);
    put_count(o, "rx_duplicates", c->rx_duplicates);
    put_count(o, "rx_unposted", c->rx_unposted);
    put_count(o, "rx_lost", c->rx_lost);
    put_count(o, "rx_ce", c->rx_ce);
    put_count(o, "rx_loss_runs", c->rx_loss_runs);
    put_count(o, "rx_clean", c->rx_clean);
    put_count(o, "rx_momentary_Bps", c->rx_momentary_Bps);
    put_count(o, "cntl_tx", c->cntl_tx);
    put_count(o, "cntl_rx", c->cntl_rx);
    put_count(o, "naks_tx", c->naks_tx);
    put_count(o, "naks_rx", c->naks_rx);
    put_count(o, "recoveries", c->recoveries);
    put_count(o, "backlog_bytes", c->backlog_bytes);
    return o;
}

static json_t *conns_json(const struct daemon *d, const struct access_user *viewer)
{
    json_t *list = json_array();
    uint32_t i, k;

    for (i = 0; i < d->n_queues; i++) {
        uint32_t limit = host_conn_limit(d->hosts[i]);

        for (k = 0; k < limit; k++) {
            struct host_conn_info info;

            if (host_conn_info(d->hosts[i], k, &info) && viewer_sees_conn(d, viewer, &info)) {
                json_t *o = show_conn(&d->queues[i], k, &info);

                put_override(o, d, &d->queues[i], k);
                json_array_append_new(list, o);
            }
        }
    }
    return list;
}

/* ---- ports ------------------------------------------------------------------------------- */

static json_t *host_counters_json(const struct host *h)
{
    json_t *o = json_object();
    const char *name;
    uint64_t value;
    uint32_t i;

    for (i = 0; (name = host_counter(h, i, &value)) != NULL; i++)
        put_count(o, name, value);
    return o;
}

static json_t *exception_json(const struct exception_counters *c)
{
    json_t *o = json_object();

    put_count(o, "to_kernel_frames", counter_get(&c->to_kernel_frames));
    put_count(o, "to_kernel_bytes", counter_get(&c->to_kernel_bytes));
    put_count(o, "to_kernel_full", counter_get(&c->to_kernel_full));
    put_count(o, "to_kernel_refused", counter_get(&c->to_kernel_refused));
    put_count(o, "to_kernel_summed", counter_get(&c->to_kernel_summed));
    put_count(o, "from_kernel_frames", counter_get(&c->from_kernel_frames));
    put_count(o, "from_kernel_bytes", counter_get(&c->from_kernel_bytes));
    return o;
}

json_t *show_port_queue(const struct port_queue *q)
{
    const struct port_queue_counters *c = &q->counters;
    json_t *o = json_object();

    put_text(o, "port", q->port->cfg->name);
    put_count(o, "worker", q->queue);
    put_count(o, "channel", q->number);
    put_count(o, "rx_frames", counter_get(&c->rx_frames));
    put_count(o, "rx_bursts", counter_get(&c->rx_bursts));
    put_count(o, "rx_full_bursts", counter_get(&c->rx_full_bursts));
    put_count(o, "tx_frames", counter_get(&c->tx_frames));
    put_count(o, "tx_refused", counter_get(&c->tx_refused));
    put_count(o, "tx_dropped", counter_get(&c->tx_dropped));
    put_count(o, "foreign_out", counter_get(&c->foreign_out));
    put_count(o, "foreign_in", counter_get(&c->foreign_in));
    put_count(o, "foreign_dropped", counter_get(&c->foreign_dropped));
    put_count(o, "client_events", counter_get(&c->client_events));
    if (q->exception.on)
        json_object_set_new(o, "exception", exception_json(&q->exception.counters));
    json_object_set_new(o, "host", host_counters_json(q->host));
    return o;
}

static void put_addresses(json_t *o, const struct config_port *cfg)
{
    static const char *const names[] = {"address", "address6"};
    static const char *const gateways[] = {"gateway", "gateway6"};
    char addr[ADDR_TEXT_MAX], text[ADDR_TEXT_MAX + 8];
    int f;

    for (f = 0; f < 2; f++) {
        if (addr_is_unset(&cfg->address[f].addr))
            continue;
        snprintf(text, sizeof text, "%s/%u", addr_format(&cfg->address[f].addr, addr),
                 cfg->address[f].len);
        put_text(o, names[f], text);
        if (!addr_is_unset(&cfg->gateway[f]))
            put_text(o, gateways[f], addr_format(&cfg->gateway[f], addr));
    }
}

/* Puts our addresses that another station uses, too; "": none. */
static void put_conflict(json_t *o, const struct host *h)
{
    char text[2 * (ADDR_TEXT_MAX + 48)] = "";
    size_t len = 0;

    for (uint32_t i = 0; i < 2; i++) {
        char addr[ADDR_TEXT_MAX], mac[18];
        struct host_address a;
        const uint8_t *b = a.other.addr_bytes;

        if (!host_address(h, i, &a) || a.conflicts == 0)
            continue;
        snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4],
                 b[5]);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s %s %s", len > 0 ? ", " : "",
                                addr_format(&a.address, addr),
                                a.used ? "was claimed by" : "not used, it is at", mac);
    }
    put_text(o, "conflict", text);
}

static const char *sum_name(enum host_sum s)
{
    return s == HOST_SUM_NONE ? "none" : s == HOST_SUM_OFFLOAD ? "offload" : "software";
}

json_t *show_port(const struct daemon *d, uint32_t p)
{
    const struct port *port = &d->ports[p];
    const uint8_t *b = port->mac.addr_bytes;
    json_t *o = json_object(), *queues = json_array(), *handshakes = show_handshakes(d, p);
    struct rte_eth_stats stats, zero;
    char mac[18];
    uint16_t q;

    memset(&stats, 0, sizeof stats);
    memset(&zero, 0, sizeof zero);
    snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    put_text(o, "name", port->cfg->name);
    put_count(o, "port_number", p);
    put_text(o, "driver", port->driver);
    put_text(o, "mac", mac);
    put_addresses(o, port->cfg);
    put_conflict(o, d->hosts[d->first_queue[p]]);
    put_count(o, "mtu_bytes", port->cfg->mtu_bytes);
    put_text(o, "paced_by", d->queues[d->first_queue[p]].timed ? "nic" : "software");
    put_count(o, "vlan", port->cfg->vlan);
    put_count(o, "udp_port", port->cfg->udp_port);
    if (config_port_excepted(port->cfg))
        put_text(o, "exception", port->cfg->exception);
    put_text(o, "link", port_link_up(port) ? "up" : "down");
    put_count(o, "queues", port->queues);
    put_text(o, "steered_by", port->steered ? "rule" : port->scaled ? "rss" : "none");
    put_count(o, "rx_ring", port->rx_desc);
    put_count(o, "tx_ring", port->tx_desc);
    put_text(o, "checksum", sum_name(port->tx_sum));
    put_text(o, "payload", port->attach ? "attached" : "copied");
    put_text(o, "security", config_security_name(port->cfg->security));
    put_count(o, "capacity_Bps", port->cfg->capacity_Bps);
    put_count(o, "mbufs_in_use", port_pools_in_use(port));
    if (rte_eth_stats_get(port->id, &stats) == 0)
        count_stats_put(o, &stats, &zero);
    for (q = 0; q < port->queues; q++)
        json_array_append_new(queues, show_port_queue(&d->queues[d->first_queue[p] + q]));
    json_object_set_new(o, "workers", queues);
    if (handshakes != NULL)
        json_object_set_new(o, "handshakes", handshakes);
    return o;
}

static json_t *ports_json(const struct daemon *d, const struct access_user *viewer)
{
    json_t *list = json_array();
    uint32_t p;

    for (p = 0; p < d->n_ports; p++)
        json_array_append_new(list, show_port(d, p));
    return list;
}

/* ---- workers and capacity ---------------------------------------------------------------- */

/* How often control stalled: the most that one of the worker's hosts counted. */
static uint64_t control_stalls(const struct worker *w)
{
    uint64_t most = 0, value;
    const char *name;

    for (uint32_t k = 0; k < w->n_queues; k++)
        for (uint32_t i = 0; (name = host_counter(w->queues[k]->host, i, &value)) != NULL; i++)
            if (strcmp(name, "control_stalls") == 0)
                most = RTE_MAX(most, value);
    return most;
}

json_t *show_worker(const struct daemon *d, uint32_t i)
{
    const struct worker *w = &d->workers[i];
    json_t *o = json_object(), *queues = json_array();

    put_count(o, "lcore", w->lcore);
    put_count(o, "cpu", (uint64_t)layout_pin(w->lcore));
    put_text(o, "idle", config_idle_name(__atomic_load_n(&w->idle, __ATOMIC_RELAXED)));
    put_count(o, "iterations", counter_get(&w->iterations));
    put_count(o, "busy_ns", daemon_cycles_ns(d, counter_get(&w->busy_cycles)));
    put_count(o, "idle_ns", daemon_cycles_ns(d, counter_get(&w->idle_cycles)));
    put_count(o, "naps", counter_get(&w->naps));
    put_count(o, "nap_ns", daemon_cycles_ns(d, counter_get(&w->nap_total_cycles)));
    put_count(o, "wakeups", counter_get(&w->wakeups));
    put_count(o, "control_stalls", control_stalls(w));
    for (uint32_t k = 0; k < w->n_queues; k++)
        json_array_append_new(queues, show_port_queue(w->queues[k]));
    json_object_set_new(o, "queues", queues);
    return o;
}

static json_t *workers_json(const struct daemon *d, const struct access_user *viewer)
{
    json_t *list = json_array();
    uint32_t i;

    for (i = 0; i < d->n_workers; i++)
        json_array_append_new(list, show_worker(d, i));
    return list;
}

json_t *show_capacity(const struct daemon *d, uint32_t p, const struct host_capacity *capacity)
{
    uint64_t granted = 0, received = 0, conns = 0;
    json_t *o = json_object();
    uint32_t i, k;

    for (i = 0; i < d->ports[p].queues; i++) {
        const struct host *h = d->hosts[d->first_queue[p] + i];

        for (k = 0; k < host_conn_limit(h); k++) {
            struct host_conn_info info;

            if (!host_conn_info(h, k, &info) || info.state != HOST_OPEN)
                continue;
            conns++;
            granted += info.rx_rate_Bps;
            received += info.rx_bytes;
        }
    }
    put_text(o, "port", d->ports[p].cfg->name);
    put_count(o, "capacity_Bps", capacity->ceiling_Bps);
    put_count(o, "measured_Bps", capacity->measured_Bps);
    put_text(o, "measured_why", capacity->why);
    put_count(o, "shared_Bps", capacity->granted_Bps);
    put_count(o, "overruns", capacity->overruns);
    put_count(o, "open_conns", conns);
    put_count(o, "granted_Bps", granted);
    put_count(o, "received_bytes", received);
    return o;
}

static json_t *capacity_json(const struct daemon *d, const struct access_user *viewer)
{
    json_t *list = json_array();

    for (uint32_t p = 0; p < d->n_ports; p++) {
        struct host_capacity capacity;

        host_control_capacity(d->controls[p], &capacity);
        json_array_append_new(list, show_capacity(d, p, &capacity));
    }
    return list;
}

uint64_t show_uptime_ns(const struct daemon *d)
{
    return clock_monotonic_ns() - d->start_ns;
}

/* ---- clients and neighbours ---------------------------------------------------------------- */

static json_t *clients_json(const struct daemon *d, const struct access_user *viewer)
{
    return sessions_json(d->sessions, viewer);
}

/* The stations that the host talks to concern all users, so only viewers that see everything see
 * them. */
static json_t *neigh_json(const struct daemon *d, const struct access_user *viewer)
{
    json_t *list = json_array();
    uint64_t now = clock_now();

    for (uint32_t i = 0; viewer->all && i < d->n_queues; i++)
        for (uint32_t k = 0; k < HOST_NEIGHBORS_MAX; k++) {
            struct host_neighbor n;
            char text[ADDR_TEXT_MAX], mac[18] = "";
            json_t *o;

            if (!host_neighbor(d->hosts[i], k, &n))
                continue;
            o = json_object();
            if (n.known)
                rte_ether_format_addr(mac, sizeof mac, &n.mac);
            put_text(o, "port", d->queues[i].port->cfg->name);
            put_count(o, "worker", d->queues[i].queue);
            put_text(o, "address", addr_format(&n.addr, text));
            put_text(o, "mac", mac);
            if (n.learnt != 0)
                put_count(o, "heard_ago_ns",
                          now > n.learnt ? daemon_cycles_ns(d, now - n.learnt) : 0);
            json_array_append_new(list, o);
        }
    return list;
}

/* ---- history ----------------------------------------------------------------------------- */

void show_decision(FILE *f, const char *port, uint64_t ago_ns, const struct host_decision *x)
{
    char peer[ADDR_TEXT_MAX];

    fprintf(f,
            "{\"ago_ns\":%" PRIu64 ",\"port\":%s,\"number\":%" PRIu64 ",\"decided\":\"%s\","
            "\"rate_Bps\":%" PRIu64 ",\"why\":\"%s\",\"rx_Bps\":%" PRIu64 ",\"lost\":%" PRIu64,
            ago_ns, port, x->number, x->decided == HOST_DECIDED_GRANT ? "grant" : "capacity",
            x->rate_Bps, x->why, x->rx_Bps, x->lost);
    if (x->decided == HOST_DECIDED_GRANT)
        fprintf(f,
                ",\"burst_bytes\":%" PRIu64 ",\"worker\":%u,\"conn\":%" PRIu32 ",\"peer\":\"%s\"",
                x->burst_bytes, x->worker, x->conn, addr_format(&x->peer, peer));
    putc('}', f);
}

/* Is the decision about a port? Those about connections are for viewers that see everything: a
 * connection's number may have been another user's. */
static bool decision_shown(const struct access_user *viewer, const struct host_decision *x)
{
    return viewer->all || x->decided == HOST_DECIDED_CAPACITY;
}

/* Writes text, because there are some thousands of rows: making objects of them would hold up
 * control for so long that workers would report a stall. */
static char *history_text(const struct daemon *d, const struct access_user *viewer,
                          uint64_t uptime_ns)
{
    uint64_t now = clock_now();
    const char *between = "";
    struct put_file text;

    if (!put_file_open(&text))
        return NULL;
    viewer_begin(text.f, viewer, uptime_ns, "history");
    for (uint32_t p = 0; p < d->n_ports; p++) {
        struct host_decision some[64];
        char *port = put_quoted(d->ports[p].cfg->name);
        uint64_t from = 0;
        uint32_t n;

        while (port != NULL &&
               (n = host_control_history(d->controls[p], from, some, RTE_DIM(some))) > 0) {
            for (uint32_t i = 0; i < n; i++) {
                if (!decision_shown(viewer, &some[i]))
                    continue;
                fputs(between, text.f);
                between = ",";
                show_decision(text.f, port, daemon_cycles_ns(d, now - some[i].time), &some[i]);
            }
            from = some[n - 1].number + 1;
        }
        free(port);
    }
    fputs("]}", text.f);
    return put_file_text(&text);
}

char *show_text(void *daemon, const char *what, const struct access_user *viewer)
{
    static const struct {
        const char *what;
        json_t *(*make)(const struct daemon *d, const struct access_user *viewer);
        bool whole; /* shows the same to everybody */
    } shows[] = {
        {"conns", conns_json, false},           {"ports", ports_json, true},
        {"workers", workers_json, true},        {"capacity", capacity_json, true},
        {"reload", reload_json, false},         {"clients", clients_json, false},
        {"neigh", neigh_json, false},           {"peers", show_peers, false},
        {"port-stats", count_stats_json, true}, {"port-xstats", count_xstats_json, true},
    };
    const struct daemon *d = daemon;
    uint64_t uptime_ns = show_uptime_ns(d);
    size_t i;

    if (strcmp(what, "history") == 0)
        return history_text(d, viewer, uptime_ns);
    if (strcmp(what, "trace") == 0)
        return trace_show(d, viewer, uptime_ns);
    if (strcmp(what, "spread") == 0)
        return show_spreads(d, viewer, uptime_ns);
    for (i = 0; i < RTE_DIM(shows); i++) {
        json_t *o;
        char *text;

        if (strcmp(shows[i].what, what) != 0)
            continue;
        o = json_object();
        put_count(o, "uptime_ns", uptime_ns);
        if (!viewer->all && !shows[i].whole)
            put_count(o, "only_uid", viewer->uid);
        json_object_set_new(o, shows[i].what, shows[i].make(d, viewer));
        text = json_dumps(o, JSON_COMPACT);
        json_decref(o);
        return text;
    }
    return NULL;
}
