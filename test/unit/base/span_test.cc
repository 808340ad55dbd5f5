// SPDX-License-Identifier: BSD-3-Clause
// Span sets by example: merging, splitting, full sets, the sliding window, the ends of the range.
#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <vector>

#include "seed.h"

extern "C" {
#include "base/rng.h"
#include "base/span.h"
}

namespace
{
struct Spans {
    explicit Spans(uint32_t capacity) : storage(capacity)
    {
        span_set_init(&set, storage.data(), capacity);
    }

    /* The spans as "first-end:stamp/mark ...", relative to base. */
    std::string text(uint64_t base = 0) const
    {
        std::string out;

        for (uint32_t i = 0; i < set.count; i++) {
            const struct span *x = span_at(&set, i);

            out += (i ? " " : "") + std::to_string(x->first - base) + "-" +
                   std::to_string(x->end - base) + ":" + std::to_string(x->stamp) + "/" +
                   std::to_string(x->mark);
        }
        return out;
    }

    std::vector<struct span> storage;
    struct span_set set;
};
} // namespace

TEST(Span, StartsEmpty)
{
    Spans s(2);

    EXPECT_TRUE(span_set_empty(&s.set));
    EXPECT_EQ(span_total(&s.set), 0u);
    EXPECT_EQ(span_find(&s.set, 0), nullptr);
    EXPECT_EQ(span_index(&s.set, 5), 0u);
    EXPECT_EQ(span_remove(&s.set, 0, 100), 0);
}

TEST(Span, TouchingEqualsMerge)
{
    Spans s(8);

    EXPECT_EQ(span_add(&s.set, 10, 20, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, 30, 40, 0, 0), 0);
    EXPECT_EQ(s.text(), "10-20:0/0 30-40:0/0");
    EXPECT_EQ(span_add(&s.set, 20, 30, 0, 0), 0);
    EXPECT_EQ(s.text(), "10-40:0/0");
    EXPECT_EQ(span_add(&s.set, 40, 41, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, 9, 10, 0, 0), 0);
    EXPECT_EQ(s.text(), "9-41:0/0");
    EXPECT_EQ(span_total(&s.set), 32u);
}

TEST(Span, TouchingUnequalsStayApart)
{
    Spans s(8);

    EXPECT_EQ(span_add(&s.set, 10, 20, 1, 0), 0);
    EXPECT_EQ(span_add(&s.set, 20, 30, 2, 0), 0);
    EXPECT_EQ(span_add(&s.set, 0, 10, 1, 5), 0);
    EXPECT_EQ(s.text(), "0-10:1/5 10-20:1/0 20-30:2/0");
}

TEST(Span, PartsAlreadyInKeepTheirs)
{
    Spans s(8);

    EXPECT_EQ(span_add(&s.set, 10, 20, 1, 100), 0);
    EXPECT_EQ(span_add(&s.set, 30, 40, 2, 200), 0);
    EXPECT_EQ(span_add(&s.set, 5, 50, 3, 300), 0);
    EXPECT_EQ(s.text(), "5-10:3/300 10-20:1/100 20-30:3/300 30-40:2/200 40-50:3/300");
    EXPECT_EQ(span_add(&s.set, 12, 38, 9, 9), 0);
    EXPECT_EQ(s.text(), "5-10:3/300 10-20:1/100 20-30:3/300 30-40:2/200 40-50:3/300");
}

TEST(Span, RemoveTrimsSplitsAndDrops)
{
    Spans s(8);

    EXPECT_EQ(span_add(&s.set, 0, 100, 7, 8), 0);
    EXPECT_EQ(span_remove(&s.set, 40, 60), 20);
    EXPECT_EQ(s.text(), "0-40:7/8 60-100:7/8");
    EXPECT_EQ(span_remove(&s.set, 0, 10), 10);
    EXPECT_EQ(span_remove(&s.set, 90, 200), 10);
    EXPECT_EQ(s.text(), "10-40:7/8 60-90:7/8");
    EXPECT_EQ(span_remove(&s.set, 45, 55), 0);
    EXPECT_EQ(span_remove(&s.set, 30, 70), 20);
    EXPECT_EQ(s.text(), "10-30:7/8 70-90:7/8");
    EXPECT_EQ(span_remove(&s.set, 0, 1000), 40);
    EXPECT_TRUE(span_set_empty(&s.set));
}

TEST(Span, EmptyRangesChangeNothing)
{
    Spans s(2);

    EXPECT_EQ(span_add(&s.set, 10, 20, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, 5, 5, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, 15, 15, 1, 1), 0);
    EXPECT_EQ(span_remove(&s.set, 15, 15), 0);
    EXPECT_EQ(span_remove(&s.set, 18, 12), 0);
    EXPECT_EQ(s.text(), "10-20:0/0");
}

