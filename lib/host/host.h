/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host: one IP station on one (port, queue), owned by one worker. It keeps connections, answers
 * ARP, ND and echo, and turns bursts of mbufs and the time into bursts of mbufs. It reads no clock
 * and touches no port: app/ and lib/sim call it alike.
 *
 * The three walks: host_rx() takes a burst, host_tx() gives one, host_control() (on the control
 * lcore, or in the same thread) measures and shares. host_next() says when host_tx() must run
 * again if nothing arrives and nobody asks.
 *
 * `now` does not go back: an earlier time than the newest one counts as that one.
 *
 * Ownership: everything of a struct host is its worker's, but for the grants (written by control
 * and marked, grant.c) and the counters (only read by control). Functions marked [any] may be
 * called from another thread; the others only from the worker.
 *
 * Invariants: every submitted operation completes exactly once (a SEND with HOST_SEND_PROVISIONAL:
 * twice), in order per connection and direction; no byte is written to a receive buffer outside
 * [data, data + len), after its completion, or twice at the same place except to replace a unit
 * that was found corrupt.
 */
#ifndef SLUICE_HOST_HOST_H
#define SLUICE_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "base/spread.h"
#include "control/occupancy.h"
#include "pace/contract.h"
#include "wire/addr.h"
#include "wire/packet.h"

#define HOST_CONN_NONE    UINT32_MAX
#define HOST_WORKER_ALL   0xff
#define HOST_WORKERS_MAX  32
#define HOST_SERVICES_MAX 256 /* that can be listened to, per host */

struct host;

enum host_sum {
    HOST_SUM_NONE,     /* UDP checksum 0 is sent and accepted: memory that joins processes */
    HOST_SUM_SOFTWARE, /* computed here; on receipt folded into the placement copy */
    HOST_SUM_OFFLOAD,  /* computed by the NIC; on receipt its verdict counts, where it gives one */
};

/* What thresholds are laid on, control/occupancy.h, on the side that receives. */
enum host_occupancy {
    HOST_OCCUPANCY_OFF,
    HOST_OCCUPANCY_BUFFERS, /* posted buffers that are in use: of the most there were, those not
                               posted again */
    HOST_OCCUPANCY_DELAY,   /* ns that packets wait on the path; instead of control/pathrate.h */
};

/*
 * How a port chooses the queue of a frame, as far as app/ could find out:
 *
 *   queue = reta[toeplitz(key, tuple) % reta_size]
 *
 * where tuple is source and destination address, source and destination UDP port (receive-side
 * scaling, <rte_thash.h>). Queue w is worker w's.
 */
#define HOST_RSS_KEY_MAX  52 /* bytes; the longest key that NICs have */
#define HOST_RSS_KEY_MIN  40 /* bytes; what both IPv6 addresses and the ports need */
#define HOST_RSS_RETA_MAX 512

struct host_rss {
    uint8_t key[HOST_RSS_KEY_MAX] __attribute__((aligned(4)));
    bool udp4, udp6;    /* UDP over that family is hashed by its ports, too */
    uint16_t reta_size; /* entries; 0: it is not known how the port chooses */
    uint16_t reta[HOST_RSS_RETA_MAX];
};

