// SPDX-License-Identifier: BSD-3-Clause
// Many connections that send to one host of known speed, each at its demand or as fast as it may.
#ifndef SLUICE_TEST_SIM_CROWD_HH
#define SLUICE_TEST_SIM_CROWD_HH

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "host/host.h"
#include "sim/world.h"
}

struct CrowdOptions {
    uint32_t senders = 2;              // hosts
    uint32_t conns = 1;                // of each sender
    uint64_t delay_ns = 25000;         // one way, to the switch and from it
    uint64_t service_Bps = 1250000000; // bytes of frames that the receiver can take
    uint32_t ring = 1024;
    uint64_t control_ns = 1000000;
    uint64_t request_bytes = 262144;
    uint32_t depth = 4;        // requests under way
    uint64_t capacity_Bps = 0; // as configured
    uint64_t link_Bps = 0;     // of the receiver's port; 0: not known
    uint64_t first_rate_Bps = 12500000, first_burst_bytes = 20000;
    uint64_t piece_ns = 50000; // of a request, at its connection's demand
    uint32_t silence_ms = 3000;
    uint32_t drop_bytes = 0; // of world_port
    double cheat = 1;        // the last sender takes its grants for so many times what they are
    bool connect = true;     // all connections, in the constructor
    std::vector<struct host_peers> peers;
};

class Crowd
{
  public:
    static addr address(uint32_t host); // 0: the receiver; 1 ..: senders
    explicit Crowd(const CrowdOptions &options);
    ~Crowd();
    Crowd(const Crowd &) = delete;

    uint32_t size() const
    {
        return (uint32_t)conns.size();
    }
    // Sets the demand of connection i. UINT64_MAX: it always has more to send. 0: it pauses.
    void demand(uint32_t i, uint64_t rate_Bps);
    // Sets what the application of connection i allows, of its sender or at the receiver; 0: all.
    void limit_sender(uint32_t i, uint64_t rate_Bps);
    void limit_receiver(uint32_t i, uint64_t rate_Bps);
    void run(uint64_t ns);
    // Opens connection i.
    void connect(uint32_t i);
    // Connection i sends one request of so many bytes. sent_once(): it has been received.
    void send_once(uint32_t i, uint64_t bytes);
    bool sent_once(uint32_t i) const
    {
        return conns[i].once && conns[i].out == 0;
    }
    // When connection i's newest request was received, as its sender knows it.
    uint64_t sent_at(uint32_t i) const
    {
        return conns[i].done_at;
    }
    // From now on, this share of the frames to the receiver is lost.
    void lose(double share)
    {
        loss = share;
        rng_init(&random, 1);
    }
    // The rate at which payload of each connection came since the last call, in bytes a second.
    std::vector<double> rates();
    struct host_conn_info info(uint32_t i); // the receiver's view
    uint64_t sender_rate_Bps(uint32_t i);   // its sender's rate
    uint64_t overruns() const
    {
        return world_port_counters(w, 0)->imissed;
    }
    host_capacity capacity();
    // Share of the time since the last call in which the receiver was at work.
    double busy();

    world *w;

  private:
    struct Conn {
        uint32_t host, own, peer; // of the host; of the connection there, and at the receiver
        uint64_t demand_Bps, sent, asked_at;
        uint64_t counted;
        uint32_t out; // requests under way
        bool once;
        uint64_t done_at;
    };

    static void app(void *ctx, uint32_t i, host *h, uint64_t now);
    static void fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f);
    void connect_all();
    void cheat(rte_mbuf *m);
    void send(uint32_t i, host *h, uint64_t now);
    void more(Conn &c, host *h, uint64_t now);

    CrowdOptions opt;
    std::vector<Conn> conns;
    std::vector<uint8_t> memory;
    uint64_t counted_at = 0, busy_at = 0, busy_seen = 0;
    double loss = 0;
    struct rng random;
};

#endif
