// SPDX-License-Identifier: BSD-3-Clause
// EAL for mbufs and rte_malloc, without hugepages, devices or files; then the tests; then the
// table of what the papers found and what came out here.
#include <gtest/gtest.h>

#include <cstdio>

#include "eal.hh"
#include "findings.hh"

rte_mempool *test_pool;

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    if (!eal_start(argv[0], "512"))
        return 1;
    test_pool = rte_pktmbuf_pool_create("test", 8191, 0, 0, 10240 + RTE_PKTMBUF_HEADROOM, 0);
    if (test_pool == nullptr) {
        std::fprintf(stderr, "no memory for packets\n");
        return 1;
    }
    int rc = RUN_ALL_TESTS();

    Findings::get().print();
    if (rte_mempool_in_use_count(test_pool) != 0) {
        std::fprintf(stderr, "%u packets did not come back\n", rte_mempool_in_use_count(test_pool));
        rc = 1;
    }
    return rc;
}
