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
#include "host/host.h"
#include "pace/contract.h"
#include "pace/credit.h"
#include "pace/hop.h"
#include "pace/usage.h"
#include "vt/black_hole.h"
#include "vt/ecn.h"
#include "vt/momentary.h"
#include "vt/receiver.h"
#include "vt/rtt.h"
#include "vt/sender.h"
#include "wire/frame.h"

#define CONN_NO_WAIT       UINT64_MAX
/* Steps of a peer's silence. In each, the peer is asked, and the rate to it is halved. After the
 * last one, the peer is dead. */
#define CONN_SILENCE_STEPS 8u

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
    uint64_t tx_rate_Bps, tx_burst_bytes, tx_reason, rx_rate_Bps, rx_burst_bytes, rx_reason;
    uint64_t rtt_ns, unit_bytes;
    uint64_t dropped_unit_bytes; /* the shortest unit that the path was seen to drop; 0: none */
    uint64_t tx_bytes, tx_units, tx_repeats, tx_acked_bytes;
    uint64_t tx_limited_tsc[VT_LIMITS]; /* how long what the sender waited for has been this */
    uint64_t rx_bytes, rx_units, rx_arrived, rx_duplicates, rx_unposted, rx_lost, rx_momentary_Bps;
    uint64_t rx_unit_bytes; /* of the peer's units, which may be shorter than ours; as long as ours
                               until it has sent one */
    uint64_t rx_loss_runs, rx_clean; /* vt/receiver.h */
    uint64_t rx_ce;                  /* DATA packets that routers had marked */
    uint64_t cntl_tx, cntl_rx, naks_tx, naks_rx, recoveries;
    uint64_t backlog_bytes, peer_backlog_bytes;
    uint64_t rx_at, woken_at; /* when DATA last came; when the connection was last granted a
                                 newcomer's part; 0: never */
    uint64_t rx_ended; /* 1: everything has come that the peer had to send when it sent the newest
                          DATA */
    uint64_t path_Bps; /* what the path to us carries; 0: the path limits nothing */
    uint64_t path_wait_ns;  /* the least time that a packet waited on the path to us in the newest
                               trial; CONN_NO_WAIT: not known */
    uint64_t path_keeps;    /* 1: the connection keeps its rate (`keeps` in control/pathrate.h) */
    uint64_t path_rtt_ns;   /* the shortest round trip known at the newest trial */
    uint64_t path_lost_ppm; /* of a million packets of the newest trial, how many the path lost */
    uint64_t share_Bps, share_burst_bytes, share_reason; /* the grant before the path limits it */
    uint64_t rx_limit_Bps;                               /* host_limit(); 0: none */
    /* copied from struct conn when the state changes: conn_publish() */
    uint64_t peer[2], peer_port, service, owner, opener, go_back_n;
    uint64_t proven; /* 1: the peer has sent a packet with our key */
    uint64_t failed; /* 1: the connection has ended otherwise than in order */
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

/* The peer wants an answer once `ack` reaches a position. Of the positions that it asked about, the
 * first and the last are kept. Those between are answered with the last, or by the CNTL that
 * follows the end of their request. */
struct conn_asked {
    uint64_t first, last;
    bool due;
};

/* An alarm: a path that has not limited the connection so far looks bad. */
struct conn_alarm {
    bool on, lossy;     /* lossy: packets were lost or marked */
    uint32_t age;       /* trials in a row in which the path did not look bad */
    uint64_t clear_run; /* host.clear_runs when the alarm began */
};

/* What the sender of an open connection waits for. */
struct conn_limited {
    bool on; /* the connection was open at since_tsc */
    enum vt_limit by;
    uint64_t since_tsc;
};

/* The newest grant noted in the host's trace. */
struct conn_traced {
    uint64_t rate_Bps;
    uint16_t why;
};

/* Does the peer exist, at the address that it claims? Owned by handshake.c. timer.c repeats FIRST,
 * CNTL and END. */
struct conn_handshake {
    bool first_sent;    /* a FIRST has gone out */
    bool crowded;       /* the next hop became known only after a question for it was lost */
    bool unproven;      /* the connection is counted in host.unproven */
    bool proven;        /* the peer knows our key, so its address is not forged */
    uint32_t allowance; /* until proven: bytes that we may still send to the peer, no more than it
                           sent to us */
    uint64_t begun_at, first_at; /* when the handshake began; when FIRST, CNTL or END is repeated */
    uint32_t first_bytes;        /* FIRST is an IP packet of so many bytes at least */
    uint32_t tries;              /* how often FIRST, CNTL or END was repeated */
    uint64_t cookie; /* the cookie that an acceptor under pressure wants in a repeated FIRST */
    struct conn_event done; /* completion of CONNECT or ACCEPT */
};

