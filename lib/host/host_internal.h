/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of lib/host share: struct host, and the functions that one file offers the others.
 * The public interface is host.h.
 */
#ifndef SLUICE_HOST_HOST_INTERNAL_H
#define SLUICE_HOST_HOST_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_hash.h>
#include <rte_mbuf.h>

#include "assoc/mail.h"
#include "assoc/seal.h"
#include "assoc/table.h"
#include "base/clock.h"
#include "base/counter.h"
#include "base/mul_div.h"
#include "base/rng.h"
#include "host/claim.h"
#include "host/conn.h"
#include "host/host.h"
#include "host/neighbor.h"
#include "host/trace.h"
#include "pace/credit.h"
#include "pace/wheel.h"
#include "wire/frame.h"
#include "wire/neigh.h"

#define HOST_REPLIES_MAX       32u /* frames of each kind (enum reply_kind) */
#define HOST_FOREIGN_MAX       64u
#define HOST_ROUTE_WAITING_MAX 64u
#define HOST_EXCEPTIONS_MAX    64u
#define HOST_UNKNOWN_RTT_NS    50000000ull /* round trip, until one is measured */
#define FLIGHT_BYTES           (1u << 18)  /* bytes that may be under way on a path not yet known */
#define CNTL_SPARE             80u         /* Ethernet, VLAN, IPv6 and UDP headers before a CNTL */
#define BURST_UNITS_MAX        64u         /* units: longest burst chosen from the rate */
#define KEY_MISSES_MAX         (1u << 24)  /* packets with a wrong key, after which it is renewed */
#define HANDOVER_SETS          64u         /* a power of 2 */
#define HANDOVER_SET_SIZE      4u
#define GRANT_BURST_NS         100000ull /* a burst chosen from the rate lasts 100 us at it */
#define GRANT_UNITS_MIN        2u        /* units in the shortest burst chosen from the rate */
#define NONE                   UINT32_MAX

/* Every counter of a host: X(name). Meanings: doc/counters.md. */
/* clang-format off */
#define HOST_COUNTERS(X)                                                                           \
    X(rx_frames) X(rx_bytes) X(rx_arp) X(rx_echo) X(rx_neighbor) X(rx_first) X(rx_data)            \
    X(rx_cntl) X(rx_rcntl) X(rx_ce) X(rx_foreign) X(rx_exception) X(drop_other) X(drop_short)      \
    X(drop_ip) X(drop_fragment) X(drop_udp) X(drop_vlan) X(drop_not_ours) X(drop_source)           \
    X(drop_port) X(drop_no_sum) X(drop_sum) X(drop_icmp) X(drop_wire_short) X(drop_wire_version)   \
    X(drop_wire_type) X(drop_wire_security) X(drop_wire_flags) X(drop_wire_field)                  \
    X(drop_wire_length) X(drop_unknown_key) X(drop_unknown_early) X(drop_address) X(drop_state)    \
    X(drop_unit_size) X(drop_no_listener) X(drop_not_allowed) X(drop_no_accept) X(drop_no_cookie)  \
    X(drop_plain) X(drop_association) X(drop_seal) X(drop_replay) X(drop_handshake_full)           \
    X(drop_handshake_address) X(drop_handshake_mac) X(rx_handshake) X(tx_handshake)                \
    X(drop_early_off) X(drop_first_duplicate) X(drop_duplicate) X(drop_unposted)                   \
    X(drop_out_of_order) X(drop_no_room) X(drop_too_long) X(drop_mismatch) X(drop_beyond)          \
    X(drop_over_grant) X(drop_cntl_old) X(drop_cntl_ack) X(drop_rcntl_old) X(drop_rcntl_proof)     \
    X(drop_foreign_full) X(drop_exception_full) X(drop_neighbor_limit) X(rx_conflict) X(tx_claim)  \
    X(tx_frames) X(tx_bytes) X(tx_first) X(tx_data) X(tx_cntl) X(tx_arp) X(tx_no_mbuf)             \
    X(tx_replies_full) X(tx_replies_limited) X(conns_ecn_off) X(conns_opened) X(conns_accepted)    \
    X(conns_closed) X(conns_failed) X(conns_full) X(keys_renewed) X(units_cut) X(control_stalls)   \
    X(rx_payload_bytes) X(tx_payload_bytes) X(tx_acked_bytes) X(totals_missed)

