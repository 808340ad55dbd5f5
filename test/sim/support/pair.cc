// SPDX-License-Identifier: BSD-3-Clause
#include "pair.hh"

#include <cstring>
#include <stdexcept>

#include <rte_mbuf_dyn.h>

#include "pool.hh"
#include "text.hh"
#include "trace.hh"

namespace
{

constexpr uint16_t kService = 7;

addr address(bool ipv6, uint32_t i)
{
    addr a;
    addr_parse(text(ipv6 ? "fd00::%u" : "10.0.0.%u", i + 1).c_str(), &a);
    return a;
}

} // namespace

const Pools &Pools::get()
{
    static Pools p = {pool_make("head", 4095, RTE_PKTMBUF_HEADROOM + 1024),
                      pool_make("attach", 8191, 0),
                      pool_make("copy", 1023, RTE_PKTMBUF_HEADROOM + 9600),
                      pool_make("wire", 8191, RTE_PKTMBUF_HEADROOM + 9600)};
    return p;
}

bool Pools::whole() const
{
    return rte_mempool_full(head) && rte_mempool_full(attach) && rte_mempool_full(copy) &&
           rte_mempool_full(wire);
}

Pair::Pair(const PairOptions &options)
    : opt(options), oracle({options.delay_ns, options.ahead, options.sum == HOST_SUM_SOFTWARE,
                            [this](uint32_t from) {
                                struct host_conn_info i = {};
                                host_conn_info(world_host(w, from), conn[from], &i);
                                return Oracle::Grant{i.tx_rate_Bps, i.tx_burst_bytes};
                            }})
{
    world_config cfg = {};
    cfg.delay_ns = opt.delay_ns;
    cfg.rate_Bps = opt.rate_Bps;
    cfg.queue_ns = opt.queue_ns;
    cfg.poll_ns = opt.poll_ns;
    cfg.control_ns = opt.control_ns;
    cfg.frames_max = 8000;
    cfg.pool = Pools::get().wire;
    cfg.fate = fate;
    cfg.rx = rx;
    cfg.app = app;
    cfg.ctx = this;
    w = world_create(&cfg);
    for (uint32_t i = 0; i < 2; i++) {
        host_config h = {};
        char err[200];
        std::snprintf(h.name, sizeof h.name, "host%u", i);
        h.mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}};
        h.address[opt.ipv6] = address(opt.ipv6, i);
        h.prefix_len[opt.ipv6] = opt.ipv6 ? 64 : 24;
        h.vlan = opt.vlan;
        h.mtu = i == 1 && opt.mtu_b != 0 ? opt.mtu_b : opt.mtu;
        h.udp_port = WIRE_UDP_PORT;
        h.workers = 1;
        h.secrets = world_secrets(42 + i, 0);
        h.conns = opt.conns;
        h.depth = opt.depth;
        h.gaps = opt.gaps;
        h.ahead = opt.ahead;
        h.early = opt.early;
        h.silence_ms = opt.silence_ms;
        h.repeat_us = 2000;
        h.first_rate_Bps = opt.rate_first_Bps;
        h.first_burst_bytes = opt.burst_first;
        h.capacity_Bps = opt.capacity_Bps;
        h.contract = opt.contract;
        h.tx_lead_ns = opt.lead_ns;
        if (opt.lead_ns != 0 &&
            rte_mbuf_dyn_tx_timestamp_register(&h.tx_time_offset, &h.tx_time_flag) != 0)
            throw std::runtime_error("no room for times in mbufs");
        h.tx_sum = h.rx_sum = opt.sum;
        h.rx_unsummed = opt.unsummed;
        h.tx_attach = opt.attach;
        h.security = opt.security;
        h.secured_max = 1;
        h.head_pool = Pools::get().head;
        h.attach_pool = Pools::get().attach;
        h.copy_pool = Pools::get().copy;
        struct world_port port = {};
        port.poll_spread_ns = opt.poll_spread_ns;
        port.nap_max_ns = opt.nap_max_ns;
        port.ring = h.rx_frames = opt.ring;
        port.seed = i;
        port.keep_ns = opt.tx_refused.gap_ns != 0 ? CLOCK_NS_PER_S : 0;
        if (i == 1)
            port.spell[WORLD_CONTROL_STALL] = opt.control_stall;
        else
            port.spell[WORLD_TX_REFUSED] = opt.tx_refused;
        if (opt.config)
            opt.config(i, &h);
        if (world_add(w, &h, &port, err, sizeof err) < 0)
            throw std::runtime_error(err);
    }
    if (opt.security != HOST_SECURITY_NONE)
        world_secure(w, 42, opt.cipher);
}

