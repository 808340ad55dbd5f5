/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seed of a random test: SLUICE_SEED (decimal or 0x...) or a fresh one. It is always printed,
 * so that a failure can be run again.
 */
#ifndef SLUICE_TEST_SEED_H
#define SLUICE_TEST_SEED_H

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

static inline uint64_t test_seed()
{
    const char *text = getenv("SLUICE_SEED");
    std::random_device device;
    uint64_t seed = text ? strtoull(text, nullptr, 0) : (uint64_t)device() << 32 | device();

    printf("SLUICE_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
    return seed;
}

#endif
