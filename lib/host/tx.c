/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transmit walk: grants -> timers -> questions about neighbours and claims -> CNTL and FIRST ->
 * answers for the link -> DATA of connections whose credit is open, a few units each in turn.
 */
#include <string.h>

#include "base/check.h"
#include "host/host_internal.h"
#include "vt/place.h"

#define EARLY_BYTES    16384ull
#define FEW_BYTES      4096ull
#define FIRST_DOUBT    2u /* after this many unanswered FIRST, the peer may have been restarted */
#define TURN_UNITS     8u /* units a connection sends before the next has its turn */
#define REFERENCES_MAX 60000u /* mbufs that refer to one request's memory: counted in 16 bits */

/* An mbuf for a small packet; NULL, and counted, if there is none. */
static struct rte_mbuf *head_alloc(struct host *h)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(h->cfg.head_pool);

    if (m == NULL)
        host_count(h, COUNT_tx_no_mbuf);
    return m;
}

/* Fills m with one small packet and the headers for pad bytes of 0 behind it, with its checksum, to
 * which the zeros add nothing. */
static void packet_fill(struct host *h, struct rte_mbuf *m, const struct frame_route *route,
                        const uint8_t *payload, uint32_t len, uint32_t pad)
{
    uint16_t head = frame_header_len(route);
    uint8_t *p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(head + len));

    CHECK(p != NULL);
    frame_put(p, route, len + pad);
    memcpy(p + head, payload, len);
    if (h->cfg.tx_sum != HOST_SUM_NONE)
        frame_set_udp_sum(p, route, len + pad, frame_sum(payload, len));
}

/* One small packet in one mbuf. NULL if there is no mbuf. */
struct rte_mbuf *tx_packet(struct host *h, const struct frame_route *route, const uint8_t *payload,
                           uint32_t len)
{
    struct rte_mbuf *m = head_alloc(h);

    if (m != NULL)
        packet_fill(h, m, route, payload, len, 0);
    return m;
}

/* Appends application memory to the chain, by reference. */
static struct rte_mbuf *piece_attach(struct host *h, struct rte_mbuf *head, struct rte_mbuf *last,
                                     const struct vt_piece *piece,
                                     struct rte_mbuf_ext_shared_info *shared)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(h->cfg.attach_pool);

    if (m == NULL)
        return NULL;
    void *data = (void *)(uintptr_t)piece->data;

    rte_mbuf_ext_refcnt_update(shared, 1);
    rte_pktmbuf_attach_extbuf(m, data, (rte_iova_t)(uintptr_t)data, (uint16_t)piece->len, shared);
    m->data_off = 0;
    m->data_len = (uint16_t)piece->len;
    last->next = m;
    head->nb_segs++;
    head->pkt_len += m->data_len;
    return m;
}

/* The sum of a unit's bytes, which may lie in two pieces. */
static uint64_t unit_sum(const struct vt_unit *u)
{
    uint64_t sum = frame_sum(u->pieces[0].data, (uint32_t)u->pieces[0].len);
    uint64_t second = frame_sum(u->pieces[1].data, (uint32_t)u->pieces[1].len);

    return sum + (u->pieces[0].len & 1 ? __builtin_bswap16(frame_sum_fold(second)) : second);
}

static void sum_set(struct host *h, struct rte_mbuf *m, const struct conn *c,
                    const struct vt_unit *u)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    uint16_t head = frame_header_len(&c->route);
    uint32_t len = WIRE_DATA_BYTES + u->len + conn_trailer(c);

    if (h->cfg.tx_sum == HOST_SUM_NONE)
        return;
    if (h->cfg.tx_sum == HOST_SUM_SOFTWARE) {
        frame_set_udp_sum(p, &c->route, len,
                          c->security.sealed ? place_mbuf_sum(m, head, len)
                                             : frame_sum(p + head, WIRE_DATA_BYTES) + unit_sum(u));
        return;
    }
    bool v4 = addr_is_v4(&c->route.src);

    m->l2_len = c->route.vlan == FRAME_VLAN_NONE ? 14 : 18;
    m->l3_len = v4 ? 20 : 40;
    m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM | (v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
    frame_set_pseudo_sum(p, &c->route, len);
}

