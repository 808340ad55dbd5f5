// SPDX-License-Identifier: BSD-3-Clause
// The wheel by example: order, moves, late and early polls, the horizon, a million entries.
#include <gtest/gtest.h>

#include <vector>

#include "../base/seed.h"
#include "wheel_storage.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "pace/wheel.h"
}

namespace
{
using List = std::vector<uint32_t>;

struct Wheel {
    Wheel(uint32_t capacity, uint32_t shift, uint64_t now)
        : storage(wheel_storage_bytes(capacity)),
          w(*wheel_init(storage.memory.get(), capacity, shift, now))
    {
    }

    List poll(uint64_t now, uint32_t max = 64)
    {
        List out(max);

        out.resize(wheel_poll(&w, now, out.data(), max));
        return out;
    }

    List poll_all(uint64_t now)
    {
        List all, some;

        do {
            some = poll(now);
            all.insert(all.end(), some.begin(), some.end());
        } while (!some.empty() || wheel_next(&w) <= now);
        return all;
    }

    WheelStorage storage;
    struct wheel &w;
};
} // namespace

TEST(Wheel, StartsEmpty)
{
    Wheel w(4, 0, 1000);

    EXPECT_LT(wheel_storage_bytes(1000000), 16u * 1000000) << "bytes an entry";
    EXPECT_EQ(wheel_next(&w.w), TIME_NEVER);
    EXPECT_EQ(w.poll(1000000), List{});
    EXPECT_FALSE(wheel_queued(&w.w, 3));
    wheel_cancel(&w.w, 3);
}

TEST(Wheel, NeverEarlyNeverLate)
{
    Wheel w(4, 0, 1000);

    wheel_insert(&w.w, 2, 1005);
    EXPECT_TRUE(wheel_queued(&w.w, 2));
    EXPECT_EQ(wheel_next(&w.w), 1005u);
    EXPECT_EQ(w.poll(1004), List{});
    EXPECT_EQ(w.poll(1005), List{2});
    EXPECT_FALSE(wheel_queued(&w.w, 2));
    EXPECT_EQ(w.poll(1006), List{});
}

TEST(Wheel, TimesRoundUpToTicks)
{
    Wheel w(4, 4, 0); /* ticks of 16 cycles */

    wheel_insert(&w.w, 0, 16);
    wheel_insert(&w.w, 1, 17);
    wheel_insert(&w.w, 2, 32);
    EXPECT_EQ(w.poll(15), List{});
    EXPECT_EQ(w.poll(16), List{0});
    EXPECT_EQ(wheel_next(&w.w), 32u);
    EXPECT_EQ(w.poll(31), List{});
    EXPECT_EQ(w.poll(32), (List{1, 2}));
}

TEST(Wheel, PastIsDueAtOnce)
{
    Wheel w(4, 0, 1000);

    EXPECT_EQ(w.poll(5000), List{});
    wheel_insert(&w.w, 0, 10);
    wheel_insert(&w.w, 1, 5000);
    wheel_insert(&w.w, 2, 0);
    EXPECT_EQ(wheel_next(&w.w), 5000u);
    EXPECT_EQ(w.poll(5000), (List{0, 1, 2}));
}

TEST(Wheel, OrderOfTimeThenOfInsertion)
{
    Wheel w(8, 0, 0);

    wheel_insert(&w.w, 7, 1300);
    wheel_insert(&w.w, 6, 20);
    wheel_insert(&w.w, 5, 1300);
    wheel_insert(&w.w, 4, 100000);
    wheel_insert(&w.w, 3, 20);
    wheel_insert(&w.w, 2, 1301);
    EXPECT_EQ(w.poll(200000), (List{6, 3, 7, 5, 2, 4}));
}

TEST(Wheel, SlotsKeepTheTimeButNotTheOrder)
{
    Wheel w(4, 0, 0);

    wheel_insert(&w.w, 0, 1000);
    wheel_insert(&w.w, 1, 800);
    EXPECT_EQ(wheel_next(&w.w), 800u);
    EXPECT_EQ(w.poll(2000), (List{0, 1}));
    wheel_insert(&w.w, 0, 3000);
    EXPECT_EQ(w.poll(2999), List{});
    EXPECT_EQ(w.poll(3000), List{0});
}

