// SPDX-License-Identifier: BSD-3-Clause
// Measures a recompute of all shares with every rule in use: weights, minimums, ceilings, peers
// with limits, and priorities. The reference is three plain passes over the same array, which is
// all that memory allows. Two passes read all of each flow; one reads and writes, as a recompute
// must.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

extern "C" {
#include "base/rng.h"
#include "control/share.h"
}

namespace
{

struct World {
    std::vector<share_flow> flows;
    std::vector<share_peer> peers;

    explicit World(uint32_t n) : flows(n), peers(n / 64 + 1)
    {
        struct rng r;

        rng_init(&r, 1);
        for (share_peer &p : peers)
            p = {rng_below(&r, 4) ? 0 : rng_below(&r, 1 << 22),
                 rng_below(&r, 2) ? UINT64_MAX : rng_below(&r, 1 << 24), 0};
        for (share_flow &f : flows) {
            f = {};
            f.demand_Bps = rng_below(&r, 2) ? UINT64_MAX : rng_u64(&r) >> (24 + rng_below(&r, 30));
            f.min_Bps = rng_below(&r, 8) ? 0 : rng_below(&r, 10000);
            f.ceiling_Bps = rng_below(&r, 4) ? UINT64_MAX : rng_below(&r, 1 << 24);
            f.weight = (uint16_t)(1 + rng_below(&r, 16));
            f.peer = (uint32_t)rng_below(&r, peers.size());
            f.priority = (uint8_t)(rng_below(&r, 4) ? 4 : 3 + 2 * rng_below(&r, 2));
        }
        std::sort(flows.begin(), flows.end(), [](const share_flow &a, const share_flow &b) {
            return a.priority != b.priority ? a.priority < b.priority : a.peer < b.peer;
        });
    }
};

void recompute(benchmark::State &state)
{
    uint32_t n = (uint32_t)state.range(0);
    World w(n);
    uint32_t n_peers = (uint32_t)w.peers.size();
    void *memory = std::aligned_alloc(64, (share_storage_bytes(n) + 63) / 64 * 64);
    struct share *s = share_init(memory, n);
    struct rng r;

    rng_init(&r, 2);
    for (auto _ : state) // each time another capacity, drawn at random
        share_run(s, w.flows.data(), n, w.peers.data(), n_peers,
                  n * (20000 + rng_below(&r, 200000)));
    state.SetItemsProcessed((int64_t)state.iterations() * n);
    std::free(memory);
}
BENCHMARK(recompute)->Arg(1000)->Arg(10000)->Arg(100000)->Arg(1000000);

uint64_t flow_read(const share_flow &f)
{
    return f.demand_Bps + f.min_Bps + f.ceiling_Bps + f.peer + f.weight + f.priority;
}

void three_passes(benchmark::State &state)
{
    World w((uint32_t)state.range(0));

    for (auto _ : state) {
        uint64_t all = 0;

        for (int pass = 0; pass < 2; pass++) {
            for (const share_flow &f : w.flows)
                all += flow_read(f);
            benchmark::DoNotOptimize(all);
            benchmark::ClobberMemory();
        }
        for (share_flow &f : w.flows) {
            all += flow_read(f);
            f.grant_Bps = all;
        }
        benchmark::DoNotOptimize(all);
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed((int64_t)state.iterations() * state.range(0));
}
BENCHMARK(three_passes)->Arg(1000)->Arg(10000)->Arg(100000)->Arg(1000000);

} // namespace

BENCHMARK_MAIN();
