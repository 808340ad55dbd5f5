// SPDX-License-Identifier: BSD-3-Clause
#include "queues.hh"

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "pair.hh"
#include "text.hh"

extern "C" {
#include "wire/neigh.h"
}

namespace
{

addr address(bool ipv6, uint32_t side)
{
    addr a;

    addr_parse(text(ipv6 ? "fd00::%u" : "10.0.0.%u", side + 1).c_str(), &a);
    return a;
}

rte_ether_addr mac_of(uint32_t side)
{
    return {{2, 0, 0, 0, 0, static_cast<uint8_t>(side + 1)}};
}

} // namespace

Queues::Queues(const QueuesOptions &options) : opt(options)
{
    world_config cfg = {};

    cfg.delay_ns = 25000;
    cfg.poll_ns = 1000;
    cfg.control_ns = 1000000;
    cfg.frames_max = 8000;
    cfg.pool = Pools::get().wire;
    cfg.app = app;
    cfg.fate = fate;
    cfg.ctx = this;
    w = world_create(&cfg);
    for (uint32_t side = 0; side < 2; side++) {
        host_config c = {};
        world_port port = {};
        char err[200] = "";

        rss_init(&scaling[side], static_cast<uint16_t>(opt.workers));
        std::snprintf(c.name, sizeof c.name, "host%u", side);
        c.mac = mac_of(side);
        c.address[opt.ipv6] = address(opt.ipv6, side);
        c.prefix_len[opt.ipv6] = opt.ipv6 ? 64 : 24;
        c.vlan = FRAME_VLAN_NONE;
        c.mtu = 1500;
        c.udp_port = WIRE_UDP_PORT;
        c.workers = static_cast<uint8_t>(opt.workers);
        c.secrets = world_secrets(42 + side, 0);
        c.conns = opt.conns;
        c.depth = 4;
        c.gaps = 64;
        c.early = 1;
        c.silence_ms = 3000;
        c.repeat_us = 2000;
        c.first_rate_Bps = 12500000;
        c.first_burst_bytes = 20000;
        c.tx_sum = c.rx_sum = HOST_SUM_SOFTWARE;
        c.head_pool = Pools::get().head;
        c.attach_pool = Pools::get().attach;
        c.copy_pool = Pools::get().copy;
        if (opt.config)
            opt.config(&c);
        port.seed = side;
        port.rss = opt.rss ? &scaling[side] : nullptr;
        for (c.worker = 0; c.worker < opt.workers; c.worker++) {
            c.secrets.keys[1] = c.secrets.cookies[1] = c.worker;
            int rc = c.worker == 0 ? world_add(w, &c, &port, err, sizeof err)
                                   : world_add_worker(w, &c, err, sizeof err);

            if (rc < 0)
                throw std::runtime_error(err);
        }
        for (uint32_t k = 0; k < opt.workers; k++)
            if (host_listen(h(side, k), kService) != 0)
                throw std::runtime_error("listen");
        if (opt.introduced)
            introduce(side);
    }
}

Queues::~Queues()
{
    for (uint32_t i = 0; i < 2 * opt.workers; i++)
        for (uint32_t c = 0; c < opt.conns; c++)
            host_close(world_host(w, i), c, WIRE_END_ABORT, world_now(w));
    world_run(w, world_now(w) + 20 * CLOCK_NS_PER_S);
    world_destroy(w);
}

// Each worker asks for the other side's MAC address, for a connection that is given up at once. It
// gets the answer as if another worker had handed it over. No frame of this goes on the wire.
void Queues::introduce(uint32_t side)
{
    rte_ether_addr own = mac_of(side), other = mac_of(1 - side);
    addr target = address(opt.ipv6, 1 - side), to = address(opt.ipv6, side);
    struct host_connect op = {};

    op.peer = target;
    op.service = kService;
    op.owner = kNobody;
    for (uint32_t k = 0; k < opt.workers; k++) {
        uint8_t bytes[NEIGH_FRAME_MAX];
        uint16_t len = neigh_put_reply(bytes, &other, &target, &own, &to, FRAME_VLAN_NONE);
        rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().wire), *out;
        int64_t conn = host_connect(h(side, k), &op, world_now(w));
        auto drain = [&] {
            while (host_tx(h(side, k), &out, 1, world_now(w)) == 1)
                rte_pktmbuf_free(out);
        };

        drain();
        std::memcpy(rte_pktmbuf_append(m, len), bytes, len);
        host_rx_given(h(side, k), &m, 1, world_now(w));
        host_close(h(side, k), static_cast<uint32_t>(conn), WIRE_END_ABORT, world_now(w));
        drain();
    }
}

