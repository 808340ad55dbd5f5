// SPDX-License-Identifier: BSD-3-Clause
// The momentary rate, against a list of every frame that arrived.
#include <gtest/gtest.h>

#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "vt/momentary.h"
}

namespace
{
struct Frame {
    uint64_t at;
    uint32_t bytes;
};

struct Value {
    uint64_t bytes, span;
    bool operator==(const Value &o) const
    {
        return bytes == o.bytes && span == o.span;
    }
};

/*
 * The naive list. When a frame begins a new poll, all polls before it are complete. The value
 * covers the last of these polls, as many as have five frames. Their time is that since the poll
 * before them.
 */
struct Model {
    std::vector<Frame> frames;

    std::vector<Value> frame(uint32_t bytes, uint64_t now)
    {
        bool opens = frames.empty() || frames.back().at != now;
        std::vector<Value> value;

        if (opens)
            value = last_five();
        frames.push_back({now, bytes});
        return value;
    }

    std::vector<Value> last_five() const
    {
        size_t i = frames.size(), count = 0;
        uint64_t bytes = 0;

        while (i > 0) {
            uint64_t poll = frames[i - 1].at;

            if (count >= MOMENTARY_FRAMES)
                return {{bytes, frames.back().at - poll}};
            for (; i > 0 && frames[i - 1].at == poll; i--) {
                bytes += frames[i - 1].bytes;
                count++;
            }
        }
        return {};
    }
};

struct Both {
    struct momentary m = {};
    Model model;
    uint64_t values = 0;
    Value last = {};

    void frame(uint32_t bytes, uint64_t now)
    {
        Value v = {~0ull, ~0ull};
        bool is = momentary_frame(&m, bytes, now, &v.bytes, &v.span);
        std::vector<Value> expect = model.frame(bytes, now);

        ASSERT_EQ(is, !expect.empty()) << "frame " << model.frames.size();
        if (!is)
            return;
        ASSERT_EQ(v.bytes, expect[0].bytes) << "frame " << model.frames.size();
        ASSERT_EQ(v.span, expect[0].span) << "frame " << model.frames.size();
        ASSERT_GT(v.span, 0u);
        values++;
        last = v;
    }
};
} // namespace

TEST(Momentary, NeedsFiveFramesAndTheOneBeforeThem)
{
    Both b;

    for (uint64_t i = 1; i <= 6; i++)
        b.frame(100, 10 * i);
    EXPECT_EQ(b.values, 0u) << "the poll of the sixth frame is not over";
    b.frame(1, 70);
    EXPECT_EQ(b.values, 1u);
    EXPECT_EQ(b.last, (Value{500, 50}));
}

TEST(Momentary, FollowsTheLastFiveFrames)
{
    Both b;
    uint64_t at = 1;

    for (int i = 0; i < 20; i++)
        b.frame(1000, at += 100);
    EXPECT_EQ(b.last, (Value{5000, 500}));
    for (int i = 0; i < 6; i++)
        b.frame(200, at += 10);
    EXPECT_EQ(b.last, (Value{1000, 50}));
}

/* A burst in one poll arrived since the poll before it, not in zero time. */
TEST(Momentary, FramesOfOnePollAreTakenTogether)
{
    Both b;

    b.frame(100, 1000);
    for (int i = 0; i < 32; i++)
        b.frame(100, 2000);
    EXPECT_EQ(b.values, 0u);
    b.frame(100, 3000);
    EXPECT_EQ(b.last, (Value{3200, 1000}));
}

TEST(Momentary, AValueOnlyWhenAPollEnds)
{
    Both b;

    for (uint64_t i = 1; i <= 6; i++)
        b.frame(100, 10 * i);
    b.frame(100, 70);
    b.frame(100, 70);
    b.frame(100, 70);
    EXPECT_EQ(b.values, 1u);
    b.frame(100, 80);
    EXPECT_EQ(b.values, 2u);
    EXPECT_EQ(b.last, (Value{500, 30})) << "three at 70, one at 60, one at 50, since 40";
}

TEST(MomentaryProperty, MatchesAListOfAllFrames)
{
    struct rng r;
    uint64_t values = 0;

    rng_init(&r, test_seed());
    for (int world = 0; world < 2000; world++) {
        Both b;
        uint64_t now = 1 + (rng_u64(&r) >> (1 + rng_below(&r, 60)));
        uint64_t together_of_8 = rng_below(&r, 8);
        uint64_t largest = rng_below(&r, 2) ? 1500 : UINT32_MAX;

        for (int k = 0; k < 60; k++) {
            if (rng_below(&r, 8) >= together_of_8)
                now += 1 + rng_below(&r, 1000);
            b.frame((uint32_t)rng_below(&r, largest + 1), now);
            ASSERT_FALSE(HasFatalFailure()) << "world " << world;
        }
        values += b.values;
    }
    EXPECT_GT(values, 10000u);
}
