// SPDX-License-Identifier: BSD-3-Clause
// A table that is printed after the tests. Each line has a finding, the paper's figure, ours, and
// whether the finding holds. A finding that must hold fails the test if it does not. A finding that
// is known not to hold states why, and fails the test if it does hold.
#ifndef SLUICE_TEST_UNIT_SIM_FINDINGS_HH
#define SLUICE_TEST_UNIT_SIM_FINDINGS_HH

#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include "text.hh"

// Pools for whole frames, for heads of frames, and of mbufs without room, for attached payload.
extern rte_mempool *test_pool, *test_heads, *test_attach;

class Findings
{
  public:
    static Findings &get()
    {
        static Findings all;
        return all;
    }

    void add(const std::string &what, const std::string &paper, double ours, const char *unit,
             double least, double most)
    {
        bool holds = ours >= least && ours <= most;

        rows.push_back({what, paper, text("%.4g %s", ours, unit), holds ? "holds" : "FAILS"});
        EXPECT_TRUE(holds) << what << ": paper " << paper << ", ours " << ours << " " << unit
                           << ", wanted " << least << " .. " << most;
    }

    void differs(const std::string &what, const std::string &paper, double ours, const char *unit,
                 double least, double most, const std::string &why)
    {
        rows.push_back({what, paper, text("%.4g %s", ours, unit), "no: " + why});
        EXPECT_FALSE(ours >= least && ours <= most)
            << what << " holds after all (" << ours << " " << unit << "): use add()";
    }

    void print() const
    {
        if (!rows.empty())
            std::printf("\n%-62s %-18s %-16s %s\n", "finding", "paper", "ours", "holds");
        for (const Row &r : rows)
            std::printf("%-62s %-18s %-16s %s\n", r.what.c_str(), r.paper.c_str(), r.ours.c_str(),
                        r.holds.c_str());
    }

  private:
    struct Row {
        std::string what, paper, ours, holds;
    };
    std::vector<Row> rows;
};

#endif