enum host_counter_id {
#define X(name) COUNT_##name,
    HOST_COUNTERS(X)
#undef X
    HOST_COUNTER_COUNT
};
/* clang-format on */

/* What control has decided for one connection. Written by control, read by the worker
 * (base/counter.h). Control then sets the connection's bit in host.grants_dirty. */
struct grant {
    uint64_t epoch;
    uint64_t rate_Bps, burst_bytes, reason;
    uint64_t max_Bps;    /* limit when the connection begins; written without the dirty bit */
    uint64_t fair_Bps;   /* the connection's part of a shared link (control/bottleneck.h); written
                            without the dirty bit */
    uint64_t rtt_max_ns; /* each connection limited by its path has a shortest round trip: the
                            longest of these */
};

/* What control has decided for connections that begin or are idle. Written by control, read by the
 * worker (base/counter.h). */
struct start {
    uint64_t interval; /* number of control's intervals; 0: control has not run */
    uint64_t pool_Bps; /* for all connections in sum */
    uint64_t active;   /* connections that share pool_Bps */
    uint64_t idle_Bps, idle_burst_bytes;
    uint64_t port_Bps; /* host_port_rate() */
};

/* Connections that began in this interval of control. Owned by the worker. */
struct newcomers {
    uint32_t *conns;
    uint32_t n, parts; /* newcomers; parts that the pool has for them, a power of 2, at least n */
    uint64_t interval;
};

enum grant_reason {
    GRANT_DEFAULT = 0,    /* nothing measured yet */
    GRANT_NEWCOMER = 1,   /* an equal part, until control has seen the connection */
    GRANT_CAPACITY = 2,   /* the connection's max-min part of the host's capacity */
    GRANT_LOSS = 3,       /* the rate that arrived when packets were lost */
    GRANT_PROBE = 4,      /* rising while nothing is lost */
    GRANT_IDLE = 5,       /* kept ready for a pausing sender */
    GRANT_CEILING = 6,    /* the ceiling set for the connection or its peer */
    GRANT_MINIMUM = 7,    /* the minimum reserved for the connection */
    GRANT_DEMAND = 8,     /* a little more than the connection uses */
    GRANT_QUEUE = 9,      /* what the path carries with a short queue */
    GRANT_COMPETING = 10, /* the connection's part of a path whose queue a competitor keeps long */
    GRANT_OCCUPANCY = 11, /* what thresholds on buffers or delay allow */
    GRANT_ECN = 12,       /* less than the rate that arrived: a router marked packets */
    GRANT_LIMIT = 13,     /* what an application allows: host_limit() */
};

/* The final figures of a connection that is over. */
struct ended {
    uint32_t conn;
    bool proven; /* as in struct conn_public */
    bool failed; /* it ended otherwise than in order */
    uint64_t epoch;
    struct addr peer;
    uint64_t rx_bytes, tx_bytes, tx_acked_bytes;
};

/* From the worker (table_ended()) to control (totals_take()). */
#define HOST_ENDED_MAX 512u
struct ended_ring {
    uint64_t put;   /* written by the worker; read by control */
    uint64_t taken; /* written by control; read by the worker */
    struct ended ring[HOST_ENDED_MAX];
};

struct host_service {
    uint64_t number;     /* 0: free; also read by other workers (base/counter.h) */
    uint32_t head, tail; /* list of waiting connections, first come first served */
    uint64_t waiting;    /* how many they are; also read by other workers */
};

enum reply_kind { REPLY_NEIGHBORS, REPLY_OTHERS, REPLY_HANDSHAKES, REPLY_KINDS };

struct reply_queue {
    struct rte_mbuf *m[HOST_REPLIES_MAX];
    uint32_t n;
    struct credit credit; /* bytes that may be sent */
};

