/* SPDX-License-Identifier: BSD-3-Clause */
/* How the capacity is shared: connections become flows of control/share.h, and flows grants. */
#include <string.h>

#include "base/check.h"
#include "base/mul_div.h"
#include "host/control_internal.h"

#define STEP_BPS  125000ull /* 1 Mbit/s: a grant is at least this much above what is used */
#define PATH_ROOM 2u /* a connection that its path limits is granted 1/2 more than that limit */

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
    for (uint32_t k = 0; k < c->n; k++)
        for (uint32_t i = 0; i < c->hosts[k]->cfg.conns; i++) {
            const struct conn_public *p = &c->hosts[k]->conns[i].pub;
            struct flow_stats *r = &c->stats[k][i];
            struct addr peer = conn_public_peer(p);

            /* flow_stats_update() sets the peers of a connection that has just begun */
            if (r->epoch == counter_get(&p->epoch))
                r->peers = sharing_peers(c, &peer);
        }
}

/* The index of the first entry of c->peers that matches the address, or SHARE_NO_PEER. */
uint32_t sharing_peers(const struct host_control *c, const struct addr *a)
{
    for (uint32_t i = 0; i < c->n_peers; i++)
        if (addr_is_v4(&c->peers[i].address) == addr_is_v4(a) &&
            addr_same_prefix(&c->peers[i].address, a, c->peers[i].prefix_len))
            return i;
    return SHARE_NO_PEER;
}

/*
 * The demand of a connection in the sharing (control/share.h). If the connection uses its grant, or
 * did so recently, its demand is all that its path can carry. Otherwise its demand is what it uses,
 * and a little more.
 */
static uint64_t flow_demand(const struct host_control *c, struct flow_stats *r)
{
    uint64_t used = r->throughput_Bps, pace = r->pace_Bps;
    uint64_t most = r->grant_Bps / 8 * 7;

    if (r->few) /* `used`, the mean over more intervals, is right */
        pace = RTE_MAX(used, pace);
    else /* `pace`, the mean over fewer intervals, is right, unless packets come in bunches */
        used = RTE_MIN(used, pace);
    /* a bunch of packets may exceed the grant in one interval, but not in two in a row */
    r->full = r->rate_Bps >= most && !r->ended ? r->full + 1 : 0;
    if (r->full >= FULL_INTERVALS || (pace >= most && !r->ended))
        r->slack = 0;
    else
        r->slack++;
    if (!flow_stats_slack(r) || c->max_Bps == UINT64_MAX)
        return r->path_limit_Bps;
    return RTE_MIN(r->path_limit_Bps, used + used / 64 + STEP_BPS);
}

/* The grant of a connection whose demand is what it uses. The grant is larger than the demand,
 * since the connection may use more before control notices. It includes the connection's part of
 * what is left over. */
static uint64_t flow_room(const struct host_control *c, const struct flow_stats *r)
{
    uint64_t used = RTE_MAX(r->throughput_Bps, r->rate_Bps);

    return RTE_MIN(r->path_limit_Bps, used + used / 4 + c->spare_Bps + STEP_BPS);
}

/* The weight that the operator set for the connection, or for its peers. */
static uint16_t weight_of(const struct host_control *c, const struct flow_stats *r)
{
    if (r->override.weight != 0)
        return r->override.weight;
    if (r->peers != SHARE_NO_PEER && c->peers[r->peers].weight != 0)
        return c->peers[r->peers].weight;
    return 1;
}

static struct share_flow flow_of(const struct host_control *c, struct flow_stats *r)
{
    struct share_flow f = {.demand_Bps = flow_demand(c, r),
                           .min_Bps = override_min(c, r),
                           .ceiling_Bps = override_ceiling(c, r),
                           .peer = r->peers,
                           .weight = weight_of(c, r)};

    if (r->peers != SHARE_NO_PEER)
        f.priority = c->peers[r->peers].priority;
    return f;
}

/* The place of a flow in the order that share_run() wants: by priority, and by peers within a
 * priority. Below SHARE_PRIORITIES * (n_peers + 1). */
static uint32_t place_of(const struct host_control *c, const struct flow_stats *r)
{
    if (r->peers == SHARE_NO_PEER)
        return 0;
    CHECK(r->peers < c->n_peers);
    return c->peers[r->peers].priority * (c->n_peers + 1) + 1 + r->peers;
}

/* Turns the active connections into flows, in the order that share_run() wants, by a counting
 * sort. */
static void flows_make(struct host_control *c)
{
    uint32_t starts[SHARE_PRIORITIES * (HOST_PEERS_MAX + 1) + 1];
    const uint32_t places = SHARE_PRIORITIES * (c->n_peers + 1);

    memset(starts, 0, (places + 1) * sizeof starts[0]);
    memset(c->peer_flows, 0, sizeof c->peer_flows);
    for (uint32_t i = 0; i < c->n_active; i++) {
        starts[place_of(c, c->owners[i]) + 1]++;
        if (c->owners[i]->peers != SHARE_NO_PEER)
            c->peer_flows[c->owners[i]->peers]++;
    }
    for (uint32_t k = 1; k <= places; k++)
        starts[k] += starts[k - 1];
    for (uint32_t i = 0; i < c->n_active; i++) {
        struct flow_stats *r = c->owners[i];

        r->flow = starts[place_of(c, r)]++;
        c->flows[r->flow] = flow_of(c, r);
    }
}