/* The station to which packets go, and whether it is still there. Owned by route.c. */
struct conn_nexthop {
    const struct addr *addr; /* the peer, or one of the host's gateways */
    uint16_t neighbor; /* the next hop's last known slot in the neighbour table: neighbor_at() */
    bool known;        /* the next hop's MAC address is in conn.route */
    bool direct; /* the peer's packets come from the next hop, which is the peer, or there is no
                    gateway */
    bool proved; /* a packet that only the peer can have sent came from the MAC address in
                    conn.route */
    bool waits;  /* the connection is in host.route_waiting */
    uint64_t unanswered_at; /* when we first sent a packet that demands an answer since the peer
                               last showed that packets of ours came; 0: none */
    uint64_t unseen_at; /* when we first sent any packet since the peer last showed that packets of
                           ours came; 0: none */
    uint64_t doubt_at;  /* when to look whether the next hop's MAC address has changed */
    uint32_t seen_cntl; /* the newest CNTL of ours that the peer has shown to have */
    uint64_t seen_packets; /* the number of our packets that the peer has shown to have */
};

/* When the connection's packets may leave. Owned by pacing.c; cntl.c and conn.c set the rate. */
struct conn_pacing {
    struct credit credit;
    struct contract contract;       /* contract.peak_cost 0: there is no contract */
    uint64_t rate_Bps, burst_bytes; /* granted by the peer */
    uint16_t reason;                /* of the peer's grant: enum grant_reason */
    uint64_t limit_Bps;             /* host_limit(); 0: none */
    uint64_t peak_Bps;              /* granted by the peer; 0: none */
    struct hop_limits hops;         /* set by routers */
    uint32_t silent_steps;          /* how often the rate is halved, since the peer is silent */
    uint64_t flight_base;           /* packets before this one have arrived or are lost */
    uint64_t flight_end; /* this packet and later ones wait until more of the earlier ones have
                            arrived */
    uint32_t flight_seq; /* number of a CNTL sent after flight_packets packets of DATA; 0: none */
    uint64_t flight_packets;
};

/* CNTL, in both directions. Owned by cntl.c. data.c notes what DATA ask for, and which CNTL the
 * peer had seen when it sent them. */
struct conn_cntl {
    uint64_t rate_Bps, burst_bytes; /* the grant that our newest CNTL advertised */
    uint64_t packets;               /* packets that our newest CNTL says have come */
    uint32_t posted;              /* our newest CNTL says that requests before this have buffers */
    uint32_t seq, peer_seq, seen; /* numbers of CNTL: our newest; the peer's newest; our newest that
                                     the peer has seen */
    uint32_t echo_seq;            /* the CNTL that measures a round trip; 0: none */
    uint64_t echo_at;             /* when the CNTL numbered echo_seq was sent */
    uint64_t trip_ns;             /* the least time that the newest round trip took */
    uint64_t sent_at;             /* when our newest CNTL was sent */
    uint64_t held_at; /* until when a CNTL is held for room on the return path; TIME_NEVER: none is
                         held */
    uint64_t repeat_at; /* when grant and ACK are repeated */
    bool held; /* since the last trial a CNTL was held because many waited on the return path */
    bool naks_left; /* there were more gaps than our newest CNTL had room for */
    bool rx_since;  /* DATA came since our newest CNTL */
    struct conn_asked dreq, pack;
    uint64_t peer_time_ns, peer_time_at; /* the peer's newest time_ns, and when it came */
};

/* When gaps are asked for. Owned by cntl.c. */
struct conn_nak {
    uint64_t at;
    uint64_t data_at; /* conn.data_at when gaps were last asked for */
    uint32_t quiet; /* how often gaps were asked for since DATA came: each time doubles the wait */
};

