/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lib/host's own files share: struct host, and the functions one file offers the others. The
 * public face is host.h.
 */
#ifndef SLUICE_HOST_HOST_INTERNAL_H
#define SLUICE_HOST_HOST_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_hash.h>
#include <rte_mbuf.h>

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

#define HOST_REPLIES_MAX       32u /* of each kind */
#define HOST_FOREIGN_MAX       64u
#define HOST_ROUTE_WAITING_MAX 64u
#define HOST_EXCEPTIONS_MAX    64u
#define HOST_UNKNOWN_RTT_NS    50000000ull /* until measured */
#define FLIGHT_BYTES           (1u << 18)  /* under way on a path of which nothing is known */
#define CNTL_SPARE             80u         /* Ethernet, VLAN, IPv6 and UDP headers before a CNTL */
#define BURST_UNITS_MAX        64u         /* the longest burst granted by rate alone */
#define HANDOVER_SETS          64u         /* a power of 2 */
#define HANDOVER_SET_SIZE      4u
#define GRANT_BURST_NS         100000ull /* a burst lasts 100 us at the granted rate, */
#define GRANT_UNITS_MIN        2u        /* and has so many units at least */
#define NONE                   UINT32_MAX

/* Every counter of a host: X(name). Meanings: doc/counters.md. */
/* clang-format off */
#define HOST_COUNTERS(X)                                                                           \
    X(rx_frames) X(rx_bytes) X(rx_arp) X(rx_echo) X(rx_neighbor) X(rx_first) X(rx_data)            \
    X(rx_cntl) X(rx_rcntl) X(rx_ce) X(rx_foreign) X(rx_exception)                                           \
    X(drop_other) X(drop_short) X(drop_ip) X(drop_fragment) X(drop_udp) X(drop_vlan)               \
    X(drop_not_ours) X(drop_source) X(drop_port) X(drop_no_sum) X(drop_sum) X(drop_icmp)           \
    X(drop_wire_short)                                                                             \
    X(drop_wire_version) X(drop_wire_type) X(drop_wire_security) X(drop_wire_flags)                \
    X(drop_wire_field) X(drop_wire_length) X(drop_unknown_key) X(drop_unknown_early)               \
    X(drop_address) X(drop_state) X(drop_unit_size) X(drop_no_listener) X(drop_no_accept)          \
    X(drop_no_cookie)                                                                              \
    X(drop_early_off) X(drop_first_duplicate) X(drop_duplicate) X(drop_unposted)                   \
    X(drop_out_of_order) X(drop_no_room) X(drop_too_long) X(drop_mismatch) X(drop_beyond)          \
    X(drop_cntl_old) X(drop_cntl_ack) X(drop_rcntl_old) X(drop_foreign_full)                       \
    X(drop_exception_full) X(drop_neighbor_limit) X(rx_conflict) X(tx_claim)                       \
    X(tx_frames) X(tx_bytes) X(tx_first) X(tx_data) X(tx_cntl) X(tx_arp) X(tx_no_mbuf)             \
    X(tx_replies_full) X(tx_replies_limited) X(conns_ecn_off)                                      \
    X(conns_opened) X(conns_accepted) X(conns_closed) X(conns_failed) X(conns_full)            \
    X(units_cut) X(control_stalls)

enum host_counter_id {
#define X(name) COUNT_##name,
    HOST_COUNTERS(X)
#undef X
    HOST_COUNTER_COUNT
};
/* clang-format on */

/* What control tells a worker about one connection; fields by base/counter.h, then the dirty bit.
 */
struct grant {
    uint64_t epoch;
    uint64_t rate_Bps, burst_bytes, reason;
    uint64_t max_Bps;  /* whenever it begins; no dirty bit is needed for this, */
    uint64_t fair_Bps; /* nor for its part of a link that others share (control/bottleneck.h) */
};

/* The same of connections that begin or are idle; base/counter.h. */
struct start {
    uint64_t interval; /* counts control's intervals; 0: there was none */
    uint64_t pool_Bps; /* what all have in sum */
    uint64_t active;   /* connections that share it */
    uint64_t idle_Bps, idle_burst_bytes;
};

/* The worker's: connections that began in this interval. */
struct newcomers {
    uint32_t *conns;
    uint32_t n, parts; /* n <= parts, a power of 2: so many parts of the pool are made for them */
    uint64_t interval;
};

