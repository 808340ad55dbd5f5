// SPDX-License-Identifier: BSD-3-Clause
// Random use of the wheel against a sorted map, with its own structure checked as it goes.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "pace/wheel.h"
}

namespace
{
struct World {
    struct rng *r;
    uint32_t capacity, shift;
    uint64_t now;
    std::vector<struct wheel_entry> storage;
    struct wheel w;
    std::multimap<uint64_t, uint32_t> due; /* tick -> entry */
    std::vector<std::multimap<uint64_t, uint32_t>::iterator> where;
    uint64_t polled = 0, moved = 0, partial = 0, chased = 0;

    World(struct rng *rng, uint32_t capacity_, uint32_t shift_, uint64_t start)
        : r(rng), capacity(capacity_), shift(shift_), now(start), storage(capacity_),
          where(capacity_, due.end())
    {
        wheel_init(&w, storage.data(), capacity, shift, start);
    }

    uint64_t tick_of(uint64_t when) const
    {
        uint64_t tick = (when >> shift) + ((when & ((1ull << shift) - 1)) != 0);

        return std::max(tick, w.now_tick);
    }

    void forget(uint32_t entry)
    {
        if (where[entry] != due.end())
            due.erase(where[entry]);
        where[entry] = due.end();
    }

    void insert(uint32_t entry, uint64_t when)
    {
        moved += where[entry] != due.end();
        forget(entry);
        where[entry] = due.emplace(tick_of(when), entry);
        wheel_insert(&w, entry, when);
    }

    void cancel(uint32_t entry)
    {
        forget(entry);
        if (rng_below(r, 2))
            wheel_cancel(&w, entry);
        else
            wheel_insert(&w, entry, TIME_NEVER);
    }

    /* Never early: checked for each; nothing late or lost: what remains is not due. */
    void poll(uint64_t at)
    {
        std::vector<uint32_t> out(1 + rng_below(r, rng_below(r, 2) ? 4 : 500));
        uint64_t last = 0;
        uint32_t n;

        do {
            n = wheel_poll(&w, at, out.data(), out.size());
            ASSERT_LE(n, out.size());
            for (uint32_t i = 0; i < n; i++) {
                ASSERT_LT(out[i], capacity);
                ASSERT_TRUE(where[out[i]] != due.end()) << "not queued, or returned twice";
                uint64_t tick = where[out[i]]->first;
                ASSERT_LE(tick, at >> shift) << "early";
                ASSERT_GE(tick, last) << "out of order";
                last = tick;
                forget(out[i]);
                polled++;
            }
            if (n == out.size() && rng_below(r, 8) == 0) { /* leave the rest for another time */
                partial++;
                return;
            }
        } while (n == out.size());
        ASSERT_TRUE(due.empty() || due.begin()->first > at >> shift) << "late";
    }

    /* Bitmaps, lists and counts agree; every entry lies where the levels' rule wants it. */
    void verify() const
    {
        uint32_t seen = 0;

        ASSERT_EQ(w.queued, due.size());
        for (uint32_t slot = 0; slot < WHEEL_LEVELS * WHEEL_SLOTS; slot++) {
            uint32_t level = slot / WHEEL_SLOTS;
            uint32_t prev = WHEEL_NONE;

            ASSERT_EQ(w.bitmap[level] >> (slot % WHEEL_SLOTS) & 1, w.head[slot] != WHEEL_NONE);
            for (uint32_t e = w.head[slot]; e != WHEEL_NONE; e = storage[e].next) {
                uint64_t tick = storage[e].when_tick;

                ASSERT_LE(++seen, capacity);
                ASSERT_EQ(storage[e].slot, slot);
                ASSERT_EQ(storage[e].prev, prev);
                ASSERT_TRUE(where[e] != due.end());
                ASSERT_EQ(tick, where[e]->first);
                ASSERT_GE(tick, w.now_tick);
                if (level < WHEEL_LEVELS - 1) {
                    ASSERT_EQ(tick >> (6 * level + 6), w.now_tick >> (6 * level + 6));
                    ASSERT_EQ(tick >> (6 * level) & 63, slot % WHEEL_SLOTS);
                }
                prev = e;
            }
            ASSERT_EQ(w.tail[slot], prev);
        }
        ASSERT_EQ(seen, w.queued);
        for (uint32_t e = 0; e < capacity; e++)
            ASSERT_EQ(wheel_queued(&w, e), where[e] != due.end());
    }

    void check_next()
    {
        uint64_t next = wheel_next(&w);
        uint64_t first;

        if (due.empty()) {
            ASSERT_EQ(next, TIME_NEVER);
            return;
        }
        first = due.begin()->first;
        ASSERT_LE(next, first << shift);
        ASSERT_GE(next, w.now_tick << shift);
        if (first >> 6 == w.now_tick >> 6) {
            ASSERT_EQ(next, first << shift);
        }
    }

    /* Does an entry wait in the top level's ring for its turn to be placed anew? */
    bool beyond() const
    {
        uint64_t ring_now = w.now_tick >> 42;

        for (const auto &[tick, e] : due) {
            uint64_t ahead = (storage[e].slot - ring_now) % WHEEL_SLOTS;

            if (storage[e].slot / WHEEL_SLOTS == WHEEL_LEVELS - 1 && tick >> 42 != ring_now + ahead)
                return true;
        }
        return false;
    }

