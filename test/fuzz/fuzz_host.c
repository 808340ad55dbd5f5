/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for lib/host: two hosts in virtual time, plain or with keys. The input is a program
 * of what applications ask, of frames that are lost, changed or sent again, and of packets that are
 * right but for some fields (fuzz_host.h). Each frame ends where its memory ends, and so does each
 * buffer. A frame is counted as dropped at most once. Each operation completes once. As long as
 * nobody has forged a packet, or if packets are sealed, what is received is what was sent. In the
 * end all connections become free and all mbufs come back.
 */
#include "fuzz_host.h"

#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>

#include "base/clock.h"
#include "base/seq.h"
#include "fuzz_eal.h"
#include "fuzz_input.h"
#include "host/host.h"
#include "wire/frame.h"
#include "wire/neigh.h"

#define HOSTS       2u
#define CONNS       4u
#define DEPTH       8u
#define OPS_MAX     64u /* of each host */
#define LETTERS     16u
#define FRAME_MAX   2048u
#define REQUEST_MAX 5000u
#define STEPS_MAX   80
#define SERVICE     7
#define MS          1000000ull

struct fuzz_host_counts fuzz_host_counts;

struct letter {
    uint16_t len;
    uint8_t bytes[FRAME_MAX];
};

/* An operation of an application. */
struct op {
    uint8_t *buffer; /* exact */
    uint32_t len;
    uint8_t due; /* completions */
};

struct side {
    struct host *h;
    struct host_control *control;
    struct frame_route route; /* from this host to the other */
    uint32_t conn;            /* the newest; HOST_CONN_NONE: none */
    struct op ops[OPS_MAX];
    uint32_t n_ops;
    struct letter letters[LETTERS]; /* frames that it sent lately */
    uint32_t n_letters;
    /* what it said last */
    struct wire_first first;
    struct wire_data data;
    struct wire_cntl cntl;
};

struct run {
    struct fuzz_input in;
    struct side s[HOSTS];
    uint8_t mode, lose;
    bool forged; /* content may differ from what was sent */
    uint64_t now, control_at;
    uint32_t frames;
};

static struct {
    struct rte_mempool *head, *attach, *copy, *rx;
} pools;

/* ---- hosts ------------------------------------------------------------------------------- */

static void keys_make(uint32_t i, struct assoc_config *cfg)
{
    memset(cfg->self.private_key, (int)i + 1, DH_BYTES);
    memset(cfg->seed, (int)i + 1, sizeof cfg->seed);
    dh_public(cfg->self.private_key, cfg->self.public_key);
}

static void side_secure(const struct run *r, struct side *s, uint32_t i)
{
    struct assoc_config cfg = {.ciphers = 1u << AEAD_AES_128_GCM,
                               .cipher = AEAD_AES_128_GCM,
                               .peers_max = 1},
                        other = {0};
    struct assoc_peer peer = {0};
    struct rte_mbuf *none[1];
    char err[200];
    int family = !addr_is_v4(&s->route.dst);

    keys_make(i, &cfg);
    keys_make(1 - i, &other);
    memcpy(peer.public_key, other.self.public_key, sizeof peer.public_key);
    peer.address[family] = s->route.dst;
    peer.prefix_len[family] = family ? 128 : 32;
    CHECK(host_control_secure(s->control, &cfg, aead_best(), err, sizeof err) == 0);
    CHECK(host_control_set_secured(s->control, &peer, 1) == 0);
    CHECK(host_tx(s->h, none, 0, r->now) == 0); /* the host learns it before it connects */
}

static void route_make(struct run *r, struct frame_route *route, uint32_t i)
{
    bool v6 = r->mode & MODE_IPV6;

    CHECK(addr_parse(v6 ? "fd00::1" : "10.0.0.1", i == 0 ? &route->src : &route->dst) == 0);
    CHECK(addr_parse(v6 ? "fd00::2" : "10.0.0.2", i == 0 ? &route->dst : &route->src) == 0);
    route->src_mac = (struct rte_ether_addr){{2, 0, 0, 0, 0, (uint8_t)(i + 1)}};
    route->dst_mac = (struct rte_ether_addr){{2, 0, 0, 0, 0, (uint8_t)(2 - i)}};
    route->vlan = r->mode & MODE_VLAN ? 5 : FRAME_VLAN_NONE;
    route->sport = route->dport = WIRE_UDP_PORT;
}