/* More entries than the lines of a slot hold. Times are exact, and none is lost when some leave. */
TEST(Wheel, ManyInASlot)
{
    const uint32_t count = 100;
    Wheel w(count, 0, 0);
    List expect;

    for (uint32_t i = 0; i < count; i++)
        wheel_insert(&w.w, i, 700);
    EXPECT_GT(w.w.pool.taken, 0u);
    wheel_cancel(&w.w, 3);       /* one of the first */
    wheel_cancel(&w.w, 99);      /* the last one */
    wheel_insert(&w.w, 50, 701); /* one of the others */
    wheel_insert(&w.w, 51, 760); /* the same slot, later */
    wheel_insert(&w.w, 52, 5000000);
    EXPECT_EQ(w.poll(699, 200), List{});
    for (uint32_t entry : w.poll(700, 40)) {
        EXPECT_TRUE(entry != 3 && (entry < 50 || entry > 52) && entry != 99) << entry;
        expect.push_back(entry);
    }
    EXPECT_EQ(expect.size(), 40u);
    EXPECT_EQ(w.poll(700, 200).size(), 55u);
    EXPECT_EQ(wheel_next(&w.w), 701u);
    EXPECT_EQ(w.poll(701, 200), List{50});
    EXPECT_EQ(w.poll(759, 200), List{});
    EXPECT_EQ(w.poll(760, 200), List{51});
    EXPECT_EQ(w.poll(4999999, 200), List{});
    EXPECT_EQ(w.poll(5000000, 200), List{52});
    EXPECT_EQ(w.w.pool.taken, 0u);
}

/* Positions within the owners' structures are used there. Nothing else in them changes. */
TEST(Wheel, PositionsElsewhere)
{
    struct Owner {
        uint64_t before;
        uint32_t position, after;
    };
    std::vector<Owner> owners(300, Owner{7, 7, 7});
    WheelStorage storage(wheel_placed_bytes(300));
    struct wheel *w =
        wheel_init_placed(storage.memory.get(), 300, 0, 0, &owners[0].position, sizeof(Owner));
    uint32_t out[300];

    EXPECT_LT(wheel_placed_bytes(1000000), 12u * 1000000) << "bytes an entry";
    for (const Owner &owner : owners)
        EXPECT_EQ(owner.position, 0u);
    for (uint32_t i = 0; i < 300; i++)
        wheel_insert(w, i, 1 + i * 1000003ull);
    for (const Owner &owner : owners)
        EXPECT_NE(owner.position, 0u);
    wheel_cancel(w, 5);
    EXPECT_EQ(owners[5].position, 0u);
    for (uint32_t i = 0; i < 300; i++) {
        ASSERT_EQ(wheel_poll(w, 1 + i * 1000003ull, out, 300), i != 5) << i;
        if (i != 5) {
            ASSERT_EQ(out[0], i);
        }
    }
    for (const Owner &owner : owners)
        EXPECT_TRUE(owner.before == 7 && owner.position == 0 && owner.after == 7);
}

TEST(Wheel, MoveAndCancel)
{
    Wheel w(4, 0, 0);

    wheel_insert(&w.w, 0, 50);
    wheel_insert(&w.w, 1, 50);
    wheel_insert(&w.w, 2, 50);
    wheel_insert(&w.w, 1, 70000);
    wheel_insert(&w.w, 0, TIME_NEVER);
    EXPECT_FALSE(wheel_queued(&w.w, 0));
    EXPECT_EQ(w.poll(69999), List{2});
    wheel_insert(&w.w, 1, 69999 + 5); /* to an earlier time */
    EXPECT_EQ(w.poll(69999 + 5), List{1});
    wheel_insert(&w.w, 3, 80000);
    wheel_cancel(&w.w, 3);
    EXPECT_EQ(wheel_next(&w.w), TIME_NEVER);
    EXPECT_EQ(w.poll(90000), List{});
}

