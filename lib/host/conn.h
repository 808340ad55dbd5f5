/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection of a host: both VT halves, the credit that paces it, and its state.
 *
 *   FREE -> WAITING -(FIRST)-> OPEN            passive
 *   FREE -> OPENING -(CNTL)->  OPEN            active
 *   OPEN -> CLOSED -> FREE                     after END, an error, or silence
 *
 * Closing in order: each writer says WCLOSE once all its requests are queued. The reader answers
 * RCLOSE when it has them all. A side for which both directions are over sends END, and the other
 * side answers END. These are state flags in every CNTL, so any of them may be lost, repeated or
 * arrive in either order. END at any other time aborts.
 *
 * The worker owns all fields. Control, and threads that show figures, read `pub`.
 */
#ifndef SLUICE_HOST_CONN_H
#define SLUICE_HOST_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "control/occupancy.h"
#include "control/owd.h"
#include "control/pathrate.h"
#include "host/ecn.h"
#include "host/hop.h"
#include "host/host.h"
#include "pace/contract.h"
#include "pace/credit.h"
#include "vt/black_hole.h"
#include "vt/momentary.h"
#include "vt/receiver.h"
#include "vt/rtt.h"
#include "vt/sender.h"
#include "wire/frame.h"

#define CONN_NO_WAIT       UINT64_MAX
#define CONN_SILENCE_STEPS 8u /* a silent peer is asked, and sent to slower, this often */

/* Why a CNTL is due. */
enum conn_want {
    WANT_CNTL = 1,   /* any news */
    WANT_SREQ = 2,   /* ask the peer for its state */
    WANT_FORCE = 4,  /* answer completely, also with gaps that may still be reordering */
    WANT_PACK = 8,   /* provisional ACK */
    WANT_FIRST = 16, /* send FIRST (again) */
    WANT_DONE = 32,  /* a request is complete, or the peer sends no more */
};

/* How a packet names a connection before its receiver's key is known. */
struct conn_early_key {
    struct addr addr;
    uint64_t key;
    uint64_t port;
};

/* Written by the worker, read by other threads (base/counter.h). */
struct conn_public {
    uint64_t epoch; /* counts connections of this number; changes before all other fields */
    uint64_t state; /* enum host_state */
    uint64_t tx_rate_Bps, tx_burst_bytes, rx_rate_Bps, rx_burst_bytes, rx_reason;
    uint64_t rtt_ns, unit_bytes;
    uint64_t dropped_unit_bytes; /* the shortest unit that the path was seen to drop; 0: none */
    uint64_t tx_bytes, tx_units, tx_repeats, tx_acked_bytes;
    uint64_t rx_bytes, rx_units, rx_arrived, rx_duplicates, rx_unposted, rx_lost, rx_momentary_Bps;
    uint64_t rx_loss_runs, rx_clean; /* vt/receiver.h */
    uint64_t rx_ce;                  /* DATA packets that routers had marked */
    uint64_t cntl_tx, cntl_rx, naks_tx, naks_rx, recoveries;
    uint64_t backlog_bytes, peer_backlog_bytes;
    uint64_t rx_at, woken_at; /* when DATA last came; when it last became a newcomer; 0: never */
    uint64_t rx_ended; /* 1: all has come that the peer could send when it sent the newest DATA */
    uint64_t path_Bps; /* what its path to us carries; 0: more than was ever tried */
    uint64_t path_wait_ns;  /* the least time that its packets waited on that path in the newest
                               trial; CONN_NO_WAIT: not known */
    uint64_t path_keeps;    /* 1: it keeps its rate (control/pathrate.h) */
    uint64_t path_rtt_ns;   /* the shortest round trip known, as of that trial */
    uint64_t path_lost_ppm; /* the share of the packets in that trial that the path lost */
    uint64_t share_Bps, share_burst_bytes, share_reason; /* the grant before limits of the path */
    /* copied from struct conn when the state changes: conn_publish() */
    uint64_t peer[2], peer_port, service, owner, opener, go_back_n;
    struct host_conn_spread spread;
} __attribute__((aligned(64)));