static void spare_find(struct host_control *c)
{
    uint64_t given = 0;

    for (uint32_t i = 0; i < c->n_active; i++)
        given += c->flows[i].grant_Bps;
    c->spare_Bps = c->max_Bps > given && c->n_active > 0 ? (c->max_Bps - given) / c->n_active : 0;
}

/* What earlier priorities leave to a connection that may begin, or its minimum; at least the rate
 * at which it shows that it has something to send. */
static uint64_t left_for(const struct host_control *c, const struct flow_stats *r)
{
    uint8_t priority = r->peers == SHARE_NO_PEER ? 0 : c->peers[r->peers].priority;

    if (c->max_Bps == UINT64_MAX)
        return UINT64_MAX;
    return RTE_MAX(RTE_MAX(share_left(c->share, priority), override_min(c, r)), c->notice_Bps);
}

uint64_t sharing_max(const struct host_control *c, const struct flow_stats *r)
{
    uint64_t rate = RTE_MIN(r->path_limit_Bps, override_ceiling(c, r));

    rate = RTE_MIN(rate, left_for(c, r));
    return r->peers == SHARE_NO_PEER ? rate : RTE_MIN(rate, c->sums[r->peers].ceiling_Bps);
}

/* The most that an active connection may be granted beyond its share: its ceiling, and its part of
 * what is left of its peer's. */
static uint64_t room_max(const struct host_control *c, const struct flow_stats *r)
{
    const struct share_flow *f = &c->flows[r->flow];
    const struct share_peer *p = r->peers != SHARE_NO_PEER ? &c->sums[r->peers] : NULL;

    if (p == NULL || p->ceiling_Bps == UINT64_MAX)
        return f->ceiling_Bps;
    uint64_t left = p->ceiling_Bps > p->grant_Bps ? p->ceiling_Bps - p->grant_Bps : 0;

    return RTE_MIN(f->ceiling_Bps, f->grant_Bps + left / c->peer_flows[r->peers]);
}

uint64_t sharing_grant(const struct host_control *c, const struct flow_stats *r, uint64_t idle_Bps,
                       enum grant_reason *why)
{
    static const enum grant_reason reasons[] = {
        [SHARE_DEMAND] = GRANT_DEMAND,  [SHARE_CEILING] = GRANT_CEILING,
        [SHARE_PEER] = GRANT_CEILING,   [SHARE_MINIMUM] = GRANT_MINIMUM,
        [SHARE_LEVEL] = GRANT_CAPACITY,
    };
    const struct share_flow *f = &c->flows[r->flow];

    if (!r->active) {
        *why = GRANT_IDLE;
        return RTE_MIN(idle_Bps, sharing_max(c, r));
    }
    *why = reasons[f->bound];
    if (f->bound == SHARE_CEILING && f->ceiling_Bps == r->limit_Bps)
        *why = GRANT_LIMIT;
    if (f->bound != SHARE_DEMAND)
        return f->grant_Bps;
    if (flow_stats_slack(r) && c->max_Bps != UINT64_MAX)
        return RTE_MIN(flow_room(c, r), room_max(c, r));
    *why = f->grant_Bps == c->ceiling_Bps ? GRANT_CAPACITY : GRANT_PROBE;
    if (r->path_limited) /* more than the limit: the worker knows the path better and sooner */
        return RTE_MIN(f->grant_Bps + f->grant_Bps / PATH_ROOM, room_max(c, r));
    return f->grant_Bps;
}

/* The capacity to keep free if several connections have begun, since as many may begin in this
 * interval. Workers give each of them pool / (active + 2 n). */
static uint64_t newcomers_room(const struct host_control *c, uint64_t max_Bps)
{
    uint64_t all = (uint64_t)c->n_active + 2 * (uint64_t)c->n_new;

    return c->n_new < 2 ? 0 : mul_div(max_Bps, c->n_new, all);
}

void sharing_run(struct host_control *c)
{
    uint64_t most = c->max_Bps;

    if (most != UINT64_MAX) {
        most -= RTE_MIN(c->others_Bps, most / 2);
        most -= newcomers_room(c, most);
    }
    flows_make(c);
    share_run(c->share, c->flows, c->n_active, c->sums, c->n_peers, most);
    spare_find(c);
}

void sharing_bottleneck(struct host_control *c, uint64_t interval_ns)
{
    bottleneck_begin(&c->bottleneck, interval_ns);
    c->path_rtt_max_ns = 0;
    for (uint32_t i = 0; i < c->n_active; i++) {
        struct flow_stats *r = c->owners[i];

        if (!r->path_limited)
            continue;
        c->path_rtt_max_ns = RTE_MAX(c->path_rtt_max_ns, r->path_rtt_ns);
        if (r->path.wait_ns == CONN_NO_WAIT || r->grant_Bps < r->path_limit_Bps)
            continue; /* the connection does not use what the path carries */
        r->path.weight = weight_of(c, r);
        bottleneck_look(&c->bottleneck, &r->bottleneck, &r->path);
    }
}