enum grant_reason {
    GRANT_DEFAULT = 0,    /* nothing measured yet */
    GRANT_NEWCOMER = 1,   /* an equal part until control has seen it */
    GRANT_CAPACITY = 2,   /* the host's capacity, shared max-min */
    GRANT_LOSS = 3,       /* what arrived when packets were lost */
    GRANT_PROBE = 4,      /* rising while nothing is lost */
    GRANT_IDLE = 5,       /* kept ready for a pausing sender */
    GRANT_CEILING = 6,    /* the most that its peer may have */
    GRANT_MINIMUM = 7,    /* what is reserved for it */
    GRANT_DEMAND = 8,     /* a little more than it uses */
    GRANT_QUEUE = 9,      /* the path's, whose queue is kept short */
    GRANT_COMPETING = 10, /* a part of the path's, beside others that keep its queue long */
    GRANT_OCCUPANCY = 11, /* what thresholds on buffers or delay allow */
    GRANT_ECN = 12,       /* less than arrived: a router marked packets */
};

struct host_service {
    uint64_t number;     /* 0: free; other workers read this, by base/counter.h */
    uint32_t head, tail; /* waiting connections, first come first served */
    uint64_t waiting;    /* the same */
};

enum reply_kind { REPLY_NEIGHBORS, REPLY_OTHERS, REPLY_KINDS };

struct reply_queue {
    struct rte_mbuf *m[HOST_REPLIES_MAX];
    uint32_t n;
    struct credit credit; /* of bytes */
};

/* What becomes of a frame that is not UDP. */
enum link_verdict {
    LINK_TAKEN,  /* the mbuf was taken over */
    LINK_DONE,   /* answered */
    LINK_SHARE,  /* the port's other workers hear of it, then the kernel */
    LINK_KERNEL, /* the kernel hears of it, too */
    LINK_OTHER,  /* not understood */
};

struct conn_list {
    uint32_t head, tail;
};

/* A FIRST that was handed over. */
struct handover {
    struct conn_early_key key; /* key.key 0: free */
    uint64_t at;               /* when */
    uint8_t worker;            /* to which; our own: it came back */
};

struct host {
    struct host_config cfg;
    struct clock clock;
    struct secret random;  /* keys and first request numbers */
    struct secret cookies; /* keyed only */
    uint32_t source_next;  /* of the source ports, which is next */
    uint32_t unproven;     /* accepted connections whose peer has yet to show our key */
    uint64_t now;
    uint64_t now_ns, now_ns_of; /* host_now_ns(): the newest answer, and to which now */
    uint64_t tx_lead_tsc;       /* see host_config */
    uint64_t unknown_rtt_tsc;   /* HOST_UNKNOWN_RTT_NS */
    uint64_t silence_step_tsc;  /* a peer's silence is noticed in steps of this */
    uint64_t tx_time;           /* the latest that a packet was given with */
    uint64_t looked_at;         /* host_looked(); 0: not known */
    uint64_t unseen_ns;         /* a received frame may have come so long before `now` */
    uint32_t taken;             /* frames from the port since looked_at */
    bool full;                  /* the port may have been, before this burst was taken from it */
    uint32_t full_looks;        /* bursts of which that is true, before this one */
    struct conn *conns;
    struct wheel *timers, *pacing;
    struct rte_hash *early; /* (address, port, opener's key) -> connection */
    struct conn_list free_list, cntl_list, data_list, done_list;
    struct conn_list linger_list; /* the port still refers to memory of requests that are over */
    uint64_t conns_used;          /* not FREE; base/counter.h */
    struct host_service services[HOST_SERVICES_MAX];
    struct neighbor_table neighbors;
    uint32_t route_waiting[HOST_ROUTE_WAITING_MAX]; /* connections that wait for a neighbour */
    uint32_t route_waiting_count;
    struct claim claims[2];              /* of address[i] */
    uint64_t claims_asked, claims_begun; /* how often host_claim() was called, and was obeyed */
    struct reply_queue replies[REPLY_KINDS];
    struct credit share_credit; /* bytes of neighbours' news that other workers may be told */
    struct rte_mbuf *foreign[HOST_FOREIGN_MAX];
    uint8_t foreign_worker[HOST_FOREIGN_MAX];
    uint32_t foreign_count;
    struct host *workers[HOST_WORKERS_MAX]; /* of the port, ours too; NULL: not joined */
    struct handover handovers[HANDOVER_SETS][HANDOVER_SET_SIZE];
    bool given; /* what is being received was handed over by another worker */
    struct rte_mbuf *exceptions[HOST_EXCEPTIONS_MAX];
    uint32_t exception_count;
    uint64_t count[HOST_COUNTER_COUNT];
    /* written by control */
    struct grant *grants;
    uint64_t *grants_dirty; /* one bit a connection, set with release: grant_mark() */
    uint64_t *grants_words; /* one bit for each of these words that is not 0 */
    uint64_t grants_any;    /* not 0: one of those is not */
    struct start start;
    struct newcomers newcomers;
    uint64_t clear_runs; /* of control, in a row: the host was fast enough, so that packets that
                            waited or got lost did so on their paths */
    uint64_t control_at; /* when it last ran, in cycles; 0: not yet */
    /* the worker's again */
    uint64_t control_stalled, control_stall_tsc; /* for that long: stands; 0: nobody watches */
    uint64_t trace_pause_tsc;                    /* TRACE_PAUSE_NS */
    struct trace trace;
    /* storage */
    struct vt_request *requests;
    struct vt_buffer *buffers;
    struct span *spans;
    struct unit_set_page *pages;
};