/* What becomes of a frame that is not UDP. */
enum link_verdict {
    LINK_TAKEN,  /* the mbuf was taken over */
    LINK_DONE,   /* answered */
    LINK_SHARE,  /* goes to the port's other workers, then to the kernel */
    LINK_KERNEL, /* read here; goes to the kernel, too */
    LINK_OTHER,  /* not understood */
};

/* A peer with a key: what it may do, and how often something may be done for it. */
struct secured_peer {
    const struct assoc_rights *rights; /* in h->networks; NULL: there is no such peer any more */
    uint64_t wanted_ns;                /* when an association was last asked for; 0: never */
    uint64_t asked;       /* number of the newest INIT that this worker has sent; 0: none */
    uint16_t asked_sport; /* the UDP port it was sent from */
    uint64_t interval;    /* of control */
    uint32_t inits;       /* looked at in that interval, of those from its addresses */
    uint32_t answers, own_answers; /* the same; own: to an INIT of this worker */
    uint32_t macs;                 /* of INIT that were verified for that */
};

struct conn_list {
    uint32_t head, tail;
};

/* A FIRST that was handed over. */
struct handover {
    struct conn_early_key key; /* key.key 0: free */
    uint64_t at;               /* when */
    uint8_t worker; /* the worker that the FIRST went to; our own number: the FIRST came back */
};

struct host {
    struct host_config cfg;
    struct clock clock;
    struct secret random;                     /* keys and first request numbers */
    struct secret cookies;                    /* used as a keyed hash only */
    uint32_t key_index_bits, key_random_bits; /* of a key (table.c) */
    uint32_t source_next;                     /* offset of the next source port in its range */
    uint32_t unproven; /* accepted connections whose peer has not shown our key yet */
    uint64_t now;
    uint64_t now_ns, now_ns_of; /* host_now_ns(): its newest result, and the `now` of that */
    uint64_t tx_lead_tsc;       /* see host_config */
    uint64_t unknown_rtt_tsc;   /* HOST_UNKNOWN_RTT_NS */
    uint64_t silence_step_tsc;  /* length of one step of a peer's silence */
    uint64_t tx_time;    /* the latest time at which a packet given to the port is to leave */
    uint64_t looked_at;  /* host_looked(); 0: not known */
    uint64_t unseen_ns;  /* a received frame may have come up to this long before `now` */
    uint32_t taken;      /* frames taken from the port since looked_at */
    bool full;           /* the port may have been full before this burst was taken from it */
    uint32_t full_looks; /* bursts before this one at which the port may have been full */
    struct moderation moderation;
    struct conn *conns;
    struct wheel *timers, *pacing;
    struct rte_hash *early; /* (address, port, opener's key) -> connection */
    struct conn_list free_list, cntl_list, data_list, done_list;
    struct conn_list linger_list; /* requests are over, but the port still refers to their memory */
    uint64_t conns_used;          /* connections that are not FREE; base/counter.h */
    uint64_t *conns_bits;         /* a bit for each of them: control looks at no others */
    struct host_service services[HOST_SERVICES_MAX];
    struct neighbor_table neighbors;
    uint32_t route_waiting[HOST_ROUTE_WAITING_MAX]; /* connections that wait for a neighbour */
    uint32_t route_waiting_count;
    struct claim claims[2];              /* of address[i] */
    uint64_t claims_asked, claims_begun; /* calls of host_claim() so far, by any thread; those that
                                            the worker has obeyed */
    struct reply_queue replies[REPLY_KINDS];
    struct credit share_credit; /* bytes of neighbours' news that may go to other workers */
    struct rte_mbuf *foreign[HOST_FOREIGN_MAX];
    uint8_t foreign_worker[HOST_FOREIGN_MAX];
    uint32_t foreign_count;
    struct host *workers[HOST_WORKERS_MAX]; /* all hosts of the port, with ours; NULL: not joined */
    struct handover handovers[HANDOVER_SETS][HANDOVER_SET_SIZE];
    bool given; /* the frames being received were handed over by another worker */
    struct rte_mbuf *exceptions[HOST_EXCEPTIONS_MAX];
    uint32_t exception_count;
    uint64_t count[HOST_COUNTER_COUNT];
    /* written by control */
    struct grant *grants;
    uint64_t *grants_dirty; /* a bit for each connection, set with release: grant_mark() */
    uint64_t *grants_words; /* a bit for each word of grants_dirty that is not 0 */
    uint64_t grants_any;    /* not 0: a word of grants_words is not 0 */
    struct start start;
    struct newcomers newcomers;
    uint64_t clear_runs; /* runs of control in a row in which the host was fast enough, so that
                            packets that waited or got lost did so on their paths */
    uint64_t control_at; /* when control last ran, in cycles; 0: not yet */
    /* written by the worker */
    uint64_t control_stalled, control_stall_tsc; /* 1: control is stalled; after how long without a
                                                    run it counts as stalled (0: never) */
    uint64_t trace_pause_tsc;                    /* TRACE_PAUSE_NS */
    struct ended_ring ended;
    struct trace trace;
    /* unless security is none */
    struct mailbox mailbox; /* to and from control */
    struct table table;
    struct mail_networks *networks; /* of peers with keys; NULL: not known yet */
    struct secured_peer *peers;     /* by the number of a peer */
    uint64_t macs_interval;         /* of control */
    uint32_t macs;                  /* verified in that interval */
    /* storage */
    struct vt_request *requests;
    struct vt_buffer *buffers;
    struct span *spans;
    struct unit_set_page *pages;
};

