/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace_lines.h"

#include <stdint.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "base/rng.h"
#include "pace_flow.h"

#define LOADS (1u << 21)

struct line {
    uint32_t next; /* a random cycle through all lines */
    uint32_t value;
} __rte_cache_aligned;

/* Sattolo's shuffle: one cycle through all lines. */
static void cycle_make(struct line *lines, uint32_t n, struct rng *rng)
{
    for (uint32_t i = 0; i < n; i++)
        lines[i].next = lines[i].value = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t other = (uint32_t)rng_below(rng, i), next = lines[i].next;

        lines[i].next = lines[other].next;
        lines[other].next = next;
    }
}

bool pace_lines_measure(size_t bytes, struct pace_lines *result)
{
    uint32_t n = (uint32_t)(bytes / sizeof(struct line)), at = 0;
    struct line *lines = pace_memory((size_t)n * sizeof *lines);
    double ns = 1e9 / (double)rte_get_tsc_hz() / LOADS;
    uint64_t begin, sum = 0, random = 1;
    struct rng rng;

    if (lines == NULL)
        return false;
    rng_init(&rng, n);
    cycle_make(lines, n, &rng);
    begin = rte_rdtsc();
    for (uint32_t i = 0; i < LOADS; i++)
        at = lines[at].next;
    result->dependent_ns = (double)(rte_rdtsc() - begin) * ns;
    sum += at;
    begin = rte_rdtsc();
    for (uint32_t i = 0; i < LOADS; i++) {
        /* a linear congruential generator costs next to nothing, and its high bits are good */
        random = random * 6364136223846793005u + 1442695040888963407u;
        sum += lines[(random >> 32) * n >> 32].value;
    }
    result->independent_ns = (double)(rte_rdtsc() - begin) * ns;
    rte_free(lines);
    return sum != 1; /* so that the compiler keeps the loads */
}
