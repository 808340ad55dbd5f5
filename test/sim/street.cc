// SPDX-License-Identifier: BSD-3-Clause
#include "street.hh"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "again.hh"
#include "text.hh"

namespace
{

constexpr uint16_t kService = 9;
constexpr uint32_t kDepth = 32; // requests under way
constexpr uint32_t kSamples = 1000;
constexpr uint16_t kTcpPort = 40000; // and the number of its host

// All requests under way together hold what is on the way, four times.
size_t request_bytes(const StreetOptions &o)
{
    double bdp = o.rate_bps / 8 * o.rtt_ns / 1e9 + o.queue_bytes;

    return static_cast<size_t>(std::clamp(4 * bdp / kDepth, 65536.0, 256e6));
}

} // namespace

Street::Street(const StreetOptions &options, const StreetPools &pools)
    : opt(options), pool(pools), memory(request_bytes(options)), out(options.senders)
{
    world_config cfg = {};
    uint32_t hosts = 1 + opt.senders + static_cast<uint32_t>(opt.rivals.size());

    cfg.delay_ns = static_cast<uint64_t>(opt.rtt_ns / 4);
    cfg.poll_ns = 100;
    cfg.control_ns = 1000000;
    cfg.frames_max = rte_mempool_avail_count(pool.wire);
    cfg.pool = pool.wire;
    cfg.rx = opt.rivals.empty() ? nullptr : rx;
    cfg.app = app;
    cfg.ctx = this;
    w = world_create(&cfg);
    for (uint32_t i = 0; i < hosts; i++)
        add_host(i);
    for (uint32_t i = 1 + opt.senders; i < hosts; i++)
        add_tcp(i);
    if (host_listen(world_host(w, 0), kService) != 0)
        throw std::runtime_error("listen");
    conns.resize(opt.senders);
}

// The first one receives.
void Street::add_host(uint32_t i)
{
    double packets = opt.rate_bps / 8 * opt.rtt_ns / 1e9 / opt.mtu;
    std::string down = text("rate %.0fbit limit %.0fB delay %.0fns", opt.rate_bps, opt.queue_bytes,
                            opt.rtt_ns / 2);
    host_config h = {};
    world_port port = {};
    char err[200];

    if (opt.host_limits)
        down = text("delay %.0fns", opt.rtt_ns / 2);
    if (opt.loss > 0)
        down += text(" loss %g%%", opt.loss * 100);
    std::snprintf(h.name, sizeof h.name, "host%u", i);
    h.mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i)}};
    addr_parse(text("10.0.0.%u", i + 1).c_str(), &h.address[0]);
    h.prefix_len[0] = 24;
    h.vlan = FRAME_VLAN_NONE;
    h.mtu = opt.mtu;
    h.udp_port = WIRE_UDP_PORT;
    h.workers = 1;
    h.seed = opt.seed * 1000 + i;
    h.conns = opt.senders;
    h.depth = 2 * kDepth;
    h.gaps = static_cast<uint32_t>(64 + 4 * opt.loss * packets);
    h.early = 4;
    h.capacity_Bps = opt.host_limits ? static_cast<uint64_t>(opt.rate_bps / 8) : 0;
    h.silence_ms = 10000;
    h.repeat_us = 2000;
    h.first_rate_Bps = 12500000;
    h.first_burst_bytes = 20000;
    h.head_pool = pool.head;
    h.attach_pool = pool.attach;
    h.copy_pool = pool.copy;
    h.tx_attach = true;
    h.tx_sum = h.rx_sum = HOST_SUM_NONE;
    if (i == 0 && opt.occupancy != HOST_OCCUPANCY_OFF) {
        h.occupancy = opt.occupancy;
        if (occupancy_law_parse(opt.law, opt.occupancy == HOST_OCCUPANCY_DELAY, &h.occupancy_law,
                                err, sizeof err) != 0)
            throw std::runtime_error(err);
    }
    port.seed = opt.seed * 1000 + i;
    port.spell[WORLD_STALL] = opt.stall[i > 0];
    port.caught = true;
    if (i == 0)
        port.down = down.c_str();
    if (world_add(w, &h, &port, err, sizeof err) < 0)
        throw std::runtime_error(err);
}

// From host i to the receiver.
void Street::add_tcp(uint32_t i)
{
    const StreetRival &rival = opt.rivals[tcps.size()];
    double way_bytes = opt.rate_bps / 8 * opt.rtt_ns / 1e9 + opt.queue_bytes;
    tcp_config t = {};
    tcp_receiver_config r = {};

    t.route.src_mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i)}};
    t.route.dst_mac = {{2, 0, 0, 0, 0, 0}};
    addr_parse(text("10.0.0.%u", i + 1).c_str(), &t.route.src);
    addr_parse("10.0.0.1", &t.route.dst);
    t.route.vlan = FRAME_VLAN_NONE;
    t.route.sport = static_cast<uint16_t>(kTcpPort + i);
    t.route.dport = t.route.sport;
    t.hz = WORLD_HZ;
    t.start = world_now(w) + static_cast<uint64_t>(rival.start_ns);
    t.law = rival.law;
    t.seed = opt.seed * 1000 + i;
    t.mss_bytes = static_cast<uint16_t>(opt.mtu - SEGMENT_IP_BYTES);
    t.no_hystart = !opt.hystart;
    r.route = t.route;
    std::swap(r.route.src_mac, r.route.dst_mac);
    std::swap(r.route.src, r.route.dst);
    r.hz = WORLD_HZ;
    t.pool = r.pool = pool.wire;
    tcps.push_back(std::make_unique<Tcp>());
    t.window_segments = tcp_window(static_cast<uint64_t>(2 * way_bytes / t.mss_bytes));
    tcps.back()->flight.resize(t.window_segments);
    t.flight = tcps.back()->flight.data();
    tcp_init(&tcps.back()->sender, &t);
    tcp_receiver_init(&tcps.back()->receiver, &r);
}