/* When the next packet can leave at the earliest: what the port has got already is to leave at
 * times up to tx_time. Credit up to then is spent, so a new rate counts from then on. */
static inline uint64_t pacing_now(const struct host *h)
{
    return RTE_MAX(h->now, h->tx_time);
}

/* Is control's newest grant for this number meant for this connection, not for an earlier one? */
static inline bool grant_holds(const struct host *h, const struct conn *c)
{
    return counter_get(&h->grants[c->index].epoch) == c->pub.epoch;
}

static inline void host_count(struct host *h, enum host_counter_id id)
{
    counter_add(&h->count[id], 1);
}

static inline void host_count_bytes(struct host *h, enum host_counter_id id, uint64_t n)
{
    counter_add(&h->count[id], n);
}

/* An earlier `now` is ignored: times between it and the newest one would lie in the future, and
 * wrapping differences would make them 146 years old. */
static inline void host_clock(struct host *h, uint64_t now)
{
    if (time_before(h->now, now))
        h->now = now;
}

/* `now` in ns; kept, since most packets of a poll share it. */
static inline uint64_t host_now_ns(struct host *h)
{
    if (h->now_ns_of != h->now) {
        h->now_ns_of = h->now;
        h->now_ns = clock_ns(&h->clock, h->now);
    }
    return h->now_ns;
}

/* Do a and b differ by more than b / 2^shift? */
static inline bool rate_differs(uint64_t a, uint64_t b, uint32_t shift)
{
    return (a > b ? a - b : b - a) > b >> shift;
}

static inline void host_note(struct host *h, const struct conn *c, enum trace_what what,
                             uint16_t why, uint64_t a, uint64_t b)
{
    trace_add(&h->trace, h->now, what, c->index, why, a, b);
}

/* True at most once in TRACE_PAUSE_NS; *at is the last time. */
static inline bool host_note_due(const struct host *h, uint64_t *at)
{
    if (*at != 0 && h->now - *at < h->trace_pause_tsc)
        return false;
    *at = h->now;
    return true;
}

/* host.c: lists; a connection is in each list at most once. */
void list_push(struct host *h, struct conn_list *l, struct conn *c, struct conn_link *link);
struct conn *list_pop(struct host *h, struct conn_list *l, size_t link_offset);
#define LIST_POP(h, list, link) list_pop(h, &(h)->list, offsetof(struct conn, link))

/* table.c */
struct conn *table_new(struct host *h);
void table_free(struct host *h, struct conn *c);
/* Gives control the final figures of a connection whose number becomes free. */
void table_ended(struct host *h, const struct conn *c);
struct conn *table_by_key(struct host *h, uint64_t key);
/* Counts a packet whose key no connection has. Returns the connection whose key was renewed because
 * of that; NULL: none was. */
