/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host: one IP station on one queue of a port, owned by one worker. It keeps connections, and it
 * answers ARP, ND and echo. It turns bursts of received mbufs, and the time, into bursts of mbufs
 * to send. It reads no clock and touches no port, so app/ and lib/sim call it alike.
 *
 * The three walks: host_rx() takes a burst, host_tx() gives one, host_control() (on the control
 * lcore, or in the same thread) measures and shares. host_next() says when host_tx() must run
 * again if no frame arrives and no operation is called.
 *
 * `now` does not go back: a time earlier than the newest one counts as the newest one.
 *
 * Ownership: the worker owns everything in a struct host, with two exceptions. Control writes the
 * grants (grant_mark()), and control reads the counters. Functions marked [any] may be called from
 * any thread, all others only from the worker.
 *
 * Invariants:
 * - Every submitted operation completes exactly once, in order per connection and direction. A
 *   provisional SEND (struct host_send) completes twice.
 * - No byte is written to a receive buffer outside [data, data + len), or after its completion. No
 *   place is written twice, except to replace a unit that was found corrupt.
 */
#ifndef SLUICE_HOST_HOST_H
#define SLUICE_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "assoc/assoc.h"
#include "base/spread.h"
#include "control/moderation.h"
#include "control/occupancy.h"
#include "pace/contract.h"
#include "wire/addr.h"
#include "wire/packet.h"

#define HOST_CONN_NONE    UINT32_MAX
#define HOST_WORKER_ALL   0xff
#define HOST_WORKERS_MAX  32
#define HOST_SERVICES_MAX 256 /* open services per host */

struct host;

enum host_sum {
    HOST_SUM_NONE,     /* UDP checksum 0 is sent and accepted: for memory shared by processes */
    HOST_SUM_SOFTWARE, /* computed here; on receipt folded into the placement copy */
    HOST_SUM_OFFLOAD,  /* computed by the NIC; on receipt the NIC's verdict counts, where it gives
                          one */
};

/* Are packets sealed under associations (assoc/assoc.h)? */
enum host_security {
    HOST_SECURITY_NONE,     /* no: sealed packets are dropped */
    HOST_SECURITY_OFFERED,  /* those of peers with a key are, and only those */
    HOST_SECURITY_REQUIRED, /* all: others are dropped, and get no answer */
};

/* The level that the receiver compares with thresholds (control/occupancy.h). */
enum host_occupancy {
    HOST_OCCUPANCY_OFF,
    HOST_OCCUPANCY_BUFFERS, /* receive buffers in use: the most that were ever posted, less those
                               posted now */
    HOST_OCCUPANCY_DELAY,   /* ns that packets wait on the path; replaces control/pathrate.h */
};

/*
 * How a port chooses the queue of a frame, as far as app/ could find out:
 *
 *   queue = reta[toeplitz(key, tuple) % reta_size]
 *
 * where tuple is source and destination address, source and destination UDP port (receive-side
 * scaling, <rte_thash.h>). Worker w serves queue w.
 */
#define HOST_RSS_KEY_MAX  52 /* bytes; the longest key that NICs have */
#define HOST_RSS_KEY_MIN  40 /* bytes; enough for two IPv6 addresses and two ports */
#define HOST_RSS_RETA_MAX 512

struct host_rss {
    uint8_t key[HOST_RSS_KEY_MAX] __attribute__((aligned(4)));
    bool udp4, udp6;    /* the port's hash of UDP over IPv4, over IPv6 includes the UDP ports */
    uint16_t reta_size; /* entries; 0: how the port chooses is not known */
    uint16_t reta[HOST_RSS_RETA_MAX];
};

/* What no stranger may know. Each word is random on its own: one that is found out, which for the
 * table is not hard, tells nothing of the others. Each host has its own. */
struct host_secrets {
    uint64_t keys[2];    /* of connections' keys and first request numbers */
    uint64_t cookies[2]; /* of cookies, and of the set in which a FIRST is remembered */
    uint64_t table;      /* of the places in the table of connections by early key */
};

/* A station of the link whose MAC address is configured. Nothing that comes from the link changes
 * it. */
#define HOST_FIXED_MAX 8
struct host_fixed {
    struct addr addr;
    struct rte_ether_addr mac;
};

