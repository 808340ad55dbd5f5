/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hop: a router on the path that takes part in rate control ([XTP-RATE]: nodes on the path may
 * rewrite rate and burst fields, and may send RCNTL). It belongs on the path that CNTL packets take
 * to the sender, and lowers the routers' limit in each CNTL. With `rcntl` it also sends RCNTL to
 * the senders at once when the hop's rate changes. RCNTL carries the receiver's address as its
 * source, since hosts accept packets of a connection only from that address. For a sealed
 * connection it quotes the tag of the last CNTL, which only a host on the path has seen.
 */
#include <errno.h>
#include <string.h>

#include "path/element.h"
#include "wire/assoc.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/packet.h"

#define HOP_CONNS 64u /* RCNTL is sent for so many connections: those whose CNTL came last */
_Static_assert(HOP_CONNS <= PATH_SEQ_STEP / 2, "each RCNTL has a number of its own");

struct hop_params {
    uint64_t rate_Bps;
    uint64_t burst_bytes; /* 0: no limit */
    uint64_t expiry_ms;
    uint64_t port; /* UDP port of CNTL, as source or destination */
    uint64_t number;
    bool rcntl;
};

struct hop_conn {
    struct frame_route route; /* to the sender */
    uint64_t key;             /* of the connection; 0: this entry is free */
    uint64_t heard;           /* when its last CNTL came, in cycles */
    bool sealed;
    uint64_t proof; /* of its last CNTL, if it is sealed */
};

struct hop {
    struct element e;
    uint32_t seq; /* `seq` of the first of the hop's own packets: after the last that passed */
    struct hop_conn conns[HOP_CONNS];
};

static int hop_parse(struct spec *s, void *params)
{
    struct hop_params *p = params;

    p->expiry_ms = 1000;
    p->port = WIRE_UDP_PORT;
    if (spec_rate(s, "hop's rate", &p->rate_Bps) && p->rate_Bps == 0)
        return spec_fail(s, "comes after a hop of rate 0, which in CNTL would mean no limit");
    for (;;) {
        if (spec_accept(s, "burst"))
            spec_size(s, "hop's burst", &p->burst_bytes);
        else if (spec_accept(s, "expiry"))
            spec_number(s, "hop's expiry in ms", 1, UINT16_MAX, &p->expiry_ms);
        else if (spec_accept(s, "port"))
            spec_number(s, "hop's port", 1, UINT16_MAX, &p->port);
        else if (spec_accept(s, "number"))
            spec_number(s, "hop's number", 0, UINT16_MAX, &p->number);
        else if (spec_accept(s, "rcntl"))
            p->rcntl = true;
        else
            return s->failed ? -EINVAL : 0;
    }
}

/* Returns the entry of the connection with this key; else a free one; else the one whose last CNTL
 * is the oldest. */
static struct hop_conn *conn_place(struct hop *h, uint64_t key)
{
    struct hop_conn *oldest = &h->conns[0];

    for (uint32_t i = 0; i < HOP_CONNS; i++) {
        struct hop_conn *c = &h->conns[i];

        if (c->key == key)
            return c;
        if (oldest->key != 0 && (c->key == 0 || c->heard < oldest->heard))
            oldest = c;
    }
    return oldest;
}

/* trailer: of the CNTL; NULL: it is plain */
static void conn_note(struct hop *h, const struct frame *f, uint64_t key, const uint8_t *trailer,
                      uint64_t now)
{
    *conn_place(h, key) = (struct hop_conn){
        .route = {.src_mac = f->src_mac,
                  .dst_mac = f->dst_mac,
                  .vlan = f->vlan,
                  .src = f->src,
                  .dst = f->dst,
                  .sport = f->sport,
                  .dport = f->dport},
        .key = key,
        .heard = now,
        .sealed = trailer != NULL,
        .proof = trailer != NULL ? wire_parse_proof(trailer) : 0,
    };
}