TEST(Span, FullSetRefusesUnchanged)
{
    Spans s(2);

    EXPECT_EQ(span_add(&s.set, 10, 20, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, 30, 40, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, 50, 60, 0, 0), -ENOSPC);
    EXPECT_EQ(span_add(&s.set, 20, 30, 1, 0), -ENOSPC);
    EXPECT_EQ(span_add(&s.set, 0, 60, 1, 0), -ENOSPC);
    EXPECT_EQ(span_remove(&s.set, 12, 18), -ENOSPC);
    EXPECT_EQ(s.text(), "10-20:0/0 30-40:0/0");
    /* The set is full, but the result fits after merging. */
    EXPECT_EQ(span_add(&s.set, 40, 45, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, 5, 10, 0, 0), 0);
    EXPECT_EQ(s.text(), "5-20:0/0 30-45:0/0");
    EXPECT_EQ(span_add(&s.set, 0, 50, 0, 0), 0);
    EXPECT_EQ(s.text(), "0-50:0/0");
    EXPECT_EQ(span_remove(&s.set, 12, 18), 6);
}

TEST(Span, WorksAcrossTheWrap)
{
    const uint64_t base = UINT64_MAX - 9; /* ten positions before 0 */
    Spans s(4);

    EXPECT_EQ(span_add(&s.set, base, base + 4, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, base + 8, base + 16, 0, 0), 0);
    EXPECT_EQ(s.text(base), "0-4:0/0 8-16:0/0");
    EXPECT_EQ(span_find(&s.set, 0), span_at(&s.set, 1));
    EXPECT_EQ(span_find(&s.set, 5), span_at(&s.set, 1));
    EXPECT_EQ(span_find(&s.set, 6), nullptr);
    EXPECT_EQ(span_index(&s.set, base + 4), 1u);
    EXPECT_EQ(span_remove(&s.set, base + 9, base + 11), 2);
    EXPECT_EQ(s.text(base), "0-4:0/0 8-9:0/0 11-16:0/0");
}

TEST(Span, PositionsTooFarApartAreRefused)
{
    Spans s(4);
    const uint64_t far = 1ull << 62;

    EXPECT_EQ(span_add(&s.set, 20, 10, 0, 0), -ERANGE);
    EXPECT_EQ(span_add(&s.set, 0, far + 1, 0, 0), -ERANGE);
    EXPECT_EQ(span_add(&s.set, 100, 101, 0, 0), 0);
    EXPECT_EQ(span_add(&s.set, far + 100, far + 101, 0, 0), -ERANGE);
    EXPECT_EQ(span_add(&s.set, 101 - far - 1, 101 - far, 0, 0), -ERANGE);
    EXPECT_EQ(s.text(), "100-101:0/0");
    EXPECT_EQ(span_add(&s.set, 200, far + 100, 0, 0), 0);
    EXPECT_EQ(span_total(&s.set), far - 100 + 1);
    EXPECT_EQ(span_remove(&s.set, 50, far + 50), int64_t(far - 200 + 50 + 1));
}

/* Used as a queue: spans enter at the back and leave at the front. The window often meets the end
 * of the array. */
TEST(Span, SlidesAsAQueue)
{
    for (uint32_t capacity : {2u, 3u, 16u, 64u}) {
        Spans s(capacity);
        std::deque<uint64_t> model;
        struct rng r;
        uint64_t pos = UINT64_MAX - 30000;

        rng_init(&r, test_seed());
        for (int i = 0; i < 20000; i++) {
            if (model.size() < capacity && rng_below(&r, 2)) {
                ASSERT_EQ(span_add(&s.set, pos, pos + 2, i, i), 0);
                model.push_back(pos);
                pos += 3;
            } else if (!model.empty()) {
                ASSERT_EQ(span_remove(&s.set, model.front(), model.front() + 2), 2);
                model.pop_front();
            }
            ASSERT_EQ(s.set.count, model.size());
            ASSERT_LE(s.set.start + s.set.count, capacity);
            for (size_t k = 0; k < model.size(); k++)
                ASSERT_EQ(span_at(&s.set, k)->first, model[k]);
        }
    }
}

/* The owner writes stamps in place. Spans that become equal merge when an add touches both. */
TEST(Span, OwnerMayWriteStampsInPlace)
{
    Spans s(4);

    EXPECT_EQ(span_add(&s.set, 10, 20, 1, 0), 0);
    EXPECT_EQ(span_add(&s.set, 20, 30, 2, 0), 0);
    span_find(&s.set, 10)->stamp = 2;
    EXPECT_EQ(s.text(), "10-20:2/0 20-30:2/0");
    EXPECT_EQ(span_add(&s.set, 5, 35, 2, 0), 0);
    EXPECT_EQ(s.text(), "5-35:2/0");
}

TEST(SpanDeathTest, CapacityBelowTwoIsBroken)
{
    struct span storage;
    struct span_set set;

    EXPECT_DEATH(span_set_init(&set, &storage, 1), "broken invariant: capacity >= 2");
}