struct host_config {
    char name[16]; /* for messages */
    struct rte_ether_addr mac;
    struct addr address[2]; /* IPv4 and/or IPv6; unset where :: */
    uint8_t prefix_len[2];  /* of address[i]; for IPv4 at most 32 */
    struct addr gateway[2]; /* same family as address[i]; unset: none */
    struct host_fixed fixed[HOST_FIXED_MAX];
    uint32_t fixed_count;
    uint16_t vlan; /* 1-4094, or FRAME_VLAN_NONE */
    uint16_t mtu;  /* bytes of an IP packet */
    uint16_t udp_port;
    uint16_t source_first, source_last; /* source ports to open connections from
                                           (lib/host/source.c); 0: udp_port */
    const struct host_rss *rss;         /* of the port, which owns it; NULL: not known */
    uint8_t worker, workers; /* this host's number among the port's hosts, and how many those are */
    uint64_t hz;             /* cycles per second of `now` */
    struct host_secrets secrets; /* the kernel's entropy in app/; in lib/sim they follow from a seed
                                    (world_secrets()) */
    uint32_t conns;              /* connections, 1 .. 2^20 */
    uint32_t depth;              /* requests outstanding per connection and direction, power of 2 */
    /* Gaps that have a span each, per connection and direction. If there are more, neighbouring
     * gaps are joined, and as many pages (vt/unit_set.h) as spans note what arrived between those
     * gaps. A gap takes 208 bytes, both directions together. */
    uint32_t gaps;
    uint32_t ahead; /* after the first CNTL: requests that may be sent for which the peer has posted
                       no buffers */
    uint32_t early; /* requests sent before the first CNTL; 0 switches early data off */
    uint32_t silence_ms;     /* a peer not heard for this long is dead */
    uint32_t repeat_us;      /* CNTL is repeated at least this often while data flow */
    uint64_t first_rate_Bps; /* a sender's default until the first CNTL (pace/credit.h, rule 5) */
    uint64_t first_burst_bytes;
    uint64_t capacity_Bps; /* hard ceiling of what this host grants in sum; 0: none known */
    uint64_t burst_bytes;  /* burst of grants; 0: chosen from the rate */
    enum host_occupancy occupancy;
    struct occupancy_law occupancy_law; /* unless occupancy is off */
    uint64_t control_ns; /* interval of host_control(); 0: the worker does not watch it */
    /* The traffic contract that each connection keeps to, besides its grant. It counts frames from
     * the first byte of the Ethernet header on. pcr_Bps 0: no contract. unit_bytes follows from
     * mtu. */
    struct contract_config contract;
    /* For a port that releases packets at a given time (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP):
     * paced packets are given to it up to tx_lead_ns before their time. That time, in cycles of
     * `now`, is in a dynamic field of 64 bits at tx_time_offset, and tx_time_flag is set. app/
     * converts it to the port's time. tx_lead_ns 0: packets are given when they are due. */
    uint64_t tx_lead_ns;
    int tx_time_offset;
    uint64_t tx_time_flag;
    enum host_sum tx_sum, rx_sum;
    uint32_t rx_frames; /* frames that the port surely holds before it refuses one; 0: it never
                           refuses one */
    /* Packets with no checksum, or a partial one (wire/partial.h), count as correct, whatever the
     * port says: they come from memory of this machine. */
    bool rx_unsummed;
    bool ecn_off;   /* DATA are sent as not ECN-capable: vt/ecn.h */
    bool exception; /* frames that are not Sluice's wait for host_exceptions(); false: they are
                       dropped */
    enum host_security security;
    uint32_t secured_max; /* peers with a key, 1 .. ASSOC_PEERS_MAX; unless security is none */
    bool tx_attach;       /* payload is attached, not copied: the port has MULTI_SEGS and can read
                             application memory */
    struct rte_mempool *head_pool;   /* room >= RTE_PKTMBUF_HEADROOM + WIRE_CNTL_MAX_BYTES + 128 */
    struct rte_mempool *attach_pool; /* mbufs without data room, for attached payload */
    struct rte_mempool *copy_pool;   /* one or more for each frame; used if !tx_attach, and for
                                        sealed packets */
};

/* The memory that host_create() takes; less than a tenth of it is not counted. */
uint64_t host_memory_bytes(const struct host_config *cfg);
/* NULL on failure, with a message naming cause and cure in err. */
struct host *host_create(const struct host_config *cfg, uint64_t now, char *err, size_t err_len);
/* All mbufs and attached memory must have come back. */
void host_destroy(struct host *h);
const struct host_config *host_get_config(const struct host *h); /* [any] */

