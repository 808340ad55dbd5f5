// SPDX-License-Identifier: BSD-3-Clause
// Starts the EAL for mbufs, without hugepages, devices or files. Then runs the tests, and checks
// that all packets came back.
#include <gtest/gtest.h>

#include <cstdio>

#include "eal.hh"
#include "pool.hh"
#include "support.hh"

rte_mempool *test_pool;

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    if (!eal_start(argv[0], "256"))
        return 1;
    test_pool = pool_make("test", 1023, 10000);
    int rc = RUN_ALL_TESTS();

    if (rte_mempool_in_use_count(test_pool) != 0) {
        std::fprintf(stderr, "%u packets did not come back\n", rte_mempool_in_use_count(test_pool));
        rc = 1;
    }
    return rc;
}
