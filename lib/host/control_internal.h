/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the control half share: struct host_control, and the statistics of each
 * connection. The public interface is host.h. Written and read by the control lcore only.
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

#define START_BPS       12500000000ull /* 100 Gbit/s, until a limit is known */
/* A sender that has not used all of its grant for SLACK_INTERVALS (SLACK_FEW, if its grant allows
 * few packets an interval) demands what it uses. A sender that has used all of its grant for
 * FULL_INTERVALS demands all that its path carries. */
#define SLACK_INTERVALS 4u
#define SLACK_FEW       8u
#define FULL_INTERVALS  2u

struct flow_stats {
    uint64_t free_Bps;       /* limit of the rate while the path limits nothing */
    uint64_t path_limit_Bps; /* limit of the rate in force: free_Bps, or what the path carries */
    bool path_limited;
    uint64_t limit_Bps;      /* of the application: host_limit(); UINT64_MAX: none */
    uint64_t path_rtt_ns;    /* the shortest round trip known */
    uint64_t throughput_Bps; /* mean since the connection became active; after 8 intervals, a moving
                                mean of about 8 */
    uint64_t epoch, bytes, lost;
    uint64_t grant_Bps, burst_bytes;
    struct burst burst; /* what the host can take of this connection back to back */
    struct bottleneck_flow bottleneck;
    struct bottleneck_sample path; /* what the connection's worker has found of the path */
    uint64_t loss_runs, clean;
    uint32_t peers;                /* index in host_control.peers, or SHARE_NO_PEER */
    struct host_override override; /* what the operator has set for this connection */
    uint64_t rate_Bps;             /* received in the last interval */
    uint64_t pace_Bps;    /* rate while packets come, without long pauses; 0: no packet has come */
    uint32_t slack;       /* intervals since the connection used all of its grant */
    bool few;             /* the grant allows only few packets an interval */
    uint32_t full;        /* intervals in a row in which 7/8 of the grant came */
    uint32_t quiet;       /* intervals in a row in which nothing came */
    uint64_t backlog;     /* bytes to send that the peer last reported */
    uint64_t backlog_end; /* value of rx_bytes when this whole backlog has come */
    uint32_t flow;        /* if active: index in host_control.flows */
    bool active;
    uint32_t since; /* whole intervals that the connection was active, at most SINCE_MAX */
    uint32_t rest;  /* intervals in a row in which the connection was not active */
    bool begins;    /* the connection became active after a rest */
    bool ended;     /* the peer had nothing more to send after its newest DATA */
};

/*
 * The newest decisions of control, in a ring. Decision number n is at ring[n % HOST_HISTORY] while
 * count - HOST_HISTORY <= n < count; older ones are forgotten. Owned by the control lcore.
 */
struct history {
    struct host_decision ring[HOST_HISTORY];
    uint64_t count; /* decisions so far */
};

/* Adds a decision, and gives it its number. */
static inline void history_add(struct history *h, struct host_decision d)
{
    d.number = h->count++;
    h->ring[d.number % HOST_HISTORY] = d;
}

/* What is counted of the newest connection with a number. */
struct counted {
    uint64_t epoch; /* of the connection; 0: none yet */
    uint64_t rx_bytes, tx_bytes, tx_acked_bytes;
    uint32_t entry; /* index in host_control.totals */
    bool open;      /* false: all of the connection is counted */
};

struct open_conn {
    uint32_t host, conn; /* indices: in host_control.hosts, and of the connection there */
};

