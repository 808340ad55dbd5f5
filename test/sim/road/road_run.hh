// SPDX-License-Identifier: BSD-3-Clause
// Runs a road in virtual time, and records what happens on it.
//
//   senders 1 .. n -- own delay --+                                 +-- receiver 0
//   TCP, cross traffic -----------+-- switch -- policer, link, delay, loss --
//                                 +------- return path: rate, delay, loss --
#ifndef SLUICE_TEST_SIM_ROAD_RUN_HH
#define SLUICE_TEST_SIM_ROAD_RUN_HH

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bulk.hh"
#include "road.hh"
#include "road_plan.hh"
#include "tcp_pair.hh"

// Throws std::runtime_error if there is no memory.
BulkPools road_pools(const Road &road);

// Sums count from the beginning of the run.
struct RoadFlowSample {
    double wire_bytes; // of frames whose payload was placed for the first time
    double grant_Bps;
    uint16_t why;
    bool open;
};
struct RoadSample {
    double at_ns;
    double queue_bytes;   // bytes that wait for the link, without the frame that is being sent
    double dropped_bytes; // before the link, and in the policer
    double stalled_ns;    // all hosts together
    double tcp_bytes;     // the TCP's, counted as wire_bytes
    double offered_bytes; // that applications have written
    std::vector<RoadFlowSample> flows;
};
struct RoadRecord {
    std::vector<RoadSample> samples;
    double units = 0, duplicates = 0, lost = 0; // at the receiver, all flows

    // The newest sample that is not later; if there is none, the first one.
    const RoadSample &at(double ns) const;
};

class RoadRun
{
  public:
    // With sluice false, only the TCP and the cross traffic send.
    RoadRun(const Road &road, const RoadPlan &plan, const BulkPools &pools, bool sluice = true);
    ~RoadRun();
    RoadRun(const RoadRun &) = delete;

    const RoadRecord &run();

  private:
    struct Conn : BulkConn {
        uint32_t out;
        bool begun;
        uint64_t write_at;
        double offered;
    };

    void add_host(uint32_t i, const char *up, const char *down, double gaps);
    void add_receiver(double gaps);
    TcpPairOptions competitor_options() const;
    void add_sender(uint32_t i, double gaps);
    std::string link_text(double bps) const;
    std::string trace_file();
    static void rx(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now);
    static void app(void *ctx, uint32_t i, host *h, uint64_t now);
    void start(uint32_t i);
    void send(uint32_t i, host *h, uint64_t now);
    void receive(host *h, uint64_t now);
    void cross(uint64_t now);
    void look(uint64_t now);
    void sample();
    uint64_t time(double ns) const
    {
        return began + static_cast<uint64_t>(ns);
    }

    Road r;
    const RoadPlan &plan;
    BulkPools pool;
    bool sends;
    uint32_t flows, tcp_host = 0, clock_host = 0;
    world *w;
    uint64_t began;
    std::vector<Conn> conns;
    std::unique_ptr<TcpPair> competitor;
    std::vector<uint8_t> memory;
    size_t write_bytes = 0;
    uint64_t read_at = 0;
    size_t cross_turn = 0;
    uint64_t cross_at = 0, sample_at = 0;
    bool over = false;
    std::string trace_path;
    RoadRecord record;
};

#endif
