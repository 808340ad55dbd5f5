// SPDX-License-Identifier: BSD-3-Clause
// The sleep of the commands.
#include <gtest/gtest.h>

#include <cstdint>

extern "C" {
#include "sluice/loop.h"
}

// The time may pass while the caller still compares it.
TEST(Loop, AnEndThatIsOverIsNotWaitedFor)
{
    struct loop l = {nullptr, -1};
    uint64_t begin = loop_now(), end = begin + 20 * CLOCK_NS_PER_S / 1000;

    for (uint64_t over : {uint64_t{0}, begin - 1, begin})
        EXPECT_FALSE(loop_wait_until(&l, -1, over));
    EXPECT_FALSE(loop_wait_until(&l, -1, end));
    EXPECT_GE(loop_now(), end);
    EXPECT_LT(loop_now(), begin + 10 * CLOCK_NS_PER_S);
}
