// SPDX-License-Identifier: BSD-3-Clause
// Hosts that send without end to one host, whose packets share one link with a queue, and TCPs of
// any law that share it: what each gets of it, and how long the queue is.
#ifndef SLUICE_TEST_SIM_DUMBBELL_HH
#define SLUICE_TEST_SIM_DUMBBELL_HH

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "base/clock.h"
#include "host/host.h"
#include "wire/frame.h"
#include "path/path.h"
#include "model/tcp_law.h"
#include "sim/world.h"
}

#include "bulk.hh"
#include "tcp_pair.hh"

// A TCP beside the hosts: when it begins, after the dumbbell was made, and by which law it sends.
struct DumbbellCompetitor {
    double start_ns;
    tcp_law_kind law = TCP_CUBIC;
};

// A sender's own way to the link.
struct DumbbellAccess {
    double rate_bps;      // 0: as wide as needed
    double rtt_ns;        // more than the dumbbell's
    bool policed = false; // what is more than that rate is dropped
};

struct DumbbellOptions {
    double rate_bps = 100e6;
    bool host_limits = false; // the receiver, not a link on the way
    double rtt_ns = 10e6;
    double queue_bytes = 125000;
    double loss = 0;     // behind the link,
    double loss_run = 0; // in runs of so many on average (0: independent)
    double back_bps = 0; // of the way back, which has a queue of 100 packets; 0: as wide as needed
    uint16_t mtu = 1500;
    uint32_t senders = 1;
    std::vector<DumbbellAccess> access; // of the first senders
    std::vector<DumbbellCompetitor> competitors;
    bool hystart = true; // in the slow start of CUBIC
    uint64_t seed = 1;
    host_occupancy occupancy = HOST_OCCUPANCY_OFF; // of the receiver, with its law
    const char *law = "";
    world_spell stall[2] = {}; // of the receiver, of each sender
    double poll_spread_ns = 0; // hosts look at their ports after pauses of up to so long
    uint32_t ring =
        0; // frames that the receiver's port holds, and does not count more; 0: any number
    double consume_Bps = 0; // buffers are posted again at this rate; 0: at once
};

class Dumbbell
{
  public:
    static constexpr double kFrame = 1514, kPayload = 1408; // of a full packet with an MTU of 1500

    struct Flow {
        uint64_t bytes, units, frame_bytes;
    };

    Dumbbell(const DumbbellOptions &options, const BulkPools &pools);
    ~Dumbbell();
    Dumbbell(const Dumbbell &) = delete;

    // The next sender begins.
    void start(uint32_t i);
    void run(double ns);
    // The receiver's view.
    struct host_conn_info info(uint32_t i);
    // Bytes that wait for the link, on average over so long from now.
    double queue_bytes(double ns);
    const struct path_element_counts *link();
    // User bytes that competitor i's receiver has read.
    uint64_t tcp_bytes(uint32_t i) const
    {
        return tcps[i]->data_bytes();
    }
    const tcp_counts &tcp_sent(uint32_t i) const
    {
        return tcps[i]->sent();
    }
    // Time that stalls have taken so far, of all hosts together.
    double stalled_ns() const
    {
        return static_cast<double>(world_counts(w)->stalled_ns);
    }
    // Buffers that wait to be consumed.
    size_t in_use() const
    {
        return full.size();
    }

    world *w;

  private:
    struct Conn : BulkConn {
        bool begun;
    };

    void add_host(uint32_t i);
    void add_tcp(uint32_t i);
    static void rx(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now);
    static void app(void *ctx, uint32_t i, host *h, uint64_t now);
    void send(uint32_t i, host *h, uint64_t now);
    void consume(host *h, uint64_t now);

    DumbbellOptions opt;
    BulkPools pool;
    std::vector<Conn> conns;
    std::vector<std::unique_ptr<TcpPair>> tcps; // on hosts of their own, behind the senders
    bool over = false;
    std::vector<uint8_t> memory;
    std::vector<uint32_t> out;
    std::deque<uint32_t> full; // connections of buffers to consume
    uint64_t consumed_at = 0;
};

#endif
