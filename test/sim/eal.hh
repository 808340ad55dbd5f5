// SPDX-License-Identifier: BSD-3-Clause
// EAL without hugepages, devices or files.
#ifndef SLUICE_TEST_SIM_EAL_HH
#define SLUICE_TEST_SIM_EAL_HH

#include <cstdio>
#include <vector>

#include <rte_eal.h>

inline bool eal_start(const char *program)
{
    std::vector<const char *> args = {
        program,    "--no-huge", "--no-shconf",    "--no-pci",    "-m",   "1024",
        "--lcores", "0",         "--no-telemetry", "--log-level", "error"};

    if (rte_eal_init(static_cast<int>(args.size()), const_cast<char **>(args.data())) >= 0)
        return true;
    std::fprintf(stderr, "EAL does not start\n");
    return false;
}

#endif
