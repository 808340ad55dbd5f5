// SPDX-License-Identifier: BSD-3-Clause
#include "crowd.hh"

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "again.hh"
#include "pair.hh"
#include "unit.hh"

namespace
{

constexpr uint16_t kService = 9;
constexpr double kArrears = 0.0001; // seconds of unsent demand that a sender keeps; it forgets more

} // namespace

addr Crowd::address(uint32_t host)
{
    char text[40];
    addr a;

    std::snprintf(text, sizeof text, "10.0.%u.%u", host / 250, host % 250 + 1);
    addr_parse(text, &a);
    return a;
}

Crowd::Crowd(const CrowdOptions &options) : opt(options), memory(options.request_bytes)
{
    world_config cfg = {};
    cfg.delay_ns = opt.delay_ns;
    cfg.poll_ns = 1000;
    cfg.control_ns = opt.control_ns;
    cfg.frames_max = 8000;
    cfg.pool = Pools::get().wire;
    cfg.app = app;
    cfg.fate = fate;
    cfg.ctx = this;
    w = world_create(&cfg);
    for (uint32_t i = 0; i <= opt.senders; i++) {
        host_config h = {};
        char err[200];

        std::snprintf(h.name, sizeof h.name, "host%u", i);
        h.mac = {{2, 0, 0, 0, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)}};
        h.address[0] = address(i);
        h.prefix_len[0] = 16;
        h.vlan = FRAME_VLAN_NONE;
        h.mtu = 1500;
        h.udp_port = WIRE_UDP_PORT;
        h.workers = 1;
        h.secrets = world_secrets(42 + i, 0);
        h.conns = i == 0 ? opt.senders * opt.conns : opt.conns;
        h.depth = 2 * opt.depth;
        h.gaps = 64;
        h.early = opt.depth;
        h.silence_ms = opt.silence_ms;
        h.repeat_us = 2000;
        h.capacity_Bps = i == 0 ? opt.capacity_Bps : 0;
        h.first_rate_Bps = opt.first_rate_Bps;
        h.first_burst_bytes = opt.first_burst_bytes;
        h.head_pool = Pools::get().head;
        h.attach_pool = Pools::get().attach;
        h.copy_pool = Pools::get().copy;
        h.tx_attach = true;
        h.tx_sum = h.rx_sum = HOST_SUM_NONE;
        world_port port = {};
        port.seed = i;
        if (i == 0) {
            port.ring = opt.ring;
            port.service_Bps = opt.service_Bps;
            port.drop_bytes = opt.drop_bytes;
        }
        if (world_add(w, &h, &port, err, sizeof err) < 0)
            throw std::runtime_error(err);
    }
    host *receiver = world_host(w, 0);
    if (opt.control_ns != 0)
        host_control_set_link(world_control(w, 0), opt.link_Bps);
    if (!opt.peers.empty())
        host_control_set_peers(world_control(w, 0), opt.peers.data(), (uint32_t)opt.peers.size());
    if (host_listen(receiver, kService) != 0)
        throw std::runtime_error("listen");
    for (uint32_t i = 0; i < opt.senders * opt.conns; i++) {
        Conn c = {};

        c.host = 1 + i / opt.conns;
        /* accepted in the order of arrival: the order of connecting, host by host */
        c.peer = static_cast<uint32_t>(host_accept(receiver, kService, i, i));
        for (uint32_t k = 0; k < opt.depth; k++)
            host_recv(receiver, c.peer, memory.data(), memory.size(), i, world_now(w));
        conns.push_back(c);
    }
    if (opt.connect)
        connect_all();
}

void Crowd::connect_all()
{
    for (uint32_t i = 0; i < size(); i++) {
        connect(i);
        if ((i + 1) % opt.conns == 0)
            run(12 * opt.delay_ns); // ARP, FIRST, CNTL
    }
}

void Crowd::connect(uint32_t i)
{
    struct host_connect op = {};

    op.peer = address(0);
    op.service = kService;
    op.user = op.owner = i;
    conns[i].own =
        static_cast<uint32_t>(host_connect(world_host(w, conns[i].host), &op, world_now(w)));
}

Crowd::~Crowd()
{
    for (uint32_t i = 0; i <= opt.senders; i++)
        for (uint32_t c = 0; c < host_conn_limit(world_host(w, i)); c++)
            host_close(world_host(w, i), c, WIRE_END_ABORT, world_now(w));
    world_run(w, world_now(w) + 20 * CLOCK_NS_PER_S);
    world_destroy(w);
}

// Multiplies the grant in a CNTL to the cheater, which then obeys the higher one.
void Crowd::cheat(rte_mbuf *m)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    struct frame f;
    wire_cntl v;

    if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP)
        return;
    const addr cheater = address(opt.senders);
    uint8_t *at = p + f.payload_off;

    if (!addr_equal(&f.dst, &cheater) || wire_parse_cntl(at, f.payload_len, &v) != WIRE_OK)
        return;
    v.rate_Bps = static_cast<uint64_t>(static_cast<double>(v.rate_Bps) * opt.cheat);
    v.burst_bytes = static_cast<uint32_t>(static_cast<double>(v.burst_bytes) * opt.cheat);
    wire_put_cntl(at, &v);
}

