// SPDX-License-Identifier: BSD-3-Clause
// Random changes of a span set against a model that keeps every single position.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "seed.h"

extern "C" {
#include "base/rng.h"
#include "base/seq.h"
#include "base/span.h"
}

namespace
{
struct Tag {
    uint64_t stamp, mark;
    bool operator==(const Tag &o) const
    {
        return stamp == o.stamp && mark == o.mark;
    }
};

struct Piece {
    uint64_t first, end;
    Tag tag;
    bool operator==(const Piece &o) const
    {
        return first == o.first && end == o.end && tag == o.tag;
    }
};

/* Keys are offsets from the base, so that the model never wraps. */
using Model = std::map<uint64_t, Tag>;

std::vector<Piece> model_runs(const Model &m)
{
    std::vector<Piece> runs;

    for (const auto &[pos, tag] : m) {
        if (!runs.empty() && runs.back().end == pos && runs.back().tag == tag)
            runs.back().end++;
        else
            runs.push_back({pos, pos + 1, tag});
    }
    return runs;
}

std::vector<Piece> set_runs(const struct span_set *s, uint64_t base)
{
    std::vector<Piece> runs;

    for (uint32_t i = 0; i < s->count; i++) {
        const struct span *x = span_at(s, i);

        runs.push_back({x->first - base, x->end - base, {x->stamp, x->mark}});
    }
    return runs;
}

/* A write outside of the array is found by ASan. A write to an unused part of it changes the
 * set. */
struct World {
    World(uint64_t base_pos, uint32_t capacity) : base(base_pos), storage(capacity)
    {
        span_set_init(&set, storage.data(), capacity);
    }

    void add(uint64_t first, uint64_t end, Tag tag)
    {
        std::vector<Piece> before = set_runs(&set, base);
        Model next = model;
        uint32_t pieces = 0;
        bool inside = false;
        int rc = span_add(&set, base + first, base + end, tag.stamp, tag.mark);

        for (uint64_t p = first; p < end; p++) {
            bool fresh = next.emplace(p, tag).second;

            pieces += fresh && !inside;
            inside = fresh;
        }
        if (rc == 0) {
            ASSERT_LE(model_runs(next).size(), set.capacity);
            model = next;
            return;
        }
        ASSERT_EQ(rc, -ENOSPC);
        refused++;
        /* An add is refused only if its pieces, unmerged, would not fit. */
        ASSERT_GT(before.size() + pieces, set.capacity);
        ASSERT_EQ(set_runs(&set, base), before);
    }

    void remove(uint64_t first, uint64_t end)
    {
        std::vector<Piece> before = set_runs(&set, base);
        Model next = model;
        int64_t gone = 0;
        int64_t rc = span_remove(&set, base + first, base + end);

        for (uint64_t p = first; p < end; p++)
            gone += next.erase(p);
        if (rc >= 0) {
            ASSERT_EQ(rc, gone);
            model = next;
            return;
        }
        ASSERT_EQ(rc, -ENOSPC);
        refused++;
        ASSERT_EQ(before.size(), set.capacity);
        ASSERT_GT(model_runs(next).size(), set.capacity);
        ASSERT_EQ(set_runs(&set, base), before);
    }

    void compare(uint64_t probe) const
    {
        std::vector<Piece> runs = model_runs(model);
        const struct span *x = span_find(&set, base + probe);
        uint32_t index = 0;

        ASSERT_EQ(set_runs(&set, base), runs);
        ASSERT_LE(set.start + set.count, set.capacity);
        ASSERT_EQ(span_total(&set), model.size());
        ASSERT_EQ(span_set_empty(&set), model.empty());
        ASSERT_EQ(x != nullptr, model.count(probe) == 1);
        if (x) {
            ASSERT_FALSE(seq64_before(base + probe, x->first));
            ASSERT_TRUE(seq64_before(base + probe, x->end));
        }
        while (index < runs.size() && runs[index].end <= probe)
            index++;
        ASSERT_EQ(span_index(&set, base + probe), index);
    }

    uint64_t base;
    std::vector<struct span> storage;
    struct span_set set;
    Model model;
    int refused = 0;
};

void world_run(struct rng *r, uint64_t base, uint32_t capacity, int *refused)
{
    World w(base, capacity);
    uint64_t width = 20 + rng_below(r, 300);
    uint64_t tags = 1 + rng_below(r, 3);
    uint64_t longest = 1 + rng_below(r, rng_below(r, 2) ? 8 : width);
    uint64_t adds_of_8 = 3 + rng_below(r, 3);

    for (int i = 0; i < 250; i++) {
        uint64_t first = rng_below(r, width);
        uint64_t end = first + rng_below(r, longest + 1);

        if (rng_below(r, 8) < adds_of_8)
            w.add(first, end, {rng_below(r, tags), rng_below(r, tags)});
        else
            w.remove(first, end);
        if (::testing::Test::HasFatalFailure())
            return;
        w.compare(rng_below(r, width + 10));
        if (::testing::Test::HasFatalFailure())
            return;
    }
    *refused += w.refused;
}
} // namespace

TEST(SpanProperty, MatchesASetOfPositions)
{
    const uint64_t bases[] = {0, UINT64_MAX - 150, UINT64_MAX, INT64_MAX - uint64_t(150),
                              1ull << 32};
    struct rng r;
    int refused = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < 250; i++) {
        uint32_t capacity = 2 + rng_below(&r, rng_below(&r, 2) ? 10 : 200);

        SCOPED_TRACE("world " + std::to_string(i));
        world_run(&r, bases[i % 5], capacity, &refused);
        if (HasFatalFailure())
            return;
    }
    EXPECT_GT(refused, 100) << "full sets must occur";
}

/* The owner writes stamps in place. Positions keep their tags, and spans stay in order. */
TEST(SpanProperty, StampsWrittenInPlaceAreKept)
{
    const uint64_t base = UINT64_MAX - 100;
    struct rng r;

    rng_init(&r, test_seed());
    for (int world = 0; world < 60; world++) {
        World w(base, 400);

        for (int i = 0; i < 300; i++) {
            uint64_t first = rng_below(&r, 200);
            uint64_t end = first + rng_below(&r, 12);

            if (rng_below(&r, 3) == 0)
                w.remove(first, end);
            else
                w.add(first, end, {rng_below(&r, 2), 0});
            if (HasFatalFailure())
                return;
            if (w.set.count > 0) {
                struct span *x = span_at(&w.set, rng_below(&r, w.set.count));

                x->stamp = rng_below(&r, 2);
                for (uint64_t p = x->first; p != x->end; p++)
                    w.model[p - base].stamp = x->stamp;
            }
            Model seen;
            for (const Piece &run : set_runs(&w.set, base))
                for (uint64_t p = run.first; p < run.end; p++)
                    ASSERT_TRUE(seen.emplace(p, run.tag).second);
            ASSERT_TRUE(seen == w.model) << "world " << world << " step " << i;
            for (uint32_t k = 1; k < w.set.count; k++)
                ASSERT_FALSE(seq64_before(span_at(&w.set, k)->first, span_at(&w.set, k - 1)->end));
        }
    }
}