TEST(Wheel, SameTickKeepsItsTurn)
{
    Wheel w(4, 0, 0);

    wheel_insert(&w.w, 0, 50);
    wheel_insert(&w.w, 1, 50);
    wheel_insert(&w.w, 0, 50);
    EXPECT_EQ(w.poll(50), (List{0, 1}));
}

TEST(Wheel, FullBatchesLoseNothing)
{
    Wheel w(10, 0, 0);

    for (uint32_t i = 0; i < 10; i++)
        wheel_insert(&w.w, i, 100 + i / 4);
    EXPECT_EQ(w.poll(1000, 0), List{});
    EXPECT_EQ(w.poll(1000, 3), (List{0, 1, 2}));
    wheel_insert(&w.w, 0, 5); /* overdue between two calls, in the slot that is being emptied */
    EXPECT_EQ(w.poll(1000, 3), (List{3, 4, 5}));
    EXPECT_EQ(w.poll(1000, 5), (List{6, 7, 8, 9, 0}));
    EXPECT_EQ(w.poll(1000, 5), List{});
}

TEST(Wheel, EarlierPollReturnsNothing)
{
    Wheel w(4, 0, 0);

    wheel_insert(&w.w, 0, 2000);
    EXPECT_EQ(w.poll(1500), List{});
    wheel_insert(&w.w, 1, 1000);
    EXPECT_EQ(w.poll(1200), List{});
    EXPECT_EQ(w.poll(1500), List{1});
    EXPECT_EQ(w.poll(1999), List{});
    EXPECT_EQ(w.poll(2000), List{0});
}

/* Around every time at which a ring begins a new slot or wraps. */
TEST(Wheel, CarriesThroughEveryLevel)
{
    for (unsigned int level = 2; level < 40; level++) {
        uint64_t now = (1ull << level) - 1;
        Wheel w(4, 0, now);

        wheel_insert(&w.w, 0, now);
        wheel_insert(&w.w, 1, now + 1);
        wheel_insert(&w.w, 2, now + 2);
        wheel_insert(&w.w, 3, now + (1ull << level));
        EXPECT_EQ(w.poll(now), List{0}) << level;
        EXPECT_EQ(w.poll(now + 1), List{1}) << level;
        EXPECT_EQ(w.poll(now + 2), List{2}) << level;
        EXPECT_EQ(w.poll(now + (1ull << level) - 1), List{}) << level;
        EXPECT_EQ(w.poll(now + (1ull << level)), List{3}) << level;
    }
}

/* An entry beyond the horizon is returned at the horizon, by the poll of exactly that cycle. */
/* An entry that waits at the front of level 1, while a later one lies in the same slot of level 0
 * already, since level 0 reaches further than the front. */
TEST(Wheel, NextIsTheEarliestOfBothLevels)
{
    const uint64_t slot = 1ull << WHEEL_SLOT_BITS(1), time = 4 * slot;
    Wheel w(4, 0, 0);

    wheel_insert(&w.w, 0, time);
    EXPECT_EQ(w.poll(2 * slot), List{});
    ASSERT_EQ(w.w.front[1], time);
    ASSERT_GT(w.w.near_end, time + 1);
    wheel_insert(&w.w, 1, time + 1);
    EXPECT_EQ(wheel_next(&w.w), time);
    EXPECT_EQ(w.poll_all(time), List{0});
    EXPECT_EQ(wheel_next(&w.w), time + 1);
}

TEST(Wheel, BeyondTheHorizon)
{
    const uint64_t there = 777 + WHEEL_HORIZON;
    Wheel w(4, 0, 777);

    wheel_insert(&w.w, 0, there - 1);
    wheel_insert(&w.w, 1, there);
    wheel_insert(&w.w, 2, there + 1);
    wheel_insert(&w.w, 3, UINT64_MAX - 1);
    EXPECT_LE(wheel_next(&w.w), there - 1);
    EXPECT_EQ(w.poll_all(there - 2), List{});
    EXPECT_EQ(w.poll_all(there - 1), List{0});
    EXPECT_EQ(w.poll_all(there), (List{1, 2, 3}));
    wheel_insert(&w.w, 3, UINT64_MAX - 1);
    EXPECT_EQ(w.poll_all(there + WHEEL_HORIZON - 1), List{});
    EXPECT_EQ(w.poll_all(there + WHEEL_HORIZON), List{3});
}