Queues::Conn &Queues::begin(uint32_t side, uint32_t worker, int64_t number, size_t bytes)
{
    if (number < 0)
        throw std::runtime_error("no connection");
    conns.push_back(std::make_unique<Conn>());
    Conn &c = *conns.back();
    c.side = side;
    c.worker = worker;
    c.number = static_cast<uint32_t>(number);
    for (size_t i = 0; i < bytes; i++)
        c.sent += static_cast<char>(pattern(side, i));
    c.received.assign(bytes, '\0');
    struct host_send op = {};
    op.pieces[0] = {reinterpret_cast<uint8_t *>(c.sent.data()), bytes};
    if (host_recv(h(side, worker), c.number, reinterpret_cast<uint8_t *>(c.received.data()), bytes,
                  0, world_now(w)) != 0 ||
        host_send(h(side, worker), c.number, &op, world_now(w)) != 0)
        throw std::runtime_error("post");
    return c;
}

Queues::Conn &Queues::connect(uint32_t worker, size_t bytes)
{
    struct host_connect op = {};

    op.peer = host_get_config(h(1, 0))->address[opt.ipv6];
    op.service = kService;
    op.owner = conns.size();
    return begin(0, worker, host_connect(h(0, worker), &op, world_now(w)), bytes);
}

Queues::Conn &Queues::accept(uint32_t worker, size_t bytes)
{
    return begin(1, worker, host_accept(h(1, worker), kService, conns.size(), 0), bytes);
}

void Queues::app(void *ctx, uint32_t, host *h, uint64_t)
{
    Queues *q = static_cast<Queues *>(ctx);
    host_completion c[16];
    uint32_t n;

    while ((n = host_completions(h, c, 16)) > 0)
        for (uint32_t k = 0; k < n; k++) {
            if (c[k].owner == kNobody)
                continue;
            Conn &conn = *q->conns.at(c[k].owner);

            if (c[k].op == HOST_CONNECT || c[k].op == HOST_ACCEPT)
                conn.opened = c[k].status;
            else if (c[k].op == HOST_SEND)
                conn.send_status = c[k].status;
            else if (c[k].op == HOST_RECV)
                conn.recv_status = c[k].status;
        }
}

void Queues::fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t, world_fate *f)
{
    Queues *q = static_cast<Queues *>(ctx);

    if (q->opt.fate)
        q->opt.fate(from, m, f);
}

bool Queues::run(const std::function<bool()> &done, uint64_t max_ns)
{
    uint64_t end = world_now(w) + max_ns;

    while (!done() && world_now(w) < end)
        world_run(w, world_now(w) + 100000);
    return done();
}

uint64_t Queues::counter(uint32_t side, const char *name) const
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < opt.workers; k++)
        sum += host_counter_named(h(side, k), name);
    return sum;
}

std::vector<uint32_t> Queues::done(uint32_t side) const
{
    std::vector<uint32_t> n(opt.workers);

    for (const auto &c : conns) {
        std::string expected(c->received.size(), '\0');

        for (size_t i = 0; i < expected.size(); i++)
            expected[i] = static_cast<char>(pattern(1 - c->side, i));
        n[c->worker] += c->side == side && c->opened == 0 && c->send_status == 0 &&
                        c->recv_status == 0 && c->received == expected;
    }
    return n;
}

std::string Queues::counters() const
{
    std::string s;
    uint64_t v;

    for (uint32_t i = 0; i < 2 * opt.workers; i++)
        for (uint32_t k = 0; const char *n = host_counter(world_host(w, i), k, &v); k++)
            if (v != 0 && (std::strncmp(n, "drop", 4) == 0 || std::strcmp(n, "rx_foreign") == 0))
                s += text(" %u.%s=%lu", i, n, v);
    return s;
}