struct host_config {
    char name[16]; /* for messages */
    struct rte_ether_addr mac;
    struct addr address[2]; /* IPv4 and/or IPv6; unset where :: */
    uint8_t prefix_len[2];  /* of address[i]; IPv4 bits for IPv4 */
    struct addr gateway[2]; /* same family as address[i]; unset: none */
    uint16_t vlan;          /* 1-4094, or FRAME_VLAN_NONE */
    uint16_t mtu;           /* bytes of an IP packet */
    uint16_t udp_port;
    uint16_t source_first, source_last; /* UDP ports that connections are opened from:
                                           lib/host/source.c. 0: udp_port */
    const struct host_rss *rss;         /* of the port, and its; NULL: not known */
    uint8_t worker, workers;            /* which of how many hosts of this port this is */
    uint64_t hz;                        /* of `now` */
    uint64_t seed;           /* for keys: from the kernel's entropy in app/, fixed in lib/sim */
    uint32_t conns;          /* connections, 1 .. 2^20 */
    uint32_t depth;          /* requests outstanding per connection and direction, power of 2 */
    uint32_t gaps;           /* runs of missing units that each have a span, per connection and
                                direction; received ones are joined where there are more, with so
                                many pages of vt/unit_set.h: 208 bytes each in all */
    uint32_t ahead;          /* requests sent ahead of posted ones after the first CNTL */
    uint32_t early;          /* requests sent before the first CNTL; 0 switches early data off */
    uint32_t silence_ms;     /* a peer not heard for this long is dead */
    uint32_t repeat_us;      /* CNTL is repeated at least this often while data flow */
    uint64_t first_rate_Bps; /* a sender's default until the first CNTL (rule 5) */
    uint64_t first_burst_bytes;
    uint64_t capacity_Bps; /* hard ceiling of what this host grants in sum; 0: none known */
    uint64_t burst_bytes;  /* burst of grants; 0: chosen from the rate */
    enum host_occupancy occupancy;
    struct occupancy_law occupancy_law; /* unless off */
    uint64_t control_ns; /* how often host_control() is to be called; 0: nobody watches */
    /* What each connection keeps to besides, in frames from the first byte of Ethernet's header on;
     * pcr_Bps 0: none. unit_bytes follows from mtu. */
    struct contract_config contract;
    /* The port releases packets at a time (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP): paced ones are
     * given to it so long before theirs, which stands in `now`'s cycles in a dynamic field of 64
     * bits, where the flag is set; app/ makes the port's time of it. 0: released when due. */
    uint64_t tx_lead_ns;
    int tx_time_offset;
    uint64_t tx_time_flag;
    enum host_sum tx_sum, rx_sum;
    uint32_t rx_frames; /* that the port holds before it refuses one, or more; 0: it never does */
    /* Packets without a checksum, or with a partial one (wire/partial.h), are taken like right
     * ones, whatever the port says of them: they come from memory of this machine. */
    bool rx_unsummed;
    bool ecn_off;   /* DATA are sent as not ECN-capable: host/ecn.h */
    bool exception; /* what is not Sluice's waits for host_exceptions(); false: it is dropped */
    bool tx_attach; /* payload is attached, not copied: port has MULTI_SEGS and can
                       read application memory */
    struct rte_mempool *head_pool;   /* >= RTE_PKTMBUF_HEADROOM + WIRE_CNTL_MAX_BYTES + 128 */
    struct rte_mempool *attach_pool; /* mbufs without data room, for attached payload */
    struct rte_mempool *copy_pool;   /* a whole frame of mtu fits; used if !tx_attach */
};

/* What host_create() takes, but for less than a tenth. */
uint64_t host_memory_bytes(const struct host_config *cfg);
/* NULL on failure, with a message naming cause and cure in err. */
struct host *host_create(const struct host_config *cfg, uint64_t now, char *err, size_t err_len);
/* All mbufs and attached memory must have come back. */
void host_destroy(struct host *h);
const struct host_config *host_get_config(const struct host *h); /* [any] */

/* ---- the walks -------------------------------------------------------------------------- */

/* Takes ownership of n mbufs that the port received. */
void host_rx(struct host *h, struct rte_mbuf **m, uint16_t n, uint64_t now);
/* The port was found empty at `since` (TSC; 0: not known), so what host_rx() is given next came to
 * the port after that. A host that lost its core knows by this that frames may have waited in its
 * port, and not on their path, and how many it has taken since. Without this call, each frame
 * counts as come when it is given. */
void host_looked(struct host *h, uint64_t since);
/* The same for frames that another worker of the port handed over: they go no further. */
void host_rx_given(struct host *h, struct rte_mbuf **m, uint16_t n, uint64_t now);
/* Runs due timers, gives at most max frames to send now; the caller owns them. */
uint16_t host_tx(struct host *h, struct rte_mbuf **m, uint16_t max, uint64_t now);
/* The port had no room for these n frames that host_tx() gave, and they are offered again now: DATA
 * say anew when they were sent. The frames stay the caller's. */
void host_stamp(struct host *h, struct rte_mbuf *const *m, uint16_t n, uint64_t now);
/* When host_tx() must be called next: `now` if it has work, TIME_NEVER if nothing waits. */
uint64_t host_next(const struct host *h, uint64_t now);

