// SPDX-License-Identifier: BSD-3-Clause
#include "dumbbell.hh"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "again.hh"
#include "loss_text.hh"
#include "text.hh"

namespace
{

constexpr uint32_t kSamples = 1000;

// All requests under way together hold four times the bytes under way.
size_t request_bytes(const DumbbellOptions &o)
{
    double bdp = o.rate_bps / 8 * o.rtt_ns / 1e9 + o.queue_bytes;

    return static_cast<size_t>(std::clamp(4 * bdp / kBulkDepth, 65536.0, 256e6));
}

} // namespace

Dumbbell::Dumbbell(const DumbbellOptions &options, const BulkPools &pools)
    : opt(options), pool(pools), memory(request_bytes(options)), out(options.senders)
{
    world_config cfg = {};
    uint32_t hosts = 1 + opt.senders + static_cast<uint32_t>(opt.competitors.size());

    cfg.delay_ns = static_cast<uint64_t>(opt.rtt_ns / 4);
    cfg.poll_ns = 100;
    cfg.control_ns = 1000000;
    cfg.frames_max = rte_mempool_avail_count(pool.wire);
    cfg.pool = pool.wire;
    cfg.rx = opt.competitors.empty() ? nullptr : rx;
    cfg.app = app;
    cfg.ctx = this;
    w = world_create(&cfg);
    for (uint32_t i = 0; i < hosts; i++)
        add_host(i);
    for (uint32_t i = 1 + opt.senders; i < hosts; i++)
        add_tcp(i);
    if (host_listen(world_host(w, 0), kBulkService) != 0)
        throw std::runtime_error("listen");
    conns.resize(opt.senders);
}

// Host 0 receives.
void Dumbbell::add_host(uint32_t i)
{
    double packets = opt.rate_bps / 8 * opt.rtt_ns / 1e9 / opt.mtu;
    std::string down = text("rate %.0fbit limit %.0fB delay %.0fns", opt.rate_bps, opt.queue_bytes,
                            opt.rtt_ns / 2);
    std::string up = text("rate %.0fbit limit 100", opt.back_bps);
    std::string own_up, own_down;
    host_config h = bulk_host(i, opt.seed, pool);
    world_port port = {};
    char err[200];

    if (opt.host_limits || opt.service_Bps > 0)
        down = text("delay %.0fns", opt.rtt_ns / 2);
    down += opt.behind + loss_text(opt.loss, opt.loss_run);
    if (opt.later_bps > 0)
        down += text(" at %.0fns rate %.0fbit limit %.0fB", opt.changes_ns, opt.later_bps,
                     opt.queue_bytes);
    h.mtu = opt.mtu;
    h.conns = opt.senders;
    h.gaps = static_cast<uint32_t>(64 + 4 * opt.loss * packets);
    h.capacity_Bps = opt.host_limits ? static_cast<uint64_t>(opt.rate_bps / 8) : 0;
    if (i == 0 && opt.occupancy != HOST_OCCUPANCY_OFF) {
        h.occupancy = opt.occupancy;
        if (occupancy_law_parse(opt.law, opt.occupancy == HOST_OCCUPANCY_DELAY, &h.occupancy_law,
                                err, sizeof err) != 0)
            throw std::runtime_error(err);
    }
    port.seed = opt.seed * 1000 + i;
    port.service_Bps = static_cast<uint64_t>(opt.service_Bps);
    port.spell[WORLD_STALL] = opt.stall[i > 0];
    port.caught = true;
    port.poll_spread_ns = static_cast<uint64_t>(opt.poll_spread_ns);
    if (i == 0) {
        port.ring = opt.ring;
        port.uncounted = true;
        port.down = down.c_str();
    }
    if (i == 0 && opt.back_bps > 0)
        port.up = up.c_str();
    if (i > 0 && i <= opt.access.size()) {
        const DumbbellAccess &a = opt.access[i - 1];
        double queue_bytes = 4 * opt.mtu + a.rate_bps / 8 * (opt.rtt_ns + a.rtt_ns) / 1e9;

        if (a.policed)
            own_up = text("police pcr %.0fbit cdvt %.0fns drop ", a.rate_bps,
                          queue_bytes * 8e9 / a.rate_bps);
        else if (a.rate_bps > 0)
            own_up = text("rate %.0fbit limit %.0fB ", a.rate_bps, queue_bytes);
        own_up += text("delay %.0fns", a.rtt_ns / 2);
        own_down = text("delay %.0fns", a.rtt_ns / 2);
        port.up = own_up.c_str();
        port.down = own_down.c_str();
    }
    if (world_add(w, &h, &port, err, sizeof err) < 0)
        throw std::runtime_error(err);
}

