// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hh"

#include <cstring>
#include <stdexcept>

#include "framed.hh"

namespace
{

constexpr uint16_t kService = 7;

addr address(const char *text)
{
    addr a;

    if (addr_parse(text, &a) != 0)
        throw std::runtime_error(text);
    return a;
}

} // namespace

Peer::Peer(const PeerOptions &options) : opt(options)
{
    world_config cfg = {};
    host_config c = {};
    char err[200];

    cfg.delay_ns = 1000; // no host receives the frames, and the peer answers at once
    cfg.poll_ns = 1000;
    cfg.frames_max = 1000;
    cfg.pool = Pools::get().wire;
    cfg.fate = fate;
    cfg.app = app;
    cfg.ctx = this;
    w = world_create(&cfg);
    std::snprintf(c.name, sizeof c.name, "host");
    c.mac = {{2, 0, 0, 0, 0, 1}};
    c.address[opt.ipv6] = address(opt.ipv6 ? "fd00::1" : "10.0.0.1");
    c.prefix_len[opt.ipv6] = opt.ipv6 ? 64 : 24;
    if (opt.gateway)
        c.gateway[opt.ipv6] = address(opt.ipv6 ? "fd00::fe" : "10.0.0.254");
    if (opt.fixed) {
        c.fixed_count = 1;
        c.fixed[0].addr =
            opt.gateway ? c.gateway[opt.ipv6] : address(opt.ipv6 ? "fd00::2" : "10.0.0.2");
        c.fixed[0].mac = {{2, 0, 0, 0, 0, 0x99}};
    }
    c.vlan = FRAME_VLAN_NONE;
    c.mtu = opt.mtu;
    c.udp_port = WIRE_UDP_PORT;
    c.workers = 1;
    c.secrets = world_secrets(7, 0);
    c.conns = opt.conns;
    c.depth = 16;
    c.gaps = opt.gaps;
    c.early = opt.early;
    c.ahead = opt.ahead;
    c.silence_ms = opt.silence_ms;
    c.repeat_us = 2000;
    c.first_rate_Bps = opt.rate_first_Bps;
    c.first_burst_bytes = opt.burst_first;
    c.tx_sum = c.rx_sum = HOST_SUM_SOFTWARE;
    c.tx_attach = true;
    c.head_pool = Pools::get().head;
    c.attach_pool = Pools::get().attach;
    c.copy_pool = Pools::get().copy;
    if (world_add(w, &c, nullptr, err, sizeof err) < 0 || host_listen(h(), kService) != 0)
        throw std::runtime_error(err);
    route.src_mac = {{2, 0, 0, 0, 0, 0x99}};
    route.dst_mac = c.mac;
    route.vlan = FRAME_VLAN_NONE;
    route.src = address(opt.gateway ? opt.ipv6 ? "fd01::2" : "10.0.9.2"
                        : opt.ipv6  ? "fd00::2"
                                    : "10.0.0.2");
    route.dst = c.address[opt.ipv6];
    route.sport = 40000;
    route.dport = WIRE_UDP_PORT;
    posted = host_initial;
    sent_end = pos_make(initial, 0);
    ack = pos_make(host_initial, 0);
    close_request = initial;
    run(2000);
}

Peer::~Peer()
{
    for (uint32_t c = 0; c < opt.conns; c++)
        host_close(h(), c, WIRE_END_ABORT, now());
    run(30 * CLOCK_NS_PER_S);
    world_destroy(w);
}

bool Peer::until(const std::function<bool()> &done, uint64_t max_ns)
{
    uint64_t end = now() + max_ns;

    while (!done() && now() < end)
        run(10000);
    return done();
}

uint32_t Peer::accept()
{
    conn = static_cast<uint32_t>(host_accept(h(), kService, 1, 1));
    return conn;
}

uint32_t Peer::connect()
{
    struct host_connect op = {};

    op.peer = route.src;
    op.peer_port = route.sport;
    op.service = 9;
    op.user = 1;
    int64_t c = host_connect(h(), &op, now());

    if (c < 0)
        throw std::runtime_error("connect");
    conn = static_cast<uint32_t>(c);
    return conn;
}

void Peer::post_send(uint64_t len, uint64_t user)
{
    struct host_send op = {};

    buffers.emplace_back(len + 1);
    for (uint64_t i = 0; i < len; i++)
        buffers.back()[i] = pattern(user, i);
    op.pieces[0] = {buffers.back().data(), len};
    op.user = user;
    if (host_send(h(), conn, &op, now()) != 0)
        throw std::runtime_error("send");
}

