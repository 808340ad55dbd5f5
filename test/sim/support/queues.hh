// SPDX-License-Identifier: BSD-3-Clause
// Two hosts on ports with several queues, each with one worker. The simulator's receive-side
// scaling (sim/rss.h) assigns frames to queues. The test chooses the workers that open and accept.
#ifndef SLUICE_TEST_SIM_QUEUES_HH
#define SLUICE_TEST_SIM_QUEUES_HH

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "host/host.h"
#include "sim/rss.h"
#include "sim/world.h"
}

struct QueuesOptions {
    bool ipv6 = false;
    uint32_t workers = 4;
    bool rss = true;        // false: all frames come to the first queue
    bool introduced = true; // every worker knows the other host's MAC address
    uint32_t conns = 256;   // of each worker
    std::function<void(host_config *)> config;
    std::function<void(uint32_t from, rte_mbuf *m, world_fate *f)> fate;
};

class Queues
{
  public:
    static constexpr uint16_t kService = 7;
    static constexpr uint64_t kNobody = UINT64_MAX; // owner of connections that are not in conns

    struct Conn {
        uint32_t side, worker, number;
        int opened = 1;       // status; 1: not yet
        std::string sent;     // its request
        std::string received; // its buffer
        int send_status = 1, recv_status = 1;
    };

    explicit Queues(const QueuesOptions &options);
    ~Queues();
    Queues(const Queues &) = delete;

    host *h(uint32_t side, uint32_t worker) const
    {
        return world_host(w, side * opt.workers + worker);
    }
    // A connection that sends one request of so many bytes, and receives one.
    Conn &connect(uint32_t worker, size_t bytes);
    Conn &accept(uint32_t worker, size_t bytes);
    bool run(const std::function<bool()> &done, uint64_t max_ns = 5000000000);
    // A counter of a side, summed over its workers.
    uint64_t counter(uint32_t side, const char *name) const;
    // For each worker of a side, the connections whose two requests have come intact.
    std::vector<uint32_t> done(uint32_t side) const;
    // Counters of drops and hand-overs of all workers, as text.
    std::string counters() const;

    std::vector<std::unique_ptr<Conn>> conns;
    world *w;
    rss scaling[2];

  private:
    static void app(void *ctx, uint32_t i, host *h, uint64_t now);
    static void fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f);
    Conn &begin(uint32_t side, uint32_t worker, int64_t number, size_t bytes);
    void introduce(uint32_t side);

    QueuesOptions opt;
};

#endif
