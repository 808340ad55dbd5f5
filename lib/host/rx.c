/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive walk: frame -> addressee -> Sluice packet -> connection. Each stage passes the packet
 * on, or counts why it is dropped. Nothing below calls back up.
 */
#include <string.h>

#include <rte_prefetch.h>

#include "host/host_internal.h"
#include "vt/place.h"
#include "wire/assoc.h"

#define HEAD_MIN      122u /* bytes: the longest headers of a DATA packet, read in one piece */
#define BURST_MAX     64u
#define ALLOWANCE_MAX (1u << 30)

/* Keeps a packet for another worker to take. True if the mbuf was taken over. */
static bool foreign_keep(struct host *h, struct rte_mbuf *m, uint8_t worker)
{
    if (h->foreign_count == HOST_FOREIGN_MAX) {
        host_count(h, COUNT_drop_foreign_full);
        return false;
    }
    host_count(h, COUNT_rx_foreign);
    h->foreign_worker[h->foreign_count] = worker;
    h->foreign[h->foreign_count++] = m;
    return true;
}

/* Could the kernel want the frame? The kernel's interface has the port's MAC address. */
static bool exception_is(const struct host *h, const struct frame *f)
{
    return h->cfg.exception && !rte_is_multicast_ether_addr(&f->src_mac) &&
           (rte_is_multicast_ether_addr(&f->dst_mac) ||
            rte_is_same_ether_addr(&f->dst_mac, &h->cfg.mac));
}

/* Keeps a frame that is not Sluice's for the kernel, or counts it as dropped. why: the counter if
 * the kernel does not want the frame. True if the mbuf was taken over. */
static bool other_take(struct host *h, struct rte_mbuf *m, const struct frame *f,
                       enum host_counter_id why)
{
    if (exception_is(h, f) && h->exception_count < HOST_EXCEPTIONS_MAX) {
        host_count(h, COUNT_rx_exception);
        h->exceptions[h->exception_count++] = m;
        return true;
    }
    host_count(h, exception_is(h, f) ? COUNT_drop_exception_full : why);
    return false;
}

/* ARP, ND and echo. Questions about our addresses are answered here, and the kernel does not see
 * them. True if the mbuf was taken over. */
static bool address_take(struct host *h, struct rte_mbuf *m, const struct frame *f)
{
    switch (link_hear(h, m, f)) {
    case LINK_TAKEN:
        return true;
    case LINK_SHARE:
        if (foreign_keep(h, m, HOST_WORKER_ALL))
            return true;
        /* fall through */
    case LINK_KERNEL:
        return exception_is(h, f) && other_take(h, m, f, COUNT_drop_exception_full);
    case LINK_OTHER:
        return other_take(h, m, f, COUNT_drop_icmp);
    default:
        return false;
    }
}

static void verdict_count(struct host *h, enum wire_verdict v)
{
    static const enum host_counter_id id[WIRE_VERDICTS] = {
        [WIRE_SHORT] = COUNT_drop_wire_short,       [WIRE_BAD_VERSION] = COUNT_drop_wire_version,
        [WIRE_BAD_TYPE] = COUNT_drop_wire_type,     [WIRE_BAD_SECURITY] = COUNT_drop_wire_security,
        [WIRE_BAD_FLAGS] = COUNT_drop_wire_flags,   [WIRE_BAD_FIELD] = COUNT_drop_wire_field,
        [WIRE_BAD_LENGTH] = COUNT_drop_wire_length,
    };

    host_count(h, id[v]);
}

/* No connection has the packet's key. Where keys are guessed, the peer hears of a new one. */
static void key_missed(struct host *h, const struct wire_header *w)
{
    struct conn *c = w->flags & WIRE_EARLY ? NULL : table_missed(h, w->key);

    if (c != NULL)
        conn_want(h, c, WANT_CNTL | WANT_SREQ);
}

/* Finds the connection a packet belongs to, or counts why there is none. e: the association of a
 * sealed packet. */