struct conn_event {
    bool due;
    int32_t status;
    uint64_t user;
};

/* A link in one of the host's first-in-first-out lists of connections. */
struct conn_link {
    uint32_t next;
    bool queued;
};

/* The peer wants an answer once ack reaches these positions: the first and the last of those asked
 * for. Positions between are answered with the last, or by the CNTL that follows the end of their
 * request. */
struct conn_asked {
    uint64_t first, last;
    bool due;
};

/* A path that has not limited the connection so far looks bad. */
struct conn_alarm {
    bool on, lossy;     /* lossy: because much was lost */
    uint32_t age;       /* trials in a row in which it did not */
    uint64_t clear_run; /* host.clear_runs when it began */
};

/* The newest grant noted in the host's trace. */
struct conn_traced {
    uint64_t rate_Bps;
    uint16_t why;
};

/* Does the peer exist, at the address that it claims? Owned by handshake.c; timer.c repeats FIRST
 * and END. */
struct conn_handshake {
    bool crowded;       /* when it began, our question for the next hop had been lost */
    bool unproven;      /* it is counted in host.unproven */
    bool proven;        /* the peer knows our key, so its address is not forged */
    uint32_t allowance; /* until proven, bytes that it may still be sent: no more than it sent */
    uint64_t begun_at, first_at; /* when it began; when FIRST, CNTL or END is repeated */
    uint32_t tries;              /* how often it was repeated */
    uint64_t cookie;             /* that an acceptor under pressure wants in a repeated FIRST */
    struct conn_event done;      /* completion of CONNECT or ACCEPT */
};

/* The station to which packets go, and whether it is still there. Owned by route.c. */
struct conn_nexthop {
    const struct addr *addr; /* the peer, or one of the host's gateways */
    uint16_t neighbor;       /* its last known slot in the neighbour table: neighbor_at() */
    bool known;              /* its MAC address is in conn.route */
    bool direct; /* the peer's packets come from it: it is the peer, or there is no gateway */
    bool proved; /* the peer has shown its MAC address */
    bool waits;  /* the connection is in host.route_waiting */
    uint64_t unanswered_at; /* when the oldest packet was sent that demands an answer, */
    uint64_t unseen_at;     /* or any packet, of which the peer has shown nothing; 0: none */
    uint64_t doubt_at;      /* when to look whether the next hop's MAC address has changed */
    uint32_t seen_cntl;     /* the newest CNTL of ours, and the number of our packets, */
    uint64_t seen_packets;  /* that the peer has shown to have */
};

/* When its packets may leave. Owned by pacing.c; cntl.c and conn.c set the rate. */
struct conn_pacing {
    struct credit credit;
    struct contract contract;       /* peak_cost 0: none */
    uint64_t rate_Bps, burst_bytes; /* granted by the peer */
    uint64_t peak_Bps;              /* granted by the peer; 0: none */
    struct hop_limits hops;         /* set by routers */
    uint32_t silent_steps;          /* times that the rate is halved, for a silent peer */
    uint64_t flight_base;           /* packets before this one have arrived or are lost */
    uint64_t flight_end; /* this packet and later ones wait until more of the earlier ones have
                            arrived */
    uint32_t flight_seq; /* number of a CNTL sent after flight_packets packets of DATA; 0: none */
    uint64_t flight_packets;
};

/* CNTL, in both directions. Owned by cntl.c. data.c notes what DATA ask for, and which CNTL the
 * peer had seen when it sent them. */
struct conn_cntl {
    uint64_t rate_Bps, burst_bytes; /* what our newest CNTL advertised: the grant, */
    uint64_t packets;               /* how many packets had come, */
    uint32_t posted;                /* and up to which request buffers are posted */
    uint32_t seq, peer_seq, seen;   /* our newest; the peer's newest; ours that it has seen */
    uint32_t echo_seq;              /* the CNTL that measures a round trip; 0: none */
    uint64_t echo_at;               /* when it was sent */
    uint64_t trip_ns;               /* the least time that the newest round trip took */
    uint64_t sent_at;               /* when our newest was sent */
    uint64_t held_at; /* until when one is held for room on the return path; TIME_NEVER: none is */
    uint64_t repeat_at; /* when grant and ACK are repeated */
    bool held;          /* one was held since the last trial */
    bool naks_left;     /* there were more gaps than the newest had room for */
    bool rx_since;      /* DATA came since our newest */
    struct conn_asked dreq, pack;
    uint64_t peer_time_ns, peer_time_at; /* the peer's newest time_ns, and when it came */
};

