// SPDX-License-Identifier: BSD-3-Clause
// A TCP in a world, with its sender at one host and its receiver at another one. It takes copies of
// its own frames from all those that the two hosts get.
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
    double pipe_bytes; // most bytes under way, with those in queues
};

class TcpPair
{
  public:
    TcpPair(world *in, rte_mempool *frames, const TcpPairOptions &options);
    // Takes the TCP's frames out of those that host i is about to get.
    void rx(uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now);
    // Host i was polled: sends the frames that are due.
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
