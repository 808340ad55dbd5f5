// SPDX-License-Identifier: BSD-3-Clause
// The neighbour table, against a map that keeps the same few facts.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "host/neighbor.h"
}

namespace
{
constexpr uint64_t ASK = 1000;
constexpr uint64_t KEEP = NEIGHBOR_KEEP_ASKS * ASK;
constexpr uint64_t QUICK = ASK / 16, CALM = ASK / NEIGHBOR_CALM;

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

    bool learn(uint32_t n, uint64_t m, neighbor_word word, uint64_t now)
    {
        struct addr a = address(n);
        struct rte_ether_addr e = ether(m);

        return neighbor_learn(&t, &a, &e, word, now);
    }

    void doubt(uint32_t n, uint64_t now)
    {
        struct addr a = address(n);

        neighbor_doubt(&t, &a, nullptr, now);
    }

    // The questions that come due until then, as "n@time mac" or "n@time all".
    std::string asked(uint64_t from, uint64_t until)
    {
        struct neighbor_question q;
        std::string s;

        for (uint64_t now = from; now <= until; now++)
            while (neighbor_ask(&t, now, &q)) {
                uint64_t m = 0;
                for (int i = 5; i >= 0; i--)
                    m = m << 8 | q.mac.addr_bytes[i];
                s += std::to_string((addr_to_v4(&q.addr) & 0xffffff)) + "@" +
                     std::to_string(now - from) + (q.all ? " all" : " " + std::to_string(m)) + "; ";
            }
        return s;
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

} // namespace

// A fixed neighbour is known from the start, for ever, and even in a table that is full.
TEST_F(Neighbor, AFixedOneIsNeverInDoubt)
{
    struct addr a = address(1);
    struct rte_ether_addr m = ether(11);

    neighbor_fix(&t, &a, &m, 1);
    ASSERT_TRUE(find(1, 1));
    for (neighbor_word word : {NEIGHBOR_CLAIM, NEIGHBOR_CONFIRM, NEIGHBOR_ANSWER, NEIGHBOR_PROOF})
        EXPECT_FALSE(learn(1, 22, word, 2)) << word;
    doubt(1, 3);
    EXPECT_EQ(asked(3, 3 + ASK), "");
    for (uint32_t n = 2; n < 2 + 2 * NEIGHBOR_MAX; n++)
        find(n, 2 * KEEP + n);
    ASSERT_TRUE(find(1, 9 * KEEP));
    EXPECT_FALSE(ask);
    EXPECT_TRUE(mac_is(11));
    EXPECT_TRUE(neighbor_fixed(&t, neighbor_slot(&t, &a), &a));
    a = address(5);
    EXPECT_FALSE(neighbor_fixed(&t, neighbor_slot(&t, &a), &a));
}

namespace
{
/* A naive model of an entry. */
struct Entry {
    uint64_t mac = 0, used = 0, asked = 0, learnt = 0;
    uint32_t asks = 0; // questions without an answer
    bool known = false;
    int probes = -1; // -1: not in doubt
    uint64_t due = 0;
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

    bool at(uint32_t n, uint64_t now, uint64_t *mac)
    {
        if (entries.count(n) == 0 || !entries[n].known)
            return false;
        entries[n].used = now;
        *mac = entries[n].mac;
        return true;
    }

    void doubt(uint32_t n, const uint64_t *mac, uint64_t now)
    {
        bool there = entries.count(n) != 0;
        Entry &e = make(n);

        e.used = now;
        if (!there && mac != nullptr) {
            e.known = true;
            e.mac = *mac;
            e.learnt = now;
        }
        if (e.probes >= 0)
            return;
        e.probes = e.known ? 0 : 2;
        e.due = there && e.known ? std::max(now, e.learnt + CALM) : now;
    }

    bool learn(uint32_t n, uint64_t mac, neighbor_word word, uint64_t now)
    {
        if (entries.count(n) == 0 && word != NEIGHBOR_PROOF)
            return false;
        Entry &e = make(n);
        bool news = !e.known, same = e.mac == mac;

        if (news || word == NEIGHBOR_PROOF || (same && word != NEIGHBOR_CLAIM && e.probes >= 0) ||
            (!same && word == NEIGHBOR_ANSWER && e.probes > 2)) {
            e.mac = mac;
            e.known = true;
            e.asks = 0;
            e.probes = -1;
            e.used = e.learnt = now;
        } else if (!same) {
            doubt(n, nullptr, now);
        }
        return news;
    }