struct conn *table_missed(struct host *h, uint64_t key);
uint32_t table_key_worker(const struct host *h, uint64_t key);
int table_early_add(struct host *h, struct conn *c, const struct conn_early_key *key);
void table_early_remove(struct host *h, struct conn *c);
struct conn *table_early_find(struct host *h, const struct conn_early_key *key);
struct host_service *table_service(struct host *h, uint16_t number);
void table_service_remove(struct host *h, struct conn *c);

/* conn.c: life */
void conn_publish(struct conn *c);
struct addr conn_public_peer(const struct conn_public *p);
void conn_opened(struct host *h, struct conn *c, int status);
void conn_over(struct host *h, struct conn *c, int status, enum wire_end end, bool tell);
void conn_close_check(struct host *h, struct conn *c);
void conn_rate_apply(struct host *h, struct conn *c);
void conn_want(struct host *h, struct conn *c, uint8_t want);
void conn_prove(struct host *h, struct conn *c);
void conn_nak_anew(struct host *h, struct conn *c);
uint64_t conn_nak_again(const struct host *h, const struct conn *c);
void conn_has_data(struct host *h, struct conn *c);
void conn_has_completion(struct host *h, struct conn *c);
void conn_free_check(struct host *h, struct conn *c);
/* The connection's oldest request is over, but the port still refers to the request's memory. */
void conn_lingers(struct host *h, struct conn *c);
/* The longest unit that the port carries to the peer, and that halves well. */
uint32_t conn_unit_max(const struct host *h, const struct addr *peer, bool sealed);
/* The longest unit that every path to such a peer carries. */
uint32_t conn_unit_min(const struct addr *peer, bool sealed);
/* The longest unit of at most so many bytes whose halves are whole bytes, down to conn_unit_min():
 * black_hole.c replaces a unit by its halves. */
uint32_t conn_unit_halves(uint32_t bytes, const struct addr *peer, bool sealed);
uint64_t conn_wait_tsc(const struct host *h, const struct conn *c);
uint64_t conn_silence_step(const struct host *h);
uint64_t conn_again_tsc(const struct host *h, struct conn *c);
/* A round trip took this long; bound: at most this long. */
void conn_round_trip(const struct host *h, struct conn *c, uint64_t sample_tsc, bool bound);
int conn_end_status(enum wire_end end);
/* The connection's timers run at `when` at the latest, or when the first of them is due
 * (timer.c). */
void conn_timer_at(struct host *h, struct conn *c, uint64_t when);
void conn_timer_update(struct host *h, struct conn *c);
/* Counts the time since the last call for what the sender has waited for since then, and notes what
 * it waits for now. Called wherever that may have changed. */
void conn_limited(struct host *h, struct conn *c);
/* The peer has seen one more CNTL, or the wait is over: a CNTL that is held back goes out. */
void conn_release_cntl(struct host *h, struct conn *c);

/* handshake.c: connections begin. conn_start() gives one that was just taken from the table its
 * parts; first_take() takes a peer's FIRST. */
void conn_start(struct host *h, struct conn *c, uint64_t first_rate_Bps,
                uint64_t first_burst_bytes);
/* The route of an answer to the frame. */
struct frame_route route_back(const struct host *h, const struct frame *f);
/* e: the association of a sealed FIRST, else NULL. */
void first_take(struct host *h, const struct frame *f, const struct wire_first *v,
                struct table_entry *e);

/* timer.c */
void timer_run(struct host *h);
void timer_first_sent(struct host *h, struct conn *c);

/* cntl.c: CNTL in and out */
/* Takes a CNTL. True if it was newer than all before, and the connection could use it. */
bool cntl_take(struct host *h, struct conn *c, const struct wire_cntl *v);
void rcntl_take(struct host *h, struct conn *c, const struct wire_rcntl *v);
uint32_t cntl_min(const struct conn *c);
/* Time that a CNTL waited on the return path: the excess of a round trip over the shortest one and
 * the queue on the path to us. */
static inline uint64_t cntl_late_ns(const struct conn *c, uint64_t trip_ns)
{
    uint64_t min_ns = c->rtt_min_ns + sojourn_ns(&c->path.sojourn);

    return trip_ns > min_ns ? trip_ns - min_ns : 0;
}

