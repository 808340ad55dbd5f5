// SPDX-License-Identifier: BSD-3-Clause
// Random use of the wheel, against a sorted map. The wheel's own structure is checked, too.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "../base/seed.h"
#include "wheel_storage.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "pace/wheel.h"
#include "pace/wheel_near.h"
}

namespace
{
struct World {
    struct rng *r;
    uint32_t entries; /* entries in use, of capacity */
    uint32_t capacity, shift;
    uint64_t now;
    WheelStorage storage, spare; /* spare: for chase() */
    struct wheel &w;
    std::multimap<uint64_t, uint32_t> due; /* unit -> entry */
    std::vector<std::multimap<uint64_t, uint32_t>::iterator> where;
    uint64_t polled = 0, moved = 0, partial = 0, chased = 0;
    bool crowd = false; /* most entries are in one slot */

    World(struct rng *rng, uint32_t entries_, uint32_t capacity_, uint32_t shift_, uint64_t start)
        : r(rng), entries(entries_), capacity(capacity_), shift(shift_), now(start),
          storage(wheel_storage_bytes(capacity_)), spare(storage.size),
          w(*wheel_init(storage.memory.get(), capacity_, shift_, start)),
          where(capacity_, due.end())
    {
    }

    uint64_t tick_of(uint64_t when) const
    {
        uint64_t tick = (when >> shift) + ((when & ((1ull << shift) - 1)) != 0);

        return std::min<uint64_t>(std::max(tick, w.now), w.now + WHEEL_HORIZON);
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

    /* No entry is early. None is late or lost: those that remain are not due. */
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
                uint64_t time = where[out[i]]->first;
                ASSERT_LE(time, at >> shift) << "early";
                ASSERT_GE(time >> WHEEL_NEAR_BITS, last) << "out of order";
                last = time >> WHEEL_NEAR_BITS;
                forget(out[i]);
                polled++;
            }
            if (n == out.size() && rng_below(r, 8) == 0) { /* leaves the rest for another poll */
                partial++;
                return;
            }
        } while (n > 0 || wheel_next(&w) <= at >> shift << shift);
        ASSERT_TRUE(due.empty() || due.begin()->first > at >> shift) << "late";
    }

    /* Bitmaps, queues and counts agree. Every entry is in the slot that the rule of the rings
     * demands. */
    void verify() const
    {
        uint32_t seen = 0, lines = 0;

        for (uint32_t slot = 0; slot <= w.near_mask; slot++) {
            ASSERT_LE(w.count[slot], wheel_near_full(w.room_bits) + 1);
            ASSERT_NO_FATAL_FAILURE(verify_near(slot, &seen, &lines));
        }
        for (uint32_t level = 1; level < WHEEL_LEVELS; level++) {
            for (uint32_t slot = 0; slot < WHEEL_SLOTS; slot++) {
                bool empty = chunk_queue_empty(&w.far[level - 1][slot]);

                verify_bit(w.used[level - 1], w.summary[level - 1], slot, !empty);
                if (!empty) {
                    ASSERT_NO_FATAL_FAILURE(verify_far(level, slot, &seen, &lines));
                }
            }
        }
        ASSERT_EQ(seen, due.size());
        ASSERT_EQ(lines, w.pool.taken);
        for (uint32_t e = 0; e < capacity; e++)
            ASSERT_EQ(wheel_queued(&w, e), where[e] != due.end());
        ASSERT_GE(w.front[1], w.now >> WHEEL_SLOT_BITS(1) << WHEEL_SLOT_BITS(1));
        ASSERT_GE(w.front[2], w.now >> WHEEL_SLOT_BITS(2) << WHEEL_SLOT_BITS(2));
        ASSERT_GE(w.front[2], w.front[1]);
    }

    static void verify_bit(const uint64_t *words, const uint64_t *summary, uint32_t i, bool is)
    {
        ASSERT_EQ(words[i / 64] >> (i % 64) & 1, is);
        ASSERT_EQ(summary[i / 4096] >> (i / 64 % 64) & 1, words[i / 64] != 0);
    }

    /* The position names the slot, or the entry's earlier place for a time with the same bits. */
    void verify_near_position(uint32_t slot, uint32_t e) const
    {
        uint32_t place = *wheel_position(&w, e);

        if ((place & WHEEL_AT_NEAR) != 0) {
            ASSERT_EQ(place, WHEEL_AT_NEAR | slot);
            return;
        }
        ASSERT_GE(wheel_place_at(&w, place), CHUNK_WORDS);
        ASSERT_EQ(wheel_place_time(&w, place),
                  where[e]->first >> 9 << 9 & (wheel_place_round(&w) - 1));
        ASSERT_EQ(wheel_near_find(&w, place, e), slot);
    }

    void verify_entry(uint32_t level, uint32_t slot, uint32_t e) const
    {
        ASSERT_LT(e, capacity);
        ASSERT_TRUE(where[e] != due.end());
        uint64_t time = where[e]->first;
        ASSERT_GE(time, w.now);
        ASSERT_EQ(level == 0 ? wheel_near_slot(&w, time) : wheel_slot(level, time), slot);
        if (level > 0) {
            ASSERT_GE(time, w.front[level]);
        }
        if (level == 0) {
            ASSERT_LT(time - w.now, (w.near_mask + 1ull) << WHEEL_NEAR_BITS);
        } else if (level == 1) { /* a slot at the front may be half moved down */
            ASSERT_LT(time, w.front[2] + (1ull << WHEEL_SLOT_BITS(2)));
        }
    }

    void verify_near(uint32_t slot, uint32_t *seen, uint32_t *lines) const
    {
        const uint32_t *words = wheel_near_words(&w, slot, w.room_bits);

        for (uint32_t i = 0; i < std::min<uint32_t>(w.count[slot], wheel_near_full(w.room_bits));
             i++) {
            uint32_t e = wheel_word_entry(words[i]);

            ++*seen;
            ASSERT_NO_FATAL_FAILURE(verify_entry(0, slot, e));
            ASSERT_NO_FATAL_FAILURE(verify_near_position(slot, e));
            ASSERT_EQ(wheel_near_time(words[i]), where[e]->first % (1u << WHEEL_NEAR_BITS));
        }
        if (w.count[slot] > wheel_near_full(w.room_bits))
            verify_queue(0, slot, *wheel_near_queue(&w, slot), slot, seen, lines);
    }

    void verify_far(uint32_t level, uint32_t slot, uint32_t *seen, uint32_t *lines) const
    {
        verify_queue(level, slot, w.far[level - 1][slot],
                     WHEEL_NEAR_SLOTS_MAX + (level - 1) * WHEEL_SLOTS + slot, seen, lines);
    }

    void verify_queue(uint32_t level, uint32_t slot, const struct chunk_queue &q, uint32_t owner,
                      uint32_t *seen, uint32_t *lines) const
    {
        ASSERT_FALSE(chunk_queue_empty(&q));
        ++*lines;
        for (uint32_t at = q.first;; at++) {
            uint32_t e = wheel_word_entry(w.pool.words[at]);

            ++*seen;
            ASSERT_NO_FATAL_FAILURE(verify_entry(level, slot, e));
            ASSERT_EQ(*wheel_position(&w, e), wheel_place(&w, at, w.pool.words[at]));
            ASSERT_EQ(w.pool.words[at] >> WHEEL_ENTRY_BITS, where[e]->first & ((1ull << 41) - 1));
            ASSERT_EQ(chunk_link(&w.pool, at >> 3)->owner, owner);
            if (at == q.last)
                break;
            if (at % CHUNK_WORDS == CHUNK_WORDS - 1) {
                uint32_t next = (uint32_t)chunk_link(&w.pool, at >> 3)->next;

                ASSERT_EQ(chunk_link(&w.pool, next)->prev, at >> 3);
                ++*lines;
                at = next * CHUNK_WORDS - 1;
            }
        }
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
        ASSERT_GE(next, w.now << shift);
        if (first < w.front[1]) {
            ASSERT_EQ(next, first << shift);
        }
    }

    /* On a copy, polls at wheel_next() soon reach the first entry, whatever its distance. */
    void chase()
    {
        struct wheel *copy = static_cast<struct wheel *>(spare.memory.get());
        uint32_t got = 0, one = UINT32_MAX;

        if (due.empty())
            return;
        spare.copy(storage);
        chased++;
        for (int step = 1; got == 0; step++) {
            uint64_t next = wheel_next(copy);

            ASSERT_LE(step, 3 + 2 * (int)(due.size() / 64)) << "no progress";
            ASSERT_LE(next, due.begin()->first << shift);
            got = wheel_poll(copy, next, &one, 1);
        }
        ASSERT_TRUE(where[one] != due.end());
        ASSERT_EQ(where[one]->first, due.begin()->first);
    }

    /* Distances of every magnitude, past times, round numbers, and times that are in use
     * already. */
    uint64_t when_any()
    {
        uint64_t far = rng_u64(r) >> (16 + rng_below(r, 48));

        if (crowd && rng_below(r, 4) != 0)
            return now + rng_below(r, 300ull << shift);
        switch (rng_below(r, 6)) {
        case 0:
            return now - std::min(now, far);
        case 1:
            return (now + far) >> shift << shift;
        case 2: { /* at the boundary of a digit */
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
            now += rng_u64(r) >> (20 + rng_below(r, 44));
            break;
        case 2: /* exactly when the wheel asks for a poll */
            if (!due.empty() && wheel_next(&w) > now)
                now = wheel_next(&w);
            break;
        case 3: /* one cycle before an entry is due */
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
        uint32_t entry = (uint32_t)rng_below(r, entries);

        if (kind < 10) {
            insert(entry, when_any());
            for (int i = 0; crowd && i < 5; i++) {
                uint32_t other = (uint32_t)rng_below(r, entries);

                insert(other, when_any());
            }
        } else if (kind < 12) {
            cancel(entry);
        } else if (kind < 15) {
            pass_time();
            poll(now);
        } else { /* an earlier time than the last poll's releases nothing */
            poll_past();
        }
    }

    void poll_past()
    {
        uint64_t at = now - std::min(now, rng_u64(r) >> (16 + rng_below(r, 48)));
        uint32_t one;

        if (at >> shift >= w.now)
            return;
        ASSERT_EQ(wheel_poll(&w, at, &one, 1), 0u);
    }
};
} // namespace