/* ---- the walks -------------------------------------------------------------------------- */

/* Takes ownership of n mbufs that the port received. */
void host_rx(struct host *h, struct rte_mbuf **m, uint16_t n, uint64_t now);
/* Says that the port was empty at `since` (TSC; 0: not known), so that all frames of the next
 * host_rx() reached the port after that. From this, a host that lost its core knows that frames may
 * have waited in the port and not on their path, and how many it has taken since. Without this
 * call, a frame counts as arrived when host_rx() takes it. */
void host_looked(struct host *h, uint64_t since);
/* host_rx() for frames that another worker of the port handed over. Of these, only a FIRST may be
 * handed over again (handover.c). */
void host_rx_given(struct host *h, struct rte_mbuf **m, uint16_t n, uint64_t now);
/* Runs due timers and gives at most max frames to send now. The caller owns them. */
uint16_t host_tx(struct host *h, struct rte_mbuf **m, uint16_t max, uint64_t now);
/* To be called when the port had no room for n frames of host_tx(), before they are offered again.
 * It renews the time of sending in DATA. The frames stay the caller's. */
void host_stamp(struct host *h, struct rte_mbuf *const *m, uint16_t n, uint64_t now);
/* When host_tx() must be called next: `now` if it has work, TIME_NEVER if nothing waits. */
uint64_t host_next(const struct host *h, uint64_t now);
/* Limits a nap that begins now, in which the host is left alone whatever arrives or is due
 * (control/moderation.h). To be called when there is nothing to do. */
void host_moderation(struct host *h, uint64_t now, struct moderation_nap *nap);
/* Frames of the kernel are sent, which no nap may delay. Frames that the host gives out, for the
 * kernel or for other workers, forbid naps by themselves. */
void host_forbid_naps(struct host *h);

/* Makes the n hosts of one port known to each other, before they run; hosts[i] is worker i's. A
 * FIRST then finds the worker that has a connection waiting. All are destroyed together. */
void host_join(struct host *const *hosts, uint32_t n);

/* Takes out up to max packets that belong to another worker of the same port. worker[i] says to
 * which (HOST_WORKER_ALL: to every other one; it is news of a neighbour). The caller owns them. */
uint16_t host_foreign(struct host *h, struct rte_mbuf **m, uint8_t *worker, uint16_t max);

/* Takes out up to max frames that are not Sluice's, for the kernel, in order of arrival. The caller
 * owns them, and asks after each host_rx() until there are none. Each frame is either answered here
 * (ARP, ND and echo for our addresses) or given out, never both. Answers of neighbours are read
 * here and then given out, except those that host_foreign() gives to every worker. */
uint16_t host_exceptions(struct host *h, struct rte_mbuf **m, uint16_t max);

/* ---- operations ------------------------------------------------------------------------- */

enum host_op { HOST_CONNECT, HOST_ACCEPT, HOST_SEND, HOST_RECV, HOST_SHUTDOWN };

struct host_completion {
    uint64_t user;  /* of the operation */
    uint64_t owner; /* of the connection */
    uint64_t len;   /* SEND, RECV: bytes moved */
    uint32_t conn;
    int32_t status;   /* 0, or negative errno: -ETIMEDOUT silent peer, -ECONNREFUSED nobody listens,
                         -ECONNRESET aborted by the peer, -EMSGSIZE buffer shorter than the request,
                         -ENODATA RECV after the peer's last request, -ECANCELED closed here,
                         -EHOSTUNREACH no neighbour answered, -EPIPE the peer reads no more, -EPROTO
                         versions do not match, -ESHUTDOWN the peer's daemon stops, -ECOMM the path
                         carries CNTL, but no DATA of any size */
    uint8_t op;       /* enum host_op */
    bool provisional; /* SEND: pieces[0] is free again; another completion follows */
};

/* Opens a service. Its number says which application an arriving connection is for. Returns 0,
 * -EINVAL (service 0), -EADDRINUSE or -ENOSPC. */
int host_listen(struct host *h, uint16_t service);
/* Closes a service. Its passive connections that still wait complete with -ECANCELED. */
void host_unlisten(struct host *h, uint16_t service);

