/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection of a host: both VT halves, the credit that paces it, and its life.
 *
 *   FREE -> WAITING -(FIRST)-> OPEN            passive
 *   FREE -> OPENING -(CNTL)->  OPEN            active
 *   OPEN -> CLOSED -> FREE                     after END, an error, or silence
 *
 * Closing in order: each writer says WCLOSE once all its requests are queued, the reader answers
 * RCLOSE when it has them all; a side for which both directions are over sends END, the other one
 * answers END. These are state flags in every CNTL, so any of them may be lost, repeated or arrive
 * in either order. END at any other time aborts.
 *
 * All fields are the worker's, but `pub`, which control and show read.
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
#include "vt/hole.h"
#include "vt/momentary.h"
#include "vt/receiver.h"
#include "vt/rtt.h"
#include "vt/sender.h"
#include "wire/frame.h"

#define CONN_NO_WAIT       UINT64_MAX
#define CONN_SILENCE_STEPS 8u /* a silent peer is asked, and sent to slower, so often */

/* Why a CNTL is due. */
enum conn_want {
    WANT_CNTL = 1,   /* any news */
    WANT_SREQ = 2,   /* ask the peer for its state */
    WANT_FORCE = 4,  /* answer completely: also gaps that wait out reordering */
    WANT_PACK = 8,   /* provisional ACK */
    WANT_FIRST = 16, /* introduce ourselves (again) */
    WANT_DONE = 32,  /* a request is complete, or nothing follows */
};

/* How a packet names a connection before its receiver's key is known. */
struct conn_early_key {
    struct addr addr;
    uint64_t key;
    uint64_t port;
};

/* What other threads read; one writer (the worker), base/counter.h. */
struct conn_public {
    uint64_t epoch; /* of this number: counts its connections; changes before the rest does */
    uint64_t state; /* enum host_state */
    uint64_t tx_rate_Bps, tx_burst_bytes, rx_rate_Bps, rx_burst_bytes, rx_reason;
    uint64_t rtt_ns, unit_bytes;
    uint64_t dropped_unit_bytes; /* the shortest unit that the path was seen to drop; 0: none */
    uint64_t tx_bytes, tx_units, tx_repeats, tx_acked_bytes;
    uint64_t rx_bytes, rx_units, rx_arrived, rx_duplicates, rx_unposted, rx_lost, rx_momentary_Bps;
    uint64_t rx_loss_runs, rx_clean; /* vt/receiver.h */
    uint64_t rx_ce;                  /* DATA that routers had marked */
    uint64_t cntl_tx, cntl_rx, naks_tx, naks_rx, recoveries;
    uint64_t backlog_bytes, peer_backlog_bytes;
    uint64_t rx_at, woken_at; /* when DATA last came, and when it was last a newcomer; 0: never */
    uint64_t rx_ended;        /* all has come that the peer could send when it sent the last DATA */
    uint64_t path_Bps;        /* what its path to us carries; 0: more than was ever tried */
    uint64_t path_wait_ns;    /* how long its packets waited there at least, in the newest trial;
                                 CONN_NO_WAIT: nothing is known */
    uint64_t path_lost_ppm;   /* and which of them it lost */
    uint64_t share_Bps, share_burst_bytes, share_reason; /* without a look at the path */
    /* the two ends, as they stand in struct conn when the state changes: conn_publish() */
    uint64_t peer[2], peer_port, service, owner, opener, go_back_n;
    struct host_conn_spread spread;
} __attribute__((aligned(64)));

struct conn_event {
    bool due;
    int32_t status;
    uint64_t user;
};

/* A place in one of the host's first-in-first-out lists of connections. */
struct conn_link {
    uint32_t next;
    bool queued;
};

/* Positions that ack must reach for an answer: the first of those asked for, and the last. Ones
 * between are answered with the last, or by the CNTL that follows the end of their request. */
struct conn_asked {
    uint64_t first, last;
    bool due;
};

/* The path of a connection, which did not limit it, looks bad. */
struct conn_alarm {
    bool on, lossy;     /* because much was lost */
    uint32_t age;       /* trials in which it did not */
    uint64_t clear_run; /* of the host, when it began */
};

/* A grant as it stands in the host's trace. */
struct conn_traced {
    uint64_t rate_Bps;
    uint16_t why;
};

/* Is the peer there, and where it says it is? handshake.c's; timer.c says FIRST and END again. */
struct conn_handshake {
    bool crowded;       /* as it began: our question for the way had been lost */
    bool unproven;      /* counted in host.unproven */
    bool proven;        /* the peer knows our key: it is where it says it is */
    uint32_t allowance; /* until then, bytes that may still be said to it: no more than it said */
    uint64_t begun_at, first_at; /* when it began; when FIRST, CNTL or END is said again */
    uint32_t tries;              /* how often it was */
    uint64_t cookie;             /* with which an acceptor under pressure wants FIRST repeated */
    struct conn_event done;      /* CONNECT or ACCEPT is decided */
};

/* To which station packets go, and whether it is still there. route.c's. */
struct conn_nexthop {
    const struct addr *addr; /* the peer, or a gateway of the host's */
    uint16_t neighbor;       /* where the neighbour table had it: neighbor_at() */
    bool known;              /* its MAC address is in conn.route */
    bool direct; /* packets of the peer come from it: it is the peer, or there is no gateway */
    bool proved; /* the peer has shown where it is */
    bool waits;  /* it is in host.route_waiting */
    uint64_t unanswered_at; /* the oldest packet that demands an answer, and the oldest of all, */
    uint64_t unseen_at;     /* of which the peer has shown nothing; 0: none */
    uint64_t doubt_at;      /* when to look whether the next hop has moved */
    uint32_t seen_cntl;     /* the newest of our CNTL, and how many packets, that the peer has */
    uint64_t seen_packets;  /* shown to have */
};

