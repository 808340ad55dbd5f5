// SPDX-License-Identifier: BSD-3-Clause
// Ports with several queues: which worker gets what, and how the others get what is theirs.
#include <gtest/gtest.h>

#include "queues.hh"

namespace
{

uint32_t sum(const std::vector<uint32_t> &v)
{
    uint32_t n = 0;

    for (uint32_t i : v)
        n += i;
    return n;
}

// A port without receive-side scaling, as memif has none: everything comes to the first worker,
// which hands over what the keys say is the others'.
TEST(Queues, WithoutScalingFramesAreHandedOver)
{
    QueuesOptions o;

    o.rss = false;
    Queues q(o);
    q.accept(0, 100000);
    q.connect(2, 100000);
    EXPECT_TRUE(q.run([&] { return sum(q.done(0)) + sum(q.done(1)) == 2; })) << q.counters();
    EXPECT_GT(q.counter(0, "rx_foreign"), 0u);
    EXPECT_EQ(q.counter(1, "rx_foreign"), 0u);
}

} // namespace
