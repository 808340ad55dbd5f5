/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that never sees a packet, for tests of its parts. */
#ifndef SLUICE_TEST_HOST_HH
#define SLUICE_TEST_HOST_HH

#include <gtest/gtest.h>

extern "C" {
#include "host/host_internal.h"
}

inline struct rte_mempool unused_pool;

inline struct host_config host_config_make(uint32_t conns, uint8_t worker = 3)
{
    struct host_config c = {};

    c.address[0] = addr_from_v4(0x0a000001);
    c.prefix_len[0] = 24;
    c.vlan = FRAME_VLAN_NONE;
    c.mtu = 1500;
    c.udp_port = WIRE_UDP_PORT;
    c.worker = worker;
    c.workers = HOST_WORKERS_MAX;
    c.hz = 1000000000;
    c.secrets = {{42, worker}, {43, worker}, 44};
    c.conns = conns;
    c.depth = 2;
    c.gaps = 4;
    c.silence_ms = 1000;
    c.repeat_us = 1000;
    c.first_rate_Bps = 1000000;
    c.first_burst_bytes = 10000;
    c.head_pool = c.copy_pool = &unused_pool;
    return c;
}

inline struct host *host_make(const struct host_config &c)
{
    char err[200] = "";
    struct host *h = host_create(&c, 1, err, sizeof err);

    EXPECT_NE(h, nullptr) << err;
    return h;
}

inline struct host *host_make(uint32_t conns)
{
    return host_make(host_config_make(conns));
}

#endif
