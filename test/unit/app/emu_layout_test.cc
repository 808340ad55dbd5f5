// SPDX-License-Identifier: BSD-3-Clause
// Which worker of sluice-emu runs which path, and how many queues there are.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

extern "C" {
#include "emu/layout.h"
}

namespace
{

layout made(uint16_t asked, uint16_t usual0, uint16_t usual1, uint16_t workers, bool forward,
            bool reverse)
{
    const uint16_t usual[2] = {usual0, usual1};
    const bool divided[2] = {forward, reverse};
    layout l;

    layout_make(&l, asked, usual, divided, workers);
    return l;
}

TEST(EmuLayout, QueuesAreThoseAskedForOrOfBothPorts)
{
    EXPECT_EQ(made(5, 1, 1, 2, true, true).queues, 5);
    EXPECT_EQ(made(0, 4, 2, 8, true, true).queues, 2);
    EXPECT_EQ(made(0, 1, 4, 8, true, true).queues, 1);
    EXPECT_EQ(made(0, 400, 300, 2, true, true).queues, LAYOUT_QUEUES_MAX);
}

TEST(EmuLayout, OnlyDividedDirectionsHaveSeveralPaths)
{
    layout l = made(4, 1, 1, 8, true, false);

    EXPECT_EQ(l.paths[0], 4);
    EXPECT_EQ(l.paths[1], 1);
    EXPECT_EQ(l.workers, 5); // three of eight have nothing to do
    EXPECT_EQ(made(4, 1, 1, 8, false, false).workers, 2);
    EXPECT_EQ(made(1, 1, 1, 8, true, true).workers, 2); // a direction each
    EXPECT_EQ(made(4, 1, 1, 1, true, true).workers, 1);
}

TEST(EmuLayout, WorkersHaveEquallyMuch)
{
    for (uint16_t queues = 1; queues <= LAYOUT_QUEUES_MAX; queues++)
        for (uint16_t workers = 1; workers <= 2 * LAYOUT_QUEUES_MAX; workers++)
            for (int divided = 0; divided < 4; divided++) {
                layout l = made(queues, 1, 1, workers, divided & 1, divided & 2);
                std::vector<int> has(l.workers);

                for (unsigned int i = 0; i < 2; i++)
                    for (uint16_t p = 0; p < l.paths[i]; p++)
                        has.at(layout_worker(&l, i, p))++;
                auto [least, most] = std::minmax_element(has.begin(), has.end());
                EXPECT_GE(*least, 1) << queues << " queues, " << workers << " workers";
                EXPECT_LE(*most - *least, 1) << queues << " queues, " << workers << " workers";
            }
}

TEST(EmuLayout, DirectionsOfAQueueHaveDifferentWorkers)
{
    for (uint16_t queues = 1; queues <= 8; queues++)
        for (uint16_t workers : {queues, (uint16_t)(2 * queues)}) {
            layout l = made(queues, 1, 1, workers, true, true);

            for (uint16_t q = 0; q < queues && workers > 1; q++)
                EXPECT_NE(layout_worker(&l, 0, q), layout_worker(&l, 1, q))
                    << queues << " queues, " << workers << " workers, queue " << q;
        }
}

} // namespace