// Adds a TCP from host i to the receiver.
void Dumbbell::add_tcp(uint32_t i)
{
    const DumbbellCompetitor &competitor = opt.competitors[tcps.size()];
    TcpPairOptions o = {};

    o.from = i;
    o.start = world_now(w) + static_cast<uint64_t>(competitor.start_ns);
    o.law = competitor.law;
    o.hystart = opt.hystart;
    o.seed = opt.seed;
    o.mtu = opt.mtu;
    o.pipe_bytes = opt.rate_bps / 8 * opt.rtt_ns / 1e9 + opt.queue_bytes;
    tcps.push_back(std::make_unique<TcpPair>(w, pool.wire, o));
}

Dumbbell::~Dumbbell()
{
    over = true;
    for (auto &t : tcps)
        t->stop();
    bulk_end(w, opt.senders);
}

void Dumbbell::rx(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    for (auto &t : static_cast<Dumbbell *>(ctx)->tcps)
        t->rx(i, m, n, now);
}

void Dumbbell::start(uint32_t i)
{
    static_cast<BulkConn &>(conns[i]) = bulk_open(w, i, memory);
    conns[i].begun = true;
    world_wake(w, i + 1, world_now(w));
}

void Dumbbell::send(uint32_t i, host *h, uint64_t now)
{
    host_completion done[64];
    uint32_t n;

    while ((n = host_completions(h, done, 64)) > 0)
        for (uint32_t k = 0; k < n; k++)
            out[i] -= done[k].op == HOST_SEND && done[k].status == 0;
    for (; conns[i].begun && out[i] < kBulkDepth; out[i]++) {
        struct host_send op = {};

        op.pieces[0] = {memory.data(), memory.size()};
        if (host_send(h, conns[i].own, &op, now) != 0)
            return;
    }
}

void Dumbbell::app(void *ctx, uint32_t i, host *h, uint64_t now)
{
    Dumbbell *s = static_cast<Dumbbell *>(ctx);

    if (i == 0 && s->opt.consume_Bps > 0)
        s->consume(h, now);
    else if (i == 0)
        receive_again(h, s->memory, now);
    else if (i <= s->opt.senders)
        s->send(i - 1, h, now);
    if (s->over)
        return;
    for (auto &t : s->tcps)
        t->turn(i, now);
}

// Consumes one buffer after the other, each in its time, and then posts it again.
void Dumbbell::consume(host *h, uint64_t now)
{
    uint64_t each =
        static_cast<uint64_t>(static_cast<double>(memory.size()) * 1e9 / opt.consume_Bps);
    host_completion done[64];
    uint32_t n;

    while ((n = host_completions(h, done, 64)) > 0)
        for (uint32_t i = 0; i < n; i++)
            if (done[i].op == HOST_RECV && done[i].status == 0) {
                consumed_at = full.empty() ? now + each : consumed_at;
                full.push_back(done[i].conn);
            }
    for (; !full.empty() && now >= consumed_at; consumed_at += each) {
        host_recv(h, full.front(), memory.data(), memory.size(), full.front(), now);
        full.pop_front();
    }
    if (!full.empty())
        world_wake(w, 0, consumed_at);
}

void Dumbbell::run(double ns)
{
    world_run(w, world_now(w) + static_cast<uint64_t>(ns));
}

struct host_conn_info Dumbbell::info(uint32_t i)
{
    struct host_conn_info out_info = {};

    host_conn_info(world_host(w, 0), conns[i].peer, &out_info);
    return out_info;
}

const struct path_element_counts *Dumbbell::link()
{
    static struct path_element_info info;

    path_element(world_path(w, 0, false), 0, &info);
    return info.counts;
}

double Dumbbell::queue_bytes(double ns)
{
    double sum = 0;

    for (uint32_t i = 0; i < kSamples; i++) {
        run(ns / kSamples);
        /* the packet that is being sent does not count */
        sum += std::max(0.0, static_cast<double>(link()->queued_bytes) - opt.mtu - 14);
    }
    return sum / kSamples;
}