/* The n hosts of one port, each worker's at its number, learn of each other before they run: a
 * FIRST finds the worker that has a connection waiting. They are destroyed together. */
void host_join(struct host *const *hosts, uint32_t n);

/* Packets that belong to another worker of the same port: up to max are taken out, worker[i] says
 * whose (HOST_WORKER_ALL: everybody else's, news of a neighbour). The caller owns them. */
uint16_t host_foreign(struct host *h, struct rte_mbuf **m, uint8_t *worker, uint16_t max);

/* Frames that are not Sluice's, for the kernel: up to max are taken out, in the order they came.
 * The caller owns them, and asks after each host_rx() until there are none. Each frame is either
 * answered here (ARP, ND and echo for our addresses) or given out, never both; answers of
 * neighbours are given out after a look, but one that host_foreign() gives for every worker. */
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
                         -EHOSTUNREACH no neighbour answered, -EPIPE the peer reads no more,
                         -EPROTO versions do not fit, -ESHUTDOWN the peer's daemon stops,
                         -ECOMM the path carries CNTL, but DATA of no size */
    uint8_t op;       /* enum host_op */
    bool provisional; /* SEND: pieces[0] is free again; another completion follows */
};

/* Services: which application an arriving connection is for. -EADDRINUSE, -ENOSPC. */
int host_listen(struct host *h, uint16_t service);
/* Idle passive connections of the service complete with -ECANCELED. */
void host_unlisten(struct host *h, uint16_t service);

struct host_connect {
    struct addr peer;
    uint16_t peer_port; /* UDP; 0: WIRE_UDP_PORT */
    uint16_t service;
    bool go_back_n;
    uint64_t first_rate_Bps; /* 0: the host's default */
    uint64_t first_burst_bytes;
    uint64_t owner; /* returned with every completion of the connection */
    uint64_t user;
};

/* The connection's number (>= 0), or -ENOSPC, -EINVAL (peer unset, of a family we have not, or
 * ourselves), -EHOSTUNREACH (off-link and no gateway), -EADDRNOTAVAIL (another station has our
 * address: host_claim()). Sends and receives may be posted at once. */
int64_t host_connect(struct host *h, const struct host_connect *op, uint64_t now);

/* A passive connection that waits for the next FIRST of the service; receives may be posted at
 * once. Completes when one came. The number, or -ENOSPC, -ENOENT (nobody called host_listen()).
 * The source of FIRST may be forged: nothing else completes before a packet has shown that the peer
 * knows our key, and everything fails (-ETIMEDOUT) if none does within silence_ms. */
int64_t host_accept(struct host *h, uint16_t service, uint64_t owner, uint64_t user);

struct host_piece {
    uint8_t *data;
    uint64_t len; /* bytes */
};

struct host_send {
    struct host_piece pieces[2]; /* one request: [0] then [1]; memory stays the sender's until
                                    completion */
    bool provisional;            /* partial copy: pieces[1] is the copied tail */
    uint64_t user;
};

/* 0, -ENOBUFS (depth operations are outstanding), -EMSGSIZE, -EPIPE (after shutdown), -ENOTCONN (no
 * connection), or what the connection ended with; a recv then completes with that. */
int host_send(struct host *h, uint32_t conn, const struct host_send *op, uint64_t now);
int host_recv(struct host *h, uint32_t conn, uint8_t *data, uint64_t len, uint64_t user,
              uint64_t now);

/* No more sends: WCLOSE after what is queued; completes when the peer confirmed all. */
int host_shutdown(struct host *h, uint32_t conn, uint64_t user, uint64_t now);

/*
 * Gives the connection up: what is outstanding completes with -ECANCELED, the peer is told END
 * (reason `end`) unless both directions were closed in order. The number is free for reuse after
 * the last completion has been taken and no mbuf refers to its memory; host_conn_gone() tells.
 */
void host_close(struct host *h, uint32_t conn, enum wire_end end, uint64_t now);
/* True if the connection holds no application memory any more (its owner may unmap it). */
bool host_conn_gone(const struct host *h, uint32_t conn);

