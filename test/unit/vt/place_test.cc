// SPDX-License-Identifier: BSD-3-Clause
// Placement against memcpy. Its sum against ones' complement arithmetic byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "vt/place.h"
#include "wire/frame.h"
}

namespace
{
using Bytes = std::vector<uint8_t>;

constexpr size_t GUARD = 128;
constexpr uint8_t UNTOUCHED = 0xa5;

/* 16 bits at a time, as RFC 1071 words it, in memory order. */
uint16_t naive_sum(const uint8_t *p, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum += i % 2 == 0 ? p[i] << 8 : p[i];
        sum = (sum & 0xffff) + (sum >> 16);
    }
    uint8_t order[2] = {(uint8_t)(sum >> 8), (uint8_t)sum};
    uint16_t field;

    std::memcpy(&field, order, sizeof field);
    return field;
}

/* 0 and 0xffff are the same number in ones' complement. */
bool sums_equal(uint16_t a, uint16_t b)
{
    return a % 0xffff == b % 0xffff;
}

Bytes random_bytes(struct rng *r, size_t len)
{
    Bytes b(len);
    uint64_t kind = rng_below(r, 8);

    for (uint8_t &x : b)
        x = kind == 0 ? 0xff : kind == 1 ? 0 : (uint8_t)rng_u64(r);
    return b;
}

/* Memory that begins `shift` bytes behind the start of a cache line, with guards on both sides. */
struct Target {
    Target(size_t len_, size_t shift) : len(len_), memory(len_ + shift + 2 * GUARD + 64, UNTOUCHED)
    {
        size_t line = -(uintptr_t)memory.data() & 63;

        at = memory.data() + line + GUARD + shift;
    }

    bool guards_hold() const
    {
        const uint8_t *begin = memory.data(), *end = begin + memory.size();
        auto untouched = [](uint8_t x) { return x == UNTOUCHED; };

        return std::all_of(begin, (const uint8_t *)at, untouched) &&
               std::all_of((const uint8_t *)at + len, end, untouched);
    }

    bool holds(const uint8_t *expect) const
    {
        return len == 0 || std::memcmp(at, expect, len) == 0;
    }

    size_t len;
    Bytes memory;
    uint8_t *at;
};

/* A source at the end of its allocation, so that ASan sees the first byte read beyond it. */
struct Source {
    Source(struct rng *r, size_t len, size_t shift)
        : memory(new uint8_t[shift + len]), at(memory.get() + shift)
    {
        Bytes b = random_bytes(r, len);

        std::copy(b.begin(), b.end(), at);
    }

    std::unique_ptr<uint8_t[]> memory;
    uint8_t *at;
};

void check_copy(struct rng *r, size_t len, size_t dst_shift, size_t src_shift, bool stream)
{
    Source src(r, len, src_shift);
    Target plain(len, dst_shift), summed(len, dst_shift);

    place_copy(plain.at, src.at, (uint32_t)len, stream);
    uint64_t sum = place_copy_sum(summed.at, src.at, (uint32_t)len, stream);

    place_fence();
    ASSERT_TRUE(plain.holds(src.at));
    ASSERT_TRUE(plain.guards_hold());
    ASSERT_TRUE(summed.holds(src.at));
    ASSERT_TRUE(summed.guards_hold());
    ASSERT_TRUE(sums_equal(frame_sum_fold(sum), naive_sum(src.at, len)));
    ASSERT_TRUE(sums_equal(frame_sum_fold(sum), frame_sum_fold(frame_sum(src.at, (uint32_t)len))));
}

/* A chain of mbufs. Each segment has its own memory. */
struct Chain {
    Chain(struct rng *r, const Bytes &bytes, size_t most)
    {
        size_t done = 0;

        do {
            size_t n = std::min(bytes.size() - done, (size_t)rng_below(r, most + 1));
            size_t headroom = rng_below(r, 70);
            auto m = std::make_unique<struct rte_mbuf>();

            memory.emplace_back(new uint8_t[headroom + n]);
            std::copy_n(bytes.begin() + (long)done, n, memory.back().get() + headroom);
            std::memset((void *)m.get(), 0, sizeof *m);
            m->buf_addr = memory.back().get();
            m->data_off = (uint16_t)headroom;
            m->data_len = (uint16_t)n;
            if (!mbufs.empty())
                mbufs.back()->next = m.get();
            mbufs.push_back(std::move(m));
            done += n;
        } while (done < bytes.size());
    }

    const struct rte_mbuf *head() const
    {
        return mbufs[0].get();
    }

    std::vector<std::unique_ptr<struct rte_mbuf>> mbufs;
    std::vector<std::unique_ptr<uint8_t[]>> memory;
};