/*
 * On a thin return path CNTL queue. Each CNTL replaces the one before, so a queue there
 * only makes news old. cntl_waits() is true if the next CNTL is held back, for one of two reasons:
 *
 * - So many wait on the return path that it would queue. It is held until the peer has seen one
 *   more, or a round trip is over (conn_wait_tsc()).
 * - It says only how far the units have come, and the one before was sent less than half of the
 *   shortest round trip ago. A queue is noticed a round trip late, and dozens may wait by then.
 *   Even the shortest round trip includes the time in which the return path sends one CNTL, so two
 *   CNTL in it are at most twice what the return path carries.
 *
 * A CNTL that continues a list of gaps for which the last one had no room is not held, since the
 * units that it asks for are longer than itself. One that grants another rate, has new buffers,
 * says that a request is complete, or asks for a gap for the first time is held for the first
 * reason only.
 */
bool cntl_waits(struct host *h, struct conn *c);
/* association: the peer's number of it; 0: the packet is plain. */
uint32_t cntl_build(struct host *h, struct conn *c, uint8_t *p, uint32_t room,
                    uint32_t association);

/* black_hole.c: a path that drops packets for their size. black_hole_take() is called for each new
 * CNTL, after the sending half has taken it. seen: the peer has seen the CNTL of ours that is
 * watched. */
void black_hole_take(struct host *h, struct conn *c, const struct wire_cntl *v, bool seen);
/* Sets the unit size to use from now on. */
void unit_apply(struct host *h, struct conn *c);

/* Of a sealed DATA packet: its association, and the header that was parsed. */
struct data_seal {
    struct table_entry *e;
    uint8_t header[WIRE_DATA_BYTES];
};

/* data.c: DATA in. seal: NULL, if the packet is not sealed. */
void data_take(struct host *h, struct conn *c, const struct wire_data *d, const struct rte_mbuf *m,
               const struct frame *f, const struct data_seal *seal);

/* tx.c */
struct rte_mbuf *tx_packet(struct host *h, const struct frame_route *route, const uint8_t *payload,
                           uint32_t len);

/* security.c: associations, as far as connections and packets need them. A connection that is
 * sealed has an association while security_entry() is not NULL. */
int security_create(struct host *h);
void security_destroy(struct host *h);
/* The peer in whose network the address is; ASSOC_PEER_NONE: none has a key for it. */
uint32_t security_peer_of(const struct host *h, const struct addr *address);
/* Decides whether a connection that we open is sealed. Returns 0 or -EACCES. */
int security_connect(struct host *h, struct conn *c);
/* The association under which the connection's next packet is sealed; NULL: there is none. Asks for
 * one, or for the next one, if it is time. */
struct table_entry *security_entry(struct host *h, struct conn *c);
/* The peer does not answer under the association that there is. */
void security_doubt(struct host *h, struct conn *c);
/* May the peer connect to this service? e: the association of a sealed FIRST, else NULL. */
bool security_serves(const struct host *h, const struct table_entry *e, uint16_t service);
/* A sealed packet of the connection was right. */
void security_heard(struct host *h, struct conn *c, struct table_entry *e);
/* Hands an INIT, RESPONSE or COOKIE to control. back: the route of an answer. */
void security_handshake(struct host *h, const uint8_t *p, uint32_t len, const struct wire_header *w,
                        const struct frame_route *back);
/* May the packet be sealed, or not be, as it is? If it is sealed, *e is its association, and *inner
 * is the frame without the trailer. False: it was dropped, and counted. */
bool security_admit(struct host *h, const struct frame *f, const struct wire_header *w,
                    struct frame *inner, struct table_entry **e);
/* Do the connection and the packet agree about the association? False: dropped, and counted. */
bool security_matches(struct host *h, const struct conn *c, const struct table_entry *e);
/* A sealed CNTL of the connection was right; proof: wire_parse_proof() of it. */
void security_proof_note(struct conn *c, uint64_t proof);
/* May a router limit the connection by this RCNTL? If not, it is counted as dropped. */
bool security_router_right(struct host *h, const struct conn *c, const struct wire_rcntl *v);
/* Is the sealed FIRST or CNTL at p right, and no repetition of a FIRST? If not, it is counted as
 * dropped. */
