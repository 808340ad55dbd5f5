// SPDX-License-Identifier: BSD-3-Clause
// A TCP in a world: its sender at one host, its receiver at another one. The hosts' own frames go
// past it; a copy of what is its comes here.
#ifndef SLUICE_TEST_SIM_ROAD_TCP_HH
#define SLUICE_TEST_SIM_ROAD_TCP_HH

#include <cstdint>
#include <memory>
#include <vector>

#include "road.hh"

extern "C" {
#include "sim/tcp.h"
#include "sim/tcp_receiver.h"
#include "sim/world.h"
}

class RoadTcpPair
{
  public:
    // From host `from` to host `to`, whose MAC addresses end in their numbers.
    RoadTcpPair(world *in, rte_mempool *frames, const Road &road, uint32_t from, uint32_t to,
                uint64_t start);
    // Frames that host i is about to be given.
    void rx(uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now);
    // Host i was polled: what there is to send goes.
    void turn(uint32_t i, uint64_t now);
    // Of frames whose data were read.
    double wire_bytes() const;
    void stop()
    {
        over = true;
    }

  private:
    struct Ends {
        std::vector<tcp_flight> flight;
        tcp sender;
        tcp_receiver receiver;
    };

    world *w;
    rte_mempool *pool;
    uint32_t sender_at, receiver_at;
    double mss, frame_bytes;
    bool over = false;
    std::unique_ptr<Ends> ends;
};

#endif
