// SPDX-License-Identifier: BSD-3-Clause
// Two hosts in a world, with an application on each. A sends requests and B receives them, or the
// other way round. The applications count every completion and compare every byte. An oracle
// watches every frame, and a test fails if it finds a fault.
#ifndef SLUICE_TEST_SIM_PAIR_HH
#define SLUICE_TEST_SIM_PAIR_HH

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

extern "C" {
#include "base/clock.h"
#include "host/host.h"
#include "sim/world.h"
#include "wire/frame.h"
}

#include "oracle.hh"

// Mbuf pools shared by all tests of the program.
struct Pools {
    rte_mempool *head, *attach, *copy, *wire;
    static const Pools &get();
    // True if all mbufs have come back.
    bool whole() const;
};

struct PairOptions {
    uint64_t delay_ns = 50000;
    uint64_t rate_Bps = 0;
    uint64_t queue_ns = 0;
    uint64_t poll_ns = 1000;
    uint64_t control_ns = 0;
    uint16_t mtu = 1500;
    bool ipv6 = false;
    uint16_t vlan = FRAME_VLAN_NONE;
    bool go_back_n = false;
    bool attach = true;
    host_security security = HOST_SECURITY_NONE; // both know each other's key
    aead_cipher cipher = AEAD_AES_128_GCM;
    host_sum sum = HOST_SUM_SOFTWARE;
    bool unsummed = false; // rx_unsummed of both
    uint32_t depth = 16;
    uint32_t gaps = 64;
    uint32_t conns = 4;
    uint32_t early = 16;
    uint32_t ahead = 0;
    uint32_t silence_ms = 3000;
    uint16_t mtu_b = 0; // of host B, if it differs
    uint64_t rate_first_Bps = 125000000;
    uint64_t burst_first = 20000;
    uint64_t capacity_Bps = 0;
    contract_config contract = {};
    uint64_t lead_ns = 0;               // tx_lead_ns: ports keep frames until their time
    uint64_t poll_spread_ns = 0;        // polls come late by up to this
    uint64_t nap_max_ns = 0;            // of both hosts, as in world_port
    uint32_t ring = 0;                  // of both ports, which tell their hosts; 0: no limit
    world_spell control_stall = {0, 0}; // of host B's control core
    world_spell tx_refused = {0, 0};    // of host A's port
    std::function<void(uint32_t from, rte_mbuf *m, uint64_t now, world_fate *fate)> fate;
    // May change a frame as the port of host `to` would, before the host gets it.
    std::function<void(uint32_t to, rte_mbuf *m)> port;
    std::function<void(uint32_t i, host_config *h)> config; // may change any setting, last of all
};

class Pair
{
  public:
    explicit Pair(const PairOptions &options);
    ~Pair();
    Pair(const Pair &) = delete;

    host *a()
    {
        return world_host(w, 0);
    }
    host *b()
    {
        return world_host(w, 1);
    }
    // A connects to B, and B accepts. Sets conn[0] and conn[1] to their numbers.
    void open();
    // The same once more, after the connection before has ended.
    void connect();
    // A sends one request / B posts a buffer for one. pattern() makes the payload.
    void send(uint64_t len, bool provisional = false, uint64_t tail = 0);
    void recv(uint64_t len);
    void send_back(uint64_t len); // B to A
    void recv_back(uint64_t len);
    // Runs until done() is true or the time is over; returns done(). It calls done() every 100 us
    // of virtual time, so that a test can watch there, too.
    bool run(const std::function<bool()> &done, uint64_t max_ns = 60 * CLOCK_NS_PER_S);
    void wait(uint64_t ns)
    {
        run([] { return false; }, ns);
    }
    // True if all requests have completed at both ends with status 0 and equal bytes.
    bool all_done() const;
    // This side sends no more.
    void shutdown(uint32_t side);
    // Ends the connection at both ends at once.
    void close();
    // Shuts down each direction that is not shut down yet, and closes. True if all of it succeeded
    // without a fault.
    bool finish();
    // True if no connection number of either host is in use.
    bool all_free();
    std::string state() const;

    struct Request {
        std::vector<uint8_t> data;
        uint64_t seed;
        bool done = false, provisional = false;
        int status = 1;
        uint64_t len = 0;
    };
    world *w;
    PairOptions opt;
    uint32_t conn[2] = {0, 0};
    std::deque<Request> sends[2], recvs[2]; // by sending / receiving side
    int opened[2] = {1, 1}, shut[2] = {1, 1};
    std::vector<std::string> faults;
    std::vector<host_completion> log;
    Oracle oracle;

  private:
    bool shutting[2] = {false, false};

    void complete(uint32_t side, const host_completion &c);
    void post_send(uint32_t side, uint64_t len, bool provisional, uint64_t tail);
    void post_recv(uint32_t side, uint64_t len);
    static void app(void *ctx, uint32_t i, host *h, uint64_t now);
    static void rx(void *ctx, uint32_t to, rte_mbuf *const *m, uint16_t n, uint64_t now);
    static void fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f);
};

// Payload byte i of the request with this seed.
inline uint8_t pattern(uint64_t seed, uint64_t i)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ull + (i >> 3) * 0xbf58476d1ce4e5b9ull;
    x ^= x >> 29;
    return static_cast<uint8_t>(x >> ((i & 7) * 8));
}

#endif