Pair::~Pair()
{
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t c = 0; c < opt.conns; c++)
            host_close(world_host(w, i), c, WIRE_END_ABORT, world_now(w));
    world_run(w, world_now(w) + 20 * CLOCK_NS_PER_S);
    world_destroy(w);
}

void Pair::open()
{
    if (host_listen(b(), kService) != 0)
        throw std::runtime_error("listen");
    connect();
}

void Pair::connect()
{
    opened[0] = opened[1] = shut[0] = shut[1] = 1;
    shutting[0] = shutting[1] = false;
    conn[1] = static_cast<uint32_t>(host_accept(b(), kService, 1, 0));
    struct host_connect op = {};
    op.peer = host_get_config(b())->address[opt.ipv6];
    op.service = kService;
    op.go_back_n = opt.go_back_n;
    conn[0] = static_cast<uint32_t>(host_connect(a(), &op, world_now(w)));
}

void Pair::post_send(uint32_t side, uint64_t len, bool provisional, uint64_t tail)
{
    Request r;
    r.seed = sends[side].size() + side * 1000003;
    r.data.resize(len + 1);
    for (uint64_t i = 0; i < len; i++)
        r.data[i] = pattern(r.seed, i);
    sends[side].push_back(std::move(r));
    Request &q = sends[side].back();
    struct host_send op = {};
    op.pieces[0] = {q.data.data(), len - tail};
    op.pieces[1] = {q.data.data() + (len - tail), tail};
    op.provisional = provisional;
    op.user = sends[side].size() - 1;
    q.provisional = !provisional;
    int rc = ::host_send(world_host(w, side), conn[side], &op, world_now(w));
    if (rc != 0)
        faults.push_back(text("send %zu: %s", sends[side].size() - 1, std::strerror(-rc)));
}

void Pair::post_recv(uint32_t side, uint64_t len)
{
    Request r;
    r.seed = recvs[side].size() + (1 - side) * 1000003;
    r.data.assign(len + 1, 0xee);
    recvs[side].push_back(std::move(r));
    Request &q = recvs[side].back();
    int rc = host_recv(world_host(w, side), conn[side], q.data.data(), len, recvs[side].size() - 1,
                       world_now(w));
    if (rc != 0)
        faults.push_back(text("recv %zu: %s", recvs[side].size() - 1, std::strerror(-rc)));
}

void Pair::send(uint64_t len, bool provisional, uint64_t tail)
{
    post_send(0, len, provisional, tail);
}

void Pair::recv(uint64_t len)
{
    post_recv(1, len);
}

void Pair::send_back(uint64_t len)
{
    post_send(1, len, false, 0);
}

void Pair::recv_back(uint64_t len)
{
    post_recv(0, len);
}

void Pair::complete(uint32_t side, const host_completion &c)
{
    log.push_back(c);
    if (c.op == HOST_CONNECT || c.op == HOST_ACCEPT) {
        opened[side] = c.status;
        return;
    }
    if (c.op == HOST_SHUTDOWN) {
        shut[side] = c.status;
        return;
    }
    Request &r = (c.op == HOST_SEND ? sends : recvs)[side].at(c.user);
    if (c.provisional) {
        if (r.provisional)
            faults.push_back(text("request %lu: provisional twice", c.user));
        r.provisional = true;
        return;
    }
    if (r.done)
        faults.push_back(text("side %u op %u request %lu completed twice", side, c.op, c.user));
    r.done = true;
    r.status = c.status;
    r.len = c.len;
    if (c.op == HOST_SEND || c.status != 0)
        return;
    for (uint64_t i = 0; i < c.len; i++)
        if (r.data[i] != pattern(r.seed, i)) {
            faults.push_back(text("request %lu: byte %lu is wrong", c.user, i));
            break;
        }
    for (uint64_t i = c.len; i < r.data.size(); i++)
        if (r.data[i] != 0xee) {
            faults.push_back(text("request %lu: byte %lu beyond its end was written", c.user, i));
            break;
        }
}

