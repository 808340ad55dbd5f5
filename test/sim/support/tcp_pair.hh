// SPDX-License-Identifier: BSD-3-Clause
// A TCP in a world: its sender at one host, its receiver at another one. The hosts' own frames go
// past it; a copy of what is its comes here.
#ifndef SLUICE_TEST_SIM_TCP_PAIR_HH
#define SLUICE_TEST_SIM_TCP_PAIR_HH

#include <cstdint>
#include <memory>
#include <vector>

extern "C" {
#include "model/tcp.h"
#include "model/tcp_receiver.h"
#include "sim/world.h"
}

struct TcpPairOptions {
    uint32_t from, to; // hosts, whose MAC addresses end in their numbers
    uint64_t start;    // in the world's time
    tcp_law_kind law = TCP_CUBIC;
    bool hystart = true; // in the slow start of CUBIC
    uint64_t seed = 1;
    double mtu = 1500;
    double pipe_bytes; // that may be under way, with what waits
};

class TcpPair
{
  public:
    TcpPair(world *in, rte_mempool *frames, const TcpPairOptions &options);
    // Frames that host i is about to be given.
    void rx(uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now);
    // Host i was polled: what there is to send goes.
    void turn(uint32_t i, uint64_t now);
    // User bytes that the receiver has read.
    uint64_t data_bytes() const
    {
        return ends->receiver.data_bytes;
    }
    const tcp_counts &sent() const
    {
        return ends->sender.counts;
    }
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
    uint16_t port; // of both ends
    bool over = false;
    std::unique_ptr<Ends> ends;
};

#endif
