// SPDX-License-Identifier: BSD-3-Clause
// What one core can copy at most with glibc: 1 GiB from cold memory into other cold memory, in
// pieces as long as a unit (argument, bytes). The memory is far larger than any cache, so each
// piece is cold again when its turn comes. Reported as bytes of payload per second.
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include <benchmark/benchmark.h>

namespace
{

constexpr size_t kBytes = size_t{1} << 30;

char *memory_get()
{
    void *at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_HUGETLB, -1, 0);

    if (at == MAP_FAILED)
        at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED)
        abort();
    memset(at, 1, kBytes);
    return static_cast<char *>(at);
}

void copy_cold(benchmark::State &state)
{
    static char *const from = memory_get(), *const to = memory_get();
    const size_t unit = static_cast<size_t>(state.range(0));
    const size_t units = kBytes / unit;

    for (auto _ : state) {
        for (size_t i = 0; i < units; i++)
            memcpy(to + i * unit, from + i * unit, unit);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * units * unit));
}

BENCHMARK(copy_cold)->Arg(8896)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