void Pair::app(void *ctx, uint32_t i, host *h, uint64_t)
{
    Pair *p = static_cast<Pair *>(ctx);
    host_completion c[16];
    uint32_t n;
    while ((n = host_completions(h, c, 16)) > 0)
        for (uint32_t k = 0; k < n; k++)
            p->complete(i, c[k]);
}

void Pair::fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f)
{
    Pair *p = static_cast<Pair *>(ctx);

    p->oracle.sent(from, m, now);
    if (p->opt.fate)
        p->opt.fate(from, m, now, f);
    p->oracle.fate(f->copies);
    trace_frame(from, m, now, *f);
}

void Pair::rx(void *ctx, uint32_t to, rte_mbuf *const *m, uint16_t n, uint64_t)
{
    const Pair *p = static_cast<Pair *>(ctx);

    for (uint16_t i = 0; p->opt.port && i < n; i++)
        p->opt.port(to, m[i]);
}

bool Pair::run(const std::function<bool()> &done, uint64_t max_ns)
{
    uint64_t end = world_now(w) + max_ns;
    while (!done() && world_now(w) < end)
        if (!world_run(w, world_now(w) + 100000 < end ? world_now(w) + 100000 : end))
            return done();
    return done();
}

bool Pair::all_done() const
{
    for (uint32_t side = 0; side < 2; side++) {
        for (const Request &r : sends[side])
            if (!r.done || r.status != 0 || !r.provisional)
                return false;
        for (const Request &r : recvs[side])
            if (!r.done || r.status != 0)
                return false;
    }
    return faults.empty() && oracle.faults.empty();
}

bool Pair::all_free()
{
    struct host_conn_info info;

    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t c = 0; c < opt.conns; c++)
            if (host_conn_info(world_host(w, i), c, &info))
                return false;
    return true;
}

void Pair::shutdown(uint32_t side)
{
    shutting[side] = true;
    if (host_shutdown(world_host(w, side), conn[side], 99, world_now(w)) != 0)
        faults.push_back("shutdown refused");
}

void Pair::close()
{
    for (uint32_t i = 0; i < 2; i++)
        host_close(world_host(w, i), conn[i], WIRE_END_ABORT, world_now(w));
}

bool Pair::finish()
{
    for (uint32_t i = 0; i < 2; i++)
        if (!shutting[i])
            shutdown(i);
    bool in_order = run([&] { return shut[0] != 1 && shut[1] != 1; });
    close();
    bool free = run([&] { return all_free(); });
    return in_order && free && shut[0] == 0 && shut[1] == 0 && faults.empty() &&
           oracle.faults.empty();
}

std::string Pair::state() const
{
    std::string s = text("t=%.6f s, opened %d %d, shut %d %d;", double(world_now(w)) / 1e9,
                         opened[0], opened[1], shut[0], shut[1]);
    for (uint32_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < sends[side].size(); i++)
            if (!sends[side][i].done || sends[side][i].status != 0)
                s += text(" send %u/%zu: %s %d;", side, i, sends[side][i].done ? "done" : "open",
                          sends[side][i].status);
        for (size_t i = 0; i < recvs[side].size(); i++)
            if (!recvs[side][i].done || recvs[side][i].status != 0)
                s += text(" recv %u/%zu: %s %d;", side, i, recvs[side][i].done ? "done" : "open",
                          recvs[side][i].status);
        uint64_t v;
        const char *name;
        for (uint32_t i = 0; (name = host_counter(world_host(w, side), i, &v)) != nullptr; i++)
            if (v != 0 && std::strncmp(name, "drop", 4) == 0)
                s += text(" %u.%s=%lu", side, name, v);
    }
    for (const std::string &f : faults)
        s += " FAULT " + f;
    for (const std::string &f : oracle.faults)
        s += " ORACLE " + f;
    return s;
}
