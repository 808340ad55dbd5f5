// SPDX-License-Identifier: BSD-3-Clause
// CHECK is silent if its condition is true. Otherwise it prints one line and aborts, in every build
// type.
#include <gtest/gtest.h>

extern "C" {
#include "base/check.h"
}

TEST(Check, HoldsSilently)
{
    int evaluated = 0;

    CHECK(++evaluated == 1);
    EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, BrokenNamesPlaceAndExpression)
{
    int two = 2;

    EXPECT_DEATH(CHECK(two + two == 5), "check_test.cc:[0-9]+: broken invariant: two \\+ two == 5");
}