static void side_make(struct run *r, uint32_t i)
{
    struct side *s = &r->s[i];
    bool v6 = r->mode & MODE_IPV6;
    struct host_config cfg = {
        .mtu = 1500,
        .udp_port = WIRE_UDP_PORT,
        .workers = 1,
        .hz = 1000000000,
        .secrets = {{42 + i, 1}, {43, i}, 44 + i},
        .conns = CONNS,
        .depth = DEPTH,
        .gaps = 4,
        .early = 2,
        .silence_ms = 500,
        .repeat_us = 2000,
        .first_rate_Bps = 100000000,
        .first_burst_bytes = 20000,
        .control_ns = MS,
        .tx_sum = r->mode & MODE_UNSUMMED ? HOST_SUM_NONE : HOST_SUM_SOFTWARE,
        .rx_sum = r->mode & MODE_UNSUMMED ? HOST_SUM_NONE : HOST_SUM_SOFTWARE,
        .security = r->mode & MODE_SEALED ? HOST_SECURITY_REQUIRED : HOST_SECURITY_NONE,
        .secured_max = 1,
        .tx_attach = (r->mode & MODE_COPY) == 0,
        .head_pool = pools.head,
        .attach_pool = pools.attach,
        .copy_pool = pools.copy,
    };
    char err[200];

    route_make(r, &s->route, i);
    snprintf(cfg.name, sizeof cfg.name, "fuzz%u", i);
    cfg.mac = s->route.src_mac;
    cfg.vlan = s->route.vlan;
    cfg.address[v6] = s->route.src;
    cfg.prefix_len[v6] = v6 ? 64 : 24;
    s->conn = HOST_CONN_NONE;
    s->h = host_create(&cfg, r->now, err, sizeof err);
    CHECK(s->h != NULL && host_listen(s->h, SERVICE) == 0);
    s->control = host_control_create(&s->h, 1, r->now, err, sizeof err);
    CHECK(s->control != NULL);
    if (r->mode & MODE_SEALED)
        side_secure(r, s, i);
}

static uint64_t drops_of(const struct host *h)
{
    uint64_t v, sum = 0;
    const char *name;

    for (uint32_t i = 0; (name = host_counter(h, i, &v)) != NULL; i++)
        if (strncmp(name, "drop_", 5) == 0)
            sum += v;
    return sum;
}

/* ---- operations -------------------------------------------------------------------------- */

static uint8_t content(uint32_t i)
{
    return (uint8_t)(i * 31 + (i >> 8));
}

static void op_done(struct run *r, struct side *s, const struct host_completion *c)
{
    struct op *op = &s->ops[c->user];

    CHECK(c->user < s->n_ops && op->due > 0 && c->status <= 0 && c->len <= op->len);
    op->due--;
    fuzz_host_counts.failed += c->status != 0;
    if (c->status != 0)
        return;
    fuzz_host_counts.opened += c->op == HOST_CONNECT || c->op == HOST_ACCEPT;
    fuzz_host_counts.sent += c->op == HOST_SEND;
    fuzz_host_counts.received += c->op == HOST_RECV;
    if (c->op != HOST_RECV || (r->forged && (r->mode & MODE_SEALED) == 0))
        return;
    for (uint32_t i = 0; i < c->len; i++)
        CHECK(op->buffer[i] == content(i));
    fuzz_host_counts.checked++;
    fuzz_host_counts.sealed += (r->mode & MODE_SEALED) != 0;
}

static void completions_take(struct run *r, struct side *s)
{
    struct host_completion done[8];
    uint32_t n;

    do {
        n = host_completions(s->h, done, 8);
        for (uint32_t i = 0; i < n; i++)
            op_done(r, s, &done[i]);
    } while (n == 8);
}

static struct op *op_new(struct side *s, uint32_t len, bool receives)
{
    struct op *op = &s->ops[s->n_ops];

    if (s->n_ops == OPS_MAX)
        return NULL;
    *op = (struct op){.buffer = malloc(len > 0 ? len : 1), .len = len, .due = 1};
    CHECK(op->buffer != NULL);
    for (uint32_t i = 0; i < len; i++)
        op->buffer[i] = receives ? 0xee : content(i);
    s->n_ops++;
    return op;
}

/* An operation that was refused has no completion. */
static void op_result(struct side *s, struct op *op, bool accepted)
{
    if (!accepted)
        op->due = 0;
}

