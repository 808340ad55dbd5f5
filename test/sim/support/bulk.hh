// SPDX-License-Identifier: BSD-3-Clause
// Hosts that send without end to host 0 of a world: how each is made, how a connection begins, and
// how all of it ends.
#ifndef SLUICE_TEST_SIM_BULK_HH
#define SLUICE_TEST_SIM_BULK_HH

#include <cstdint>
#include <vector>

extern "C" {
#include "host/host.h"
#include "sim/world.h"
}

constexpr uint32_t kBulkDepth = 32; // requests under way of each connection
constexpr uint16_t kBulkService = 9;

struct BulkPools {
    rte_mempool *head, *attach, *copy, *wire;
};

struct BulkConn {
    uint32_t own, peer; // at the sender, at host 0
};

// Host i, which has one worker, 10.0.0.(i + 1) and a MAC address that ends in i. Its MTU, and how
// many connections and gaps it has room for, are the caller's.
host_config bulk_host(uint32_t i, uint64_t seed, const BulkPools &pool);
// Host i + 1 connects to host 0, which posts all buffers; `memory` is each of them.
BulkConn bulk_open(world *w, uint32_t i, std::vector<uint8_t> &memory);
// Closes all connections of hosts 0 .. senders, lets everything come back, and destroys the world.
void bulk_end(world *w, uint32_t senders);

#endif