void Peer::post_recv(uint64_t len, uint64_t user)
{
    buffers.emplace_back(len + 1, 0xee);
    if (host_recv(h(), conn, buffers.back().data(), len, user, now()) != 0)
        throw std::runtime_error("recv");
}

int Peer::shutdown(uint64_t user)
{
    return host_shutdown(h(), conn, user, now());
}

void Peer::close()
{
    host_close(h(), conn, WIRE_END_ABORT, now());
}

const host_completion *Peer::done(uint8_t op, uint64_t user) const
{
    for (const host_completion &c : log)
        if (c.op == op && c.user == user)
            return &c;
    return nullptr;
}

uint64_t Peer::counter(const char *name) const
{
    return host_counter_named(world_host(w, 0), name);
}

uint64_t Peer::drops() const
{
    uint64_t v, sum = 0;
    const char *n;

    for (uint32_t i = 0; (n = host_counter(world_host(w, 0), i, &v)) != nullptr; i++)
        if (std::strncmp(n, "drop_", 5) == 0)
            sum += v;
    return sum;
}

struct host_conn_info Peer::info() const
{
    struct host_conn_info i = {};

    host_conn_info(world_host(w, 0), conn, &i);
    return i;
}

bool Peer::is_free() const
{
    struct host_conn_info i;

    return !host_conn_info(world_host(w, 0), conn, &i);
}

wire_cntl Peer::state(uint8_t flags)
{
    wire_cntl v = {};

    v.h.flags = flags;
    v.h.key = host_key != 0 ? host_key : own_key;
    if (host_key == 0)
        v.h.flags |= WIRE_EARLY;
    v.own_key = own_key;
    v.seq = ++seq;
    v.cntl_seen = host_seq;
    v.rate_Bps = rate_Bps;
    v.burst_bytes = burst_bytes;
    v.ack = ack;
    v.posted = posted;
    v.unit_max = 1400;
    v.sent = sent_end;
    v.close_request = close_request;
    v.initial_request = initial;
    v.time_ns = now();
    v.echo_ns = host_time_ns;
    return v;
}

void Peer::say(const wire_cntl &v)
{
    uint8_t bytes[WIRE_CNTL_MAX_BYTES];

    say_bytes(bytes, wire_put_cntl(bytes, &v));
}

void Peer::say_first(uint64_t cookie)
{
    wire_first v = {};
    uint8_t bytes[WIRE_FIRST_BYTES];

    v.h.flags = WIRE_EARLY;
    v.h.key = own_key;
    v.initial_request = initial;
    v.answer_request = host_initial;
    v.unit_max = 1400;
    v.service = kService;
    v.capabilities = opt.go_back_n ? WIRE_CAP_GO_BACK_N : 0;
    v.rate_req_Bps = 1000000;
    v.burst_req_bytes = opt.burst_req;
    v.time_ns = now();
    v.silence_ms = 1000;
    v.cookie = cookie;
    say_bytes(bytes, wire_put_first(bytes, &v));
}

void Peer::say_data(uint32_t request, uint32_t unit, uint64_t request_len, uint32_t unit_bytes,
                    uint8_t flags)
{
    wire_data d = {};
    uint64_t start = static_cast<uint64_t>(unit) * unit_bytes;
    uint64_t len = std::min<uint64_t>(unit_bytes, request_len - start);
    std::vector<uint8_t> bytes(WIRE_DATA_BYTES + len);

    d.h.flags = flags | (host_key == 0 ? WIRE_EARLY : 0);
    d.h.key = host_key != 0 ? host_key : own_key;
    d.packet = packet++;
    d.time_ns = now();
    d.request = request;
    d.unit = unit;
    d.request_len = request_len;
    d.unit_bytes = unit_bytes;
    d.cntl_seen = host_seq;
    wire_put_data(bytes.data(), &d);
    for (uint64_t i = 0; i < len; i++)
        bytes[WIRE_DATA_BYTES + i] = pattern(request, start + i);
    bool last = unit + 1 == wire_units(request_len, unit_bytes);

    sent_end = seq64_max(sent_end, last ? pos_make(request + 1, 0) : pos_make(request, unit + 1));
    say_bytes(bytes.data(), static_cast<uint32_t>(bytes.size()));
}

void Peer::say_bytes(const uint8_t *p, uint32_t len)
{
    say_frame(framed(route, p, len));
}

void Peer::say_frame(const std::vector<uint8_t> &frame)
{
    inject(frame.data(), static_cast<uint32_t>(frame.size()));
}

void Peer::inject(const uint8_t *p, uint32_t len)
{
    world_inject(w, 0, mbuf_of(Pools::get().wire, p, len));
}

void Peer::open_to_host()
{
    accept();
    say_first();
    if (!until([&] { return host_key != 0; }))
        throw std::runtime_error("FIRST is not answered");
    say(state());
    run(10000);
}

