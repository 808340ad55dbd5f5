// SPDX-License-Identifier: BSD-3-Clause
// What a paper found, what comes out here, and whether that holds: a line each of a table that is
// printed behind the tests. A finding that must hold and does not is a failure; one that is known
// not to come out says why, and fails when it does come out after all.
#ifndef SLUICE_TEST_UNIT_SIM_FINDINGS_HH
#define SLUICE_TEST_UNIT_SIM_FINDINGS_HH

#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include "text.hh"

// Whole frames; heads of frames; mbufs without room, for what is attached.
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
            << what << " holds after all (" << ours << " " << unit << "): say so";
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
