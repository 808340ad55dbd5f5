// SPDX-License-Identifier: BSD-3-Clause
// One seed's world, from its plan to the verdict. It runs with its faults, then without them until
// all is done. In the end, all mbufs, connections and memory must have come back.
#ifndef SLUICE_TEST_SIM_SWARM_HH
#define SLUICE_TEST_SIM_SWARM_HH

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forger.hh"
#include "pcapng.hh"
#include "placement.hh"
#include "plan.hh"
#include "user.hh"
#include "verdict.hh"
#include "watch.hh"

// Made once, for the worlds of all seeds.
struct SwarmPools {
    rte_mempool *head[kSwarmHosts], *attach[kSwarmHosts], *copy[kSwarmHosts];
    rte_mempool *small, *large; // for frames on the wire; one beyond 9600 bytes takes several
    static const SwarmPools &get();
    bool whole() const;
};

class Swarm
{
  public:
    Swarm(uint64_t seed, const std::string &pcap);
    Swarm(const Swarm &) = delete;

    // True if no oracle found a fault.
    bool run();
    // Adds this seed's figures to sums over seeds.
    void count(Tally *t) const;

    Plan plan;
    Verdict verdict;
    uint64_t digest = 0xcbf29ce484222325ull; // of every (time, host, frame bytes)

  private:
    void build();
    void destroy();
    void advance();
    void end_faults();
    void disturb();
    void make_noise();
    void speak_as_router();
    void watch_progress();
    void judge_failures();
    void take_hits();
    void take_path_hits();
    void decide(uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f);
    void decide_losses(uint32_t from, world_fate *f);
    void flip(rte_mbuf *m);
    void lower_grant(rte_mbuf *m);
    void offload(rte_mbuf *m);
    void mix(uint64_t now, uint32_t host, const rte_mbuf *m);
    bool chance(uint64_t permille)
    {
        return permille != 0 && rng_below(&rng, 1000) < permille;
    }
    uint64_t counter(uint32_t i, const char *name) const;
    uint64_t counters(const char *name) const;

    static void fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f);
    static void made(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now);
    static void rx(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now);
    static void app(void *ctx, uint32_t i, host *h, uint64_t now);

    struct rng rng;
    Forger forger;
    Pcapng capture;
    world *w = nullptr;
    std::unique_ptr<Watch> watch;
    std::unique_ptr<Users> users;
    std::unique_ptr<Placement> placement;
    bool calm = false;
    std::vector<std::vector<uint8_t>> old[kSwarmHosts]; // frames that came, to be replayed as noise
    std::vector<uint64_t> moved;                        // units of each end at the last look
    uint64_t hits[FAULTS] = {};
    size_t heap_before = 0;
    uint64_t packets = 0, virtual_ns = 0;
    bool in_loss[kSwarmHosts] = {}; // in a run of losses
};

#endif