/* When gaps are asked for. Owned by cntl.c. */
struct conn_nak {
    uint64_t at;
    uint64_t data_at; /* conn.data_at when gaps were last asked for */
    uint32_t quiet; /* how often they were asked for since DATA came: each time doubles the wait */
};

/* What the path to us carries. Owned by path_grant.c. */
struct conn_path {
    struct owd owd;
    uint32_t longest_bytes; /* the longest payload of recent DATA */
    uint64_t increment_ns;  /* of the last packet that was about as long */
    struct {
        uint64_t looked_at, now; /* the host's values at the newest packet */
        uint64_t mean_ns;        /* between two looks, on average */
        uint64_t away_ns;        /* by which the newest pause was longer */
        uint32_t full_looks;     /* the host's value, too */
        bool refused;            /* the port may have been full since the packet before */
    } look;
    struct trial trial;
    struct pathrate rate;
    uint64_t bursts_ns; /* how long two bursts take at the rate in conn.pub */
    struct conn_alarm alarm;
    uint32_t mark; /* a trial counts only DATA whose sender had seen this CNTL of ours */
};

/* What thresholds on buffers or delay allow. Owned by occupancy_grant.c. */
struct conn_occupancy {
    struct occupancy level;
    struct occupancy_pace pace; /* interval of a sender that obeys at every packet */
    uint64_t pace_Bps;          /* the rate of that interval; UINT64_MAX: no limit */
    uint32_t posted_max;        /* the most buffers that were ever posted */
};

/* How long its units may be. Owned by black_hole.c. */
struct conn_unit {
    uint32_t peer_max_bytes;
    uint32_t path_max_bytes; /* limit since the path drops longer ones; 0: it drops none */
    struct vt_black_hole black_hole;
};

/* Its end. Owned by conn.c; cntl.c receives and sends it. */
struct conn_close {
    bool asked; /* the application wants our direction closed */
    bool end_sent, end_seen;
    enum wire_end end;
    int32_t status; /* the error of sends and shutdowns once it is CLOSED */
    uint64_t linger_at;
    struct conn_event done; /* completion of SHUTDOWN */
};

struct conn {
    uint32_t index;
    enum host_state state;
    bool opener, go_back_n, released;
    uint8_t want; /* enum conn_want */
    uint64_t owner;
    uint64_t own_key, peer_key; /* peer_key 0: not known yet */
    struct addr peer;
    struct conn_early_key early_key; /* its key in host.early; key 0: it is not there */
    uint16_t service;
    uint32_t service_next; /* list of waiting connections of a service */
    struct frame_route route;
    struct conn_nexthop nexthop;

    struct vt_sender tx;
    struct vt_receiver rx;
    struct conn_pacing pacing;
    struct rtt rtt;
    struct rtt answer;   /* time from a CNTL to the first DATA whose sender had seen it */
    uint64_t rtt_min_ns; /* rtt.min_tsc */
    struct conn_unit unit;
    struct ecn ecn;

    struct conn_cntl cntl;
    struct conn_nak nak;
    struct conn_handshake handshake;
    struct conn_close close;
    uint64_t data_at;  /* when the newest DATA came */
    uint64_t heard_at; /* last packet from the peer */
    uint64_t alive_at; /* when its silence is checked next */
    uint64_t timer_at; /* when the wheel fires for it */

    struct momentary momentary;
    struct conn_path path;
    struct conn_occupancy occupancy;

    struct {
        struct conn_traced grant, granted; /* grants noted: ours, and the peer's */
        uint64_t nak_sent_at, nak_came_at;
    } traced;

    struct conn_link cntl_link, data_link, done_link, linger_link;
    struct conn_public pub;
};

#endif