/* When its packets may leave. gate.c's; cntl.c and conn.c set the rate. */
struct conn_pacing {
    struct credit credit;
    struct contract contract;       /* peak_cost 0: none */
    uint64_t rate_Bps, burst_bytes; /* granted by the peer */
    uint64_t peak_Bps;              /* the same; 0: none */
    struct hop_limits hops;         /* from routers */
    uint32_t silent_steps;          /* rate is halved so often, for a silent peer */
    uint64_t flight_base;           /* packets before this one have arrived or are lost */
    uint64_t flight_end; /* from this one on packets wait until more is known of the others */
    uint32_t flight_seq; /* a CNTL that was sent behind flight_packets of DATA; 0: none */
    uint64_t flight_packets;
};

/* CNTL, both ways. cntl.c's; data.c notes what DATA ask for, and which CNTL they have seen. */
struct conn_cntl {
    uint64_t rate_Bps, burst_bytes; /* what our newest one advertised: the grant, */
    uint64_t packets;               /* how many had come, */
    uint32_t posted;                /* and requests for which buffers are there */
    uint32_t seq, peer_seq, seen;   /* sent; the newest of the peer's; of ours, by it */
    uint32_t echo_seq;              /* the one that measures a round trip; 0: none */
    uint64_t echo_at;               /* when it was sent */
    uint64_t trip_ns;               /* what the newest round trip took at least */
    uint64_t sent_at;               /* when the newest was sent */
    uint64_t held_at;   /* until when one waits for room on the way back; TIME_NEVER: none does */
    uint64_t repeat_at; /* when grant and ACK are repeated */
    bool held;          /* one waited since the last trial */
    bool naks_left;     /* there were more gaps than the newest had room for */
    bool rx_since;      /* DATA came since the newest */
    struct conn_asked dreq, pack;
    uint64_t peer_time_ns, peer_time_at; /* newest time_ns of the peer, and when it came */
};

/* When gaps are asked for. cntl.c's. */
struct conn_nak {
    uint64_t at;
    uint64_t data_at; /* conn.data_at when they last were */
    uint32_t quiet;   /* how often they were since DATA came: each doubles the wait */
};

/* What the path to us carries. path_grant.c's. */
struct conn_path {
    struct owd owd;
    uint32_t longest_bytes; /* of DATA's payload, lately */
    uint64_t increment_ns;  /* of the last packet about as long */
    struct {
        uint64_t looked_at, now; /* the host's values at the newest packet */
        uint64_t mean_ns;        /* between two looks, on average */
        uint64_t away_ns;        /* by which the last pause was longer */
        uint32_t full_looks;     /* the host's, too */
        bool refused;            /* the port may have been full since the packet before */
    } look;
    struct trial trial;
    struct pathrate rate;
    uint64_t bursts_ns; /* what two bursts take at the rate in conn.pub */
    struct conn_alarm alarm;
    uint32_t mark; /* DATA count from which on the peer has seen this CNTL of ours */
};

/* What thresholds on buffers or delay allow. occupancy_grant.c's. */
struct conn_occupancy {
    struct occupancy level;
    struct occupancy_pace pace; /* as a sender that obeyed every packet would keep it */
    uint64_t pace_Bps;          /* what that allows; UINT64_MAX: it says nothing */
    uint32_t posted_max;        /* buffers */
};

/* How long its units may be. hole.c's. */
struct conn_unit {
    uint32_t peer_max_bytes;
    uint32_t path_max_bytes; /* since the path drops longer ones; 0: it has dropped none */
    struct vt_hole hole;
};

/* Its end. conn.c's; cntl.c hears and says it. */
struct conn_close {
    bool asked; /* for the end of our direction */
    bool end_sent, end_seen;
    enum wire_end end;
    int32_t status; /* what sending and shutting down fail with once it is CLOSED */
    uint64_t linger_at;
    struct conn_event done; /* of what was asked for */
};

struct conn {
    uint32_t index;
    enum host_state state;
    bool opener, go_back_n, released;
    uint8_t want; /* enum conn_want */
    uint64_t owner;
    uint64_t own_key, peer_key; /* peer_key 0: not known yet */
    struct addr peer;
    struct conn_early_key early_key; /* as it stands in the host's table; key 0: it does not */
    uint16_t service;
    uint32_t service_next; /* list of waiting connections of a service */
    struct frame_route route;
    struct conn_nexthop nexthop;

    struct vt_sender tx;
    struct vt_receiver rx;
    struct conn_pacing pacing;
    struct rtt rtt;
    struct rtt answer;   /* from a CNTL to the DATA that has seen it */
    uint64_t rtt_min_ns; /* rtt.min_tsc */
    struct conn_unit unit;
    struct ecn ecn;

    struct conn_cntl cntl;
    struct conn_nak nak;
    struct conn_handshake handshake;
    struct conn_close close;
    uint64_t data_at;  /* when the newest DATA came */
    uint64_t heard_at; /* last packet from the peer */
    uint64_t alive_at; /* when its silence is looked at */
    uint64_t timer_at; /* what the wheel has for us */

    struct momentary momentary;
    struct conn_path path;
    struct conn_occupancy occupancy;

    struct {
        struct conn_traced grant, granted; /* ours, and the peer's */
        uint64_t nak_sent_at, nak_came_at;
    } traced;

    struct conn_link cntl_link, data_link, done_link, linger_link;
    struct conn_public pub;
};

#endif
