// SPDX-License-Identifier: BSD-3-Clause
// A set of units against a plain set of positions.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "base/seq.h"
#include "vt/unit_set.h"
}

namespace
{

constexpr uint32_t PAGES = 8;

TEST(UnitSet, IsTheSetOfWhatWasAdded)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int round = 0; round < 20; round++) {
        std::vector<struct unit_set_page> pages(PAGES);
        std::set<uint64_t> model; // relative to zero, so that it does not wrap
        uint64_t zero = pos_make((uint32_t)(UINT32_MAX - rng_below(&r, 3)), 0), refused = 0;
        struct unit_set a;

        unit_set_init(&a, pages.data(), PAGES);
        for (int step = 0; step < 300; step++) {
            uint64_t first = pos_make((uint32_t)rng_below(&r, 3), (uint32_t)rng_below(&r, 2000));
            uint32_t n = (uint32_t)rng_below(&r, 1 << rng_below(&r, 11));

            if (rng_below(&r, 3) > 0) {
                std::set<uint64_t> used;

                for (uint64_t p : model)
                    used.insert(p / UNIT_SET_PAGE_UNITS);
                for (uint64_t p = first; p < first + n; p++)
                    used.insert(p / UNIT_SET_PAGE_UNITS);
                bool fits = used.size() <= PAGES;

                ASSERT_EQ(unit_set_add(&a, zero + first, n), fits || n == 0);
                refused += !fits;
                for (uint64_t p = first; fits && p < first + n; p++)
                    model.insert(p);
            } else {
                uint64_t end = first + n + (rng_below(&r, 4) == 0 ? pos_make(1, 0) : 0);

                unit_set_remove(&a, zero + first, zero + end);
                model.erase(model.lower_bound(first), model.lower_bound(end));
            }
            uint64_t at = pos_make((uint32_t)rng_below(&r, 3), (uint32_t)rng_below(&r, 2100));
            uint64_t end = at + rng_below(&r, 3000);
            auto next = model.lower_bound(at);

            ASSERT_EQ(unit_set_has(&a, zero + at), model.count(at) == 1);
            ASSERT_EQ(unit_set_next(&a, zero + at, zero + end),
                      zero + (next == model.end() ? end : std::min(*next, end)));
        }
        std::set<uint64_t> used;

        for (uint64_t p : model)
            used.insert(p / UNIT_SET_PAGE_UNITS);
        ASSERT_EQ(a.count, used.size()) << "no page may be empty";
        EXPECT_GT(refused, 0u);
    }
}

} // namespace
