// SPDX-License-Identifier: BSD-3-Clause
// The neighbour table against a map that keeps the same few facts.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "host/neighbor.h"
}

namespace
{
constexpr uint64_t ASK = 1000;
constexpr uint64_t KEEP = NEIGHBOR_KEEP_ASKS * ASK;

struct addr address(uint32_t n)
{
    return addr_from_v4(0x0a000000 + n);
}

struct rte_ether_addr ether(uint64_t n)
{
    struct rte_ether_addr mac;

    for (int i = 0; i < 6; i++)
        mac.addr_bytes[i] = (uint8_t)(n >> 8 * i);
    return mac;
}

class Neighbor : public testing::Test
{
  protected:
    void SetUp() override
    {
        neighbor_init(&t, ASK);
    }

    bool find(uint32_t n, uint64_t now)
    {
        struct addr a = address(n);

        return neighbor_find(&t, &a, now, &mac, &ask);
    }

    bool learn(uint32_t n, uint64_t m, bool create, uint64_t now)
    {
        struct addr a = address(n);
        struct rte_ether_addr e = ether(m);

        return neighbor_learn(&t, &a, &e, create, now);
    }

    void doubt(uint32_t n)
    {
        struct addr a = address(n);

        neighbor_doubt(&t, &a);
    }

    bool mac_is(uint64_t m) const
    {
        struct rte_ether_addr e = ether(m);

        return memcmp(&e, &mac, sizeof e) == 0;
    }

    struct neighbor_table t;
    struct rte_ether_addr mac;
    bool ask;
};

/* The same, naively. */
struct Entry {
    uint64_t mac = 0, used = 0, asked = 0, learnt = 0;
    uint32_t asks = 0; // in vain
    bool known = false;
};

struct Model {
    std::map<uint32_t, Entry> entries;

    Entry &make(uint32_t n)
    {
        if (entries.count(n) == 0 && entries.size() == NEIGHBOR_MAX) {
            auto oldest = entries.begin();

            for (auto i = entries.begin(); i != entries.end(); ++i)
                if (i->second.used < oldest->second.used)
                    oldest = i;
            entries.erase(oldest);
        }
        return entries[n];
    }

    bool find(uint32_t n, uint64_t now, uint64_t *mac, bool *ask)
    {
        Entry &e = make(n);

        e.used = now;
        e.known = e.known && now - e.learnt <= KEEP;
        *mac = e.mac;
        *ask = !e.known && (e.asked == 0 || now - e.asked >= ASK >> (5 - e.asks));
        if (*ask) {
            e.asked = now;
            e.asks = std::min(e.asks + 1, 5u);
        }
        return e.known;
    }

    bool learn(uint32_t n, uint64_t mac, bool create, uint64_t now)
    {
        if (entries.count(n) == 0 && !create)
            return false;
        Entry &e = make(n);
        bool news = !e.known;

        e.mac = mac;
        e.known = true;
        e.asks = 0;
        e.used = e.learnt = now;
        return news;
    }
};
} // namespace

TEST_F(Neighbor, IsAskedForEverLessOftenUntilOnceAnInterval)
{
    uint64_t now = 5000;

    EXPECT_FALSE(find(1, now));
    EXPECT_TRUE(ask);
    for (uint64_t wait : {ASK / 16, ASK / 8, ASK / 4, ASK / 2, ASK, ASK, ASK}) {
        EXPECT_FALSE(find(1, now + wait - 1));
        EXPECT_FALSE(ask) << wait;
        now += wait;
        EXPECT_FALSE(find(1, now));
        EXPECT_TRUE(ask) << wait;
    }
    EXPECT_FALSE(find(2, now + 1));
    EXPECT_TRUE(ask) << "each address has its own interval";
    learn(1, 77, false, now);
    doubt(1);
    EXPECT_FALSE(find(1, now + ASK / 16));
    EXPECT_TRUE(ask) << "it had answered";
}

TEST_F(Neighbor, AskedAtTimeZeroIsAsked)
{
    EXPECT_FALSE(find(1, 0));
    EXPECT_TRUE(ask);
    EXPECT_FALSE(find(1, 1));
    EXPECT_FALSE(ask);
}

// An answer soon after the second question: the first was lost. One that comes much later may be to
// the first, by a long way; one to the first, or of long ago, tells nothing.
TEST_F(Neighbor, ALostQuestionIsKnownByTheAnswerToTheNext)
{
    constexpr uint64_t kSoon = ASK / NEIGHBOR_SOON, kNext = 1 + (ASK >> NEIGHBOR_DOUBLINGS);
    auto lost = [&](uint32_t n, uint64_t now) {
        struct addr a = address(n);

        return neighbor_was_lost(&t, &a, now);
    };

    for (uint32_t n = 1; n <= 3; n++)
        find(n, 1);
    learn(1, 1, false, 2);
    EXPECT_FALSE(lost(1, 2)) << "the first was answered";
    find(2, kNext);
    find(3, kNext);
    learn(2, 2, false, kNext + kSoon - 1);
    learn(3, 3, false, kNext + kSoon);
    EXPECT_TRUE(lost(2, kNext + kSoon));
    EXPECT_FALSE(lost(3, kNext + kSoon)) << "it may be to the first";
    EXPECT_FALSE(lost(2, kNext + 2 * kSoon)) << "of long ago";
    EXPECT_FALSE(lost(4, 1)) << "never asked for";
}

