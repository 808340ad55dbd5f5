// SPDX-License-Identifier: BSD-3-Clause
#include "swarm.hh"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include <rte_malloc.h>

#include "pool.hh"

extern "C" {
#include "base/clock.h"
}

namespace
{

constexpr uint64_t kMs = 1000000, kSecond = 1000000000;
constexpr uint64_t kStep = 20 * kMs;
constexpr uint64_t kLongest = 900 * kSecond; // of a world
constexpr uint32_t kFrames = 8000;           // in flight

size_t heap_in_use()
{
    struct rte_malloc_socket_stats s = {};

    rte_malloc_get_socket_stats(0, &s);
    return s.heap_allocsz_bytes;
}

} // namespace

const SwarmPools &SwarmPools::get()
{
    static SwarmPools p = [] {
        SwarmPools q = {};

        for (uint32_t i = 0; i < kSwarmHosts; i++) {
            q.head[i] =
                pool_make("swarm_head" + std::to_string(i), 511, RTE_PKTMBUF_HEADROOM + 1024);
            q.attach[i] = pool_make("swarm_attach" + std::to_string(i), 511, 0);
            q.copy[i] =
                pool_make("swarm_copy" + std::to_string(i), 127, RTE_PKTMBUF_HEADROOM + 9600);
        }
        q.small = pool_make("swarm_small", 16383, RTE_PKTMBUF_HEADROOM + 1600);
        q.large = pool_make("swarm_large", 8191, RTE_PKTMBUF_HEADROOM + 9600);
        return q;
    }();
    return p;
}

bool SwarmPools::whole() const
{
    for (uint32_t i = 0; i < kSwarmHosts; i++)
        if (!rte_mempool_full(head[i]) || !rte_mempool_full(attach[i]) ||
            !rte_mempool_full(copy[i]))
            return false;
    return rte_mempool_full(small) && rte_mempool_full(large);
}

Swarm::Swarm(uint64_t seed, const std::string &pcap) : plan(seed), forger(seed)
{
    rng_init(&rng, seed ^ 0x5eed5eed5eed5eedull);
    if (!pcap.empty() && !capture.open(pcap))
        throw std::runtime_error(pcap + ": " + std::strerror(errno));
    SwarmPools::get();
    heap_before = heap_in_use();
    build();
}

void Swarm::build()
{
    const SwarmPools &pools = SwarmPools::get();
    world_config cfg = {};

    cfg.delay_ns = plan.delay_ns;
    cfg.rate_Bps = plan.rate_Bps;
    cfg.queue_ns = plan.queue_ns;
    cfg.poll_ns = plan.poll_ns;
    cfg.control_ns = plan.control_ns;
    cfg.frames_max = kFrames;
    cfg.pool = plan.mtu_max <= 1500 ? pools.small : pools.large;
    cfg.fate = fate;
    cfg.made = made;
    cfg.rx = rx;
    cfg.app = app;
    cfg.ctx = this;
    w = world_create(&cfg);
    for (uint32_t i = 0; i < plan.hosts.size(); i++) {
        host_config h = plan.hosts[i].cfg;
        char err[300] = "";

        h.head_pool = pools.head[i];
        h.attach_pool = pools.attach[i];
        h.copy_pool = pools.copy[i];
        world_port port = plan.hosts[i].port;

        if (plan.paths) {
            port.up = plan.hosts[i].up.c_str();
            port.down = plan.hosts[i].down.c_str();
        }
        if (world_add(w, &h, &port, err, sizeof err) < 0)
            throw std::runtime_error(err);
        if (capture.is_open())
            capture.host(h.name);
    }
    if (plan.sealed)
        world_secure(w, plan.seed, static_cast<aead_cipher>(plan.seed % AEAD_CIPHERS));
    for (uint32_t t = 0; t < plan.talks.size(); t++)
        if (!plan.talks[t].nobody && host_listen(world_host(w, plan.talks[t].end[1].host),
                                                 static_cast<uint16_t>(kServiceFirst + t)) != 0)
            throw std::runtime_error("listen");
    watch = std::make_unique<Watch>(plan, &verdict);
    users = std::make_unique<Users>(plan, w, &verdict);
    placement = std::make_unique<Placement>(users.get(), watch.get(), &verdict);
    moved.assign(users->ends.size(), 0);
}

// ---- the run -----------------------------------------------------------------------------------

// From here on, all connections must come to an end by themselves.
void Swarm::end_faults()
{
    if (calm)
        return;
    take_path_hits();
    calm = true;
    world_calm(w);
    users->hurry();
}

