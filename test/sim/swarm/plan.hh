// SPDX-License-Identifier: BSD-3-Clause
// The world that a seed stands for: its hosts, links, faults and connections, and the requests on
// these. All of it is drawn from lib/base/rng before the world runs.
#ifndef SLUICE_TEST_SIM_PLAN_HH
#define SLUICE_TEST_SIM_PLAN_HH

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include "base/rng.h"
#include "host/host.h"
#include "sim/world.h"
}

#include "fault.hh"

constexpr uint16_t kServiceFirst = 1000; // talk t has service kServiceFirst + t
constexpr uint32_t kSwarmHosts = 16;

struct SendPlan {
    uint64_t len;
    bool provisional;
    uint64_t tail;
};

// One side of a connection.
struct EndPlan {
    uint32_t host;
    uint64_t start_ns; // when it connects, or accepts
    std::vector<SendPlan> sends;
    std::vector<uint64_t> buffers;     // lengths; there are more than requests of the peer
    uint32_t window;                   // most operations outstanding in each direction
    uint64_t send_gap_ns, recv_gap_ns; // pauses between operations, up to this; 0: none
    uint64_t abort_ns;                 // 0: never
};

struct TalkPlan {
    EndPlan end[2]; // opener, acceptor
    bool go_back_n;
    bool nobody; // the acceptor does not listen
};

struct HostPlan {
    host_config cfg; // without pools
    world_port port;
    std::string up, down; // specs of paths; empty: the plain link
};

// Faults of the links that lib/sim does not model itself.
struct LinkPlan {
    uint64_t loss, twice, late, flips; // per 1000 frames
    uint64_t burst_enter, burst_leave; // per 1000 frames
    uint64_t late_max_ns;
};

struct Plan {
    explicit Plan(uint64_t seed);
    std::string about() const;

    uint64_t seed;
    bool on[FAULTS] = {};
    uint64_t delay_ns, rate_Bps, queue_ns, poll_ns, control_ns;
    uint64_t calm_ns; // when faults end
    uint64_t silence_max_ns;
    bool paths;        // each host has its own paths; else all use the plain link
    uint64_t floor_ns; // shortest time of a frame, one way
    bool ipv6, sums;
    bool sealed; // all packets are sealed under associations
    uint16_t mtu_max;
    LinkPlan link = {};
    std::vector<HostPlan> hosts;
    std::vector<TalkPlan> talks;

  private:
    uint64_t below(uint64_t n)
    {
        return rng_below(&rng, n);
    }
    uint64_t between(uint64_t least, uint64_t most)
    {
        return least + below(most - least + 1);
    }
    // Draws about log-uniformly: each octave is as likely as the next.
    uint64_t scale(uint64_t least, uint64_t most);
    void choose_faults();
    void choose_network();
    void choose_link();
    void choose_security();
    std::string path_text(bool down);
    void add_host(uint32_t i);
    void choose_troubles(world_port *port);
    void add_talk();
    void add_requests(TalkPlan *t, uint32_t side, uint64_t bytes);

    struct rng rng;
    uint64_t request_bytes = 0; // of a connection, about; both directions
};

#endif
