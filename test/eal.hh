// SPDX-License-Identifier: BSD-3-Clause
// Starts EAL for mbufs, rings and rte_malloc, without hugepages, devices or files.
#ifndef SLUICE_TEST_EAL_HH
#define SLUICE_TEST_EAL_HH

#include <cstdio>
#include <vector>

#include <sched.h>

#include <rte_eal.h>

// EAL pins the calling thread to one core. This function undoes that, so the thread and those that
// it creates later may use all cores, and test programs that run at the same time share them.
inline bool eal_start(const char *program, const char *memory_MB = "1024")
{
    std::vector<const char *> args = {
        program,    "--no-huge", "--no-shconf",    "--no-pci",    "-m",   memory_MB,
        "--lcores", "0",         "--no-telemetry", "--log-level", "error"};
    cpu_set_t cores;

    if (sched_getaffinity(0, sizeof cores, &cores) == 0 &&
        rte_eal_init(static_cast<int>(args.size()), const_cast<char **>(args.data())) >= 0)
        return sched_setaffinity(0, sizeof cores, &cores) == 0;
    std::fprintf(stderr, "EAL does not start\n");
    return false;
}

#endif