/* What the path to us carries. Owned by path_grant.c. */
struct conn_path {
    struct owd owd;
    uint32_t longest_bytes; /* the longest payload of recent DATA */
    struct sojourn sojourn; /* of the packets of about longest_bytes */
    struct {
        uint64_t now;        /* host.now at the newest packet */
        uint64_t away_ns;    /* how much of that packet's delay our absence made, at most */
        uint32_t full_looks; /* host.full_looks at the newest packet */
        bool refused;        /* the port may have been full since the packet before */
    } look;
    struct trial trial;
    bool early; /* the trial's packets were sent under earlier grants: it shows only overload */
    struct pathrate rate;
    uint64_t bursts_ns; /* how long two bursts of the grant take at its rate */
    struct conn_alarm alarm;
    uint32_t mark; /* a trial that is not early counts only DATA whose sender had seen this CNTL */
};

/* What thresholds on buffers or delay allow. Owned by occupancy_grant.c. */
struct conn_occupancy {
    struct occupancy level;
    struct occupancy_pace pace; /* the interval between packets that is granted to the sender */
    uint64_t pace_Bps;          /* the rate that `pace` allows; UINT64_MAX: no limit */
    uint32_t posted_max;        /* the most buffers that were ever posted */
};

/* How long the connection's units may be. Owned by black_hole.c. */
struct conn_unit {
    uint32_t peer_max_bytes; /* what the peer takes, as far as it has said */
    uint32_t path_max_bytes; /* limit since the path drops longer ones; 0: it drops none */
    struct vt_black_hole black_hole;
};

/* A router's RCNTL may quote any of so many CNTL. It leaves the router behind the one that it
 * quotes, so fewer would do unless the router is slow or the path reorders. */
#define CONN_PROOFS 8u

/* Under which association the connection's packets are sealed. Owned by security.c. */
struct conn_security {
    bool sealed;     /* all packets are, both ways */
    bool heard;      /* a sealed packet came and was right: the peer has its key */
    bool waits;      /* there was no association for a packet */
    uint32_t peer;   /* of lib/assoc */
    uint32_t number; /* at the acceptor: the association of the newest packet; an opener seals under
                        the peer's newest */
    uint64_t number_ns; /* when that association began */
    /* wire_parse_proof() of the CNTL that came last; the newest is proofs[(n_proofs - 1) %
     * CONN_PROOFS] */
    uint64_t proofs[CONN_PROOFS];
    uint32_t n_proofs;
};

/* The connection's end. Owned by conn.c; cntl.c receives and sends END. */
struct conn_close {
    bool asked; /* the application wants our direction closed */
    bool end_sent, end_seen;
    enum wire_end end;
    int32_t status; /* the error of sends and shutdowns once it is CLOSED */
    uint64_t linger_at;
    struct conn_event done; /* completion of SHUTDOWN */
};

/* The key before own_key. Owned by table.c. */
struct conn_former_key {
    uint64_t key;   /* 0: there was none */
    uint64_t until; /* until when it counts; TIME_NEVER: the peer has not used own_key yet */
};

struct conn {
    uint32_t index;
    enum host_state state;
    bool opener, go_back_n, released;
    uint8_t want; /* enum conn_want */
    uint64_t owner;
    uint64_t own_key, peer_key; /* peer_key 0: not known yet */
    struct conn_former_key former;
    uint32_t misses; /* packets that named the connection by a wrong key, since it has this one */
    struct addr peer;
    struct conn_early_key early_key; /* the connection's key in host.early; early_key.key 0: it is
                                        not in host.early */
    uint16_t service;
    uint32_t service_next; /* the next connection that waits for the same service */
    struct frame_route route;
    struct conn_nexthop nexthop;

    struct vt_sender tx;
    struct vt_receiver rx;
    struct usage usage; /* DATA that the peer's grants allow it to send */
    struct conn_pacing pacing;
    struct conn_limited limited;
    struct rtt rtt;
    struct rtt answer;   /* time from a CNTL to the first DATA whose sender had seen it */
    uint64_t rtt_min_ns; /* rtt.min_tsc, in ns */
    struct conn_unit unit;
    struct ecn ecn;

    struct conn_cntl cntl;
    struct conn_nak nak;
    struct conn_handshake handshake;
    struct conn_security security;
    struct conn_close close;
    uint64_t data_at;  /* when the newest DATA came */
    uint64_t heard_at; /* last packet from the peer that had not come before */
    uint64_t alive_at; /* when the peer's silence is checked next */
    uint64_t timer_at; /* when host.timers fires for this connection */

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
