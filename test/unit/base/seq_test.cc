// SPDX-License-Identifier: BSD-3-Clause
// Sequence comparison near every wrap, and the order of unit positions.
#include <gtest/gtest.h>

extern "C" {
#include "base/seq.h"
}

TEST(Seq, BeforeOver32Bits)
{
    for (uint32_t base : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xfffffff0u, 0xffffffffu}) {
        for (uint32_t step : {1u, 2u, 1000u, 0x7fffffffu}) {
            EXPECT_TRUE(seq32_before(base, base + step)) << base << " + " << step;
            EXPECT_FALSE(seq32_before(base + step, base)) << base << " + " << step;
        }
        EXPECT_FALSE(seq32_before(base, base));
    }
}

TEST(Seq, MinAndMaxOver64Bits)
{
    for (uint64_t base : {uint64_t(0), INT64_MAX + uint64_t(0), UINT64_MAX - 3, UINT64_MAX}) {
        for (uint64_t step : {uint64_t(1), uint64_t(7), uint64_t(INT64_MAX)}) {
            EXPECT_TRUE(seq64_before(base, base + step));
            EXPECT_FALSE(seq64_before(base + step, base));
            EXPECT_EQ(seq64_max(base, base + step), base + step);
            EXPECT_EQ(seq64_max(base + step, base), base + step);
            EXPECT_EQ(seq64_min(base, base + step), base);
            EXPECT_EQ(seq64_min(base + step, base), base);
        }
    }
}

TEST(Seq, PositionsOrderTheStream)
{
    uint64_t last = pos_make(UINT32_MAX, 12);
    uint64_t wrapped = pos_make(0, 0);

    EXPECT_EQ(pos_request(pos_make(7, 9)), 7u);
    EXPECT_EQ(pos_unit(pos_make(7, 9)), 9u);
    EXPECT_TRUE(seq64_before(pos_make(7, UINT32_MAX), pos_make(8, 0)));
    EXPECT_TRUE(seq64_before(last, wrapped));
    EXPECT_FALSE(seq64_before(wrapped, last));
}
