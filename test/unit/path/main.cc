// SPDX-License-Identifier: BSD-3-Clause
// Starts the EAL for mbufs and rte_malloc, without hugepages, devices or files. Then runs the
// tests, and checks that all packets and all memory came back.
#include <gtest/gtest.h>

#include <cstdio>

#include "eal.hh"
#include "pool.hh"
#include "support.h"

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    if (!eal_start(argv[0], "512"))
        return 1;
    test_pool = pool_make("test", 32767, RTE_MBUF_DEFAULT_BUF_SIZE);
    size_t heap = heap_objects();
    int rc = RUN_ALL_TESTS();

    if (rte_mempool_in_use_count(test_pool) != 0) {
        std::fprintf(stderr, "%u packets did not come back\n", rte_mempool_in_use_count(test_pool));
        rc = 1;
    }
    if (heap_objects() != heap) {
        std::fprintf(stderr, "%zu pieces of memory were not freed\n", heap_objects() - heap);
        rc = 1;
    }
    return rc;
}