/* Is what control last said of this number said of this connection? */
static inline bool grant_holds(const struct host *h, const struct conn *c)
{
    return counter_get(&h->grants[c->index].epoch) == c->pub.epoch;
}

static inline void host_count(struct host *h, enum host_counter_id id)
{
    counter_add(&h->count[id], 1);
}

/* A time before the newest one would make moments that have passed lie in the future: what came a
 * moment ago would have come 146 years ago. */
static inline void host_clock(struct host *h, uint64_t now)
{
    if (time_before(h->now, now))
        h->now = now;
}

/* now in ns; most packets of a poll share it. */
static inline uint64_t host_now_ns(struct host *h)
{
    if (h->now_ns_of != h->now) {
        h->now_ns_of = h->now;
        h->now_ns = clock_ns(&h->clock, h->now);
    }
    return h->now_ns;
}

/* Is a change from b to a more than the 2^-shift of b? */
static inline bool rate_differs(uint64_t a, uint64_t b, uint32_t shift)
{
    return (a > b ? a - b : b - a) > b >> shift;
}

static inline void host_note(struct host *h, const struct conn *c, enum trace_what what,
                             uint16_t why, uint64_t a, uint64_t b)
{
    trace_add(&h->trace, h->now, what, c->index, why, a, b);
}

/* True once in a while. */
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
struct conn *table_by_key(struct host *h, uint64_t key);
uint8_t table_key_worker(uint64_t key);
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
/* Its oldest request is over, but the port has yet to let go of the memory. */
void conn_lingers(struct host *h, struct conn *c);
uint32_t conn_unit_max(const struct host *h, const struct addr *peer);
uint64_t conn_wait_tsc(const struct host *h, const struct conn *c);
uint64_t conn_silence_step(const struct host *h);
uint64_t conn_again_tsc(const struct host *h, struct conn *c);
/* A round trip took so long, or, with bound, at most so long. */
void conn_round_trip(const struct host *h, struct conn *c, uint64_t sample_tsc, bool bound);
int conn_end_status(enum wire_end end);
/* The connection's timers fire no later than `when`, or when the first of them is due (timer.c). */
void conn_timer_at(struct host *h, struct conn *c, uint64_t when);
void conn_timer_update(struct host *h, struct conn *c);
/* One more CNTL has arrived, or time is over: what is held goes out. */
void conn_release_cntl(struct host *h, struct conn *c);

/* timer.c */
void timer_run(struct host *h);
void timer_first_sent(struct host *h, struct conn *c);

/* cntl.c: CNTL both ways, FIRST */
/* True if it was newer than all before, and the connection could use it. */
bool cntl_take(struct host *h, struct conn *c, const struct wire_cntl *v);
void rcntl_take(struct host *h, struct conn *c, const struct wire_rcntl *v);
uint32_t cntl_min(const struct conn *c);
/* By how much longer a round trip took than the shortest one and the queue on the way here: so long
 * a CNTL waited on the way back. */
