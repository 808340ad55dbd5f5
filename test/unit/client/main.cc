/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL for rte_ring and rte_malloc, then the tests. */
#include <random>

#include <rte_eal.h>

#include "unit/client/fixture.h"

uint64_t test_seed()
{
    const char *text = getenv("SLUICE_SEED");

    return text != nullptr ? strtoull(text, nullptr, 0) : std::random_device()();
}

int main(int argc, char **argv)
{
    static char words[][24] = {
        "test_client", "--no-huge",      "--no-shconf", "--no-pci",       "-m", "256", "--lcores",
        "0",           "--no-telemetry", "--log-level", "lib.eal:warning"};
    char *args[sizeof words / sizeof words[0]];
    int n = 0;

    ::testing::InitGoogleTest(&argc, argv);
    for (char *w : words)
        args[n++] = w;
    if (rte_eal_init(n, args) < 0) {
        fprintf(stderr, "EAL does not start\n");
        return 1;
    }
    return RUN_ALL_TESTS();
}