void Peer::open_by_host()
{
    connect();
    if (!until([&] { return heard_type(WIRE_FIRST) > 0; }))
        throw std::runtime_error("no FIRST");
    say(state());
    if (!until([&] { return done(HOST_CONNECT, 1) != nullptr && host_key != 0; }))
        throw std::runtime_error("no connection");
}

void Peer::ack_all()
{
    for (const Heard &x : heard)
        if (x.type == WIRE_DATA) {
            bool last = x.data.unit + 1 == wire_units(x.data.request_len, x.data.unit_bytes);

            ack = seq64_max(ack, last ? pos_make(x.data.request + 1, 0)
                                      : pos_make(x.data.request, x.data.unit + 1));
        }
    say(state());
    run(10000);
}

const wire_cntl *Peer::last_cntl() const
{
    for (auto x = heard.rbegin(); x != heard.rend(); ++x)
        if (x->type == WIRE_CNTL)
            return &x->cntl;
    return nullptr;
}

const wire_first *Peer::last_first() const
{
    for (auto x = heard.rbegin(); x != heard.rend(); ++x)
        if (x->type == WIRE_FIRST)
            return &x->first;
    return nullptr;
}

size_t Peer::heard_flags(uint8_t flags) const
{
    size_t n = 0;

    for (const Heard &x : heard)
        n += x.type == WIRE_CNTL && (x.cntl.h.flags & flags) == flags;
    return n;
}

size_t Peer::heard_type(int type) const
{
    size_t n = 0;

    for (const Heard &x : heard)
        n += x.type == type;
    return n;
}

void Peer::answer_neighbor(const Heard &x)
{
    struct neigh n;
    std::vector<uint8_t> reply(NEIGH_FRAME_MAX);

    if (neigh_parse(x.bytes.data(), static_cast<uint32_t>(x.bytes.size()), &x.frame, &n) !=
        NEIGH_REQUEST)
        return;
    reply.resize(neigh_put_reply(reply.data(), &route.src_mac, &n.target, &n.mac, &n.sender,
                                 FRAME_VLAN_NONE));
    answers.push_back(reply);
}

void Peer::hear(const rte_mbuf *m, uint64_t at)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    Heard x = {};
    wire_header header;

    x.at_ns = at;
    x.bytes.assign(p, p + m->data_len);
    x.kind = frame_parse(p, m->data_len, m->pkt_len, &x.frame);
    if (x.kind == FRAME_ARP || x.kind == FRAME_ICMP6)
        if (opt.answer_arp)
            answer_neighbor(x);
    const uint8_t *q = p + x.frame.payload_off;
    uint32_t len = x.frame.payload_len;

    if (x.kind == FRAME_UDP && wire_parse_header(q, len, &header) == WIRE_OK) {
        x.type = header.type;
        if (header.type == WIRE_FIRST && wire_parse_first(q, len, &x.first) == WIRE_OK) {
            host_time_ns = x.first.time_ns;
            initial = x.first.answer_request;
            host_initial = x.first.initial_request;
            if (posted - host_initial > 1000) { // its initial request was not known before
                posted = host_initial;
                ack = pos_make(host_initial, 0);
                sent_end = pos_make(initial, 0);
                close_request = initial;
                host_key = x.first.h.key;
            }
        } else if (header.type == WIRE_DATA && wire_parse_data(q, len, len, &x.data) == WIRE_OK) {
            x.payload.assign(q + WIRE_DATA_BYTES, q + len);
            host_time_ns = x.data.time_ns;
        } else if (header.type == WIRE_CNTL && wire_parse_cntl(q, len, &x.cntl) == WIRE_OK) {
            if (x.cntl.h.key == own_key) {
                host_key = x.cntl.own_key != own_key ? x.cntl.own_key : host_key;
                host_seq = x.cntl.seq;
                host_time_ns = x.cntl.time_ns;
            }
        }
    }
    heard.push_back(std::move(x));
}

void Peer::fate(void *ctx, uint32_t, rte_mbuf *m, uint64_t at, world_fate *f)
{
    static_cast<Peer *>(ctx)->hear(m, at);
    f->copies = 0;
}

void Peer::app(void *ctx, uint32_t, host *host, uint64_t)
{
    Peer *p = static_cast<Peer *>(ctx);
    host_completion c[16];
    uint32_t n;

    while ((n = host_completions(host, c, 16)) > 0)
        p->log.insert(p->log.end(), c, c + n);
    for (const std::vector<uint8_t> &a : p->answers)
        p->inject(a.data(), static_cast<uint32_t>(a.size()));
    p->answers.clear();
}