static void data_header(struct host *h, struct conn *c, const struct vt_unit *u,
                        const struct table_entry *e, uint8_t *p)
{
    struct wire_data d = {
        .h = {.flags = u->flags | (c->peer_key == 0 ? WIRE_EARLY : 0),
              .association = e != NULL ? e->remote : 0,
              .key = c->peer_key != 0 ? c->peer_key : c->own_key},
        .packet = c->tx.packet,
        .time_ns = host_now_ns(h),
        .request = pos_request(u->pos),
        .unit = pos_unit(u->pos),
        .request_len = u->request->len,
        .unit_bytes = u->request->unit_bytes,
        .cntl_seen = c->cntl.peer_seq,
    };

    wire_put_data(p, &d);
}

/* The unit as a chain: headers, then the application's memory. */
static bool unit_chain(struct host *h, struct rte_mbuf *m, const struct vt_unit *u)
{
    struct rte_mbuf *last = m;

    for (unsigned int i = 0; i < 2 && last != NULL; i++)
        if (u->pieces[i].len > 0)
            last = piece_attach(h, m, last, &u->pieces[i], &u->request->shared[i]);
    return last != NULL;
}

/* One more buffer of this pool at the end of a chain; NULL if there is none. */
static struct rte_mbuf *chain_grow(struct rte_mempool *pool, struct rte_mbuf *m,
                                   struct rte_mbuf *last)
{
    last->next = rte_pktmbuf_alloc(pool);
    m->nb_segs += last->next != NULL;
    return last->next;
}

/* Writes the trailer of a sealed unit behind it. It lies in one buffer. */
static bool trailer_copy(struct host *h, struct rte_mbuf *m, struct table_entry *e)
{
    struct rte_mbuf *last = rte_pktmbuf_lastseg(m);

    if (rte_pktmbuf_tailroom(last) < WIRE_TRAILER_BYTES)
        last = chain_grow(h->cfg.copy_pool, m, last);
    if (last == NULL)
        return false;
    seal_data_end(&h->table, e, rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len));
    last->data_len = (uint16_t)(last->data_len + WIRE_TRAILER_BYTES);
    m->pkt_len += WIRE_TRAILER_BYTES;
    return true;
}

/* Copies the unit behind the headers, which are complete, or seals it in the same pass (e not
 * NULL). A buffer counts its bytes in 16 bits and has some of its own besides, so the longest
 * frames take two. False if there is no mbuf. */
static bool unit_copy(struct host *h, struct rte_mbuf *m, const struct vt_unit *u,
                      struct table_entry *e)
{
    struct rte_mbuf *last = m;

    if (e != NULL)
        seal_data(&h->table, e,
                  rte_pktmbuf_mtod_offset(m, const uint8_t *, m->data_len - WIRE_DATA_BYTES));
    for (unsigned int i = 0; i < 2; i++) {
        const uint8_t *from = u->pieces[i].data;
        uint64_t left = u->pieces[i].len;

        while (left > 0) {
            uint16_t n = (uint16_t)RTE_MIN(left, (uint64_t)rte_pktmbuf_tailroom(last));
            uint8_t *to = rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len);

            if (n == 0) {
                last = chain_grow(h->cfg.copy_pool, m, last);
                if (last == NULL)
                    return false;
                continue;
            }
            if (e != NULL)
                seal_data_bytes(e, to, from, n);
            else
                memcpy(to, from, n);
            last->data_len = (uint16_t)(last->data_len + n);
            m->pkt_len += n;
            from += n;
            left -= n;
        }
    }
    return e == NULL || trailer_copy(h, m, e);
}

/* One DATA packet, sealed under e unless that is NULL. NULL if there is no mbuf. */
static struct rte_mbuf *unit_build(struct host *h, struct conn *c, const struct vt_unit *u,
                                   struct table_entry *e)
{
    bool may_attach = h->cfg.tx_attach && e == NULL;
    bool attach = may_attach && u->len > 0 &&
                  rte_mbuf_ext_refcnt_read(&u->request->shared[0]) < REFERENCES_MAX &&
                  rte_mbuf_ext_refcnt_read(&u->request->shared[1]) < REFERENCES_MAX;
    struct rte_mbuf *m = rte_pktmbuf_alloc(may_attach ? h->cfg.head_pool : h->cfg.copy_pool);

    if (m == NULL || (may_attach && u->len > 0 && !attach)) {
        host_count(h, COUNT_tx_no_mbuf);
        rte_pktmbuf_free(m);
        return NULL;
    }
    uint16_t head = (uint16_t)(frame_header_len(&c->route) + WIRE_DATA_BYTES);
    uint8_t *p = (uint8_t *)rte_pktmbuf_append(m, head);