Street::~Street()
{
    over = true;
    world_calm(w);
    for (uint32_t i = 0; i <= opt.senders; i++)
        for (uint32_t c = 0; c < host_conn_limit(world_host(w, i)); c++)
            host_close(world_host(w, i), c, WIRE_END_ABORT, world_now(w));
    world_run(w, world_now(w) + 40 * CLOCK_NS_PER_S);
    world_destroy(w);
}

// TCPs see a copy of what is theirs; the hosts themselves drop it.
void Street::rx(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    Street *s = static_cast<Street *>(ctx);

    for (uint16_t k = 0; k < n && !s->over; k++) {
        const uint8_t *bytes = rte_pktmbuf_mtod(m[k], const uint8_t *);
        uint32_t first = 1 + s->opt.senders, at;
        frame f;

        if (frame_parse(bytes, m[k]->data_len, m[k]->pkt_len, &f) != FRAME_UDP ||
            f.dport < kTcpPort + first || f.dport >= kTcpPort + first + s->tcps.size())
            continue;
        at = f.dport - kTcpPort;
        Tcp &t = *s->tcps[at - first];
        rte_mbuf *copy = rte_pktmbuf_copy(m[k], s->pool.wire, 0, UINT32_MAX);

        if (copy == nullptr)
            throw std::runtime_error("no memory for a TCP's frame");
        if (i == 0)
            tcp_receiver_rx(&t.receiver, &copy, 1, now);
        else
            tcp_rx(&t.sender, &copy, 1, now);
    }
}

// What a TCP's end sends from host i.
void Street::turn(const node &at, uint32_t i, uint64_t now)
{
    rte_mbuf *m[32];

    while (at.next(at.self, now) <= now)
        for (uint16_t k = 0, n = at.tx(at.self, m, 32, now); k < n; k++)
            world_emit(w, i, m[k]);
    if (at.next(at.self, now) != TIME_NEVER)
        world_wake(w, i, at.next(at.self, now));
}

void Street::start(uint32_t i)
{
    host *receiver = world_host(w, 0);
    struct host_connect op = {};

    addr_parse("10.0.0.1", &op.peer);
    op.service = kService;
    op.owner = op.user = i;
    conns[i].own = static_cast<uint32_t>(host_connect(world_host(w, i + 1), &op, world_now(w)));
    conns[i].peer = static_cast<uint32_t>(host_accept(receiver, kService, i, i));
    for (uint32_t k = 0; k < kDepth; k++)
        host_recv(receiver, conns[i].peer, memory.data(), memory.size(), i, world_now(w));
    conns[i].begun = true;
    world_wake(w, i + 1, world_now(w));
}

void Street::send(uint32_t i, host *h, uint64_t now)
{
    host_completion done[64];
    uint32_t n;

    while ((n = host_completions(h, done, 64)) > 0)
        for (uint32_t k = 0; k < n; k++)
            out[i] -= done[k].op == HOST_SEND && done[k].status == 0;
    for (; conns[i].begun && out[i] < kDepth; out[i]++) {
        struct host_send op = {};

        op.pieces[0] = {memory.data(), memory.size()};
        if (host_send(h, conns[i].own, &op, now) != 0)
            return;
    }
}

void Street::app(void *ctx, uint32_t i, host *h, uint64_t now)
{
    Street *s = static_cast<Street *>(ctx);

    if (i == 0 && s->opt.consume_Bps > 0)
        s->consume(h, now);
    else if (i == 0)
        receive_again(h, s->memory, now);
    else if (i <= s->opt.senders)
        s->send(i - 1, h, now);
    if (s->over)
        return;
    for (uint32_t k = 0; k < s->tcps.size(); k++)
        if (i == 0)
            s->turn(tcp_receiver_node(&s->tcps[k]->receiver), i, now);
        else if (i == 1 + s->opt.senders + k)
            s->turn(tcp_node(&s->tcps[k]->sender), i, now);
}

// One buffer after the other takes its time, and is then posted again.
void Street::consume(host *h, uint64_t now)
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

void Street::run(double ns)
{
    world_run(w, world_now(w) + static_cast<uint64_t>(ns));
}

struct host_conn_info Street::info(uint32_t i)
{
    struct host_conn_info out_info = {};

    host_conn_info(world_host(w, 0), conns[i].peer, &out_info);
    return out_info;
}

const struct path_element_counts *Street::link()
{
    static struct path_element_info info;

    path_element(world_path(w, 0, false), 0, &info);
    return info.counts;
}

double Street::queue_bytes(double ns)
{
    double sum = 0;

    for (uint32_t i = 0; i < kSamples; i++) {
        run(ns / kSamples);
        /* without the packet that is being sent */
        sum += std::max(0.0, static_cast<double>(link()->queued_bytes) - opt.mtu - 14);
    }
    return sum / kSamples;
}