static void open_step(struct run *r, struct side *s, bool connects)
{
    struct host_connect connect = {.peer = s->route.dst,
                                   .service = SERVICE,
                                   .go_back_n = r->mode & MODE_GO_BACK_N,
                                   .user = s->n_ops};
    struct op *op = op_new(s, 0, false);
    int64_t conn;

    if (op == NULL)
        return;
    conn = connects ? host_connect(s->h, &connect, r->now)
                    : host_accept(s->h, SERVICE, 0, connect.user);
    op_result(s, op, conn >= 0);
    if (conn >= 0)
        s->conn = (uint32_t)conn;
}

static void transfer_step(struct run *r, struct side *s, bool receives, bool pieces)
{
    uint32_t len = (uint32_t)(input_number(&r->in) * 19 % (REQUEST_MAX + 1));
    uint32_t user = s->n_ops, first = pieces ? len / 3 : len;
    struct host_send send = {.user = user, .provisional = pieces};
    struct op *op = op_new(s, len, receives);
    int rc;

    if (op == NULL)
        return;
    send.pieces[0] = (struct host_piece){op->buffer, first};
    send.pieces[1] = (struct host_piece){op->buffer + first, len - first};
    if (receives)
        rc = host_recv(s->h, s->conn, op->buffer, len, user, r->now);
    else
        rc = host_send(s->h, s->conn, &send, r->now);
    op->due = pieces && !receives ? 2 : 1;
    op_result(s, op, rc == 0);
}

static void end_step(struct run *r, struct side *s, bool closes)
{
    uint32_t user = s->n_ops;
    struct op *op = closes ? NULL : op_new(s, 0, false);

    if (closes && s->conn != HOST_CONN_NONE)
        host_close(s->h, s->conn, WIRE_END_ABORT, r->now);
    if (op != NULL)
        op_result(s, op, host_shutdown(s->h, s->conn, user, r->now) == 0);
}

/* ---- frames ------------------------------------------------------------------------------ */

/* Keeps what a host says, for packets that are nearly the same. */
static void frame_learn(struct side *s, const uint8_t *p, uint16_t len)
{
    const uint8_t *packet;
    struct wire_header header;
    struct wire_first first;
    struct wire_data data;
    struct wire_cntl cntl;
    struct frame f;

    if (frame_parse(p, len, len, &f) != FRAME_UDP)
        return;
    packet = p + f.payload_off;
    if (wire_parse_header(packet, f.payload_len, &header) != WIRE_OK)
        return;
    s->route.sport = f.sport;
    s->route.dport = f.dport;
    if (header.type == WIRE_FIRST && wire_parse_first(packet, WIRE_FIRST_BYTES, &first) == WIRE_OK)
        s->first = first;
    if (wire_parse_data(packet, f.payload_len, f.payload_len, &data) == WIRE_OK)
        s->data = data;
    if (wire_parse_cntl(packet, f.payload_len, &cntl) == WIRE_OK)
        s->cntl = cntl;
}

static void frame_give(struct run *r, struct side *to, const uint8_t *p, uint16_t len)
{
    struct rte_mbuf *m = fuzz_mbuf(pools.rx, p, len);
    uint64_t before = drops_of(to->h), after;

    CHECK(m != NULL);
    host_rx(to->h, &m, 1, r->now);
    after = drops_of(to->h);
    CHECK(after - before <= 1);
    fuzz_host_counts.dropped += after - before;
    completions_take(r, to);
}

/* Takes the frames that a host sends; they arrive at the other one unless they are lost. */
static void frames_move(struct run *r, uint32_t from, bool arrive)
{
    struct side *s = &r->s[from];
    struct rte_mbuf *m[8];
    uint16_t n = host_tx(s->h, m, 8, r->now);

    for (uint16_t i = 0; i < n; i++, r->frames++) {
        struct letter *l = &s->letters[s->n_letters++ % LETTERS];
        const uint8_t *p;

        CHECK(m[i]->pkt_len <= FRAME_MAX);
        l->len = (uint16_t)m[i]->pkt_len;
        p = rte_pktmbuf_read(m[i], 0, l->len, l->bytes);
        if (p != l->bytes)
            memcpy(l->bytes, p, l->len);
        rte_pktmbuf_free(m[i]);
        frame_learn(s, l->bytes, l->len);
        if (arrive && (r->lose >> r->frames % 8 & 1) == 0)
            frame_give(r, &r->s[1 - from], l->bytes, l->len);
    }
    completions_take(r, s);
}

