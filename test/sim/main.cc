// SPDX-License-Identifier: BSD-3-Clause
// EAL without hugepages, devices or files, then GoogleTest.
#include <gtest/gtest.h>

#include "eal.hh"

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    if (!eal_start(argv[0]))
        return 1;
    return RUN_ALL_TESTS();
}