TEST_F(Neighbor, WhoWasNotLookedUpIsNotLearnt)
{
    EXPECT_FALSE(learn(1, 77, false, 100));
    EXPECT_EQ(t.count, 0u) << "anybody can say where he is";
    EXPECT_FALSE(find(1, 100));
    EXPECT_TRUE(learn(1, 77, false, 101));
    EXPECT_TRUE(find(1, 102));
    EXPECT_TRUE(mac_is(77));
    EXPECT_FALSE(ask);
    EXPECT_FALSE(learn(1, 78, false, 103)) << "was known";
    EXPECT_TRUE(find(1, 104));
    EXPECT_TRUE(mac_is(78)) << "moved";
}

TEST_F(Neighbor, IsForgottenWhenNotHeardOfForLong)
{
    learn(1, 77, true, 100);
    EXPECT_TRUE(find(1, 100 + KEEP));
    EXPECT_FALSE(find(1, 101 + KEEP)) << "looking it up is no confirmation";
    EXPECT_TRUE(ask);
    EXPECT_TRUE(learn(1, 77, false, 102 + KEEP));
    EXPECT_TRUE(find(1, 102 + 2 * KEEP));
}

TEST_F(Neighbor, DoubtAsksAnew)
{
    learn(1, 77, true, 100);
    doubt(1);
    doubt(2);
    EXPECT_EQ(t.count, 1u);
    EXPECT_FALSE(find(1, 101));
    EXPECT_TRUE(ask);
    EXPECT_TRUE(learn(1, 77, false, 102));
    EXPECT_TRUE(find(1, 103));
}

TEST_F(Neighbor, TheLongestUnusedMakesRoom)
{
    for (uint32_t n = 0; n < NEIGHBOR_MAX; n++)
        learn(n, n, true, 100 + n);
    EXPECT_TRUE(find(0, 1000));
    EXPECT_FALSE(find(1000, 1001));
    EXPECT_EQ(t.count, NEIGHBOR_MAX);
    EXPECT_TRUE(find(0, 1002));
    EXPECT_TRUE(find(2, 1002));
    EXPECT_FALSE(find(1, 1002)) << "it went";
}

TEST_F(Neighbor, BothFamiliesAndEveryByteCount)
{
    struct addr v6 = {};

    learn(1, 77, true, 1);
    for (int i = 0; i < 16; i++) {
        v6 = address(1);
        v6.b[i] ^= 1;
        EXPECT_FALSE(neighbor_find(&t, &v6, 2, &mac, &ask)) << i;
    }
    EXPECT_TRUE(find(1, 2));
}

/* What other threads read of an entry is what it is. */
static void shown_as_they_are(const struct neighbor_table &t, uint64_t k)
{
    uint32_t i = (uint32_t)(k % (NEIGHBOR_MAX + 1));
    struct neighbor n;

    ASSERT_EQ(neighbor_read(&t, i, &n), i < t.count) << i;
    if (i >= t.count)
        return;
    ASSERT_TRUE(addr_equal(&n.addr, &t.entries[i].addr));
    ASSERT_EQ(n.known, t.entries[i].known);
    ASSERT_EQ(memcmp(&n.mac, &t.entries[i].mac, sizeof n.mac), 0);
    ASSERT_EQ(n.learnt_tsc, t.entries[i].learnt_tsc);
}

TEST(NeighborProperty, MatchesAMap)
{
    struct rng r;
    uint64_t known = 0, asked = 0, full = 0;

    rng_init(&r, test_seed());
    for (int world = 0; world < 60; world++) {
        struct neighbor_table t;
        Model m;
        uint64_t now = rng_below(&r, 3), people = 1 + rng_below(&r, rng_below(&r, 2) ? 20 : 600);
        uint64_t pace = rng_below(&r, 2) ? ASK / 4 : KEEP / 100;

        neighbor_init(&t, ASK);
        for (int k = 0; k < 3000; k++) {
            uint32_t n = (uint32_t)rng_below(&r, people);
            struct addr a = address(n);
            struct rte_ether_addr mac = {};
            uint64_t expect_mac, is = rng_u64(&r) >> 16;
            struct rte_ether_addr e = ether(is);
            bool ask, expect_ask, create = rng_below(&r, 4) == 0;

            now += 1 + rng_below(&r, pace);
            switch (rng_below(&r, 8)) {
            case 0:
                neighbor_doubt(&t, &a);
                if (m.entries.count(n) != 0)
                    m.entries[n].known = false;
                break;
            case 1:
            case 2:
                ASSERT_EQ(neighbor_learn(&t, &a, &e, create, now), m.learn(n, is, create, now));
                break;
            default:
                bool expect = m.find(n, now, &expect_mac, &expect_ask);

                ASSERT_EQ(neighbor_find(&t, &a, now, &mac, &ask), expect) << world << " " << k;
                ASSERT_EQ(ask, expect_ask);
                e = ether(expect_mac);
                ASSERT_TRUE(!expect || memcmp(&mac, &e, sizeof e) == 0);
                known += expect;
                asked += ask;
            }
            ASSERT_EQ(t.count, m.entries.size());
            shown_as_they_are(t, k);
            full += t.count == NEIGHBOR_MAX;
        }
    }
    EXPECT_GT(known, 1000u);
    EXPECT_GT(asked, 1000u);
    EXPECT_GT(full, 1000u);
}
