// SPDX-License-Identifier: BSD-3-Clause
// Losses, duplicates and order against a naive model that remembers every frame.
#include "support.hh"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "traffic/tally.h"
}

namespace
{

struct Tally {
    explicit Tally(uint32_t flows) : storage(tally_storage_bytes(flows) / 8)
    {
        tally_init(&t, flows, storage.data());
    }

    tally_kind add(uint64_t number)
    {
        return tally_add(&t, static_cast<uint32_t>(number),
                         static_cast<uint32_t>(number % t.flows));
    }

    std::vector<uint64_t> storage;
    tally t;
};

// The definitions of tally.h, word by word.
struct Model {
    explicit Model(uint32_t n) : flows(n)
    {
    }

    void add(uint64_t number)
    {
        uint64_t flow = number % flows;

        if (!seen.insert(number).second) {
            duplicates++;
            return;
        }
        auto highest = top.find(flow);
        if (highest == top.end()) {
            top[flow] = number;
        } else if (highest->second < number) {
            highest->second = number;
        } else {
            reordered++;
            uint64_t behind = 0;
            for (uint64_t n = number; n < highest->second; n += flows)
                behind++;
            displacement_max = std::max(displacement_max, behind);
        }
    }

    uint32_t flows;
    std::set<uint64_t> seen;
    std::map<uint64_t, uint64_t> top;
    uint64_t duplicates = 0, reordered = 0, displacement_max = 0;
};

void compare(const Tally &t, const Model &m)
{
    EXPECT_EQ(t.t.received, m.seen.size());
    EXPECT_EQ(t.t.duplicates, m.duplicates);
    EXPECT_EQ(t.t.reordered, m.reordered);
    EXPECT_EQ(t.t.displacement.max, m.displacement_max);
    EXPECT_EQ(t.t.beyond, 0u);
    EXPECT_EQ(t.t.flows_seen, m.top.size());
    EXPECT_EQ(histogram_count(&t.t.displacement), m.reordered);
    if (!m.seen.empty()) {
        EXPECT_EQ(tally_missing(&t.t), *m.seen.rbegin() + 1 - m.seen.size());
    }
}

// What a network may make of frames 0 .. n-1.
std::vector<uint64_t> disorder(rng *r, uint64_t n)
{
    std::vector<std::pair<uint64_t, uint64_t>> arrivals; // (place, number)
    uint64_t loss = rng_below(r, 50), twice = rng_below(r, 30), late = rng_below(r, 40);
    uint64_t reach = 1ull << rng_below(r, 18), gap = rng_below(r, 3) == 0 ? n / 3 : n;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t number = i < gap ? i : i + 5000; // a run of losses
        if (rng_below(r, 100) < loss)
            continue;
        uint64_t copies = 1 + (rng_below(r, 100) < twice);
        for (uint64_t k = 0; k < copies; k++)
            arrivals.push_back({i + (rng_below(r, 100) < late ? rng_below(r, reach) : 0), number});
    }
    std::stable_sort(arrivals.begin(), arrivals.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<uint64_t> numbers;
    for (auto &a : arrivals)
        numbers.push_back(a.second);
    return numbers;
}

} // namespace

TEST(TallyCounts, InOrder)
{
    Tally t(3);

    for (uint64_t i = 0; i < 3000; i++)
        EXPECT_EQ(t.add(i), TALLY_NEW);
    EXPECT_EQ(t.t.received, 3000u);
    EXPECT_EQ(tally_missing(&t.t), 0u);
    EXPECT_EQ(t.t.reordered + t.t.duplicates + t.t.beyond, 0u);
    EXPECT_EQ(t.t.flows_seen, 3u);
}

// The example of RFC 4737, section 4.1: 1 2 3 5 6 7 4 8; and one late by two more.
TEST(TallyCounts, ReorderedAndByHowMuch)
{
    Tally t(1);

    for (uint64_t n : {0, 1, 2, 4, 5, 6, 3, 7})
        t.add(n);
    EXPECT_EQ(t.t.reordered, 1u);
    EXPECT_EQ(t.t.displacement.max, 3u);
    EXPECT_EQ(t.t.received, 8u);
    EXPECT_EQ(t.add(3), TALLY_DUPLICATE); // never reordered
    EXPECT_EQ(t.t.reordered, 1u);
}

