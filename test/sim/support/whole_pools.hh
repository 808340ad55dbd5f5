// SPDX-License-Identifier: BSD-3-Clause
// Tests that leave all mbufs in their pools when they end.
#ifndef SLUICE_TEST_SIM_WHOLE_POOLS_HH
#define SLUICE_TEST_SIM_WHOLE_POOLS_HH

#include <gtest/gtest.h>

#include "pair.hh"

class WholePools : public testing::Test
{
  protected:
    void TearDown() override
    {
        EXPECT_TRUE(Pools::get().whole()) << "mbufs leak";
    }
};

#endif