/* Takes completions, at most max; returns how many. */
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
    uint32_t dropped_unit_bytes;             /* the shortest that the path was seen to drop, for
                                                which units became smaller; 0: none */
    uint64_t tx_rate_Bps, tx_burst_bytes;    /* what the peer granted us (or the default) */
    uint64_t rx_rate_Bps, rx_burst_bytes;    /* what we granted */
    uint16_t rx_reason;                      /* enum grant_reason: host_reason_name() */
    uint64_t rtt_ns;                         /* smoothed; 0: unknown */
    uint64_t tx_bytes, tx_units, tx_repeats; /* payload sent, units sent, of those sent again */
    uint64_t tx_acked_bytes;                 /* of completed requests */
    uint64_t rx_bytes, rx_units;             /* payload placed, units placed */
    uint64_t rx_duplicates, rx_unposted, rx_lost;
    uint64_t rx_loss_runs, rx_clean; /* error-recovery runs; packets received outside of them */
    uint64_t rx_ce;                  /* packets that a router on the path had marked (RFC 3168) */
    uint64_t rx_momentary_Bps;       /* five-frame momentary rate at the newest unit */
    uint64_t cntl_tx, cntl_rx, naks_tx, naks_rx, recoveries;
    uint64_t backlog_bytes; /* handed over, not sent once */
};

/* [any], each field by itself consistent. False if the connection is free. */
bool host_conn_info(const struct host *h, uint32_t conn, struct host_conn_info *out);

/* How much they varied, since the connection began. */
struct host_conn_spread {
    struct spread increment_ns;  /* of one-way delay, each DATA packet that came: control/owd.h */
    struct spread momentary_Bps; /* of five units that came, each time it is known anew */
    struct spread latency_ns;    /* of requests sent: from host_send() to their completion */
};
/* [any] False if the connection is free. */
bool host_conn_spread(const struct host *h, uint32_t conn, struct host_conn_spread *out);

const char *host_reason_name(uint16_t reason);
uint32_t host_conn_limit(const struct host *h); /* [any] numbers are below this */
uint32_t host_conn_count(const struct host *h); /* [any] so many are in use */

/* [any] Counters of the host by name, for telemetry: index from 0, NULL after the last. */
const char *host_counter(const struct host *h, uint32_t index, uint64_t *value);

/* [any] What happened lately: host/trace.h. */
struct trace;
const struct trace *host_trace(const struct host *h);

struct host_neighbor {
    struct addr addr;
    struct rte_ether_addr mac;
    bool known;      /* else it is asked for */
    uint64_t learnt; /* when it was last heard of, in `now`'s cycles; 0: never */
};
/* [any] Neighbours: index from 0 to HOST_NEIGHBORS_MAX - 1; false if there is none. */
#define HOST_NEIGHBORS_MAX 256u
bool host_neighbor(const struct host *h, uint32_t index, struct host_neighbor *out);

/*
 * [any] Makes sure that our addresses are ours alone, and tells the link that they are here
 * (host/claim.h). To be called for each host of a port when its link has come up; without it, they
 * are taken to be ours, and only defended.
 */
void host_claim(struct host *h);

struct host_address {
    struct addr address;
    bool used;                   /* false: another station has it, and had it first */
    uint64_t conflicts;          /* messages of another station that uses it, so far */
    struct rte_ether_addr other; /* whose the newest of them was */
};
/* [any] Our address i, 0 or 1; false if there is none. */
bool host_address(const struct host *h, uint32_t i, struct host_address *out);

/* ---- control ---------------------------------------------------------------------------- */

/* What was seen since start of the port and of the workers that run its hosts, for the capacity
 * estimate (control/capacity.h). */
struct host_port_counters {
    uint64_t imissed, rx_nombuf; /* packets that the port dropped: no room, no memory */
    uint64_t ring_full;          /* the same between workers */
    uint64_t busy, time;         /* of the workers, in one unit: at work, in all; 0: not known */
    uint64_t bursts, full;       /* polls that found packets; as many as they could take */
};

/*
 * Control half for the n hosts of one port: measures, shares the capacity and hands grants to the
 * workers. Called every control interval from one thread; [any] with regard to the workers.
 */
struct host_control;
struct host_control *host_control_create(struct host *const *hosts, uint32_t n, uint64_t now,
                                         char *err, size_t err_len);