static inline uint64_t cntl_late_ns(const struct conn *c, uint64_t trip_ns)
{
    uint64_t min_ns = c->rtt_min_ns + c->path.increment_ns;

    return trip_ns > min_ns ? trip_ns - min_ns : 0;
}

/* handshake.c: a connection just taken from the table gets its parts. */
void conn_start(struct host *h, struct conn *c, uint64_t first_rate_Bps,
                uint64_t first_burst_bytes);
/*
 * On a thin way back CNTL queue. Each is news that the next one replaces, so a queue there only
 * makes news old. cntl_waits() is true if the next CNTL is held back, for one of two reasons:
 *
 * - So many wait on the way that it would queue. It is held until one more has arrived, or a round
 *   trip is over (conn_wait_tsc()).
 * - It says only how far the units have come, and the one before was sent less than half of the
 *   shortest round trip ago. A queue is seen a round trip late, and dozens may wait by then. Even
 *   the shortest round trip includes the time in which the way back sends one CNTL, so two in it
 *   are at most twice what the way back carries.
 *
 * A CNTL that goes on where the last one had no room for more gaps is not held, since the units
 * that it asks for are longer than itself. One that grants another rate, has new buffers, says
 * that a request is complete, or asks for a gap the first time is held for the first reason only.
 */
bool cntl_waits(struct host *h, struct conn *c);
uint32_t cntl_build(struct host *h, struct conn *c, uint8_t *p, uint32_t room);
void first_take(struct host *h, const struct frame *f, const struct wire_first *v);

/* hole.c: a path that drops packets for their size. hole_take() is told of each new CNTL, whose
 * effect on the sending half is known; seen: the peer has seen our CNTL that was being watched. */
void hole_take(struct host *h, struct conn *c, const struct wire_cntl *v, bool seen);
/* The unit size to use from now on. */
void unit_apply(struct host *h, struct conn *c);

/* data.c: DATA in */
void data_take(struct host *h, struct conn *c, const struct wire_data *d, const struct rte_mbuf *m,
               const struct frame *f);

/* tx.c */
struct rte_mbuf *tx_packet(struct host *h, const struct frame_route *route, const uint8_t *payload,
                           uint32_t len);

/* route.c: where packets to a peer go */
int route_family(const struct host *h, const struct addr *a); /* which address[] talks to a; -1 */
const struct addr *route_hop(const struct host *h, int family, const struct addr *peer);
void route_start(struct host *h, struct conn *c);
void route_accept(struct host *h, struct conn *c, const struct rte_ether_addr *mac);
/* Is it known? It is asked for otherwise. */
bool route_resolve(struct host *h, struct conn *c);
/* It may have moved since the connection last sent. */
void route_refresh(struct host *h, struct conn *c);
/* A packet came from mac that only the peer can have sent, newer than all before. */
void route_heard(struct host *h, struct conn *c, const struct rte_ether_addr *mac);
/* Nobody may be there any more: it is asked anew, and meanwhile nothing changes. */
void route_doubt(struct host *h, struct conn *c);
void route_again(struct host *h, struct conn *c);
/* Signs of silence. A packet goes out, which demands an answer or not; one has come, which shows
 * that the peer has that CNTL (0: it says nothing) and so many packets of ours. What shows no news
 * for longer than two round trips and pauses between CNTL raises a doubt. */
void route_say(struct host *h, struct conn *c, bool asks);
void route_seen(struct host *h, struct conn *c, uint32_t cntl, uint64_t packets);
void route_learn(struct host *h, const struct addr *a, const struct rte_ether_addr *mac,
                 enum neighbor_word word);
/* Asks about neighbours in doubt. */
void route_run(struct host *h);

/* sum.c: what is known of a packet's UDP checksum, before anything is summed up here. */
enum sum_state {
    SUM_TAKEN, /* it counts as right */
    SUM_WRONG,
    SUM_OPEN, /* to be computed here */
};
enum sum_state sum_state(const struct host *h, const struct rte_mbuf *m, const struct frame *f);

/* source.c: the port that a connection is opened from */
/* Sets r->sport of a way whose other fields are set. */
void source_choose(struct host *h, struct frame_route *r);
/*
 * Is a packet with header w, which came to another port than the host's own, that of a connection
 * opened from there, or may it be another worker's? If not, it is for the owner of that port.
 */
