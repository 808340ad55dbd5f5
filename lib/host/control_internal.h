/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the control half share: struct host_control, and the statistics
 * of each connection. The public face is host.h; all of it is the control lcore's.
 */
#ifndef SLUICE_HOST_CONTROL_INTERNAL_H
#define SLUICE_HOST_CONTROL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "control/bottleneck.h"
#include "control/burst.h"
#include "control/capacity.h"
#include "control/share.h"
#include "host/host.h"
#include "host/host_internal.h"

#define START_BPS       12500000000ull /* 100 Gbit/s until something is known */
#define SLACK_INTERVALS 4u             /* until a sender that uses less counts with that, */
#define SLACK_FEW       8u             /* or where few packets come */
#define FULL_INTERVALS  2u             /* until one that uses all of it counts with more */

struct flow_stats {
    uint64_t free_Bps;       /* what its way may carry if its path limits nothing, */
    uint64_t path_limit_Bps; /* and as it is */
    bool path_limited;
    uint64_t throughput_Bps; /* of all intervals since it became active, then of about 8 */
    uint64_t epoch, bytes, lost, tx_bytes;
    uint64_t grant_Bps, burst_bytes;
    struct burst burst; /* what the host can take of it back to back */
    struct bottleneck_flow bottleneck;
    struct bottleneck_sample path; /* what its worker says of it */
    uint64_t loss_runs, clean;
    uint32_t peers;                /* whose connection it is, or SHARE_NO_PEER */
    struct host_override override; /* what the operator said of it */
    uint64_t rate_Bps;             /* received in the last interval */
    uint64_t pace_Bps;             /* at which it comes while it comes; 0: nothing has */
    uint32_t slack;                /* intervals since all of the grant was used */
    bool few;                      /* packets in an interval */
    uint32_t full;                 /* intervals in a row in which 7/8 of it came */
    uint32_t quiet;                /* intervals in a row in which nothing came */
    uint64_t backlog;              /* bytes that the peer last said it had */
    uint64_t backlog_end;          /* rx_bytes when these will have come */
    uint32_t flow;                 /* its place in the sharing, if it is active */
    bool active;
    uint32_t since; /* whole intervals in which it was, as far as they count */
    uint32_t rest;  /* intervals in a row in which it was not */
    bool begins;    /* after a while */
    bool ended;     /* the newest DATA was the last that the peer could send */
};

/*
 * What control decided last: a ring of which the oldest are forgotten. Decision number n stands at
 * ring[n % HOST_HISTORY] while count - HOST_HISTORY <= n < count. All of it is the control lcore's.
 */
struct history {
    struct host_decision ring[HOST_HISTORY];
    uint64_t count; /* decisions so far */
};

/* Numbers it; the rest is as given. */
static inline void history_add(struct history *h, struct host_decision d)
{
    d.number = h->count++;
    h->ring[d.number % HOST_HISTORY] = d;
}

struct host_control {
    struct host *hosts[HOST_WORKERS_MAX];
    struct flow_stats *stats[HOST_WORKERS_MAX];
    struct share_flow *flows;   /* the active connections, as share_run() wants them */
    struct flow_stats **owners; /* the same, as they were found */
    struct host_peers peers[HOST_PEERS_MAX];
    struct share_peer sums[HOST_PEERS_MAX];
    uint32_t n_peers, n_active, n_open;
    uint32_t n_new;     /* of the active, those that begin */
    uint64_t spare_Bps; /* a part for each of them of what nobody uses */
    struct share *share;
    uint32_t n;
    uint64_t ceiling_Bps; /* hard ceiling; 0: none */
    uint64_t link_Bps;    /* user bytes that the link can carry; UINT64_MAX: not known */
    uint64_t others_Bps;  /* what comes from those that send too little to have a share */
    uint64_t max_Bps;     /* what there is to share; UINT64_MAX: no limit is known */
    uint32_t own_for;     /* intervals in which what the port dropped may still be found missing */
    struct capacity capacity;
    struct bottleneck bottleneck;
    struct capacity_sample sample; /* of this interval */
    struct history history;
    struct trace trace;
    uint64_t noted_Bps; /* capacity and why, as they stand in the history */
    enum capacity_why noted_why;
    struct host_port_counters seen;
    uint64_t rx_bytes, time_ns; /* of all intervals so far: received, their length */
    uint64_t overrun_ns;        /* time_ns of the last overrun */
    uint64_t last;
};

/* flow_stats.c: one connection's interval; true if it takes part in the sharing. */
bool flow_stats_update(struct host_control *c, struct host *h, uint32_t i, struct flow_stats *r,
                       uint64_t interval_ns);

/* Has it used less than it may for so long that it counts with that? */
static inline bool flow_stats_slack(const struct flow_stats *r)
{
    return r->slack >= (r->few ? SLACK_FEW : SLACK_INTERVALS);
}

/* override.c: the minimum and the ceiling of one connection, UINT64_MAX: none. */
uint64_t override_min(const struct host_control *c, const struct flow_stats *r);
uint64_t override_ceiling(const struct host_control *c, const struct flow_stats *r);

/* sharing.c: what the n_active owners may have, of max_Bps in sum; spare_Bps is found, too. */
void sharing_run(struct host_control *c);
/* Whose connections are those from this address? */
uint32_t sharing_peers(const struct host_control *c, const struct addr *a);
/* Rate and reason of one connection after sharing_run(); idle_Bps: of those that are quiet. */
uint64_t sharing_grant(const struct host_control *c, const struct flow_stats *r, uint64_t idle_Bps,
                       enum grant_reason *why);
/* Finds which of the owners share a queue: bottleneck_fair() knows their parts then. */
void sharing_bottleneck(struct host_control *c, uint64_t interval_ns);
/* The most that it may have whatever others do; UINT64_MAX: no limit is known. */
uint64_t sharing_max(const struct host_control *c, const struct flow_stats *r);

#endif
