// SPDX-License-Identifier: BSD-3-Clause
#include "ethernet.hh"

#include <cstdio>
#include <stdexcept>

#include "findings.hh"

extern "C" {
#include "wire/frame.h"
#include "wire/packet.h"
}

namespace
{

constexpr uint32_t kHeaders = 28 + WIRE_DATA_BYTES; // IP, UDP, ours
constexpr uint32_t kRequests = 8;                   // outstanding

uint64_t ours_of(uint64_t bytes)
{
    return bytes * kUnit / kUser;
}

constexpr uint32_t kReceiver = 0; // host 0; senders follow

} // namespace

Ethernet::Ethernet(const EthernetOptions &options)
    : opt(options), memory((options.stops ? 4000 : 100) * kUnit)
{
    world_config cfg = {};

    cfg.delay_ns = 10000;
    cfg.poll_ns = 1000;
    cfg.control_ns = opt.control ? 10000000 : 0;
    cfg.frames_max = 4000;
    cfg.pool = test_pool;
    cfg.app = app;
    cfg.ctx = this;
    w = world_create(&cfg);
    for (uint32_t i = 0; i <= opt.senders; i++)
        add(i);
    theirs.resize(opt.senders);
    ours.resize(opt.senders);
    paused.resize(opt.senders);
    owed.resize(opt.senders);
    for (uint32_t s = 0; s < opt.senders; s++) {
        struct host_connect op = {};
        host *h = world_host(w, s + 1);

        host_listen(world_host(w, kReceiver), static_cast<uint16_t>(9 + s));
        ours[s] = static_cast<uint32_t>(
            host_accept(world_host(w, kReceiver), static_cast<uint16_t>(9 + s), s, 0));
        op.peer = addr_from_v4(0x0a000001);
        op.service = static_cast<uint16_t>(9 + s);
        op.go_back_n = opt.go_back_n;
        theirs[s] = static_cast<uint32_t>(host_connect(h, &op, world_now(w)));
        for (uint32_t k = 0; k < kRequests; k++)
            more(s + 1, s), more(kReceiver, s);
    }
}

void Ethernet::add(uint32_t i)
{
    struct host_config h = {};
    world_port port = {};
    char err[200];

    std::snprintf(h.name, sizeof h.name, "host%u", i);
    h.mac = {{2, 0, 0, 0, 1, static_cast<uint8_t>(i + 1)}};
    h.address[0] = addr_from_v4(0x0a000001 + i);
    h.prefix_len[0] = 24;
    h.vlan = FRAME_VLAN_NONE;
    h.mtu = static_cast<uint16_t>(kUnit + kHeaders);
    h.udp_port = WIRE_UDP_PORT;
    h.workers = 1;
    h.secrets = world_secrets(42 + i, 0);
    h.conns = 16;
    h.depth = 16;
    h.gaps = 64;
    h.silence_ms = 20000;
    // Each answer stops the paper's sender, as a loss does. So there are few answers.
    h.repeat_us = opt.stops ? 4000000 : 100000;
    h.first_rate_Bps = ours_of(opt.rate_Bps);
    h.first_burst_bytes = ours_of(opt.burst_bytes);
    h.head_pool = test_heads;
    h.attach_pool = test_attach;
    h.copy_pool = test_pool;
    h.tx_attach = true;
    h.tx_sum = h.rx_sum = HOST_SUM_NONE;
    port.seed = i;
    if (i == kReceiver) {
        workstation_receives(opt.machine, kUnit + kHeaders + 14, kUser, &port);
        // The paper's Ethernet carried 813 packets a second. Our headers are longer, so 32 bytes do
        // not count.
        port.down = "rate 10mbit -32 limit 4000";
        if (opt.given) {
            h.capacity_Bps = ours_of(opt.rate_Bps);
            h.burst_bytes = ours_of(opt.burst_bytes);
        }
    } else {
        if (opt.stops)
            workstation_sends(&port);
    }
    if (world_add(w, &h, &port, err, sizeof err) < 0)
        throw std::runtime_error(err);
}

Ethernet::~Ethernet()
{
    for (uint32_t s = 0; s < opt.senders; s++) {
        host_close(world_host(w, s + 1), theirs[s], WIRE_END_ABORT, world_now(w));
        host_close(world_host(w, kReceiver), ours[s], WIRE_END_ABORT, world_now(w));
    }
    run(40); // closed connections linger
    world_destroy(w);
}

void Ethernet::more(uint32_t host, uint32_t s)
{
    struct host_send op = {};

    op.pieces[0] = {memory.data(), memory.size()};
    if (host == kReceiver)
        host_recv(world_host(w, host), ours[s], memory.data(), memory.size(), 0, world_now(w));
    else if (paused[s])
        owed[s]++;
    else
        host_send(world_host(w, host), theirs[s], &op, world_now(w));
}

void Ethernet::app(void *ctx, uint32_t i, host *h, uint64_t)
{
    Ethernet *e = static_cast<Ethernet *>(ctx);
    host_completion done[16];
    uint32_t n = host_completions(h, done, 16);

    for (uint32_t k = 0; k < n; k++)
        if ((done[k].op == HOST_SEND || done[k].op == HOST_RECV) && done[k].status == 0)
            e->more(i, i == kReceiver ? static_cast<uint32_t>(done[k].owner) : i - 1);
}

void Ethernet::run(double seconds)
{
    world_run(w, world_now(w) + static_cast<uint64_t>(seconds * 1e9));
}

void Ethernet::pause(uint32_t s, bool on)
{
    paused[s] = on;
    for (; !on && owed[s] > 0; owed[s]--)
        more(s + 1, s);
    world_wake(w, s + 1, world_now(w));
}

struct host_conn_info Ethernet::info(uint32_t s) const
{
    struct host_conn_info out = {};

    ::host_conn_info(world_host(w, kReceiver), ours[s], &out);
    return out;
}

uint64_t Ethernet::drops() const
{
    return world_port_counters(w, kReceiver)->imissed;
}

struct host_capacity Ethernet::capacity() const
{
    struct host_capacity out = {};

    host_control_capacity(world_control(w, kReceiver), &out);
    return out;
}