static struct conn *conn_find(struct host *h, const struct frame *f, const struct wire_header *w,
                              const struct table_entry *e)
{
    struct conn_early_key key = {f->src, w->key, f->sport};
    struct conn *c = w->flags & WIRE_EARLY ? table_early_find(h, &key) : table_by_key(h, w->key);

    if (c == NULL) {
        host_count(h, w->flags & WIRE_EARLY ? COUNT_drop_unknown_early : COUNT_drop_unknown_key);
        key_missed(h, w);
        return NULL;
    }
    if (c->state == HOST_WAITING || !addr_equal(&c->peer, &f->src) || c->route.dport != f->sport ||
        c->route.sport != f->dport || !addr_equal(&c->route.src, &f->dst)) {
        host_count(h, COUNT_drop_address);
        return NULL;
    }
    if (w->type != WIRE_RCNTL && !security_matches(h, c, e)) /* else security_router_right() */
        return NULL;
    if (!(w->flags & WIRE_EARLY))
        conn_prove(h, c); /* a sealed connection is proved since its FIRST */
    else if (c->handshake.allowance < ALLOWANCE_MAX)
        c->handshake.allowance += f->payload_len;
    return c;
}

/* Is the UDP checksum right, as far as this port's checksums are checked? The packet must be in one
 * segment of its mbuf. */
static bool sum_right(const struct host *h, const struct rte_mbuf *m, const struct frame *f)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    enum sum_state state = sum_state(h, m, f);

    return state == SUM_TAKEN ||
           (state == SUM_OPEN &&
            frame_udp_sum_ok(p, f, frame_sum(p + f->payload_off, f->payload_len)));
}

/* A packet of connections that is not DATA. All begin with the same header. */
struct state_packet {
    union {
        struct wire_header h;
        struct wire_first first;
        struct wire_cntl cntl;
        struct wire_rcntl rcntl;
    };
    uint64_t proof; /* wire_parse_proof(), if it is sealed */
};

/* Parses and verifies len bytes at p: these packets are small, so that is done with the whole
 * packet before it is used. A sealed one is copied first: the port's memory may be another
 * process's, which could change the packet between its parts. p then has a trailer, too. `whole` is
 * the frame as it came: f leaves out what a seal adds. */
static bool state_parse(struct host *h, const struct rte_mbuf *m, const struct frame *f,
                        const struct frame *whole, enum wire_type type, struct table_entry *e,
                        struct state_packet *u)
{
    const uint8_t *p = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off);
    uint8_t copy[WIRE_CNTL_MAX_BYTES + WIRE_TRAILER_BYTES];
    uint32_t len = f->payload_len;
    enum wire_verdict v;

    if (e != NULL) {
        if (len > WIRE_CNTL_MAX_BYTES) {
            verdict_count(h, WIRE_BAD_LENGTH);
            return false;
        }
        p = memcpy(copy, p, len + WIRE_TRAILER_BYTES);
    }
    if (type == WIRE_FIRST)
        v = wire_parse_first(p, len, &u->first);
    else if (type == WIRE_CNTL)
        v = wire_parse_cntl(p, len, &u->cntl);
    else
        v = wire_parse_rcntl(p, len, &u->rcntl);
    if (v != WIRE_OK) {
        verdict_count(h, v);
        return false;
    }
    if (e != NULL) {
        u->proof = wire_parse_proof(p + len);
        if (!security_state_right(h, e, p, f))
            return false;
    }
    /* routers write into a CNTL, so its tag does not cover all of it; its checksum does, if any */
    if ((e == NULL || whole->udp_sum != 0) && !sum_right(h, m, whole)) {
        host_count(h, COUNT_drop_sum);
        return false;
    }
    return true;
}

/* CNTL, RCNTL and FIRST. True if the mbuf was taken over. */
static bool state_take(struct host *h, struct rte_mbuf *m, const struct frame *f,
                       const struct frame *whole, enum wire_type type, struct table_entry *e)
{
    struct state_packet u;

    if (!state_parse(h, m, f, whole, type, e, &u))
        return false;
    if (type == WIRE_FIRST) {
        host_count(h, COUNT_rx_first);
        /* A FIRST that is refused stays here: its answer must not come later because another worker
         * has a connection waiting for the service. */
        bool serves = security_serves(h, e, u.first.service);
        uint8_t worker = serves ? handover_first(h, f, &u.first) : h->cfg.worker;

        if (worker != h->cfg.worker)
            return foreign_keep(h, m, worker);
        first_take(h, f, &u.first, e);
        return false;
    }
    struct conn *c = conn_find(h, f, &u.h, e);

    if (c == NULL)
        return false;
    if (type == WIRE_CNTL) {
        host_count(h, COUNT_rx_cntl);
        if (e != NULL)
            security_proof_note(c, u.proof);
        if (!cntl_take(h, c, &u.cntl))
            return false;
        if (e != NULL)
            security_heard(h, c, e);
        if (!(u.h.flags & WIRE_EARLY))
            route_heard(h, c, &f->src_mac);
    } else {
        host_count(h, COUNT_rx_rcntl);
        if (security_router_right(h, c, &u.rcntl))
            rcntl_take(h, c, &u.rcntl);
    }
    return false;
}