    /* Polling at wheel_next() on a copy reaches the first entry in as many steps as levels. */
    void chase()
    {
        std::vector<struct wheel_entry> entries = storage;
        struct wheel copy = w;
        uint64_t most = WHEEL_LEVELS;
        uint32_t got = 0, one = WHEEL_NONE;

        if (due.empty())
            return;
        if (beyond()) /* each lap of the ring may stop at each of its slots */
            most += ((due.begin()->first - w.now_tick) / (63ull << 42) + 1) * WHEEL_SLOTS;
        else
            chased++;
        copy.entries = entries.data();
        for (uint64_t step = 1; got == 0; step++) {
            uint64_t next = wheel_next(&copy);

            ASSERT_LE(step, most) << "no progress";
            ASSERT_LE(next, due.begin()->first << shift);
            got = wheel_poll(&copy, next, &one, 1);
        }
        ASSERT_TRUE(where[one] != due.end());
        ASSERT_EQ(where[one]->first, due.begin()->first);
    }

    /* Distances of every magnitude, the past, round numbers, and times taken already. */
    uint64_t when_any()
    {
        uint64_t far = rng_u64(r) >> (8 + rng_below(r, 56));

        switch (rng_below(r, 6)) {
        case 0:
            return now - std::min(now, far);
        case 1:
            return (now + far) >> shift << shift;
        case 2: { /* at a digit's boundary */
            uint64_t at = now + far;
            uint64_t zeros = rng_below(r, 50);

            return (at >> zeros << zeros) + rng_below(r, 3);
        }
        case 3:
            return due.empty() ? now : due.begin()->first << shift;
        default:
            return now + far;
        }
    }

    void pass_time()
    {
        switch (rng_below(r, 6)) {
        case 0:
            break;
        case 1:
            now += rng_u64(r) >> (12 + rng_below(r, 52));
            break;
        case 2: /* right where the wheel asks to be polled */
            if (!due.empty() && wheel_next(&w) > now)
                now = wheel_next(&w);
            break;
        case 3: /* the cycle before something is due */
            if (!due.empty() && (due.begin()->first << shift) > now)
                now = (due.begin()->first << shift) - 1;
            break;
        default:
            now += rng_below(r, 200ull << shift);
        }
    }

    void step()
    {
        uint64_t kind = rng_below(r, 16);
        uint32_t entry = (uint32_t)rng_below(r, capacity);

        if (kind < 10) {
            insert(entry, when_any());
        } else if (kind < 12) {
            cancel(entry);
        } else if (kind < 15) {
            pass_time();
            poll(now);
        } else { /* a poll from the past takes nothing that is not due by then */
            poll_past();
        }
    }

    void poll_past()
    {
        uint64_t at = now - std::min(now, rng_u64(r) >> (16 + rng_below(r, 48)));
        uint32_t one;

        if (at >> shift >= w.now_tick)
            return;
        ASSERT_EQ(wheel_poll(&w, at, &one, 1), 0u);
    }
};
} // namespace

TEST(WheelProperty, MatchesASortedMap)
{
    struct rng r;
    uint64_t polled = 0, moved = 0, partial = 0, chased = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < 200; i++) {
        uint32_t capacity = 1 + (uint32_t)rng_below(&r, rng_below(&r, 2) ? 5 : 300);
        uint32_t shift = (uint32_t)rng_below(&r, 13);
        World world(&r, capacity, shift, rng_u64(&r) >> (2 + rng_below(&r, 60)));

        for (int k = 0; k < 1500; k++) {
            world.step();
            world.check_next();
            if (k % 16 == 0)
                world.verify();
            if (k % 4 == 0)
                world.chase();
            ASSERT_FALSE(HasFatalFailure())
                << "world " << i << " step " << k << " shift " << shift << " now " << world.now;
        }
        polled += world.polled;
        moved += world.moved;
        partial += world.partial;
        chased += world.chased;
    }
    EXPECT_GT(polled, 1000u);
    EXPECT_GT(moved, 1000u);
    EXPECT_GT(partial, 100u);
    EXPECT_GT(chased, 1000u);
}

/* Equal ticks queued while now stands still come out first in, first out, however they cascade. */
TEST(WheelProperty, FirstInFirstOutAmongEquals)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 300; i++) {
        const uint32_t capacity = 200;
        uint64_t now = rng_u64(&r) >> (3 + rng_below(&r, 50));
        std::vector<struct wheel_entry> storage(capacity);
        std::multimap<uint64_t, uint32_t> model; /* keeps the order of equal keys */
        std::vector<uint32_t> out(capacity), expect;
        struct wheel w;
        uint64_t ticks[8];

        wheel_init(&w, storage.data(), capacity, 0, now);
        for (uint64_t &t : ticks)
            t = now + (rng_u64(&r) >> (3 + rng_below(&r, 60)));
        for (uint32_t e = 0; e < capacity; e++) {
            uint64_t when = ticks[rng_below(&r, 8)];

            model.emplace(when, e);
            wheel_insert(&w, e, when);
        }
        for (const auto &[when, e] : model)
            expect.push_back(e);
        for (uint64_t q = 1; q < 4; q++) { /* cascades in several goes */
            uint64_t at = now + (model.begin()->first - now) / 4 * q;

            if (at < model.begin()->first) {
                ASSERT_EQ(wheel_poll(&w, at, out.data(), capacity), 0u);
            }
        }
        ASSERT_EQ(wheel_poll(&w, UINT64_MAX - 1, out.data(), capacity), capacity);
        ASSERT_EQ(out, expect) << "run " << i;
    }
}