struct host_connect {
    struct addr peer;
    uint16_t peer_port; /* UDP; 0: WIRE_UDP_PORT */
    uint16_t service;
    bool go_back_n;
    uint32_t first_bytes;    /* FIRST is padded to an IP packet of so many, if it is shorter */
    uint64_t first_rate_Bps; /* 0: the host's default */
    uint64_t first_burst_bytes;
    uint64_t owner; /* returned with every completion of the connection */
    uint64_t user;
};

/* Returns the connection's number (>= 0), or -ENOSPC, -EINVAL (peer unset, ourselves, or of a
 * family in which we have no address), -EHOSTUNREACH (off-link and no gateway), -EADDRNOTAVAIL
 * (another station has our address: host_claim()), -EMSGSIZE (first_bytes is more than the port's
 * MTU), -EACCES (security is required, and no key is
 * known for this peer). Sends and receives may be posted at once. */
int64_t host_connect(struct host *h, const struct host_connect *op, uint64_t now);

/*
 * Makes a passive connection that waits for the next FIRST of the service, and completes when one
 * has come. Receives may be posted at once. Returns its number, or -ENOSPC, or -ENOENT without
 * host_listen(). The source of a FIRST may be forged, so nothing else completes before a packet
 * shows that the peer knows our key. If none does within silence_ms, everything fails with
 * -ETIMEDOUT.
 */
int64_t host_accept(struct host *h, uint16_t service, uint64_t owner, uint64_t user);

struct host_piece {
    uint8_t *data;
    uint64_t len; /* bytes */
};

struct host_send {
    struct host_piece
        pieces[2];    /* one request: [0], then [1]; the host reads this memory until completion */
    bool provisional; /* pieces[1] is a copy of the request's tail: also completes once pieces[0] is
                         free again */
    uint64_t user;
};

/* Return 0, -ENOBUFS (depth operations are outstanding), -EMSGSIZE, -EPIPE (after shutdown) or
 * -ENOTCONN (no such connection). Once the connection has ended, host_send() returns the status
 * with which it ended; a receive is accepted, and completes with that status. */
int host_send(struct host *h, uint32_t conn, const struct host_send *op, uint64_t now);
int host_recv(struct host *h, uint32_t conn, uint8_t *data, uint64_t len, uint64_t user,
              uint64_t now);

/* Ends our direction: WCLOSE follows the requests that are queued, and no more may be sent.
 * Completes when the peer has confirmed all of them. */
int host_shutdown(struct host *h, uint32_t conn, uint64_t user, uint64_t now);

/*
 * Gives the connection up. Outstanding operations complete with -ECANCELED. The peer is sent END
 * with reason `end`, unless both directions were closed in order. The number may be reused once the
 * last completion has been taken and no mbuf refers to memory of the connection; host_conn_gone()
 * tells when the memory is free.
 */
void host_close(struct host *h, uint32_t conn, enum wire_end end, uint64_t now);
/* Ends a connection that is opening or open, and may not be any more: all outstanding operations
 * complete with -EACCES, and the peer is sent END. The application still has to close it. */
void host_deny(struct host *h, uint32_t conn, uint64_t now);
/* True if the connection holds no application memory any more (its owner may unmap it). */
bool host_conn_gone(const struct host *h, uint32_t conn);

/*
 * Sets what the application allows: at most tx_Bps of user bytes are sent, whatever the peer
 * grants, and at most rx_Bps are granted to the peer; 0: no limit. Replaces what was set before, at
 * any time of the connection. Both hold packet by packet, as grants do. What a limit leaves of the
 * host's capacity is shared among the other senders. Returns 0 or -ENOTCONN (no such connection).
 */
int host_limit(struct host *h, uint32_t conn, uint64_t tx_Bps, uint64_t rx_Bps, uint64_t now);

/* Takes at most max completions; returns how many. */
uint32_t host_completions(struct host *h, struct host_completion *out, uint32_t max);

/* ---- what people see -------------------------------------------------------------------- */

enum host_state {
    HOST_FREE,
    HOST_WAITING, /* passive, no FIRST yet */
    HOST_OPENING, /* FIRST sent, no CNTL yet */
    HOST_OPEN,
    HOST_CLOSED, /* over; completions or memory outstanding, or late packets expected */
};