/* DATA. True if the mbuf was taken over. */
static bool unit_take(struct host *h, struct rte_mbuf *m, const struct frame *f,
                      const struct wire_header *w, struct table_entry *e)
{
    const uint8_t *p = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off);
    uint32_t head = RTE_MIN(f->payload_len, (uint32_t)m->data_len - f->payload_off);
    struct data_seal seal = {.e = e};
    struct wire_data d;

    if ((w->flags & WIRE_EARLY) && h->cfg.early == 0) {
        host_count(h, COUNT_drop_early_off);
        return false;
    }
    if (e != NULL && head >= WIRE_DATA_BYTES) /* as in state_parse() */
        p = memcpy(seal.header, p, WIRE_DATA_BYTES);
    enum wire_verdict v = wire_parse_data(p, head, f->payload_len, &d);

    if (v != WIRE_OK) {
        verdict_count(h, v);
        return false;
    }
    struct conn *c = conn_find(h, f, &d.h, e);

    if (c != NULL) {
        host_count(h, COUNT_rx_data);
        data_take(h, c, &d, m, f, e != NULL ? &seal : NULL);
    }
    return false;
}

/* Has the packet no checksum, though one is needed on this port? */
static bool lacks_sum(const struct host *h, const struct frame *f)
{
    return f->udp_sum == 0 && h->cfg.rx_sum != HOST_SUM_NONE && !h->cfg.rx_unsummed;
}

/* INIT, RESPONSE and COOKIE go to control. */
static void handshake_take(struct host *h, struct rte_mbuf *m, const struct frame *f,
                           const struct wire_header *w)
{
    if (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0) {
        host_count(h, COUNT_drop_short);
        return;
    }
    if (!sum_right(h, m, f)) {
        host_count(h, COUNT_drop_sum);
        return;
    }
    const uint8_t *p = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off);
    struct frame_route back = route_back(h, f);
    struct wire_header again;
    enum wire_verdict v = w->type == WIRE_INIT ? wire_parse_init(p, f->payload_len, &again)
                          : w->type == WIRE_RESPONSE
                              ? wire_parse_response(p, f->payload_len, &again)
                              : wire_parse_cookie(p, f->payload_len, &again);

    if (v != WIRE_OK)
        verdict_count(h, v);
    else
        security_handshake(h, p, f->payload_len, &again, &back);
}

/* Parses the common header. A host without keys knows no associations. */
static enum wire_verdict header_verdict(const struct host *h, const uint8_t *p, uint32_t len,
                                        struct wire_header *w)
{
    enum wire_verdict v = wire_parse_header(p, len, w);

    if (v != WIRE_OK || h->cfg.security != HOST_SECURITY_NONE)
        return v;
    if (wire_is_handshake(w->type))
        return WIRE_BAD_TYPE;
    return w->association != 0 ? WIRE_BAD_SECURITY : WIRE_OK;
}

/* True if the mbuf was taken over. */
static bool packet_take(struct host *h, struct rte_mbuf *m, const struct frame *f)
{
    const uint8_t *p = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off);
    uint32_t head = RTE_MIN(f->payload_len, (uint32_t)m->data_len - f->payload_off);
    struct wire_header w;
    enum wire_verdict v = header_verdict(h, p, head, &w);

    if (f->dport != h->cfg.udp_port && (v != WIRE_OK || !source_takes(h, f, &w))) {
        if (v == WIRE_OK)
            key_missed(h, &w);
        return other_take(h, m, f, COUNT_drop_port);
    }
    if (v != WIRE_OK) {
        verdict_count(h, v);
        return false;
    }
    if (wire_is_handshake(w.type)) {
        if (lacks_sum(h, f))
            host_count(h, COUNT_drop_no_sum);
        else
            handshake_take(h, m, f, &w);
        return false;
    }
    uint8_t worker = handover_worker(h, f, &w);

    if (worker != h->cfg.worker)
        return foreign_keep(h, m, worker);
    struct frame inner;
    struct table_entry *e;

    if (!security_admit(h, f, &w, &inner, &e))
        return false;
    if ((e == NULL || w.type != WIRE_DATA) && lacks_sum(h, f)) { /* a tag covers all of DATA */
        host_count(h, COUNT_drop_no_sum);
        return false;
    }
    if (w.type != WIRE_DATA) {
        if (head == f->payload_len || rte_pktmbuf_linearize(m) == 0)
            return state_take(h, m, e != NULL ? &inner : f, f, w.type, e);
        host_count(h, COUNT_drop_short);
        return false;
    }
    return unit_take(h, m, e != NULL ? &inner : f, &w, e);
}

