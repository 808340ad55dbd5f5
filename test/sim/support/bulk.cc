// SPDX-License-Identifier: BSD-3-Clause
#include "bulk.hh"

#include <cstdio>

#include "text.hh"

extern "C" {
#include "base/clock.h"
#include "wire/frame.h"
}

host_config bulk_host(uint32_t i, uint64_t seed, const BulkPools &pool)
{
    host_config h = {};

    std::snprintf(h.name, sizeof h.name, "host%u", i);
    h.mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i)}};
    addr_parse(text("10.0.0.%u", i + 1).c_str(), &h.address[0]);
    h.prefix_len[0] = 24;
    h.vlan = FRAME_VLAN_NONE;
    h.udp_port = WIRE_UDP_PORT;
    h.workers = 1;
    h.secrets = world_secrets(seed * 1000 + i, 0);
    h.depth = 2 * kBulkDepth;
    h.early = 4;
    h.silence_ms = 10000;
    h.repeat_us = 2000;
    h.first_rate_Bps = 12500000;
    h.first_burst_bytes = 20000;
    h.head_pool = pool.head;
    h.attach_pool = pool.attach;
    h.copy_pool = pool.copy;
    h.tx_attach = true;
    h.tx_sum = h.rx_sum = HOST_SUM_NONE;
    return h;
}

BulkConn bulk_open(world *w, uint32_t i, std::vector<uint8_t> &memory)
{
    host *receiver = world_host(w, 0);
    struct host_connect op = {};
    BulkConn c;

    addr_parse("10.0.0.1", &op.peer);
    op.service = kBulkService;
    op.owner = op.user = i;
    c.own = static_cast<uint32_t>(host_connect(world_host(w, i + 1), &op, world_now(w)));
    c.peer = static_cast<uint32_t>(host_accept(receiver, kBulkService, i, i));
    for (uint32_t k = 0; k < kBulkDepth; k++)
        host_recv(receiver, c.peer, memory.data(), memory.size(), i, world_now(w));
    return c;
}

void bulk_end(world *w, uint32_t senders)
{
    world_calm(w);
    for (uint32_t i = 0; i <= senders; i++)
        for (uint32_t c = 0; c < host_conn_limit(world_host(w, i)); c++)
            host_close(world_host(w, i), c, WIRE_END_ABORT, world_now(w));
    world_run(w, world_now(w) + 40 * CLOCK_NS_PER_S);
    world_destroy(w);
}