    // The neighbours to ask about now, and whether each question goes to every station.
    std::map<uint32_t, bool> ask(uint64_t now)
    {
        std::map<uint32_t, bool> out;

        for (auto &i : entries) {
            Entry &e = i.second;
            if (e.probes < 0 || e.due > now)
                continue;
            if (e.probes == 5) {
                e.probes = -1;
                e.known = false;
                continue;
            }
            static const uint64_t waits[] = {1, 1, 2, 4, 8};
            out[i.first] = e.probes >= 2;
            e.due = now + waits[e.probes++] * QUICK;
        }
        return out;
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
    learn(1, 77, NEIGHBOR_ANSWER, now);
    EXPECT_FALSE(find(1, now + KEEP + 1));
    EXPECT_TRUE(ask) << "the answer had reset the interval";
}

TEST_F(Neighbor, AskedAtTimeZeroIsAsked)
{
    EXPECT_FALSE(find(1, 0));
    EXPECT_TRUE(ask);
    EXPECT_FALSE(find(1, 1));
    EXPECT_FALSE(ask);
}

// An answer soon after the second question shows that the first question was lost. An answer that
// comes later may belong to the first question, over a long path. An answer to the first question
// shows no loss, and an old answer shows nothing.
TEST_F(Neighbor, ALostQuestionIsKnownByTheAnswerToTheNext)
{
    constexpr uint64_t kSoon = ASK / NEIGHBOR_SOON, kNext = 1 + (ASK >> NEIGHBOR_DOUBLINGS);
    auto lost = [&](uint32_t n, uint64_t now) {
        struct addr a = address(n);

        return neighbor_was_lost(&t, &a, now);
    };

    for (uint32_t n = 1; n <= 3; n++)
        find(n, 1);
    learn(1, 1, NEIGHBOR_ANSWER, 2);
    EXPECT_FALSE(lost(1, 2)) << "the first question was answered";
    find(2, kNext);
    find(3, kNext);
    learn(2, 2, NEIGHBOR_ANSWER, kNext + kSoon - 1);
    learn(3, 3, NEIGHBOR_ANSWER, kNext + kSoon);
    EXPECT_TRUE(lost(2, kNext + kSoon));
    EXPECT_FALSE(lost(3, kNext + kSoon)) << "this may answer the first question";
    EXPECT_FALSE(lost(2, kNext + 2 * kSoon)) << "that was too long ago";
    EXPECT_FALSE(lost(4, 1)) << "there was no question";
}

TEST_F(Neighbor, WhoWasNotLookedUpIsNotLearnt)
{
    EXPECT_FALSE(learn(1, 77, NEIGHBOR_ANSWER, 100));
    EXPECT_EQ(t.count, 0u) << "any station can claim an address";
    EXPECT_FALSE(find(1, 100));
    EXPECT_TRUE(learn(1, 77, NEIGHBOR_CLAIM, 101));
    EXPECT_TRUE(find(1, 102));
    EXPECT_TRUE(mac_is(77));
    EXPECT_FALSE(ask);
    EXPECT_FALSE(learn(1, 78, NEIGHBOR_PROOF, 103)) << "the address was known";
    EXPECT_TRUE(find(1, 104));
    EXPECT_TRUE(mac_is(78)) << "the address has moved";
}

// Before a claim is believed, the known MAC address is asked. If it answers, it stays.
TEST_F(Neighbor, AClaimIsNotBelievedWhileTheKnownOneAnswers)
{
    uint64_t now = 10 * ASK;

    learn(1, 77, NEIGHBOR_PROOF, 1);
    for (neighbor_word word : {NEIGHBOR_CLAIM, NEIGHBOR_CONFIRM, NEIGHBOR_ANSWER}) {
        learn(1, 66, word, now);
        EXPECT_TRUE(find(1, now));
        EXPECT_TRUE(mac_is(77));
        EXPECT_EQ(asked(now, now + 5), "1@0 77; ") << word;
        learn(1, 66, word, now + 5);
        EXPECT_TRUE(find(1, now + 5));
        EXPECT_TRUE(mac_is(77)) << "a second claim changes nothing either";
        learn(1, 77, NEIGHBOR_ANSWER, now + 6);
        EXPECT_EQ(asked(now + 6, now + 9 * ASK), "") << word;
        EXPECT_EQ(neighbor_next(&t), TIME_NEVER);
        now += 10 * ASK;
    }
    // a flood of claims causes one question each CALM
    std::string questions;
    for (uint64_t k = 0; k < 10 * CALM; k++) {
        learn(1, 66, NEIGHBOR_CLAIM, now + k);
        std::string q = asked(now + k, now + k);
        if (q != "")
            learn(1, 77, NEIGHBOR_ANSWER, now + k);
        questions += q;
    }
    EXPECT_EQ(questions.size() / std::string("1@0 77; ").size(), 10u);
    EXPECT_TRUE(find(1, now + 10 * CALM));
    EXPECT_TRUE(mac_is(77));
}

// The known MAC address does not answer, so every station is asked. The first answer counts. A
// claim never does.
TEST_F(Neighbor, WhoDoesNotAnswerHasAnHeir)
{
    uint64_t now = 10 * ASK;

    learn(1, 77, NEIGHBOR_PROOF, 1);
    doubt(1, now);
    EXPECT_EQ(asked(now, now + 2 * QUICK - 1), "1@0 77; 1@" + std::to_string(QUICK) + " 77; ");
    learn(1, 88, NEIGHBOR_ANSWER, now + 2 * QUICK - 1);
    EXPECT_TRUE(find(1, now + 2 * QUICK - 1));
    EXPECT_TRUE(mac_is(77)) << "88 had not been asked";
    EXPECT_EQ(asked(now + 2 * QUICK, now + 2 * QUICK), "1@0 all; ");
    for (neighbor_word word : {NEIGHBOR_CLAIM, NEIGHBOR_CONFIRM}) {
        learn(1, 66, word, now + 2 * QUICK + 1);
        EXPECT_TRUE(find(1, now + 2 * QUICK + 1));
        EXPECT_TRUE(mac_is(77)) << word;
    }
    EXPECT_FALSE(learn(1, 88, NEIGHBOR_ANSWER, now + 2 * QUICK + 2));
    EXPECT_TRUE(find(1, now + 2 * QUICK + 3));
    EXPECT_TRUE(mac_is(88));
    learn(1, 66, NEIGHBOR_ANSWER, now + 2 * QUICK + 4);
    EXPECT_TRUE(find(1, now + 2 * QUICK + 5));
    EXPECT_TRUE(mac_is(88)) << "a second answer counts as a claim";
}

TEST_F(Neighbor, NobodyAnswersForLongAndItIsUnknown)
{
    uint64_t now = 10 * ASK;

    learn(1, 77, NEIGHBOR_PROOF, 1);
    doubt(1, now);
    EXPECT_EQ(asked(now, now + 16 * QUICK - 1),
              "1@0 77; 1@62 77; 1@124 all; 1@248 all; 1@496 all; ");
    EXPECT_TRUE(find(1, now + 16 * QUICK - 1));
    EXPECT_EQ(asked(now + 16 * QUICK, now + 16 * QUICK), "");
    EXPECT_FALSE(find(1, now + 16 * QUICK));
    EXPECT_TRUE(ask);
    doubt(1, now + 16 * QUICK + 1);
    EXPECT_EQ(asked(now + 16 * QUICK + 1, now + 16 * QUICK + 1), "1@0 all; ");
    EXPECT_TRUE(learn(1, 88, NEIGHBOR_CLAIM, now + 17 * QUICK)) << "any word is better than none";
}

// A connection has its own copy of an address. It may doubt that copy when the table has no entry.
TEST_F(Neighbor, DoubtOfOneWithoutEntry)
{
    struct addr a = address(1);
    struct rte_ether_addr e = ether(77);

    neighbor_doubt(&t, &a, &e, 100);
    EXPECT_EQ(asked(100, 101), "1@0 77; ");
    EXPECT_TRUE(neighbor_at(&t, neighbor_slot(&t, &a), &a, 101, &mac));
    EXPECT_TRUE(mac_is(77));
    doubt(2, 200);
    EXPECT_EQ(asked(200, 200).substr(0, 16), "1@0 77; 2@0 all;");
}

TEST_F(Neighbor, IsForgottenWhenNotHeardOfForLong)
{
    learn(1, 77, NEIGHBOR_PROOF, 100);
    EXPECT_TRUE(find(1, 100 + KEEP));
    learn(1, 77, NEIGHBOR_CLAIM, 100 + KEEP);
    EXPECT_FALSE(find(1, 101 + KEEP)) << "neither a look-up nor a claim confirms it";
    EXPECT_TRUE(ask);
    EXPECT_TRUE(learn(1, 77, NEIGHBOR_ANSWER, 102 + KEEP));
    EXPECT_TRUE(find(1, 102 + 2 * KEEP));
}

TEST_F(Neighbor, TheLongestUnusedMakesRoom)
{
    for (uint32_t n = 0; n < NEIGHBOR_MAX; n++)
        learn(n, n, NEIGHBOR_PROOF, 100 + n);
    EXPECT_TRUE(find(0, 1000));
    EXPECT_FALSE(find(1000, 1001));
    EXPECT_EQ(t.count, NEIGHBOR_MAX);
    EXPECT_TRUE(find(0, 1002));
    EXPECT_TRUE(find(2, 1002));
    EXPECT_FALSE(find(1, 1002)) << "it made room";
}

TEST_F(Neighbor, BothFamiliesAndEveryByteCount)
{
    struct addr v6 = {};

    learn(1, 77, NEIGHBOR_PROOF, 1);
    for (int i = 0; i < 16; i++) {
        v6 = address(1);
        v6.b[i] ^= 1;
        EXPECT_FALSE(neighbor_find(&t, &v6, 2, &mac, &ask)) << i;
    }
    EXPECT_TRUE(find(1, 2));
}

/* Other threads read the same values as the entry has. */
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

struct Seen {
    uint64_t known = 0, asked = 0, full = 0, probed = 0;
};

/* Both give the same questions that are due. */
static void asks_alike(struct neighbor_table &t, Model &m, uint64_t now, bool look, Seen &seen)
{
    std::map<uint32_t, bool> ours, expect;
    struct neighbor_question q;

    if (neighbor_next(&t) <= now || look)
        expect = m.ask(now);
    while (neighbor_ask(&t, now, &q))
        ours[addr_to_v4(&q.addr) & 0xffffff] = q.all;
    ASSERT_EQ(ours, expect);
    seen.probed += ours.size();
}

static void finds_alike(struct neighbor_table &t, Model &m, uint32_t n, uint64_t now, Seen &seen)
{
    struct addr a = address(n);
    struct rte_ether_addr mac = {};
    bool ask, expect_ask;
    uint64_t expect_mac;
    bool expect = m.find(n, now, &expect_mac, &expect_ask);

    ASSERT_EQ(neighbor_find(&t, &a, now, &mac, &ask), expect);
    ASSERT_EQ(ask, expect_ask);
    struct rte_ether_addr e = ether(expect_mac);
    ASSERT_TRUE(!expect || memcmp(&mac, &e, sizeof e) == 0);
    seen.known += expect;
    seen.asked += ask;
}

/* The same random event happens to neighbour n in both. */
static void step(struct neighbor_table &t, Model &m, struct rng &r, uint32_t n, uint64_t now,
                 Seen &seen)
{
    struct addr a = address(n);
    uint64_t expect_mac, is = rng_u64(&r) >> 16;
    neighbor_word word = (neighbor_word)rng_below(&r, 4);
    bool with_mac = rng_below(&r, 2) != 0;

    if (m.entries.count(n) != 0 && rng_below(&r, 2) != 0)
        is = m.entries[n].mac; // the address that is known already
    struct rte_ether_addr mac = {}, e = ether(is);

    switch (rng_below(&r, 9)) {
    case 0:
        neighbor_doubt(&t, &a, with_mac ? &e : nullptr, now);
        m.doubt(n, with_mac ? &is : nullptr, now);
        break;
    case 1:
    case 2:
        ASSERT_EQ(neighbor_learn(&t, &a, &e, word, now), m.learn(n, is, word, now));
        break;
    case 3:
        ASSERT_EQ(neighbor_at(&t, neighbor_slot(&t, &a), &a, now, &mac), m.at(n, now, &expect_mac));
        break;
    case 4:
    case 5:
        asks_alike(t, m, now, with_mac, seen);
        break;
    default:
        finds_alike(t, m, n, now, seen);
    }
}

TEST(NeighborProperty, MatchesAMap)
{
    struct rng r;
    Seen seen;

    rng_init(&r, test_seed());
    for (int world = 0; world < 60 && !testing::Test::HasFatalFailure(); world++) {
        struct neighbor_table t;
        Model m;
        uint64_t now = rng_below(&r, 3), people = 1 + rng_below(&r, rng_below(&r, 2) ? 20 : 600);
        uint64_t pace = rng_below(&r, 2) ? ASK / 4 : KEEP / 100;

        neighbor_init(&t, ASK);
        for (int k = 0; k < 3000 && !testing::Test::HasFatalFailure(); k++) {
            now += 1 + rng_below(&r, pace);
            step(t, m, r, (uint32_t)rng_below(&r, people), now, seen);
            ASSERT_EQ(t.count, m.entries.size()) << world << " " << k;
            shown_as_they_are(t, k);
            seen.full += t.count == NEIGHBOR_MAX;
        }
    }
    EXPECT_GT(seen.known, 1000u);
    EXPECT_GT(seen.asked, 1000u);
    EXPECT_GT(seen.full, 1000u);
    EXPECT_GT(seen.probed, 1000u);
}