bool security_state_right(struct host *h, struct table_entry *e, const uint8_t *p,
                          const struct frame *f);
/* The payload of sealed DATA, until the next call; NULL: it was changed, and counted as dropped. */
const uint8_t *security_data_open(struct host *h, const struct data_seal *seal,
                                  const struct rte_mbuf *m, const struct frame *f);
/* Seals a FIRST or CNTL of len bytes at p for this route. Returns its new length. */
uint32_t security_seal(struct host *h, struct table_entry *e, const struct frame_route *route,
                       uint8_t *p, uint32_t len);

/* rekey.c: takes what control has decided. True: the handshake packet in *m, m->len bytes, is to be
 * sent to m->route; to be called again then, if another one can be sent. */
bool rekey_run(struct host *h, struct mail *m);

/* Bytes behind each packet of the connection. */
static inline uint32_t conn_trailer(const struct conn *c)
{
    return c->security.sealed ? WIRE_TRAILER_BYTES : 0;
}

/* route.c: the next hop of packets to a peer */
int route_family(const struct host *h,
                 const struct addr *a); /* index of our address in a's family; -1: none */
const struct addr *route_hop(const struct host *h, int family, const struct addr *peer);
void route_start(struct host *h, struct conn *c);
void route_accept(struct host *h, struct conn *c, const struct rte_ether_addr *mac);
/* Is the next hop's MAC address known? If not, it is asked for. */
bool route_resolve(struct host *h, struct conn *c);
/* Looks up the next hop's MAC address again: it may have changed since the connection last sent. */
void route_refresh(struct host *h, struct conn *c);
/* A packet that only the peer can have sent, and newer than all before, came from mac. */
void route_heard(struct host *h, struct conn *c, const struct rte_ether_addr *mac);
/* The next hop may be gone. It is asked again; until it answers, nothing changes. */
void route_doubt(struct host *h, struct conn *c);
void route_again(struct host *h, struct conn *c);
/*
 * Signs of silence. route_say(): a packet goes out; asks: it demands an answer. route_seen(): a
 * packet has come, which shows that the peer has this CNTL of ours (0: it says nothing) and this
 * many of our packets. If nothing new is shown for longer than two round trips and pauses between
 * CNTL, the next hop is in doubt.
 */
void route_say(struct host *h, struct conn *c, bool asks);
void route_seen(struct host *h, struct conn *c, uint32_t cntl, uint64_t packets);
void route_learn(struct host *h, const struct addr *a, const struct rte_ether_addr *mac,
                 enum neighbor_word word);
/* Sends the questions about neighbours in doubt that are due. */
void route_run(struct host *h);

/* sum.c: what is known of a packet's UDP checksum before it is computed here. */
enum sum_state {
    SUM_TAKEN, /* it counts as correct */
    SUM_WRONG,
    SUM_OPEN, /* to be computed here */
};
enum sum_state sum_state(const struct host *h, const struct rte_mbuf *m, const struct frame *f);

/* source.c: the port that a connection is opened from */
/* Sets r->sport. All other fields of r must be set. */
void source_choose(struct host *h, struct frame_route *r);
/*
 * Is a packet with header w, which came to a UDP port other than the host's own, for a connection
 * opened from that port, or perhaps for another worker? If not, it is for the owner of the UDP
 * port.
 */
bool source_takes(struct host *h, const struct frame *f, const struct wire_header *w);

/* handover.c: packets that go to another worker of the port */
/* The worker that takes a packet with header w. A FIRST: our own, for handover_first() decides. */
uint8_t handover_worker(const struct host *h, const struct frame *f, const struct wire_header *w);
/* The worker that takes a FIRST. */
uint8_t handover_first(struct host *h, const struct frame *f, const struct wire_first *v);

/* link.c: ARP, neighbour discovery, echo */
bool link_is_ours(const struct host *h, const struct addr *a);
enum link_verdict link_hear(struct host *h, struct rte_mbuf *m, const struct frame *f);