/* However many entries are due at once, one poll moves few of them. All come out in the end. */
TEST(Wheel, BoundedWorkAPoll)
{
    const uint32_t count = 100000;
    const uint64_t when = 1ull << 31;
    Wheel w(count, 0, 0);
    uint32_t polls = 0, seen = 0, out[32];

    for (uint32_t i = 0; i < count; i++)
        wheel_insert(&w.w, i, when + i % 3);
    while (seen < count) {
        uint64_t before = w.w.pool.taken;
        uint32_t n = wheel_poll(&w.w, when + 2, out, 32);

        ASSERT_LE(n, 32u);
        ASSERT_LT(w.w.pool.taken, before + 3);
        seen += n;
        ASSERT_LE(++polls, count / 32 + 2 * count / 64 + 10);
    }
    EXPECT_EQ(wheel_next(&w.w), TIME_NEVER);
    EXPECT_EQ(w.w.pool.taken, 0u);
}

/* Entries move many times, within a slot and between slots. The storage is still enough. */
TEST(Wheel, MovesNeedNoMore)
{
    const uint32_t count = 3000;
    Wheel w(count, 0, 0);
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 300000; i++)
        wheel_insert(&w.w, (uint32_t)rng_below(&r, count), rng_u64(&r) >> (24 + rng_below(&r, 40)));
    size_t queued = 0;
    for (uint32_t i = 0; i < count; i++)
        queued += wheel_queued(&w.w, i);
    EXPECT_EQ(w.poll_all(1ull << 41).size(), queued);
    EXPECT_EQ(w.w.pool.taken, 0u);
}

/* Work depends on the number of entries, not on the time that has passed: 2^39 units are too many
 * to walk. */
TEST(Wheel, IdleForYears)
{
    Wheel w(1000, 0, 5);
    struct rng r;

    rng_init(&r, test_seed());
    for (int lap = 0; lap < 7; lap++) {
        uint64_t now = 5 + ((uint64_t)lap << 60);

        for (uint32_t i = 0; i < 1000; i++)
            wheel_insert(&w.w, i, now + 1 + (rng_u64(&r) >> (25 + rng_below(&r, 38))));
        EXPECT_EQ(w.poll_all(now).size(), 0u);
        EXPECT_EQ(w.poll_all(now + (1ull << 60) - 9).size(), 1000u);
        EXPECT_EQ(wheel_next(&w.w), TIME_NEVER);
    }
}

TEST(Wheel, AMillionEntries)
{
    const uint32_t count = 1000000;
    Wheel w(count, 6, 0);
    std::vector<uint64_t> when(count);
    struct rng r;
    uint64_t now = 0, seen = 0;

    rng_init(&r, test_seed());
    for (uint32_t i = 0; i < count; i++) {
        when[i] = rng_below(&r, 1ull << 32);
        wheel_insert(&w.w, i, when[i]);
    }
    for (; now < (1ull << 32); now += 1 << 22) {
        for (uint32_t i : w.poll_all(now)) {
            ASSERT_LE(when[i], now);
            ASSERT_GT(when[i] + (1 << 22) + 64, now);
            seen++;
        }
    }
    seen += w.poll_all(now).size();
    EXPECT_EQ(seen, count);
}

TEST(WheelDeathTest, EntryBeyondCapacityIsBroken)
{
    Wheel w(4, 0, 0);

    EXPECT_DEATH(wheel_insert(&w.w, 4, 10), "broken invariant: entry < w->capacity");
    EXPECT_DEATH(wheel_cancel(&w.w, 4), "broken invariant: entry < w->capacity");
    EXPECT_DEATH(wheel_queued(&w.w, UINT32_MAX), "broken invariant: entry < w->capacity");
}
