// SPDX-License-Identifier: BSD-3-Clause
// Measures lib/path alone: ns a packet from push to pop. Frames of 60 bytes come in bursts of 32,
// and the clock advances by 100 ns a packet (10 Mpps), so a delay of 100 ms holds a million
// packets.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include <rte_eal.h>
#include <rte_mbuf.h>

extern "C" {
#include "path/path.h"
}

static rte_mempool *pool;

static void run(benchmark::State &state, const char *spec)
{
    constexpr uint16_t burst = 32;
    char err[256];
    path_config cfg = {};
    cfg.hz = 2600000000;
    cfg.seed = 1;
    cfg.packets_max = 1 << 20;
    cfg.pool = pool;
    cfg.compact_bytes = 128;
    uint64_t now = 1000;
    struct path *p = path_create(spec, &cfg, now, err, sizeof err);
    if (p == nullptr) {
        state.SkipWithError(err);
        return;
    }
    rte_mbuf *m[burst];
    auto round = [&] {
        now += 260 * burst;
        if (rte_pktmbuf_alloc_bulk(pool, m, burst) == 0) {
            for (auto *x : m) {
                x->data_len = 60;
                x->pkt_len = 60;
            }
            path_push(p, m, burst, now);
        }
        uint16_t n = path_pop(p, m, burst, now);
        rte_pktmbuf_free_bulk(m, n);
    };
    for (int i = 0; i < 40000; i++)
        round();
    for (auto _ : state)
        round();
    state.SetItemsProcessed((int64_t)state.iterations() * burst);
    state.counters["ns_packet"] =
        benchmark::Counter((double)state.iterations() * burst * 1e-9,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    path_destroy(p);
}

// MB in free hugepages of 2 MB.
static unsigned long huge_mb()
{
    unsigned long n = 0;
    FILE *f = std::fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
    if (f != nullptr) {
        if (std::fscanf(f, "%lu", &n) != 1)
            n = 0;
        std::fclose(f);
    }
    return 2 * n;
}

int main(int argc, char **argv)
{
    benchmark::Initialize(&argc, argv);
    std::vector<const char *> eal = {argv[0], "--no-pci",       "-m",          "1024", "--lcores",
                                     "0",     "--no-telemetry", "--log-level", "error"};
    if (huge_mb() >= 1100)
        eal.push_back("--in-memory");
    else
        eal.insert(eal.end(), {"--no-huge", "--no-shconf"});
    if (rte_eal_init((int)eal.size(), const_cast<char **>(eal.data())) < 0)
        return 1;
    pool = rte_pktmbuf_pool_create("path", 65535, 256, 0, 128 + 128, SOCKET_ID_ANY);
    if (pool == nullptr)
        return 1;
    static const std::vector<const char *> specs = {"",
                                                    "loss 0.1%",
                                                    "rate 8gbit",
                                                    "delay 10us",
                                                    "delay 1ms",
                                                    "delay 100ms",
                                                    "delay 10us 5us",
                                                    "rate 4gbit limit 500000",
                                                    "loss 0.1% rate 5gbit limit 500000 delay 95ms"};
    for (const char *spec : specs)
        benchmark::RegisterBenchmark(*spec ? spec : "wire", run, spec);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
