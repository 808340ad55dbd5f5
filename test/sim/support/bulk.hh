// SPDX-License-Identifier: BSD-3-Clause
// Hosts that send endlessly to host 0 of a world. These functions configure a host, open a
// connection, and end the world.
#ifndef SLUICE_TEST_SIM_BULK_HH
#define SLUICE_TEST_SIM_BULK_HH

#include <cstdint>
#include <vector>

extern "C" {
#include "host/host.h"
#include "sim/world.h"
}

constexpr uint32_t kBulkDepth = 32; // requests that each connection has under way
constexpr uint16_t kBulkService = 9;

struct BulkPools {
    rte_mempool *head, *attach, *copy, *wire;
};

struct BulkConn {
    uint32_t own, peer; // its number at the sender, and at host 0
};

// Configuration of host i, with one worker, 10.0.0.(i + 1) and a MAC address that ends in i. The
// caller sets its mtu, conns and gaps.
host_config bulk_host(uint32_t i, uint64_t seed, const BulkPools &pool);
// Host i + 1 connects to host 0, which accepts and posts kBulkDepth buffers, all of them `memory`.
BulkConn bulk_open(world *w, uint32_t i, std::vector<uint8_t> &memory);
// Closes all connections of hosts 0 .. senders, waits until they are gone, and destroys the world.
void bulk_end(world *w, uint32_t senders);

#endif