/* Lowers the limits in a CNTL; other packets stay as they are. */
static void cntl_lower(struct element *e, uint8_t *bytes, const struct frame *f, uint64_t now)
{
    const struct hop_params *p = e->params;
    uint8_t *body = bytes + f->payload_off;
    uint32_t len = f->payload_len;
    struct wire_header w;
    struct wire_cntl cntl;

    if (wire_parse_header(body, len, &w) != WIRE_OK || w.type != WIRE_CNTL)
        return;
    if (w.association != 0)
        len -= RTE_MIN(len, (uint32_t)WIRE_TRAILER_BYTES);
    if (wire_parse_cntl(body, len, &cntl) != WIRE_OK)
        return;
    uint64_t before = frame_sum(body, WIRE_CNTL_BYTES);

    wire_lower_cntl(body, p->rate_Bps, (uint32_t)p->burst_bytes, (uint16_t)p->expiry_ms);
    frame_change_udp_sum(bytes, f, before, frame_sum(body, WIRE_CNTL_BYTES));
    counter_add(&e->counts.changed, 1);
    if (!(w.flags & WIRE_EARLY))
        conn_note((struct hop *)e, f, w.key, w.association != 0 ? body + len : NULL, now);
}

static void hop_arrive(struct element *e, struct path_packet *packet)
{
    const struct hop_params *p = e->params;
    struct rte_mbuf *m;
    uint8_t *bytes;
    struct frame f;

    ((struct hop *)e)->seq = packet->seq + PATH_SEQ_STEP - HOP_CONNS;
    if (!path_whole(e->path, packet)) {
        element_drop(e, packet);
        return;
    }
    m = packet->m;
    bytes = rte_pktmbuf_mtod(m, uint8_t *);
    if (frame_parse(bytes, m->data_len, m->pkt_len, &f) == FRAME_UDP &&
        (f.sport == p->port || f.dport == p->port) &&
        (uint64_t)f.payload_off + f.payload_len <= m->data_len)
        cntl_lower(e, bytes, &f, packet->at);
    element_pass(e, packet);
}

static void rcntl_send(struct element *e, const struct hop_conn *c, uint32_t seq, uint64_t at)
{
    const struct hop_params *p = e->params;
    struct wire_rcntl v = {
        .h = {.key = c->key},
        .rate_Bps = p->rate_Bps,
        .burst_bytes = (uint32_t)p->burst_bytes,
        .expiry_ms = (uint16_t)p->expiry_ms,
        .hop = (uint16_t)p->number,
        .time_ns = clock_ns(&e->path->clock, at),
        .proven = c->sealed,
        .proof = c->proof,
    };
    uint8_t body[WIRE_RCNTL_PROVEN_BYTES];
    uint32_t len = wire_put_rcntl(body, &v);
    uint16_t head = frame_header_len(&c->route);
    struct rte_mbuf *m = path_make(e->path);
    struct path_packet packet = {m, at, head + len, seq};
    uint8_t *bytes;

    if (m == NULL)
        return;
    bytes = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)packet.len);
    CHECK(bytes != NULL); /* the pool's mbufs hold whole frames */
    frame_put(bytes, &c->route, len);
    memcpy(bytes + head, body, len);
    frame_set_udp_sum(bytes, &c->route, len, frame_sum(body, len));
    counter_add(&e->counts.copied, 1);
    counter_add(&e->counts.copied_bytes, packet.len);
    element_pass(e, &packet);
}

static void hop_change(struct element *e, const void *old, uint64_t at)
{
    const struct hop_params *p = e->params, *was = old;
    struct hop *h = (struct hop *)e;
    uint64_t heard_since = clock_cycles(&e->path->clock, 1000000 * was->expiry_ms);

    if (!p->rcntl || (p->rate_Bps == was->rate_Bps && p->burst_bytes == was->burst_bytes))
        return;
    for (uint32_t i = 0; i < HOP_CONNS; i++)
        if (h->conns[i].key != 0 && h->conns[i].heard + heard_since >= at)
            rcntl_send(e, &h->conns[i], h->seq + i, at);
}

const struct element_kind kind_hop = {
    .name = "hop",
    .speaks = true,
    .bytes = sizeof(struct hop),
    .params_bytes = sizeof(struct hop_params),
    .parse = hop_parse,
    .arrive = hop_arrive,
    .change = hop_change,
};