struct host_conn_info {
    enum host_state state;
    struct addr peer;
    uint16_t peer_port, service;
    uint64_t owner;
    bool opener, go_back_n;
    uint32_t unit_bytes;
    uint32_t dropped_unit_bytes; /* the shortest unit that the path was seen to drop, which made
                                    units smaller; 0: none */
    uint64_t tx_rate_Bps, tx_burst_bytes; /* what the peer granted us (or the default) */
    uint16_t tx_reason; /* of the peer, or that of host_limit(): host_reason_name() */
    uint64_t rx_rate_Bps, rx_burst_bytes;    /* what we granted */
    uint16_t rx_reason;                      /* enum grant_reason: host_reason_name() */
    uint64_t rtt_ns;                         /* smoothed; 0: unknown */
    uint64_t tx_bytes, tx_units, tx_repeats; /* payload sent, units sent, units sent again */
    uint64_t tx_acked_bytes;                 /* of completed requests */
    /* How long the sender of the open connection waited for its application (all that was posted
     * was sent), for buffers of the peer, and for its rate or the port; up to host_conn_refresh().
     */
    uint64_t tx_app_limited_ns, tx_peer_limited_ns, tx_rate_limited_ns;
    uint64_t rx_bytes, rx_units; /* payload placed, units placed */
    uint64_t rx_duplicates, rx_unposted, rx_lost;
    uint64_t rx_loss_runs, rx_clean; /* error-recovery runs; packets received outside of them */
    uint64_t rx_ce;                  /* packets that routers on the path had marked (RFC 3168) */
    uint64_t rx_momentary_Bps;       /* rate of the five newest units */
    uint64_t cntl_tx, cntl_rx, naks_tx, naks_rx, recoveries;
    uint64_t backlog_bytes; /* of requests given to host_send(), not yet sent once */
};

/* Brings tx_app_limited_ns and the like of a connection up to date. */
void host_conn_refresh(struct host *h, uint32_t conn, uint64_t now);

/* [any] Each field by itself is consistent. False if the connection is free. */
bool host_conn_info(const struct host *h, uint32_t conn, struct host_conn_info *out);

/* The name of the peer (assoc_rights.name) whose key has proved this connection; "": the connection
 * is plain, or not proved yet, or the peer is gone. Valid until host_tx(). */
const char *host_conn_peer_name(const struct host *h, uint32_t conn);

/* Distributions since the connection began. */
struct host_conn_spread {
    struct spread increment_ns;  /* waits of DATA packets received: control/sojourn.h */
    struct spread momentary_Bps; /* rate of five successive units received, each new value */
    struct spread latency_ns;    /* of requests sent: from host_send() to their completion */
};
/* [any] False if the connection is free. */
bool host_conn_spread(const struct host *h, uint32_t conn, struct host_conn_spread *out);

/* [any] User bytes a second that the port carries, as configured or as its link says, whichever is
 * less; 0: neither is known. */
uint64_t host_port_rate(const struct host *h);
const char *host_reason_name(uint16_t reason);
uint32_t host_conn_limit(const struct host *h); /* [any] connection numbers are below this */
uint32_t host_conn_count(const struct host *h); /* [any] connections in use */

/* [any] Counters of the host by name, for telemetry: index from 0, NULL after the last. */
const char *host_counter(const struct host *h, uint32_t index, uint64_t *value);
/* The value of the counter of this name, which must exist. */
uint64_t host_counter_named(const struct host *h, const char *name);

/* [any] Recent events: host/trace.h. */
struct trace;
const struct trace *host_trace(const struct host *h);

struct host_neighbor {
    struct addr addr;
    struct rte_ether_addr mac;
    bool known;      /* `mac` is known; false: it is being asked for */
    uint64_t learnt; /* when the neighbour was last heard of, in cycles of `now`; 0: never */
};
/* [any] Neighbours: index from 0 to HOST_NEIGHBORS_MAX - 1; false if there is none. */
#define HOST_NEIGHBORS_MAX 256u
bool host_neighbor(const struct host *h, uint32_t index, struct host_neighbor *out);

/*
 * [any] Checks that no other station uses our addresses, and announces them on the link
 * (host/claim.h). To be called for each host of a port when its link has come up. Without it, the
 * addresses are taken to be ours, and are only defended.
 */
void host_claim(struct host *h);

