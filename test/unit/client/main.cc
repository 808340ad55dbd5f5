/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the EAL for rte_ring and rte_malloc, then runs the tests. */
#include <random>

#include "eal.hh"
#include "unit/client/fixture.h"

uint64_t test_seed()
{
    const char *text = getenv("SLUICE_SEED");

    return text != nullptr ? strtoull(text, nullptr, 0) : std::random_device()();
}

int main(int argc, char **argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    if (!eal_start(argv[0], "256"))
        return 1;
    return RUN_ALL_TESTS();
}