static enum host_counter_id kind_counter(enum frame_kind k)
{
    switch (k) {
    case FRAME_SHORT:
        return COUNT_drop_short;
    case FRAME_BAD_IP:
        return COUNT_drop_ip;
    case FRAME_FRAGMENT:
        return COUNT_drop_fragment;
    case FRAME_BAD_UDP:
        return COUNT_drop_udp;
    default:
        return COUNT_drop_other;
    }
}

/* True if the mbuf was taken over. */
static bool frame_take(struct host *h, struct rte_mbuf *m)
{
    struct frame f;

    counter_add(&h->count[COUNT_rx_bytes], m->pkt_len);
    if (m->nb_segs > 1 && m->data_len < HEAD_MIN && rte_pktmbuf_linearize(m) != 0) {
        host_count(h, COUNT_drop_short);
        return false;
    }
    enum frame_kind kind =
        frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &f);

    if (kind > FRAME_ICMP6)
        return other_take(h, m, &f, kind_counter(kind));
    uint16_t vlan = f.vlan == 0 ? FRAME_VLAN_NONE : f.vlan; /* 0: a priority tag */

    if (vlan != h->cfg.vlan)
        return other_take(h, m, &f, COUNT_drop_vlan);
    if (!rte_is_multicast_ether_addr(&f.dst_mac) &&
        !rte_is_same_ether_addr(&f.dst_mac, &h->cfg.mac)) {
        host_count(h, COUNT_drop_not_ours);
        return false;
    }
    if (rte_is_multicast_ether_addr(&f.src_mac)) { /* there is no station to answer to */
        host_count(h, COUNT_drop_source);
        return false;
    }
    if (kind != FRAME_UDP) {
        if (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0) {
            host_count(h, COUNT_drop_short);
            return false;
        }
        return address_take(h, m, &f);
    }
    if (addr_is_multicast(&f.src) || addr_is_unset(&f.src))
        return other_take(h, m, &f, COUNT_drop_source);
    if (!link_is_ours(h, &f.dst))
        return other_take(h, m, &f, COUNT_drop_not_ours);
    return packet_take(h, m, &f);
}

static void burst_take(struct host *h, struct rte_mbuf **m, uint16_t n)
{
    struct rte_mbuf *used[BURST_MAX];
    uint16_t done = 0;

    for (uint16_t i = 0; i < n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
    for (uint16_t i = 0; i < n; i++)
        if (!frame_take(h, m[i]))
            used[done++] = m[i];
    place_fence();
    rte_pktmbuf_free_bulk(used, done);
}

void host_looked(struct host *h, uint64_t since)
{
    if (since != h->looked_at)
        h->taken = 0;
    h->looked_at = since;
}

void host_rx(struct host *h, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    host_clock(h, now);
    h->unseen_ns = h->looked_at != 0 && time_before(h->looked_at, h->now)
                       ? clock_ns(&h->clock, h->now - h->looked_at)
                       : 0;
    /* frames that a full port held come in bursts, until the port is empty */
    h->taken += h->given ? 0 : n;
    if (h->taken > 0 && h->cfg.rx_frames != 0 && h->looked_at != 0)
        moderation_arrives(&h->moderation, h->now - h->looked_at, h->taken, h->cfg.rx_frames);
    h->full = !h->given && h->cfg.rx_frames != 0 && h->taken >= h->cfg.rx_frames;
    counter_add(&h->count[COUNT_rx_frames], n);
    for (uint16_t i = 0; i < n; i += BURST_MAX)
        burst_take(h, m + i, RTE_MIN((uint16_t)(n - i), (uint16_t)BURST_MAX));
    h->full_looks += h->full;
}

void host_rx_given(struct host *h, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    h->given = true;
    host_rx(h, m, n, now);
    h->given = false;
}