struct host_address {
    struct addr address;
    bool used;                   /* false: another station has the address, and had it first */
    uint64_t conflicts;          /* messages so far of other stations that use the address */
    struct rte_ether_addr other; /* sender of the newest message that counts in `conflicts` */
};
/* [any] Our address i, 0 or 1; false if there is none. */
bool host_address(const struct host *h, uint32_t i, struct host_address *out);

/* ---- control ---------------------------------------------------------------------------- */

/* What a worker has done since its start. */
struct host_work {
    uint64_t busy;         /* time at work, for this port and for others */
    uint64_t bursts, full; /* polls that found packets; polls that found a full burst */
    bool shared;           /* it also runs other ports */
};

/* Counters of the port, and of the workers that run its hosts. The capacity estimate uses them
 * (control/capacity.h). */
struct host_port_counters {
    uint64_t imissed, rx_nombuf; /* packets that the port dropped: no room, no memory */
    uint64_t ring_full;          /* packets dropped between workers, on a full ring */
    uint64_t time;               /* of each worker so far, in the unit of `busy`; 0: not known */
    struct host_work worker[HOST_WORKERS_MAX]; /* in the order of host_control_create()'s hosts */
};

/*
 * The control half for the n hosts of one port: it measures, shares the capacity and hands grants
 * to the workers. Called every control interval from one thread, which need not be a worker's.
 */
struct host_control;
struct host_control *host_control_create(struct host *const *hosts, uint32_t n, uint64_t now,
                                         char *err, size_t err_len);
void host_control_destroy(struct host_control *c);
void host_control(struct host_control *c, const struct host_port_counters *port, uint64_t now);
/* [worker] Do messages about associations wait for host_control()? */
bool host_waits_for_control(const struct host *h);
/* [control] Do messages about associations wait for the worker? It takes them in host_tx(). */
bool host_waits_for_worker(const struct host *h);
/* [any] True if host_control() was not called for HOST_CONTROL_INTERVALS control intervals; grants
 * stay as they are. The worker finds this out while it runs, and counts each stall in
 * `control_stalls`. */
bool host_control_stalled(const struct host *h);
#define HOST_CONTROL_INTERVALS 16

/* All that follows is for the thread that calls host_control(). Sets the hard ceiling, at any time;
 * 0: none. */
void host_control_set_capacity(struct host_control *c, uint64_t capacity_Bps);
/* Sets the rate of the port's link, counting all that is on it: no more can arrive. 0: not known,
 * as at the start. */
void host_control_set_link(struct host_control *c, uint64_t link_Bps);

/*
 * Gives control the keys of this host, and the library that seals its packets. Hosts whose security
 * is not none need it, before they run. cfg->peers_max is the hosts' secured_max. Returns 0, or
 * -ENOMEM with a message.
 */
int host_control_secure(struct host_control *c, const struct assoc_config *cfg,
                        enum aead_library library, char *err, size_t err_len);
/* What control calls with each new association, before its keys are wiped. *keys is valid during
 * the call, for which control waits. */
typedef void host_keys_fn(void *ctx, const struct assoc_keys *keys);
/* For a log of keys; NULL: none, as at the start. */
void host_control_set_key_log(struct host_control *c, host_keys_fn *add, void *ctx);
/* Sets the time since 1970 for the handshakes of the next host_control(). It may go back. */
void host_control_set_wall(struct host_control *c, uint64_t wall_ns);
/*
 * Replaces the peers with keys, at any time, as assoc_set_peers() does; same errors, -ENOMEM, and
 * -EAGAIN: a worker has no room for the news. Connections of a peer that is gone or changed end
 * with -EACCES, and so do those that a peer has opened to a service that it may not use any more.
 */
int host_control_set_secured(struct host_control *c, const struct assoc_peer *peers, uint32_t n);
/* [any] What handshakes came to; NULL without host_control_secure(). */
const struct assoc_counters *host_control_handshakes(const struct host_control *c);
/* What is known of peer i of host_control_set_secured(). */
void host_control_secured(const struct host_control *c, uint32_t i, struct assoc_state *out);

/*
 * What is set for the peers of one network: how each of their connections counts when the capacity
 * is shared (control/share.h), and limits of all of them in sum. The first entry that matches
 * applies to a connection. One that matches none has weight 1 and no limits.
 */
