// SPDX-License-Identifier: BSD-3-Clause
// Each packet of a connection's life is lost in turn, and each pair of packets of the shortest
// life.
#include <gtest/gtest.h>

#include "life.hh"

namespace
{

constexpr int kFaultsShown = 5;

std::string describe(const LifeOptions &o, const std::vector<LifeFrame> &frames, size_t i)
{
    const LifeFrame &f = frames[i];

    return std::string(o.go_back_n ? "go-back-N" : "selective") + ", frame " + std::to_string(i) +
           " of " + std::to_string(frames.size()) + " (from " + std::to_string(f.from) + ", type " +
           std::to_string(f.type) + ", flags " + std::to_string(f.flags) + ")";
}

void add_flags(uint32_t *sum, const LifeResult &r)
{
    for (int i = 0; i < 5; i++)
        sum[i] |= r.flags[i];
}

void lose_each(const LifeOptions &o, uint32_t *flags)
{
    LifeResult whole = live(o, {});

    ASSERT_EQ(whole.fault, "");
    ASSERT_GE(whole.frames.size(), 64u);
    add_flags(flags, whole);
    for (size_t i = 0, shown = 0; i < whole.frames.size() && shown < kFaultsShown; i++) {
        LifeResult r = live(o, {{i, {0, {0, 0}}}});

        add_flags(flags, r);
        EXPECT_EQ(r.fault, "") << describe(o, whole.frames, i);
        shown += !r.fault.empty();
    }
}

TEST(Loss, EachSinglePacketAndEveryTypeAndFlag)
{
    uint32_t flags[5] = {};

    for (bool go_back_n : {false, true})
        for (bool ipv6 : {false, true}) {
            LifeOptions o;
            o.go_back_n = go_back_n;
            o.ipv6 = ipv6;
            lose_each(o, flags);
        }
    EXPECT_EQ(flags[WIRE_FIRST], uint32_t(WIRE_EARLY));
    for (int f : {WIRE_DREQ, WIRE_WCLOSE, WIRE_PACK, WIRE_EARLY, WIRE_REPEAT})
        EXPECT_TRUE(flags[WIRE_DATA] & f) << f;
    for (int f : {WIRE_SREQ, WIRE_WCLOSE, WIRE_RCLOSE, WIRE_END, WIRE_PACK})
        EXPECT_TRUE(flags[WIRE_CNTL] & f) << f;
    EXPECT_NE(flags[WIRE_RCNTL], 0u);
}

TEST(Loss, EachPairOfTheShortestLife)
{
    for (bool go_back_n : {false, true}) {
        LifeOptions o;
        o.go_back_n = go_back_n;
        o.brief = true;
        LifeResult whole = live(o, {});
        int shown = 0;

        ASSERT_EQ(whole.fault, "");
        // losses cause more frames, and the second one may be one of these
        size_t n = whole.frames.size() + 6;
        for (size_t i = 0; i < whole.frames.size() && shown < kFaultsShown; i++)
            for (size_t k = i + 1; k < n && shown < kFaultsShown; k++) {
                LifeResult r = live(o, {{i, {0, {0, 0}}}, {k, {0, {0, 0}}}});

                EXPECT_EQ(r.fault, "") << describe(o, whole.frames, i) << " and " << k;
                shown += !r.fault.empty();
            }
    }
}

} // namespace