void Crowd::fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t, world_fate *f)
{
    Crowd *c = static_cast<Crowd *>(ctx);

    if (from == 0 && c->opt.cheat != 1)
        c->cheat(m);

    if (from != 0 && c->loss > 0)
        f->copies = rng_unit(&c->random) >= c->loss;
}

void Crowd::more(Conn &c, host *h, uint64_t now)
{
    while (c.out < opt.depth) {
        if (c.demand_Bps != UINT64_MAX) {
            double due = static_cast<double>(now - c.asked_at) * static_cast<double>(c.demand_Bps) /
                         CLOCK_NS_PER_S;

            if (c.demand_Bps == 0)
                return;
            if (due - static_cast<double>(c.sent) > kArrears * static_cast<double>(c.demand_Bps))
                c.sent = static_cast<uint64_t>(due - kArrears * static_cast<double>(c.demand_Bps));
            if (static_cast<double>(c.sent) > due) {
                uint64_t wait = static_cast<uint64_t>((static_cast<double>(c.sent) - due) *
                                                      CLOCK_NS_PER_S / (double)c.demand_Bps);

                world_wake(w, c.host, now + wait + 1);
                return;
            }
        }
        /* a demand comes in requests of about `piece_ns`, but of a full frame at least */
        uint64_t len =
            c.demand_Bps == UINT64_MAX
                ? memory.size()
                : std::min<uint64_t>(
                      memory.size(),
                      std::max<uint64_t>(1408, c.demand_Bps * opt.piece_ns / CLOCK_NS_PER_S));
        struct host_send op = {};

        op.pieces[0] = {memory.data(), len};
        op.user = static_cast<uint64_t>(&c - conns.data());
        if (host_send(h, c.own, &op, now) != 0)
            return;
        c.out++;
        c.sent += len;
    }
}

void Crowd::send(uint32_t i, host *h, uint64_t now)
{
    host_completion done[64];
    uint32_t n;

    while ((n = host_completions(h, done, 64)) > 0)
        for (uint32_t k = 0; k < n; k++)
            if (done[k].op == HOST_SEND && done[k].status == 0)
                conns[done[k].user].out--, conns[done[k].user].done_at = now;
    for (uint32_t k = (i - 1) * opt.conns; k < i * opt.conns && k < conns.size(); k++)
        more(conns[k], h, now);
}

void Crowd::app(void *ctx, uint32_t i, host *h, uint64_t now)
{
    Crowd *c = static_cast<Crowd *>(ctx);

    if (i == 0)
        receive_again(h, c->memory, now);
    else
        c->send(i, h, now);
}

void Crowd::demand(uint32_t i, uint64_t rate_Bps)
{
    conns[i].demand_Bps = rate_Bps;
    conns[i].sent = 0;
    conns[i].asked_at = world_now(w);
    world_wake(w, conns[i].host, world_now(w));
}

void Crowd::send_once(uint32_t i, uint64_t bytes)
{
    struct host_send op = {};
    Conn &c = conns[i];

    op.pieces[0] = {memory.data(), bytes};
    op.user = i;
    c.once = host_send(world_host(w, c.host), c.own, &op, world_now(w)) == 0;
    c.out += c.once;
    world_wake(w, c.host, world_now(w));
}

void Crowd::limit_sender(uint32_t i, uint64_t rate_Bps)
{
    host_limit(world_host(w, conns[i].host), conns[i].own, rate_Bps, 0, world_now(w));
    world_wake(w, conns[i].host, world_now(w));
}

void Crowd::limit_receiver(uint32_t i, uint64_t rate_Bps)
{
    host_limit(world_host(w, 0), conns[i].peer, 0, rate_Bps, world_now(w));
    world_wake(w, 0, world_now(w));
}

void Crowd::run(uint64_t ns)
{
    world_run(w, world_now(w) + ns);
}

struct host_conn_info Crowd::info(uint32_t i)
{
    struct host_conn_info out = {};

    host_conn_info(world_host(w, 0), conns[i].peer, &out);
    return out;
}

uint64_t Crowd::sender_rate_Bps(uint32_t i)
{
    struct host_conn_info out = {};

    host_conn_info(world_host(w, conns[i].host), conns[i].own, &out);
    return out.tx_rate_Bps;
}

std::vector<double> Crowd::rates()
{
    double seconds = static_cast<double>(world_now(w) - counted_at) / CLOCK_NS_PER_S;
    std::vector<double> v;

    for (uint32_t i = 0; i < size(); i++) {
        uint64_t bytes = info(i).rx_bytes;

        v.push_back(static_cast<double>(bytes - conns[i].counted) / seconds);
        conns[i].counted = bytes;
    }
    counted_at = world_now(w);
    return v;
}

double Crowd::busy()
{
    uint64_t all = world_port_counters(w, 0)->worker[0].busy;
    double share =
        static_cast<double>(all - busy_seen) / static_cast<double>(world_now(w) - busy_at);

    busy_seen = all;
    busy_at = world_now(w);
    return share;
}

host_capacity Crowd::capacity()
{
    host_capacity out;

    host_control_capacity(world_control(w, 0), &out);
    return out;
}
