// SPDX-License-Identifier: BSD-3-Clause
// Measures the timing wheel. Flows have 16 rates, and each one is queued again for its next packet
// when it comes out. The clock jumps to the time at which the next flow is due. Items are releases.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

extern "C" {
#include "pace/wheel.h"
}

namespace
{

constexpr uint32_t kBurst = 32;

std::unique_ptr<void, void (*)(void *)> wheel_storage(uint32_t capacity)
{
    size_t bytes = (wheel_storage_bytes(capacity) + 63) / 64 * 64;

    return {std::aligned_alloc(64, bytes), std::free};
}

void wheel_flows(benchmark::State &state)
{
    const uint32_t flows = static_cast<uint32_t>(state.range(0));
    std::unique_ptr<void, void (*)(void *)> storage = wheel_storage(flows);
    std::vector<uint32_t> period(flows);
    std::mt19937_64 dice(1);
    uint32_t out[kBurst], ready = 0, at = 0;
    uint64_t now = 0;
    struct wheel *w = wheel_init(storage.get(), flows, 0, now);

    for (uint32_t i = 0; i < flows; i++) {
        period[i] = flows * 100u + (dice() % 16) * flows * 100u;
        wheel_insert(w, i, dice() % period[i]);
    }
    for (auto _ : state) {
        while (at == ready) {
            at = 0;
            ready = wheel_poll(w, now, out, kBurst);
            if (ready == 0)
                now = wheel_next(w);
        }
        wheel_insert(w, out[at], now + period[out[at]]);
        at++;
    }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(wheel_flows)->Arg(1)->Arg(1000)->Arg(4000)->Arg(32000)->Arg(128000)->Arg(1000000);

// Timers are moved again and again and never fire, like those of a busy connection.
void wheel_move(benchmark::State &state)
{
    const uint32_t timers = static_cast<uint32_t>(state.range(0));
    std::unique_ptr<void, void (*)(void *)> storage = wheel_storage(timers);
    uint64_t now = 0;
    uint32_t i = 0;
    struct wheel *w = wheel_init(storage.get(), timers, 0, now);

    for (auto _ : state) {
        wheel_insert(w, i, now + 10000000);
        i = i + 1 == timers ? 0 : i + 1;
        now += 50;
    }
    benchmark::DoNotOptimize(*w);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(wheel_move)->Arg(1)->Arg(1000)->Arg(100000);

} // namespace

BENCHMARK_MAIN();