/* claim.c: are our addresses ours alone? */
void claim_init(struct host *h);
void claim_run(struct host *h);
uint64_t claim_next(const struct host *h);
/* True if a is an address of ours that we leave to another station. */
bool claim_yields(const struct host *h, const struct addr *a);
/* True if message n shows that another station uses an address of ours. Such a message is not
 * answered, and it is no news of a neighbour. */
bool claim_hear(struct host *h, const struct neigh *n, const struct frame *f);

/* reply.c: small frames that are sent before DATA, within limits */
void reply_init(struct host *h);
void reply_neighbor(struct host *h, const uint8_t *frame, uint16_t len, bool answer);
void reply_other(struct host *h, struct rte_mbuf *m); /* takes m; NULL: nothing */
/* May reply_handshake() be called? */
bool reply_has_room(const struct host *h);
void reply_handshake(struct host *h, struct rte_mbuf *m); /* as reply_other() */
uint16_t reply_take(struct host *h, struct rte_mbuf **m, uint16_t max);
bool reply_waits(const struct host *h);
void reply_drop(struct host *h);

/* pacing.c: pacing. pacing_data() and pacing_state() are true if a packet may be given to the port
 * now, to leave at *at. Otherwise the connection waits in the pacing wheel, or for a new grant. */
bool pacing_data(struct host *h, struct conn *c, uint64_t *at);
bool pacing_state(struct host *h, struct conn *c, uint64_t *at);
/* A packet was sent. The unit's bytes (0: none) are taken from the credit, the frame from the
 * contract. */
void pacing_sent(struct host *h, struct conn *c, struct rte_mbuf *m, uint64_t at,
                 uint32_t unit_bytes);
/* A sender was served: limits the worker's next nap. */
void pacing_moderate(struct host *h, const struct conn *c);
/* Packets before base have arrived or are lost; `arrived` packets have arrived in all. */
void pacing_flight(struct conn *c, uint64_t base, uint64_t arrived);
/* Makes the contract. To be called when the connection begins, or its peer grants another peak. */
void pacing_contract(struct host *h, struct conn *c);
/* The configured contract, with the longest frame as its unit. */
struct contract_config pacing_limits(const struct host_config *cfg);

/* grant.c: the part of the capacity that a peer has. Control marks connection i when it has written
 * its grant, and the worker applies the marked ones, so the work grows with the number of
 * changes. */
void grant_mark(struct host *h, uint32_t i);
void grants_apply(struct host *h);
/* The bytes that a rate carries in GRANT_BURST_NS. */
static inline uint64_t grant_burst_at(uint64_t rate_Bps)
{
    return mul_div(rate_Bps, GRANT_BURST_NS, CLOCK_NS_PER_S);
}
uint64_t grant_burst(const struct host *h, uint64_t rate_Bps, uint64_t unit_bytes);
/* A short burst, whatever is configured: its packets wait behind each other somewhere. */
static inline uint64_t grant_path_burst(uint64_t rate_Bps, uint64_t unit_bytes)
{
    return RTE_MAX(grant_burst_at(rate_Bps), GRANT_UNITS_MIN * unit_bytes);
}
uint64_t grant_start_burst(const struct host *h, uint64_t rate_Bps, uint64_t unit_bytes);
/* Set the grant of a connection that sends nothing, of one that begins, and of one that sends again
 * after it was idle. */
void grant_idle(struct host *h, struct conn *c);
void grant_newcomer(struct host *h, struct conn *c);
void grant_wake(struct host *h, struct conn *c);

/* path_grant.c: limits the grant to what the path carries. True if the peer should hear at once of
 * the grant that results. */
bool path_grant_join(struct conn *c);
void path_grant_start(struct conn *c);
/* A DATA packet came; marked: it had CE. */
void path_grant_watch(struct host *h, struct conn *c, const struct wire_data *d, bool marked);

/* occupancy_grant.c: limits the grant to what thresholds allow. True if the packet changed that
 * limit. */
void occupancy_grant_start(const struct host *h, struct conn *c);
bool occupancy_grant_watch(struct host *h, struct conn *c, uint64_t increment_ns);

/* control.c */
void control_watch(struct host *h);

#endif