    CHECK(p != NULL);
    c->route.ecn = ecn_of(&c->ecn, u->flags);
    frame_put(p, &c->route, WIRE_DATA_BYTES + u->len + conn_trailer(c));
    data_header(h, c, u, e, p + head - WIRE_DATA_BYTES);
    if (attach ? !unit_chain(h, m, u) : !unit_copy(h, m, u, e)) {
        host_count(h, COUNT_tx_no_mbuf);
        rte_pktmbuf_free(m);
        return NULL;
    }
    sum_set(h, m, c, u);
    return m;
}

/* May more DATA go before the peer's first CNTL? One burst may, or EARLY_BYTES if the burst is
 * shorter. If the question for the next hop had to be repeated, other connections begin at the same
 * time, so only FEW_BYTES may go. */
static bool early_left(const struct conn *c)
{
    uint64_t most = RTE_MAX(c->pacing.burst_bytes, EARLY_BYTES);

    if (c->handshake.crowded)
        most = FEW_BYTES;
    else if (c->pacing.burst_bytes == 0)
        most = UINT64_MAX;
    return counter_get(&c->pub.tx_bytes) < most;
}

static bool may_send(const struct conn *c)
{
    return c->state == HOST_OPEN || (c->state == HOST_OPENING && c->nexthop.known &&
                                     c->handshake.first_sent && early_left(c));
}

/* Takes len from the allowance, if there is room: a forged source cannot make us send more to an
 * address than came from it. */
static bool allowance_take(struct conn *c, uint32_t len)
{
    if (c->handshake.proven)
        return true;
    if (c->handshake.allowance < len)
        return false;
    c->handshake.allowance -= len;
    return true;
}

static void allowance_give(struct conn *c, uint32_t len)
{
    c->handshake.allowance += c->handshake.proven ? 0 : len;
}

static void sent_count(struct host *h, struct conn *c, const struct vt_unit *u)
{
    host_count_bytes(h, COUNT_tx_payload_bytes, u->len);
    counter_add(&c->pub.tx_bytes, u->len);
    counter_add(&c->pub.tx_units, 1);
    counter_set(&c->pub.tx_repeats, c->tx.repeats);
    counter_set(&c->pub.backlog_bytes, c->tx.backlog_bytes);
}

/* A connection's turn: up to TURN_UNITS units. *stuck: mbufs have run out. */
static uint16_t conn_turn(struct host *h, struct conn *c, struct rte_mbuf **m, uint16_t max,
                          bool *stuck)
{
    uint64_t ask = 2 * conn_wait_tsc(h, c);
    struct table_entry *e = may_send(c) ? security_entry(h, c) : NULL;
    struct vt_unit u;
    uint16_t n = 0;
    uint64_t at;

    if (c->security.sealed && e == NULL)
        return 0; /* until there is an association: rekey.c */
    route_refresh(h, c);
    while (may_send(c) && vt_sender_peek(&c->tx, &u)) {
        if (!pacing_data(h, c, &at))
            break;
        if (n == max || n == TURN_UNITS) {
            conn_has_data(h, c);
            break;
        }
        if (!allowance_take(c, WIRE_DATA_BYTES + u.len))
            break;
        m[n] = unit_build(h, c, &u, e);
        if (m[n] == NULL) {
            *stuck = true;
            allowance_give(c, WIRE_DATA_BYTES + u.len);
            conn_has_data(h, c);
            break;
        }
        pacing_sent(h, c, m[n++], at, u.len);
        vt_sender_take(&c->tx, &u, h->now, ask);
        vt_black_hole_sent(&c->unit.black_hole, WIRE_DATA_BYTES + u.len);
        sent_count(h, c, &u);
        host_count(h, COUNT_tx_data);
    }
    conn_limited(h, c);
    if (n > 0) {
        conn_timer_at(h, c, c->tx.ask_at);
        route_say(h, c, true);
    }
    return n;
}

static uint16_t tx_data(struct host *h, struct rte_mbuf **m, uint16_t max)
{
    uint16_t n = 0;
    bool stuck = false;
    struct conn *c;

    while (n < max && !stuck && (c = LIST_POP(h, data_list, data_link)) != NULL) {
        n += conn_turn(h, c, m + n, max - n, &stuck);
        if (c->state == HOST_CLOSED)
            conn_free_check(h, c);
    }
    return n;
}

