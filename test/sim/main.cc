// SPDX-License-Identifier: BSD-3-Clause
// EAL without hugepages, devices or files, then GoogleTest.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include <rte_eal.h>

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    std::vector<const char *> eal = {
        argv[0],    "--no-huge", "--no-shconf",    "--no-pci",    "-m",   "1024",
        "--lcores", "0",         "--no-telemetry", "--log-level", "error"};
    if (rte_eal_init(static_cast<int>(eal.size()), const_cast<char **>(eal.data())) < 0) {
        std::fprintf(stderr, "EAL does not start\n");
        return 1;
    }
    return RUN_ALL_TESTS();
}