void check_chain(struct rng *r, const Bytes &bytes, size_t most, size_t off, size_t len)
{
    Chain chain(r, bytes, most);
    bool stream = rng_below(r, 2);
    size_t shift = rng_below(r, 64);
    Target plain(len, shift), summed(len, shift);
    uint64_t before = rng_u64(r) >> 8, sum = before;

    place_mbuf(plain.at, chain.head(), (uint32_t)off, (uint32_t)len, stream, nullptr);
    place_mbuf(summed.at, chain.head(), (uint32_t)off, (uint32_t)len, stream, &sum);
    place_fence();
    ASSERT_TRUE(plain.holds(bytes.data() + off));
    ASSERT_TRUE(plain.guards_hold());
    ASSERT_TRUE(summed.holds(bytes.data() + off));
    ASSERT_TRUE(summed.guards_hold());

    uint16_t expect = naive_sum(bytes.data() + off, len);
    uint64_t alone = place_mbuf_sum(chain.head(), (uint32_t)off, (uint32_t)len);

    ASSERT_TRUE(sums_equal(frame_sum_fold(sum - before), expect)) << "it adds to the earlier sum";
    ASSERT_TRUE(sums_equal(frame_sum_fold(alone), expect));
}
} // namespace

TEST(PlaceProperty, EveryLengthAndAlignmentOfTheTarget)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (size_t len = 0; len <= 700; len += len < 400 ? 1 : 7)
        for (size_t shift = 0; shift < 64; shift += len % 3 + 1) {
            SCOPED_TRACE("len " + std::to_string(len) + " shift " + std::to_string(shift));
            check_copy(&r, len, shift, rng_below(&r, 64), shift % 2 == len / 8 % 2);
            if (HasFatalFailure())
                return;
        }
}

TEST(PlaceProperty, EveryAlignmentOfSourceAndTargetStreamed)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (size_t dst = 0; dst < 64; dst++)
        for (size_t src = 0; src < 64; src++) {
            SCOPED_TRACE("dst " + std::to_string(dst) + " src " + std::to_string(src));
            check_copy(&r, 256 + rng_below(&r, 300), dst, src, true);
            if (HasFatalFailure())
                return;
        }
}

TEST(PlaceProperty, LargeUnits)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 60; i++) {
        check_copy(&r, rng_below(&r, 40000), rng_below(&r, 64), rng_below(&r, 64), i % 2);
        ASSERT_FALSE(HasFatalFailure()) << "run " << i;
    }
}

/* The largest sums lose no carry. */
TEST(Place, AllOnes)
{
    for (bool stream : {false, true})
        for (size_t len : {255u, 256u, 4096u, 32768u, 65535u}) {
            Bytes ones(len, 0xff);
            Target t(len, 1);
            uint64_t sum = place_copy_sum(t.at, ones.data(), (uint32_t)len, stream);

            EXPECT_TRUE(sums_equal(frame_sum_fold(sum), naive_sum(ones.data(), len))) << len;
        }
}

TEST(PlaceProperty, ChainsOfAnySegments)
{
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 4000; i++) {
        Bytes bytes = random_bytes(&r, rng_below(&r, rng_below(&r, 4) ? 300 : 9000));
        size_t most = 1 + rng_below(&r, rng_below(&r, 2) ? 20 : 3000);
        size_t off = rng_below(&r, bytes.size() + 1);

        SCOPED_TRACE("run " + std::to_string(i));
        check_chain(&r, bytes, most, off, rng_below(&r, bytes.size() - off + 1));
        check_chain(&r, bytes, most, off, bytes.size() - off);
        if (HasFatalFailure())
            return;
    }
}

/* Two segments, with every split and from every offset. */
TEST(PlaceProperty, EverySplitOfAShortUnit)
{
    struct rng r;
    Bytes bytes;

    rng_init(&r, test_seed());
    bytes = random_bytes(&r, 24);
    for (size_t split = 0; split <= bytes.size(); split++)
        for (size_t off = 0; off <= bytes.size(); off++)
            for (size_t len = 0; len <= bytes.size() - off; len++) {
                struct rte_mbuf m[2];
                Target t(len, off);
                uint64_t sum = 0;

                std::memset((void *)m, 0, sizeof m);
                m[0].buf_addr = bytes.data();
                m[0].data_len = (uint16_t)split;
                m[0].next = &m[1];
                m[1].buf_addr = bytes.data();
                m[1].data_off = (uint16_t)split;
                m[1].data_len = (uint16_t)(bytes.size() - split);
                place_mbuf(t.at, m, (uint32_t)off, (uint32_t)len, false, &sum);
                ASSERT_TRUE(t.holds(bytes.data() + off)) << split << " " << off << " " << len;
                ASSERT_TRUE(t.guards_hold());
                ASSERT_TRUE(sums_equal(frame_sum_fold(sum), naive_sum(bytes.data() + off, len)));
                ASSERT_TRUE(
                    sums_equal(frame_sum_fold(place_mbuf_sum(m, (uint32_t)off, (uint32_t)len)),
                               naive_sum(bytes.data() + off, len)));
            }
}