static void control_run(struct run *r)
{
    static const struct host_port_counters none;

    if (time_before(r->now, r->control_at))
        return;
    r->control_at = r->now + MS;
    for (uint32_t i = 0; i < HOSTS; i++) {
        host_control_set_wall(r->s[i].control, 1000000 * MS + r->now);
        host_control(r->s[i].control, &none, r->now);
    }
}

static void round_run(struct run *r, uint64_t ns)
{
    r->now += ns;
    frames_move(r, 0, true);
    frames_move(r, 1, true);
    control_run(r);
}

static void letter_step(struct run *r, uint32_t to, uint8_t step)
{
    struct side *from = &r->s[1 - to];
    uint8_t which = input_u8(&r->in);
    struct letter l;

    if (from->n_letters == 0)
        return;
    l = from->letters[(from->n_letters - 1 - which % LETTERS) % LETTERS];
    if (step & 0x20) {
        input_patch(&r->in, l.bytes, l.len);
        r->forged = true;
    }
    if (step & 0x40)
        l.len = (uint16_t)(l.len - input_number(&r->in) % (l.len + 1u));
    fuzz_host_counts.forged++;
    frame_give(r, step & 0x80 ? from : &r->s[to], l.bytes, l.len);
}

static void raw_step(struct run *r, struct side *to)
{
    uint8_t bytes[UINT8_MAX], len = input_u8(&r->in);

    input_bytes(&r->in, bytes, len);
    r->forged = true;
    fuzz_host_counts.forged++;
    frame_give(r, to, bytes, len);
}

/* ---- packets ----------------------------------------------------------------------------- */

/* A small difference, either way, or a large one. */
static uint64_t more(struct run *r)
{
    uint64_t v = input_number(&r->in);

    return v < 0xf0 ? (v & 1 ? 0 - (v >> 1) : v >> 1) : v;
}

/* Sends a packet in the name of the other host. */
static void packet_give(struct run *r, uint32_t to, uint8_t step, uint8_t *packet, uint32_t len)
{
    struct frame_route route = r->s[1 - to].route;
    uint8_t frame[FRAME_MAX];
    uint16_t head = frame_header_len(&route);

    if (step & 0x80)
        route.sport++;
    if (step & 0x20)
        input_patch(&r->in, packet, len);
    memcpy(frame + head, packet, len);
    frame_put(frame, &route, len);
    frame_set_udp_sum(frame, &route, len, frame_sum(packet, len));
    r->forged = true;
    fuzz_host_counts.forged++;
    frame_give(r, &r->s[to], frame, (uint16_t)(head + len));
}

/* The key that packets to a host carry; early: that of their sender. */
static void key_set(const struct run *r, uint32_t to, uint8_t step, struct wire_header *h)
{
    const struct side *host = &r->s[to], *other = &r->s[1 - to];
    uint64_t own = other->cntl.own_key != 0 ? other->cntl.own_key : other->first.h.key;

    h->key = host->cntl.own_key != 0 ? host->cntl.own_key : host->first.h.key;
    if (step & 0x40) {
        h->flags |= WIRE_EARLY;
        h->key = own != 0 ? own : 77;
    }
}

static void first_step(struct run *r, uint32_t to, uint8_t step)
{
    struct wire_first v = r->s[1 - to].first;
    uint8_t packet[WIRE_FIRST_BYTES];

    if (v.h.key == 0)
        v = (struct wire_first){.h.key = 77,
                                .initial_request = 100,
                                .answer_request = 500,
                                .unit_max = 1400,
                                .service = SERVICE,
                                .rate_req_Bps = 1000000,
                                .burst_req_bytes = 20000,
                                .silence_ms = 500};
    v.h.flags |= WIRE_EARLY;
    v.h.association = 0;
    v.h.key += more(r);
    v.initial_request += (uint32_t)more(r);
    v.unit_max += (uint32_t)more(r);
    v.service += (uint16_t)more(r);
    v.cookie = r->s[to].cntl.cookie + more(r);
    packet_give(r, to, step, packet, wire_put_first(packet, &v));
}

