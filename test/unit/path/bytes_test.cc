// SPDX-License-Identifier: BSD-3-Clause
// The elements duplicate and corrupt.
#include <algorithm>
#include <cstring>

#include "support.h"

namespace
{

TEST(Duplicate, ProbabilityAndCorrelation)
{
    Line l("duplicate 10% 30%");
    const uint64_t n = 1000000;
    std::vector<uint32_t> times(n, 0);
    uint64_t twice = 0, pairs = 0;

    for (uint64_t i = 0; i < n; i++)
        l.push(i);
    l.finish();
    for (size_t i = 0; i < l.out.size(); i++) {
        times[l.out[i].id]++;
        ASSERT_TRUE(i == 0 || l.out[i].id - l.out[i - 1].id <= 1); // a copy is next to its original
    }
    for (uint64_t i = 0; i < n; i++) {
        ASSERT_TRUE(times[i] == 1 || times[i] == 2);
        twice += times[i] == 2;
        pairs += i > 0 && times[i] == 2 && times[i - 1] == 2;
    }
    expect_share(twice, n, 0.1, "copied", 0.3);
    expect_share(pairs, twice, 0.3 + 0.7 * 0.1, "copied after a copy");
    EXPECT_EQ(l.counts().copied, twice);
}

TEST(Duplicate, CopiesAreWhole)
{
    Line l("duplicate 100%");
    struct rte_mbuf *m = packet_make(3000, 3);
    std::vector<std::string> seen;

    for (struct rte_mbuf *s = m; s != nullptr; s = s->next)
        for (uint16_t i = 0; i < s->data_len; i++)
            rte_pktmbuf_mtod(s, uint8_t *)[i] = (uint8_t)(i * 7);
    l.look = [&](struct rte_mbuf *x) {
        std::string s(x->pkt_len, 0);
        const void *at = rte_pktmbuf_read(x, 0, x->pkt_len, &s[0]);

        if (at != s.data())
            memcpy(&s[0], at, s.size());
        seen.push_back(s);
    };
    l.push(0, m);
    l.finish();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0], seen[1]);
}

TEST(Duplicate, EmptyPoolIsCountedNotFatal)
{
    Line l("duplicate 100%");
    std::vector<struct rte_mbuf *> all;

    struct rte_mbuf *last = packet_make(60), *m;
    while ((m = rte_pktmbuf_alloc(test_pool)) != nullptr)
        all.push_back(m);
    l.push(0, last);
    l.finish();
    rte_pktmbuf_free_bulk(all.data(), (unsigned int)all.size());
    EXPECT_EQ(l.out.size(), 1u);
    EXPECT_EQ(path_counts(l.p)->drop_no_mbuf, 1u);
    EXPECT_EQ(l.counts().copied, 0u);
}

/* in = out + dropped + held - copies. A copy that was not made does not count as dropped. */
TEST(Duplicate, FullPathMakesNoCopyAndDropsNothing)
{
    Line l("duplicate 100% delay 1ms", GHZ, 1, 3);

    l.push(0);
    l.push(0);
    EXPECT_EQ(path_counts(l.p)->drop_full, 0u);
    EXPECT_EQ(path_counts(l.p)->drop_no_mbuf, 1u);
    l.push(0);
    EXPECT_EQ(path_counts(l.p)->drop_full, 1u);
    l.finish();
    EXPECT_EQ(l.out.size(), 3u);
}

/* The bits that were flipped in a packet of zeros. */
std::vector<uint32_t> bits_of(struct rte_mbuf *m)
{
    std::vector<uint32_t> v;
    uint32_t at = 0;

    for (; m != nullptr; m = m->next)
        for (uint16_t i = 0; i < m->data_len; i++, at++)
            for (uint32_t b = 0; b < 8; b++)
                if (rte_pktmbuf_mtod(m, uint8_t *)[i] >> b & 1)
                    v.push_back(at * 8 + b);
    return v;
}

TEST(Corrupt, OneBitAndAnyOfThem)
{
    for (uint32_t pieces : {1u, 3u}) {
        Line l("corrupt 100%", GHZ, pieces);
        std::vector<uint64_t> counts(61 * 8, 0);

        l.look = [&](struct rte_mbuf *m) {
            std::vector<uint32_t> bits = bits_of(m);
            ASSERT_EQ(bits.size(), 1u);
            counts[bits[0]]++;
        };
        for (uint64_t i = 0; i < 500000; i++)
            l.push(i, packet_make(61, pieces));
        l.finish();
        expect_even(counts, "turned bits");
        EXPECT_EQ(l.counts().changed, 500000u);
    }
}

TEST(Corrupt, ProbabilityAndCorrelation)
{
    Line l("corrupt 5% 60%");
    const uint64_t n = 1000000;
    uint64_t hits = 0, pairs = 0;
    bool last = false;

    l.look = [&](struct rte_mbuf *m) {
        bool hit = !bits_of(m).empty();

        hits += hit;
        pairs += hit && last;
        last = hit;
    };
    for (uint64_t i = 0; i < n; i++)
        l.push(i, 20);
    l.finish();
    expect_share(hits, n, 0.05, "turned", 0.6);
    expect_share(pairs, hits, 0.6 + 0.4 * 0.05, "turned after a turned one");
}

TEST(Corrupt, EmptyPacketsPass)
{
    Line l("corrupt 100%");

    l.push(0, 0u);
    l.finish();
    EXPECT_EQ(l.out.size(), 1u);
}

} // namespace