void host_control_destroy(struct host_control *c);
void host_control(struct host_control *c, const struct host_port_counters *port, uint64_t now);
/* [any] It was not called for HOST_CONTROL_INTERVALS: grants stay as they are. Seen by the worker,
 * as long as it runs; each time counts in `control_stalls`. */
bool host_control_stalled(const struct host *h);
#define HOST_CONTROL_INTERVALS 16

/* The rest is for the thread that calls host_control(). Live change of the hard ceiling; 0: none.
 */
void host_control_set_capacity(struct host_control *c, uint64_t capacity_Bps);
/* The rate of the port's link, all that is on it: no more can come. 0, as at first: not known. */
void host_control_set_link(struct host_control *c, uint64_t link_Bps);

/*
 * Peers, from a network of which all senders share: what each of their connections counts when the
 * capacity is shared (control/share.h), and what all have in sum. The first that fits is a
 * connection's; one that fits none has weight 1 and no limits.
 */
struct host_peers {
    struct addr address;
    uint8_t prefix_len;                    /* IPv4 bits for IPv4 */
    uint8_t priority;                      /* 0 goes first, to 7 */
    uint16_t weight;                       /* 1 .. */
    uint64_t min_Bps, ceiling_Bps;         /* of a connection; 0: none */
    uint64_t all_min_Bps, all_ceiling_Bps; /* of all in sum; 0: none */
};
#define HOST_PEERS_MAX 64
/* At most HOST_PEERS_MAX; live: connections are found their peers anew. */
void host_control_set_peers(struct host_control *c, const struct host_peers *peers, uint32_t n);

/* What an operator says of one connection, until it ends; 0: nothing, as it is for its peer. */
struct host_override {
    uint64_t rate_Bps;    /* reserved for it, and no more than that */
    uint64_t ceiling_Bps; /* no more than that; a rate goes before */
    uint64_t burst_bytes; /* of its grants; a packet at least */
    uint16_t weight;
};
/* conn is one of the port's worker. 0; -ENOENT: it is not open; -ENOSPC: with what others have
 * reserved, the rate is more than the port's capacity; all stays as it was. */
int host_control_override(struct host_control *c, uint32_t worker, uint32_t conn,
                          const struct host_override *o);
/* What was said of it; all 0 if it is not open. */
void host_control_overrides(const struct host_control *c, uint32_t worker, uint32_t conn,
                            struct host_override *out);

struct host_capacity {
    uint64_t ceiling_Bps;  /* as configured; 0: none */
    uint64_t measured_Bps; /* 0: unknown */
    const char *why;       /* how it is known: unknown, measured, overrun, saturated, probed */
    uint64_t granted_Bps;  /* what was shared in the last interval; 0: no limit */
    uint64_t overruns;     /* intervals with overrun */
};
void host_control_capacity(const struct host_control *c, struct host_capacity *out);

/* [any] Overruns, lately: host/trace.h. */
const struct trace *host_control_trace(const struct host_control *c);

/* Grants that changed, and capacities: the newest HOST_HISTORY of them are kept. */
#define HOST_HISTORY 2048u
enum host_decided {
    HOST_DECIDED_GRANT,    /* of one connection */
    HOST_DECIDED_CAPACITY, /* of the port */
};
struct host_decision {
    uint64_t number;      /* from 0, of all so far */
    uint64_t time;        /* of the host_control() that decided it, in its cycles */
    const char *why;      /* host_reason_name(), or as in struct host_capacity */
    uint64_t rate_Bps;    /* granted; the capacity */
    uint64_t burst_bytes; /* granted */
    uint64_t rx_Bps;      /* received in the interval before: by the connection, or in sum */
    uint64_t lost;        /* by the connection so far; packets that the port dropped since before */
    struct addr peer;     /* of the connection */
    uint32_t conn;
    uint8_t worker;
    uint8_t decided; /* enum host_decided */
};
/* How many there were so far: the number of the next one. */
uint64_t host_control_decisions(const struct host_control *c);
/* Those from this number on that are still known, oldest first, at most max; returns how many. */
uint32_t host_control_history(const struct host_control *c, uint64_t from,
                              struct host_decision *out, uint32_t max);

#endif
