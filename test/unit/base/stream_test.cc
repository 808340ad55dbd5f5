// SPDX-License-Identifier: BSD-3-Clause
// Copies of lines, and their sum, against memcpy and a sum word by word. Built twice: as this
// machine does it, and with STREAM_SCALAR.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "seed.h"

extern "C" {
#include "base/rng.h"
#include "base/stream.h"
}

namespace
{
constexpr size_t LINE = STREAM_LINE;
constexpr size_t LINES_MAX = 70;
constexpr uint8_t UNTOUCHED = 0xa5;

/* Lines at an address that is aligned, with a guard of a line on both sides. */
struct Lines {
    std::vector<uint8_t> memory = std::vector<uint8_t>((LINES_MAX + 3) * LINE, UNTOUCHED);
    uint8_t *first = memory.data() + LINE + (-(uintptr_t)memory.data() & (LINE - 1));

    void check(const uint8_t *expected, size_t lines) const
    {
        EXPECT_EQ(0, std::memcmp(first, expected, lines * LINE));
        for (size_t i = 0; i < LINE; i++) {
            ASSERT_EQ(UNTOUCHED, first[-1 - (int)i]);
            ASSERT_EQ(UNTOUCHED, first[lines * LINE + i]);
        }
    }
};

uint64_t naive_sum(const uint8_t *p, size_t len)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < len; i += 2) {
        uint16_t v;

        std::memcpy(&v, p + i, sizeof v);
        sum += v;
    }
    return sum;
}

struct Source {
    std::vector<uint8_t> memory = std::vector<uint8_t>((LINES_MAX + 1) * LINE);
    const uint8_t *first;
    uint32_t lines;

    explicit Source(struct rng *r) : lines((uint32_t)rng_below(r, LINES_MAX + 1))
    {
        bool ones = rng_below(r, 4) == 0; // the largest sums

        for (uint8_t &x : memory)
            x = ones ? 0xff : (uint8_t)rng_u64(r);
        first = memory.data() + rng_below(r, LINE);
    }
};

TEST(Stream, CopiesLikeMemcpy)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        Source source(&r);
        Lines to;

        stream_copy(to.first, source.first, source.lines);
        stream_fence();
        to.check(source.first, source.lines);
    }
}

TEST(Stream, CopiesAndSums)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        Source source(&r);
        Lines to;
        uint64_t sum = stream_copy_sum(to.first, source.first, source.lines, i % 2 == 0);

        stream_fence();
        to.check(source.first, source.lines);
        EXPECT_EQ(naive_sum(source.first, source.lines * LINE) % 0xffff, sum % 0xffff);
    }
}

TEST(Stream, CopiesToAnyAddressUnlessItStreams)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (size_t shift = 0; shift < LINE; shift++) {
        Source source(&r);
        Lines to;

        stream_copy_sum(to.first + shift, source.first, source.lines, false);
        EXPECT_EQ(0, std::memcmp(to.first + shift, source.first, source.lines * LINE));
    }
}

TEST(Stream, IsTheKindThatTheMachineHas)
{
#ifdef STREAM_SCALAR
    EXPECT_STREQ("scalar", STREAM_KIND);
#elif defined(__x86_64__)
    EXPECT_STREQ("SSE2", STREAM_KIND);
#elif defined(__aarch64__)
    EXPECT_STREQ("NEON", STREAM_KIND);
#endif
}
} // namespace
