// SPDX-License-Identifier: BSD-3-Clause
// Measures what a decision of the credit rule costs, for any time since the decision before.
#include <benchmark/benchmark.h>

extern "C" {
#include "pace/credit.h"
}

namespace
{

constexpr uint64_t kHz = 2500000000;
constexpr uint64_t kRate = 12500000000 / 8;
constexpr uint32_t kUnit = 8896;

// A sender at its rate asks for credit. It takes it, or the clock moves on to when it may send.
void credit_send(benchmark::State &state)
{
    struct credit c;
    uint64_t now = 1000, sent = 0;

    credit_init(&c, kHz, kRate, static_cast<uint64_t>(state.range(0)), now);
    for (auto _ : state) {
        while (!credit_open(&c, now))
            now = credit_next(&c, now);
        credit_take(&c, kUnit);
        sent += kUnit;
    }
    benchmark::DoNotOptimize(sent);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(credit_send)->Arg(8896)->Arg(65536)->Arg(1 << 20);

// Many periods have elapsed since the last look. The rule is a closed form, so their number must
// not matter.
void credit_periods(benchmark::State &state)
{
    const uint64_t step = static_cast<uint64_t>(state.range(0)) * (65536 * kHz / kRate);
    struct credit c;
    uint64_t now = 1000;

    credit_init(&c, kHz, kRate, 65536, now);
    for (auto _ : state) {
        now += step;
        if (credit_open(&c, now))
            credit_take(&c, kUnit);
    }
    benchmark::DoNotOptimize(c);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(credit_periods)->Arg(1)->Arg(100)->Arg(10000)->Arg(1000000);

// Sets another grant each time.
void credit_grant(benchmark::State &state)
{
    struct credit c;
    uint64_t now = 1000, i = 0;

    credit_init(&c, kHz, kRate, 65536, now);
    for (auto _ : state) {
        credit_set(&c, kHz, kRate + (i++ & 1023), 65536, now);
        now += 100;
    }
    benchmark::DoNotOptimize(c);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(credit_grant);

} // namespace

BENCHMARK_MAIN();