TEST(WheelProperty, MatchesASortedMap)
{
    struct rng r;
    uint64_t polled = 0, moved = 0, partial = 0, chased = 0, crowded = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < 210; i++) {
        bool crowd = i % 7 == 0;
        uint32_t entries = 1 + (uint32_t)rng_below(&r, !crowd && rng_below(&r, 2) ? 5 : 300);

        entries += crowd ? 200 : 0;
        uint32_t shift = (uint32_t)rng_below(&r, 13);
        World world(&r, entries, i % 21 == 0 ? 20000 : entries, shift,
                    rng_u64(&r) >> (2 + rng_below(&r, 60)));
        world.crowd = crowd;
        int look = i % 21 == 0 ? 16 : 1; /* large wheels are verified less often */

        for (int k = 0; k < 1500; k++) {
            world.step();
            world.check_next();
            if (k % (16 * look) == 0)
                world.verify();
            crowded += memchr(world.w.count, wheel_near_full(world.w.room_bits) + 1,
                              world.w.near_mask + 1ull) != nullptr;
            if (k % (4 * look) == 0)
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
    EXPECT_GT(crowded, 1000u) << "slots with a queue";
}

/* Entries for the same tick stay first in, first out while now stands still, however they
 * cascade. */
TEST(WheelProperty, FirstInFirstOutAmongEquals)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 300; i++) {
        const uint32_t capacity = 200;
        uint64_t now = rng_u64(&r) >> (3 + rng_below(&r, 50));
        WheelStorage storage(wheel_storage_bytes(capacity));
        std::multimap<uint64_t, uint32_t> model; /* keeps equal keys in order */
        std::vector<uint32_t> out(capacity), expect;
        struct wheel *w = wheel_init(storage.memory.get(), capacity, 0, now);
        uint64_t ticks[8];

        for (uint64_t &t : ticks)
            t = (now + (rng_u64(&r) >> (25 + rng_below(&r, 39)))) | 1023; /* ends a slot */
        for (uint32_t e = 0; e < capacity; e++) {
            uint64_t when = ticks[rng_below(&r, 8)];

            model.emplace(when, e);
            wheel_insert(w, e, when);
        }
        for (const auto &[when, e] : model)
            expect.push_back(e);
        for (uint64_t q = 1; q < 4; q++) { /* cascades in several steps */
            uint64_t at = now + (model.begin()->first - now) / 4 * q;

            if (at < model.begin()->first) {
                ASSERT_EQ(wheel_poll(w, at, out.data(), capacity), 0u);
            }
        }
        ASSERT_EQ(wheel_poll(w, now + WHEEL_HORIZON, out.data(), capacity), capacity);
        ASSERT_EQ(out, expect) << "run " << i;
    }
}
