// SPDX-License-Identifier: BSD-3-Clause
// Hosts that send endlessly to one host, over one link with a queue, and TCPs of any law that share
// the link. Measures the bytes that each of them gets through, and the queue.
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

// A TCP beside the hosts. It starts start_ns after the dumbbell was made.
struct DumbbellCompetitor {
    double start_ns;
    tcp_law_kind law = TCP_CUBIC;
};

// A sender's own path to the link.
struct DumbbellAccess {
    double rate_bps;      // 0: no limit
    double rtt_ns;        // added to the dumbbell's
    bool policed = false; // packets beyond that rate are dropped
};

struct DumbbellOptions {
    double rate_bps = 100e6;
    bool host_limits = false; // the receiver's capacity limits, not a link
    double service_Bps = 0;   // what each host works through, if no link limits; 0: anything
    double rtt_ns = 10e6;
    double queue_bytes = 125000;
    double later_bps = 0; // the link's rate from changes_ns on; 0: it stays
    double changes_ns = 0;
    std::string behind;  // elements behind the link, toward the receiver
    double loss = 0;     // share, behind the link
    double loss_run = 0; // mean run of losses (0: independent)
    double back_bps = 0; // of the return path, which has a queue of 100 packets; 0: no limit
    uint16_t mtu = 1500;
    uint32_t senders = 1;
    std::vector<DumbbellAccess> access; // of the first senders
    std::vector<DumbbellCompetitor> competitors;
    bool hystart = true; // in the slow start of CUBIC
    uint64_t seed = 1;
    host_occupancy occupancy = HOST_OCCUPANCY_OFF; // of the receiver, with its law
    const char *law = "";
    world_spell stall[2] = {}; // of the receiver, of each sender
    double poll_spread_ns = 0; // longest extra time between two polls of a host
    // Frames that the receiver's port holds. It does not count frames that it refuses. 0: no limit.
    uint32_t ring = 0;
    double consume_Bps = 0; // buffers are consumed and posted again at this rate; 0: at once
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

    // Sender i, the next one, begins.
    void start(uint32_t i);
    void run(double ns);
    // The receiver's view.
    struct host_conn_info info(uint32_t i);
    // Runs for so long. Returns the mean of the bytes that wait for the link.
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
    // Time for which hosts have been stalled so far, all hosts together.
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
    std::vector<std::unique_ptr<TcpPair>> tcps; // on hosts of their own, after the senders
    bool over = false;
    std::vector<uint8_t> memory;
    std::vector<uint32_t> out;
    std::deque<uint32_t> full; // for each buffer to consume, its connection
    uint64_t consumed_at = 0;
};

#endif