static uint32_t first_build(struct host *h, struct conn *c, uint8_t *p, uint32_t association)
{
    struct wire_first v = {
        .h = {.flags = WIRE_EARLY, .association = association, .key = c->own_key},
        .initial_request = c->tx.origin,
        .answer_request = c->rx.origin,
        .unit_max = conn_unit_max(h, &c->peer, c->security.sealed),
        .service = c->service,
        .capabilities = c->go_back_n ? WIRE_CAP_GO_BACK_N : 0,
        .ahead = h->cfg.early,
        .rate_req_Bps = RTE_MIN(c->pacing.rate_Bps, WIRE_RATE_MAX_BPS),
        .burst_req_bytes = RTE_MIN(c->pacing.burst_bytes, (uint64_t)WIRE_BURST_MAX_BYTES),
        .time_ns = host_now_ns(h),
        .cookie = c->handshake.cookie,
        .silence_ms = h->cfg.silence_ms,
    };

    host_count(h, COUNT_tx_first);
    return wire_put_first(p, &v);
}

/* Where the mbufs of a padded FIRST come from. A frame of one buffer suits each port; a port to
 * which payload is attached takes several, and need not have such buffers. */
static struct rte_mempool *pad_pool(const struct host *h)
{
    return h->cfg.tx_attach ? h->cfg.head_pool : h->cfg.copy_pool;
}

/* How many bytes a FIRST of len lacks of what the connection wants. */
static uint32_t pad_len(const struct conn *c, uint32_t len)
{
    uint32_t link = c->route.vlan == FRAME_VLAN_NONE ? 14 : 18;
    uint32_t packet = frame_header_len(&c->route) - link + len;

    return c->handshake.first_bytes > packet ? c->handshake.first_bytes - packet : 0;
}

/* Appends zeros to m. False if there is no mbuf. */
static bool pad_append(struct host *h, struct rte_mbuf *m, uint32_t pad)
{
    struct rte_mbuf *last = m;

    while (pad > 0) {
        uint16_t n = (uint16_t)RTE_MIN(pad, (uint32_t)rte_pktmbuf_tailroom(last));

        if (n == 0) {
            last = chain_grow(pad_pool(h), m, last);
            if (last == NULL)
                return false;
            continue;
        }
        memset(rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len), 0, n);
        last->data_len = (uint16_t)(last->data_len + n);
        m->pkt_len += n;
        pad -= n;
    }
    return true;
}

/* The same FIRST with its padding, in other mbufs. NULL if there are none: it is repeated. */
static struct rte_mbuf *first_pad(struct host *h, struct rte_mbuf *m, const struct conn *c,
                                  const uint8_t *payload, uint32_t len)
{
    uint32_t pad = pad_len(c, len);

    if (pad_pool(h) != h->cfg.head_pool) {
        rte_pktmbuf_free(m);
        m = rte_pktmbuf_alloc(pad_pool(h));
    }
    if (m != NULL) {
        packet_fill(h, m, &c->route, payload, len, pad);
        if (pad_append(h, m, pad))
            return m;
        rte_pktmbuf_free(m);
    }
    host_count(h, COUNT_tx_no_mbuf);
    return NULL;
}

/*
 * Builds FIRST or CNTL, whichever the connection wants. NULL if nothing can be sent now; *stuck:
 * mbufs have run out, and all is still wanted. (The mbuf is taken first: a CNTL that is built but
 * not sent would be a loss that the peer does not see, as its gaps count as asked for and its flags
 * as sent.)
 */
static struct rte_mbuf *state_build(struct host *h, struct conn *c, bool *stuck)
{
    uint8_t bytes[WIRE_CNTL_MAX_BYTES + WIRE_TRAILER_BYTES];
    uint32_t len;

    if (c->state == HOST_OPENING && !route_resolve(h, c))
        return NULL;
    bool first = c->want & WANT_FIRST;

    if (c->opener && !first && !c->handshake.first_sent) { /* the peer knows of no connection */
        c->want = 0;
        return NULL;
    }
    route_refresh(h, c);
    struct table_entry *e = security_entry(h, c);
    uint32_t association = e != NULL ? e->remote : 0;

    if (c->security.sealed && e == NULL) {
        c->want = 0;
        if (first)
            timer_first_sent(h, c);
        return NULL;
    }
    if (!first && (c->want == 0 || !c->nexthop.known || !allowance_take(c, cntl_min(c)))) {
        c->want = 0;
        return NULL;
    }
    struct rte_mbuf *m = head_alloc(h);

