// SPDX-License-Identifier: BSD-3-Clause
// Starts the EAL for mbufs and rte_malloc, without hugepages, devices or files. Then runs the
// tests, and prints the table of the papers' findings and ours.
#include <gtest/gtest.h>

#include <cstdio>

#include "eal.hh"
#include "findings.hh"
#include "pool.hh"

rte_mempool *test_pool, *test_heads, *test_attach;

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    if (!eal_start(argv[0], "512"))
        return 1;
    test_pool = pool_make("test", 8191, 10240 + RTE_PKTMBUF_HEADROOM);
    test_heads = pool_make("heads", 8191, RTE_PKTMBUF_HEADROOM + 2048);
    test_attach = pool_make("attach", 8191, 0);
    int rc = RUN_ALL_TESTS();

    Findings::get().print();
    for (rte_mempool *pool : {test_pool, test_heads, test_attach})
        if (rte_mempool_in_use_count(pool) != 0) {
            std::fprintf(stderr, "%s: %u did not come back\n", pool->name,
                         rte_mempool_in_use_count(pool));
            rc = 1;
        }
    return rc;
}
