// SPDX-License-Identifier: BSD-3-Clause
// EAL for rte_hash and rte_malloc, without hugepages, devices or files; then the tests.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include <rte_eal.h>

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    std::vector<const char *> eal = {
        argv[0],    "--no-huge", "--no-shconf",    "--no-pci",    "-m",   "256",
        "--lcores", "0",         "--no-telemetry", "--log-level", "error"};

    if (rte_eal_init((int)eal.size(), const_cast<char **>(eal.data())) < 0) {
        std::fprintf(stderr, "EAL does not start\n");
        return 1;
    }
    return RUN_ALL_TESTS();
}