TEST(TallyCounts, OrderIsPerFlow)
{
    Tally t(2);

    for (uint64_t n : {1, 0, 3, 2, 5, 4}) // each flow in order
        t.add(n);
    EXPECT_EQ(t.t.reordered, 0u);
    for (uint64_t n : {10, 8, 6}) // flow 0
        t.add(n);
    EXPECT_EQ(t.t.reordered, 2u);
    EXPECT_EQ(t.t.displacement.max, 2u); // of the flow's frames
}

TEST(TallyCounts, RandomDisorderAgainstTheModel)
{
    rng r;

    rng_init(&r, test_seed());
    for (int turn = 0; turn < 60; turn++) {
        uint32_t flows = 1 + static_cast<uint32_t>(rng_below(&r, rng_below(&r, 2) ? 4 : 3000));
        Tally t(flows);
        Model m(flows);

        for (uint64_t n : disorder(&r, 1 + rng_below(&r, 20000))) {
            t.add(n);
            m.add(n);
        }
        compare(t, m);
        if (HasFailure())
            return;
    }
}

// Numbers pass 2^32, which is all that a stamp holds.
TEST(TallyCounts, NumbersBeyond32Bits)
{
    Tally t(1);
    Model m(1);
    const uint64_t start = (1ull << 32) - 50000;
    rng r;

    rng_init(&r, test_seed());
    t.t.next = start;
    t.t.flow_next[0] = start;
    t.t.received = start;
    for (uint64_t n : disorder(&r, 100000)) {
        t.add(start + n);
        m.add(n);
    }
    EXPECT_EQ(t.t.received - start, m.seen.size());
    EXPECT_EQ(t.t.duplicates, m.duplicates);
    EXPECT_EQ(t.t.reordered, m.reordered);
    EXPECT_EQ(t.t.displacement.max, m.displacement_max);
    EXPECT_EQ(tally_missing(&t.t), *m.seen.rbegin() + 1 - m.seen.size());
}

// A leap clears the bits of the numbers that it passes, whatever its length.
TEST(TallyCounts, Leaps)
{
    for (uint64_t leap : {63ull, 64ull, 65ull, 1000ull, TALLY_BITS - 1ull, TALLY_BITS + 0ull,
                          TALLY_BITS + 1ull, 3ull * TALLY_BITS, 1ull << 30}) {
        Tally t(1);

        for (uint64_t n = 0; n < 200; n++)
            t.add(n);
        EXPECT_EQ(t.add(199 + leap), TALLY_NEW);
        for (uint64_t back = 1; back < std::min<uint64_t>(leap, 300); back++)
            ASSERT_EQ(t.add(199 + leap - back), TALLY_NEW) << leap << " " << back;
        EXPECT_EQ(t.add(199 + leap), TALLY_DUPLICATE);
    }
}

// Within the span a duplicate is known, however late; beyond it nothing is claimed.
TEST(TallyCounts, TheSpanIsExact)
{
    for (uint64_t more : {0, 1, 2, 33, 62, 63}) { // the highest number at any place of a word
        Tally t(1);
        const uint64_t next = 2ull * TALLY_BITS + more;

        for (uint64_t n = 0; n < next; n++)
            if (n % 5 != 0 || n + 1 == next)
                t.add(n);
        for (uint64_t n = next - TALLY_SPAN; n + 1 < next; n++)
            ASSERT_EQ(t.add(n), n % 5 == 0 ? TALLY_NEW : TALLY_DUPLICATE) << n;
        uint64_t before = t.t.received;
        EXPECT_EQ(t.add(next - TALLY_SPAN - 1), TALLY_BEYOND);
        EXPECT_EQ(t.add(0), TALLY_BEYOND);
        EXPECT_EQ(t.t.received, before);
        EXPECT_EQ(t.t.beyond, 2u);
    }
}

TEST(TallyCounts, AFlowThatIsNotThereIsRefused)
{
    Tally t(2);

    EXPECT_EQ(tally_add(&t.t, 0, 2), TALLY_BAD_FLOW);
    EXPECT_EQ(t.t.received, 0u);
    EXPECT_EQ(tally_add(&t.t, 0xffffffff, 0), TALLY_BEYOND); // before the first frame
}

TEST(TallyCounts, AgainCountsOn)
{
    Tally t(1);

    for (uint64_t n : {0, 1, 3})
        t.add(n);
    tally_again(&t.t);
    for (uint64_t n : {0, 2})
        EXPECT_EQ(t.add(n), TALLY_NEW);
    EXPECT_EQ(t.t.received, 5u);
    EXPECT_EQ(tally_missing(&t.t), 2u);
    EXPECT_EQ(t.t.reordered, 0u);
}
