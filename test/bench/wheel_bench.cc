// SPDX-License-Identifier: BSD-3-Clause
// The timing wheel: flows of 16 rates, each queued again for its next packet when it comes out, on
// a clock that jumps to where the next one is due. Items are releases.
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

extern "C" {
#include "pace/wheel.h"
}

namespace
{

constexpr uint32_t kShift = 8;
constexpr uint32_t kBurst = 32;

void wheel_flows(benchmark::State &state)
{
    const uint32_t flows = static_cast<uint32_t>(state.range(0));
    std::vector<struct wheel_entry> entries(flows);
    std::vector<uint32_t> period(flows);
    std::mt19937_64 dice(1);
    struct wheel w;
    uint32_t out[kBurst], ready = 0, at = 0;
    uint64_t now = 0;

    wheel_init(&w, entries.data(), flows, kShift, now);
    for (uint32_t i = 0; i < flows; i++) {
        period[i] = flows * 100u + (dice() % 16) * flows * 100u;
        wheel_insert(&w, i, dice() % period[i]);
    }
    for (auto _ : state) {
        while (at == ready) {
            at = 0;
            ready = wheel_poll(&w, now, out, kBurst);
            if (ready == 0)
                now = wheel_next(&w);
        }
        wheel_insert(&w, out[at], now + period[out[at]]);
        at++;
    }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(wheel_flows)->Arg(1)->Arg(1000)->Arg(4000)->Arg(32000)->Arg(128000)->Arg(1000000);

// A timer that is moved again and again and never fires, as those of a busy connection.
void wheel_move(benchmark::State &state)
{
    const uint32_t timers = static_cast<uint32_t>(state.range(0));
    std::vector<struct wheel_entry> entries(timers);
    struct wheel w;
    uint64_t now = 0;
    uint32_t i = 0;

    wheel_init(&w, entries.data(), timers, kShift, now);
    for (auto _ : state) {
        wheel_insert(&w, i, now + 10000000);
        i = i + 1 == timers ? 0 : i + 1;
        now += 50;
    }
    benchmark::DoNotOptimize(w);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(wheel_move)->Arg(1)->Arg(1000)->Arg(100000);

} // namespace

BENCHMARK_MAIN();