    if (m == NULL) {
        *stuck = true;
        allowance_give(c, first ? 0 : cntl_min(c));
        conn_want(h, c, c->want);
        return NULL;
    }
    if (first) {
        c->want = 0;
        if (c->handshake.tries >= FIRST_DOUBT)
            security_doubt(h, c);
        timer_first_sent(h, c);
        c->handshake.first_sent = true;
        conn_has_data(h, c); /* the next hop is known: early data may go */
        len = first_build(h, c, bytes, association);
    } else {
        uint32_t room =
            c->handshake.proven ? h->cfg.mtu - CNTL_SPARE - conn_trailer(c) : cntl_min(c);

        if (c->state == HOST_CLOSED)
            c->close.end_sent = true;
        route_say(h, c, c->want & WANT_SREQ);
        len = cntl_build(h, c, bytes, room, association);
    }
    c->route.ecn = FRAME_ECN_NOT;
    if (e != NULL)
        len = security_seal(h, e, &c->route, bytes, len);
    if (first && pad_len(c, len) > 0)
        return first_pad(h, m, c, bytes, len);
    packet_fill(h, m, &c->route, bytes, len, 0);
    return m;
}

static uint16_t tx_state(struct host *h, struct rte_mbuf **m, uint16_t max)
{
    uint16_t n = 0;
    uint64_t at;
    bool stuck = false;
    struct conn *c;

    while (n < max && !stuck && (c = LIST_POP(h, cntl_list, cntl_link)) != NULL) {
        struct rte_mbuf *p = NULL;

        if (cntl_waits(h, c))
            continue;
        if (pacing_state(h, c, &at))
            p = state_build(h, c, &stuck);
        if (p != NULL) {
            pacing_sent(h, c, p, at, 0);
            m[n++] = p;
        }
        if (c->state == HOST_CLOSED)
            conn_free_check(h, c);
    }
    return n;
}

/* Sends the packets of handshakes that control has made. */
static void handshakes_send(struct host *h)
{
    struct mail m;

    while (reply_has_room(h) && rekey_run(h, &m))
        reply_handshake(h, tx_packet(h, &m.route, m.bytes, m.len));
}

uint16_t host_tx(struct host *h, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint64_t bytes = 0;

    host_clock(h, now);
    control_watch(h);
    handshakes_send(h);
    grants_apply(h);
    timer_run(h);
    route_run(h);
    claim_run(h);
    uint16_t n = tx_state(h, m, max);

    n += reply_take(h, m + n, max - n);
    n += tx_data(h, m + n, max - n);
    for (uint16_t i = 0; i < n; i++)
        bytes += m[i]->pkt_len;
    counter_add(&h->count[COUNT_tx_frames], n);
    counter_add(&h->count[COUNT_tx_bytes], bytes);
    return n;
}

/*
 * Renews the time of sending in DATA that had to wait for room in the port, since that wait was not
 * on their path. While an mbuf asks the port to compute the checksum, the packet has a partial one,
 * which does not cover that time. A driver that computes checksums itself may have done so before
 * it found no room: net_vhost then clears the request (vhost_dev_tx_sw_csum() in DPDK's
 * rte_eth_vhost.c).
 */
static void data_stamp(struct host *h, struct rte_mbuf *m)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    struct wire_header w;
    struct frame f;

    if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP ||
        wire_parse_header(p + f.payload_off, m->data_len - f.payload_off, &w) != WIRE_OK ||
        w.type != WIRE_DATA || w.association != 0) /* the tag covers the time */
        return;
    uint8_t *data = p + f.payload_off;
    uint64_t before = frame_sum(data, WIRE_DATA_BYTES);

    wire_stamp_data(data, host_now_ns(h));
    if ((m->ol_flags & RTE_MBUF_F_TX_L4_MASK) != RTE_MBUF_F_TX_UDP_CKSUM)
        frame_change_udp_sum(p, &f, before, frame_sum(data, WIRE_DATA_BYTES));
}

void host_stamp(struct host *h, struct rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    host_clock(h, now);
    if (h->cfg.security == HOST_SECURITY_REQUIRED) /* all are sealed */
        return;
    for (uint16_t i = 0; i < n; i++)
        data_stamp(h, m[i]);
}