struct host_peers {
    struct addr address;
    uint8_t prefix_len;                    /* for IPv4 at most 32 */
    uint8_t priority;                      /* 0 goes first, to 7 */
    uint16_t weight;                       /* 1 .. */
    uint64_t min_Bps, ceiling_Bps;         /* of each connection; 0: none */
    uint64_t all_min_Bps, all_ceiling_Bps; /* of all connections of these peers in sum; 0: none */
};
#define HOST_PEERS_MAX 64
/* Replaces all entries by these n, at most HOST_PEERS_MAX; at any time. Open connections are
 * matched again. */
void host_control_set_peers(struct host_control *c, const struct host_peers *peers, uint32_t n);

/* What an operator sets for one connection, until it ends. 0: not set; what is set for its peers
 * applies. */
struct host_override {
    uint64_t rate_Bps;    /* the connection's minimum, and its ceiling */
    uint64_t ceiling_Bps; /* the connection's ceiling; rate_Bps takes precedence */
    uint64_t burst_bytes; /* of the connection's grants; at least a packet */
    uint16_t weight;
};
/* `conn` is the number of a connection of this worker of the port. Returns 0; -ENOENT: the
 * connection is not open; -ENOSPC: the rate, with what others have reserved, is more than the
 * port's capacity. On error nothing changes. */
int host_control_override(struct host_control *c, uint32_t worker, uint32_t conn,
                          const struct host_override *o);
/* What host_control_override() has set for a connection; all 0 if the connection is not open. */
void host_control_overrides(const struct host_control *c, uint32_t worker, uint32_t conn,
                            struct host_override *out);

struct host_capacity {
    uint64_t ceiling_Bps;  /* as configured; 0: none */
    uint64_t measured_Bps; /* 0: unknown */
    const char *why; /* how measured_Bps was found: unknown, measured, overrun, saturated, probed */
    uint64_t granted_Bps; /* what was shared in the last interval; 0: no limit */
    uint64_t overruns;    /* intervals with overrun */
    uint32_t open_conns;  /* connections that were open in the last interval */
};
void host_control_capacity(const struct host_control *c, struct host_capacity *out);

/* What connections with one peer have carried, those that are over, too. */
struct host_total {
    struct addr peer;        /* unset: all peers that have no entry of their own */
    uint64_t rx_bytes;       /* payload placed */
    uint64_t tx_bytes;       /* payload sent, repeats included */
    uint64_t tx_acked_bytes; /* of completed requests */
    uint64_t conns;          /* connections that began */
    uint64_t conns_failed;   /* of these, that ended otherwise than in order */
    uint64_t open_conns;     /* of these, that have not ended */
};
#define HOST_TOTALS_MAX 256u /* peers with an entry of their own */
/*
 * Gives at most max entries from index `from` on; returns how many. The first is that of peers
 * without an entry. Entries keep their index and their peer. A peer gets an entry once it has shown
 * that it receives what we send, so neither forged addresses nor addresses where nobody answers can
 * fill the table. A connection that was opened to such an address counts in the first entry, unless
 * its peer has one.
 */
uint32_t host_control_totals(const struct host_control *c, uint32_t from, struct host_total *out,
                             uint32_t max);

/* [any] Recent overruns: host/trace.h. */
const struct trace *host_control_trace(const struct host_control *c);

/* Changes of grants and of the capacity: the newest HOST_HISTORY are kept. */
#define HOST_HISTORY 2048u
enum host_decided {
    HOST_DECIDED_GRANT,    /* of one connection */
    HOST_DECIDED_CAPACITY, /* of the port */
};
struct host_decision {
    uint64_t number;      /* counts all decisions, from 0 */
    uint64_t time;        /* `now` of the host_control() that decided */
    const char *why;      /* host_reason_name(), or as in struct host_capacity */
    uint64_t rate_Bps;    /* granted, or the capacity */
    uint64_t burst_bytes; /* granted */
    uint64_t rx_Bps;      /* received in the last interval, by the connection or in sum */
    uint64_t lost;    /* by the connection so far, or dropped by the port in the last interval */
    struct addr peer; /* of the connection */
    uint32_t conn;
    uint8_t worker;
    uint8_t decided; /* enum host_decided */
};
/* Number of decisions so far, which is also the number of the next one. */
uint64_t host_control_decisions(const struct host_control *c);
/* Gives at most max decisions from number `from` on, oldest first, of those still kept; returns how
 * many. */
uint32_t host_control_history(const struct host_control *c, uint64_t from,
                              struct host_decision *out, uint32_t max);

#endif