static void data_step(struct run *r, uint32_t to, uint8_t step)
{
    struct wire_data v = r->s[1 - to].data;
    uint8_t packet[WIRE_DATA_BYTES + 1500];
    uint64_t start, len;

    if (v.unit_bytes == 0)
        v = (struct wire_data){.request = 100, .request_len = 700, .unit_bytes = 400};
    v.h = (struct wire_header){.flags = (uint8_t)input_u8(&r->in) &
                                        (WIRE_DREQ | WIRE_PACK | WIRE_REPEAT)};
    key_set(r, to, step, &v.h);
    v.packet += more(r);
    v.request += (uint32_t)more(r);
    v.unit += (uint32_t)more(r);
    v.request_len += more(r);
    v.unit_bytes += (uint32_t)more(r);
    v.cntl_seen += (uint32_t)more(r);
    start = (uint64_t)v.unit * v.unit_bytes;
    len = start < v.request_len ? v.request_len - start : 0;
    len = len < v.unit_bytes ? len : v.unit_bytes;
    if (len > 1400)
        len = 1400;
    wire_put_data(packet, &v);
    memset(packet + WIRE_DATA_BYTES, 0xdd, len);
    packet_give(r, to, step, packet, (uint32_t)(WIRE_DATA_BYTES + len));
}

static void cntl_step(struct run *r, uint32_t to, uint8_t step)
{
    struct wire_cntl v = r->s[1 - to].cntl;
    uint8_t packet[WIRE_CNTL_MAX_BYTES];
    uint64_t at;

    if (v.own_key == 0)
        v = (struct wire_cntl){.own_key = 77,
                               .rate_Bps = 1000000,
                               .burst_bytes = 20000,
                               .unit_max = 1400,
                               .initial_request = 100};
    v.h = (struct wire_header){.flags = input_u8(&r->in)};
    key_set(r, to, step, &v.h);
    v.own_key += more(r);
    v.seq += 1 + (uint32_t)more(r);
    v.cntl_seen += (uint32_t)more(r);
    v.rate_Bps += more(r) * 1000;
    v.burst_bytes += (uint32_t)more(r);
    v.ack += more(r) << (input_u8(&r->in) & 32);
    v.posted += (uint32_t)more(r);
    v.unit_max += (uint32_t)more(r);
    v.sent += more(r) << (input_u8(&r->in) & 32);
    v.close_request += (uint32_t)more(r);
    v.end = input_u8(&r->in) % WIRE_ENDS;
    v.span_count = input_u8(&r->in) % 4;
    at = v.ack;
    for (uint32_t i = 0; i < v.span_count; i++) {
        v.spans[i].first = at + input_number(&r->in);
        at = v.spans[i].end = v.spans[i].first + 1 + input_number(&r->in);
        at++;
    }
    v.refused_count = input_u8(&r->in) % 2;
    v.refused[0] =
        (struct wire_refused){pos_request(v.ack) + (uint32_t)more(r), WIRE_REFUSED_TOO_LONG};
    packet_give(r, to, step, packet, wire_put_cntl(packet, &v));
}

static void rcntl_step(struct run *r, uint32_t to, uint8_t step)
{
    struct wire_rcntl v = {.rate_Bps = input_number(&r->in) * 1000,
                           .burst_bytes = (uint32_t)input_number(&r->in),
                           .expiry_ms = (uint16_t)(1 + input_u8(&r->in)),
                           .hop = 1,
                           .time_ns = r->now + more(r)};
    uint8_t packet[WIRE_RCNTL_BYTES];

    key_set(r, to, (uint8_t)(step & ~0x40), &v.h);
    packet_give(r, to, step, packet, wire_put_rcntl(packet, &v));
}

static void link_step(struct run *r, uint32_t to, bool patched)
{
    const struct frame_route *route = &r->s[1 - to].route;
    struct rte_ether_addr mac = route->src_mac;
    struct addr unset = {0}, src = route->src, dst = route->dst;
    uint8_t what = input_u8(&r->in), frame[FRAME_MAX];
    uint16_t len;

    mac.addr_bytes[5] ^= what >> 4;
    if (what & 8)
        src.b[15] ^= 9;
    if (what & 4)
        dst = src;
    if ((what & 3) == 0)
        len = neigh_put_request(frame, &mac, what & 8 ? &unset : &src, &dst, route->vlan);
    else if ((what & 3) == 1)
        len = neigh_put_reply(frame, &mac, &src, &route->dst_mac, &dst, route->vlan);
    else if ((what & 3) == 2)
        len = neigh_put_announce(frame, &mac, &src, route->vlan);
    else
        len = neigh_put_poll(frame, &mac, &src, &dst, &route->dst_mac, route->vlan);
    if (patched)
        input_patch(&r->in, frame, len);
    r->forged = true;
    fuzz_host_counts.forged++;
    frame_give(r, &r->s[to], frame, len);
}