bool source_takes(struct host *h, const struct frame *f, const struct wire_header *w);

/* handover.c: packets that another worker of the port is to have */
/* The worker of a packet with header w that the port received; FIRST: our own, see below. */
uint8_t handover_worker(const struct host *h, const struct frame *f, const struct wire_header *w);
/* The worker that is to take a FIRST. */
uint8_t handover_first(struct host *h, const struct frame *f, const struct wire_first *v);

/* link.c: ARP, neighbour discovery, echo */
bool link_is_ours(const struct host *h, const struct addr *a);
enum link_verdict link_hear(struct host *h, struct rte_mbuf *m, const struct frame *f);

/* claim.c: are our addresses ours alone? */
void claim_init(struct host *h);
void claim_run(struct host *h);
uint64_t claim_next(const struct host *h);
/* It is one of ours, and another station's. */
bool claim_yields(const struct host *h, const struct addr *a);
/* True if another station has said an address of ours: not to be answered, and no news of a
 * neighbour. */
bool claim_hear(struct host *h, const struct neigh *n, const struct frame *f);

/* reply.c: what is said before DATA, within limits */
void reply_init(struct host *h);
void reply_neighbor(struct host *h, const uint8_t *frame, uint16_t len, bool answer);
void reply_other(struct host *h, struct rte_mbuf *m); /* takes m; NULL: nothing */
uint16_t reply_take(struct host *h, struct rte_mbuf **m, uint16_t max);
bool reply_waits(const struct host *h);
void reply_drop(struct host *h);

/* gate.c: pacing. gate_data() and gate_state() are true where a packet may be given now, to leave
 * at *at; else the connection waits in the pacing wheel, for another rate if need be. */
bool gate_data(struct host *h, struct conn *c, uint64_t *at);
bool gate_state(struct host *h, struct conn *c, uint64_t *at);
/* It left: what it costs is spent, the unit's bytes (0: none) of the credit, the frame of the
 * contract. */
void gate_sent(struct host *h, struct conn *c, struct rte_mbuf *m, uint64_t at,
               uint32_t unit_bytes);
/* Packets before base have arrived or are lost, and so many have arrived in all. */
void gate_flight(struct conn *c, uint64_t base, uint64_t arrived);
/* The contract is made anew: the connection begins, or its peer grants another peak. */
void gate_contract(struct host *h, struct conn *c);
/* The configured contract with the longest frame. */
struct contract_config gate_limits(const struct host_config *cfg);

/* grant.c: the part of the capacity that a peer has. Control marks what it has written for
 * connection i, workers apply it: the work grows with what has changed. */
void grant_mark(struct host *h, uint32_t i);
void grants_apply(struct host *h);
/* What is granted at a rate lasts so long. */
static inline uint64_t grant_burst_at(uint64_t rate_Bps)
{
    return mul_div(rate_Bps, GRANT_BURST_NS, CLOCK_NS_PER_S);
}
uint64_t grant_burst(const struct host *h, uint64_t rate_Bps, uint64_t unit_bytes);
/* A short one whatever is configured, for its packets wait behind each other somewhere. */
static inline uint64_t grant_path_burst(uint64_t rate_Bps, uint64_t unit_bytes)
{
    return RTE_MAX(grant_burst_at(rate_Bps), GRANT_UNITS_MIN * unit_bytes);
}
uint64_t grant_start_burst(const struct host *h, uint64_t rate_Bps, uint64_t unit_bytes);
/* What is kept ready for a connection that sends nothing; what it has when it begins; the same if
 * it was idle. */
void grant_idle(struct host *h, struct conn *c);
void grant_newcomer(struct host *h, struct conn *c);
void grant_wake(struct host *h, struct conn *c);

/* path_grant.c: and no more than its path carries. True if the peer should know at once of what
 * both allow. */
bool path_grant_join(struct conn *c);
void path_grant_start(struct conn *c);
/* A DATA packet came; marked: with CE. */
void path_grant_watch(struct host *h, struct conn *c, const struct wire_data *d, bool marked);

/* occupancy_grant.c: or no more than thresholds allow. True after a packet that changed that. */
void occupancy_grant_start(const struct host *h, struct conn *c);
bool occupancy_grant_watch(struct host *h, struct conn *c, uint64_t increment_ns);

/* control.c */
void control_watch(struct host *h);

#endif