void Swarm::disturb()
{
    uint64_t now = world_now(w);

    if (calm)
        return;
    if (now >= plan.calm_ns) {
        end_faults();
        return;
    }
    if (plan.on[FAULT_NOISE])
        make_noise();
    if (plan.on[FAULT_ROUTER] && chance(300))
        speak_as_router();
}

void Swarm::advance()
{
    // noise and packets of routers come between steps, so these are short while there may be any
    uint64_t step = !calm && (plan.on[FAULT_NOISE] || plan.on[FAULT_ROUTER]) ? kStep / 20 : kStep;

    world_run(w, world_now(w) + step);
    disturb();
    watch_progress();
}

// A connection that is open or opening and has work must make progress, or fail for silence.
void Swarm::watch_progress()
{
    uint64_t now = world_now(w), patience = 3 * plan.silence_max_ns + 10 * kSecond;

    for (size_t k = 0; k < users->ends.size(); k++) {
        End &e = users->ends[k];
        struct host_conn_info i = {};

        if (e.done() || !e.started)
            continue;
        host_conn_info(world_host(w, e.plan->host), e.conn, &i);
        uint64_t sum = i.rx_units + i.tx_units - i.tx_repeats;
        const End &other = users->ends[k ^ 1];

        if (sum != moved[k]) {
            moved[k] = sum;
            e.progress = now;
        }
        if (other.progress > e.progress)
            e.progress = other.progress;
        if (now - e.progress > patience)
            verdict.fault(
                ORACLE_STUCK,
                "talk %u side %u: nothing since %.3f s (state %d, %zu of %zu sent, %zu of "
                "%zu received, error %d)",
                e.talk, e.side, double(e.progress) / 1e9, i.state, e.completed,
                e.plan->sends.size(), e.received, e.blocks.size(), e.error);
    }
    if (now > kLongest)
        verdict.fault(ORACLE_STUCK, "the world does not end");
}

// A connection that failed must have had a reason.
void Swarm::judge_failures()
{
    for (uint32_t t = 0; t < plan.talks.size(); t++) {
        const Watch::Conn *c = watch->of_talk(t);
        bool excused = plan.talks[t].nobody;

        for (uint32_t s = 0; s < 2; s++) {
            const End &e = users->end(t, s);
            uint64_t silence = plan.hosts[e.plan->host].cfg.silence_ms * kMs;
            uint64_t heard = c != nullptr ? c->side[s].heard_at : 0;

            excused = excused || e.aborted;
            if (e.error == -ETIMEDOUT || e.error == -EHOSTUNREACH)
                excused =
                    excused || e.failed_at - heard >= silence / 8 * 7 || e.opened_at == e.failed_at;
        }
        for (uint32_t s = 0; s < 2; s++) {
            const End &e = users->end(t, s);

            if (e.error != 0 && !excused)
                verdict.fault(ORACLE_ORDER, "talk %u side %u failed with %d at %.6f s, unprovoked",
                              t, s, e.error, double(e.failed_at) / 1e9);
        }
    }
}

void Swarm::destroy()
{
    uint64_t beyond = counters("drop_over_grant");

    if (beyond > 0)
        verdict.fault(ORACLE_PACE, "hosts dropped %lu packets as more than was granted", beyond);
    world_destroy(w);
    w = nullptr;
    if (!SwarmPools::get().whole())
        verdict.fault(ORACLE_MEMORY, "mbufs are missing");
    if (heap_in_use() != heap_before)
        verdict.fault(ORACLE_MEMORY, "%zu bytes of memory have not come back",
                      heap_in_use() - heap_before);
}

bool Swarm::run()
{
    while (verdict.ok() && !users->all_done())
        advance();
    for (uint64_t i = 0; verdict.ok() && i < 50; i++)
        advance(); // late frames of connections that are over
    if (verdict.ok())
        judge_failures();
    if (!verdict.ok())
        return false;
    end_faults();
    world_run(w, world_now(w) + kSecond);
    for (uint32_t i = 0; i < plan.hosts.size(); i++) {
        host *h = world_host(w, i);
        struct host_conn_info info;

        for (uint32_t c = 0; c < host_conn_limit(h); c++)
            if (host_conn_info(h, c, &info))
                verdict.fault(ORACLE_MEMORY, "host %u: connection %u is not free", i, c);
    }
    for (End &e : users->ends)
        users->inspect(e);
    take_hits();
    virtual_ns = world_now(w);
    packets = world_counts(w)->sent;
    if (verdict.ok())
        destroy();
    return verdict.ok();
}