struct host_control {
    struct host *hosts[HOST_WORKERS_MAX];
    struct flow_stats *stats[HOST_WORKERS_MAX];
    struct counted *counted[HOST_WORKERS_MAX];
    struct host_total totals[HOST_TOTALS_MAX + 1]; /* the first: of peers without an entry */
    uint32_t n_totals;
    struct share_flow *flows;   /* the active connections, as share_run() wants them */
    struct open_conn *open;     /* the n_open connections that were open in this interval */
    struct flow_stats **owners; /* statistics of active connections, in the hosts' order */
    struct host_peers peers[HOST_PEERS_MAX];
    struct share_peer sums[HOST_PEERS_MAX];
    uint32_t peer_flows[HOST_PEERS_MAX]; /* active connections of each */
    uint32_t n_peers, n_active, n_open;
    uint32_t n_new;     /* active connections that have just begun */
    uint64_t spare_Bps; /* capacity that is granted to nobody, divided by n_active */
    struct share *share;
    uint32_t n;
    uint64_t ceiling_Bps; /* hard ceiling; 0: none */
    uint64_t link_Bps;    /* user bytes that the link can carry; UINT64_MAX: not known */
    uint64_t others_Bps;  /* rate of connections that send too little to have a share */
    uint64_t max_Bps;     /* the capacity that is shared; UINT64_MAX: no limit is known */
    uint64_t notice_Bps;  /* enough to notice that a connection begins: a burst in 10 ms */
    uint32_t own_for;     /* intervals left in which drops of the port may be found as losses */
    struct capacity capacity;
    struct bottleneck bottleneck;
    uint64_t path_rtt_max_ns; /* each connection limited by its path has a shortest round trip: the
                                 longest of these */
    struct capacity_sample sample; /* what was measured in this interval */
    struct assoc *assoc;           /* NULL: security is none */
    uint64_t wall_ns;
    uint32_t secured[ASSOC_PEERS_MAX], n_secured; /* the numbers of peers in lib/assoc */
    enum aead_library library;                    /* that seals packets */
    uint8_t public_key[DH_BYTES];
    host_keys_fn *key_log; /* NULL: none */
    void *key_log_ctx;
    uint64_t over_ns;            /* when associations that are over were last looked for */
    struct table_firsts *firsts; /* for each slot */
    uint8_t *leaving; /* for each slot: how many workers have not given its ciphers back yet */
    struct history history;
    struct trace trace;
    uint64_t noted_Bps; /* newest capacity in the history; noted_why: its reason */
    enum capacity_why noted_why;
    struct host_port_counters seen;
    uint64_t seen_rx_bytes[HOST_WORKERS_MAX], seen_tx_bytes; /* user bytes; sent: of all workers */
    struct host_work work[HOST_WORKERS_MAX];                 /* in the last interval */
    uint64_t work_rx_bytes[HOST_WORKERS_MAX];                /* the same, user bytes */
    uint64_t rx_bytes, time_ns; /* of all intervals so far: bytes received, and length */
    uint64_t overrun_ns;        /* time_ns of the last overrun */
    uint64_t last;
};

/* flow_stats.c: updates one connection's statistics for an interval. True if the connection is
 * open. */
bool flow_stats_update(struct host_control *c, struct host *h, uint32_t i, struct flow_stats *r,
                       uint64_t interval_ns);

/* flow_stats.c: takes the final figures of host k's connections that are over. */
void totals_take(struct host_control *c, uint32_t k);
/* Adds what connection i of host k has carried since the last call. */
void totals_update(struct host_control *c, uint32_t k, uint32_t i);

/* Has the connection left part of its grant unused for so long that its demand is what it uses? */
static inline bool flow_stats_slack(const struct flow_stats *r)
{
    return r->slack >= (r->few ? SLACK_FEW : SLACK_INTERVALS);
}

/* association.c: handshakes. Takes what workers want, and gives them associations. */
void association_run(struct host_control *c, uint64_t now);

/* override.c: the minimum (0: none) and the ceiling (UINT64_MAX: none) of one connection. */
uint64_t override_min(const struct host_control *c, const struct flow_stats *r);
uint64_t override_ceiling(const struct host_control *c, const struct flow_stats *r);

/* sharing.c: shares max_Bps among the active connections, and finds spare_Bps. */
void sharing_run(struct host_control *c);
/* The index in peers of the first entry that matches the address, or SHARE_NO_PEER. */
uint32_t sharing_peers(const struct host_control *c, const struct addr *a);
/* Rate and reason of one connection's grant, after sharing_run(). idle_Bps: the rate of a
 * connection that is not active. */
uint64_t sharing_grant(const struct host_control *c, const struct flow_stats *r, uint64_t idle_Bps,
                       enum grant_reason *why);
/* Finds which active connections wait in the same queue. After that, bottleneck_fair() gives the
 * part of each. */
void sharing_bottleneck(struct host_control *c, uint64_t interval_ns);
/* The limit of a connection's rate, whatever others do; UINT64_MAX: none is known. */
uint64_t sharing_max(const struct host_control *c, const struct flow_stats *r);

#endif
