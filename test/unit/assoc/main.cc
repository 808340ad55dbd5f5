// SPDX-License-Identifier: BSD-3-Clause
// Starts the EAL for rte_malloc, without hugepages, devices or files. Then runs the tests.
#include <gtest/gtest.h>

#include "eal.hh"

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    if (!eal_start(argv[0], "256"))
        return 1;
    return RUN_ALL_TESTS();
}