/* ---- the program ------------------------------------------------------------------------- */

static void run_step(struct run *r, uint8_t step)
{
    for (uint32_t rounds = input_u8(&r->in) % 64 + 1; rounds > 0; rounds--)
        round_run(r, 1000ull << 3 * (step >> 5));
    r->lose = 0;
}

static void step_run(struct run *r, uint8_t step)
{
    uint32_t i = step >> 4 & 1;
    struct side *s = &r->s[i];

    switch ((enum host_step)(step & 15)) {
    case HOST_STEP_RUN:
        run_step(r, step);
        return;
    case HOST_STEP_OPEN:
        open_step(r, s, step & 0x20);
        return;
    case HOST_STEP_SEND:
    case HOST_STEP_RECV:
        transfer_step(r, s, (step & 15) == HOST_STEP_RECV, step & 0x20);
        return;
    case HOST_STEP_END:
        end_step(r, s, step & 0x20);
        return;
    case HOST_STEP_LOSE:
        r->lose = input_u8(&r->in);
        return;
    case HOST_STEP_LETTER:
        letter_step(r, i, step);
        return;
    case HOST_STEP_RAW:
        raw_step(r, s);
        return;
    case HOST_STEP_FIRST:
        first_step(r, i, step);
        return;
    case HOST_STEP_DATA:
        data_step(r, i, step);
        return;
    case HOST_STEP_CNTL:
        cntl_step(r, i, step);
        return;
    case HOST_STEP_RCNTL:
        rcntl_step(r, i, step);
        return;
    case HOST_STEP_LINK:
        link_step(r, i, step & 0x20);
        return;
    case HOST_STEP_TIME:
        r->now += input_u8(&r->in) * MS << (step >> 5);
        control_run(r);
        return;
    case HOST_STEP_CAPACITY:
        host_control_set_capacity(s->control, input_number(&r->in) * 10000);
    }
}

static void side_end(struct run *r, struct side *s)
{
    host_unlisten(s->h, SERVICE);
    for (uint32_t c = 0; c < CONNS; c++)
        host_close(s->h, c, WIRE_END_ABORT, r->now);
    completions_take(r, s);
    for (uint32_t i = 0; i < s->n_ops; i++)
        CHECK(s->ops[i].due == 0);
}

/* Closes all. Late packets are expected for a while, then every connection is free. */
static void sides_end(struct run *r)
{
    r->lose = 0;
    side_end(r, &r->s[0]);
    side_end(r, &r->s[1]);
    for (int i = 0; i < 600 && host_conn_count(r->s[0].h) + host_conn_count(r->s[1].h) > 0; i++)
        round_run(r, 100 * MS);
    for (uint32_t i = 0; i < HOSTS; i++) {
        CHECK(host_conn_count(r->s[i].h) == 0);
        host_control_destroy(r->s[i].control);
        host_destroy(r->s[i].h);
        for (uint32_t k = 0; k < r->s[i].n_ops; k++)
            free(r->s[i].ops[k].buffer);
    }
}

static void pools_make(void)
{
    pools.head = fuzz_pool("head", 511, RTE_PKTMBUF_HEADROOM + 1024);
    pools.attach = fuzz_pool("attach", 511, 0);
    pools.copy = fuzz_pool("copy", 511, RTE_PKTMBUF_HEADROOM + FRAME_MAX);
    pools.rx = fuzz_pool("rx", 63, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run run;
    struct run *r = &run;

    if (pools.head == NULL)
        pools_make();
    *r = (struct run){.in = {data, data + size}, .now = 1000 * MS};
    r->mode = input_u8(&r->in);
    for (uint32_t i = 0; i < HOSTS; i++)
        side_make(r, i);
    for (int i = 0; i < STEPS_MAX && input_left(&r->in); i++)
        step_run(r, input_u8(&r->in));
    sides_end(r);
    fuzz_pool_check(pools.head);
    fuzz_pool_check(pools.attach);
    fuzz_pool_check(pools.copy);
    fuzz_pool_check(pools.rx);
    return 0;
}
