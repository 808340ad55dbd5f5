// SPDX-License-Identifier: BSD-3-Clause
// The whole path: bursts, the limit of packets in it, seeds.
#include "support.h"

namespace
{

/* Pushes n packets of 100 bytes at once. */
void burst(Line &l, uint16_t n, uint64_t now)
{
    std::vector<struct rte_mbuf *> m(n);

    for (struct rte_mbuf *&x : m) {
        x = packet_make(100);
        mbuf_id(x) = l.pushed++;
    }
    path_push(l.p, m.data(), n, now);
}

TEST(Path, HoldsPacketsMaxOfABurst)
{
    Line l("delay 1ms", GHZ, 1, 5);

    burst(l, 8, 0);
    EXPECT_EQ(path_counts(l.p)->held_packets, 5u);
    EXPECT_EQ(path_counts(l.p)->drop_full, 3u);
    EXPECT_EQ(path_counts(l.p)->in_packets, 8u);
    EXPECT_EQ(path_counts(l.p)->in_bytes, 800u);
    l.finish();
    EXPECT_EQ(path_counts(l.p)->out_packets, 5u);
    EXPECT_EQ(path_counts(l.p)->out_bytes, 500u);
}

/* Drops by elements make room, within a burst and between bursts. */
TEST(Path, BurstsAreAsPacketsOneByOne)
{
    Line one("loss every 2 delay 1ms", GHZ, 1, 5), all("loss every 2 delay 1ms", GHZ, 1, 5);

    for (int i = 0; i < 9; i++)
        burst(one, 1, 0);
    burst(all, 9, 0);
    one.finish();
    all.finish();
    EXPECT_EQ(one.out, all.out);
    EXPECT_EQ(path_counts(all.p)->drop_full, 0u);
}

TEST(Path, GivesNoMoreThanItIsAskedFor)
{
    Line l("delay 1ms");
    struct rte_mbuf *m[4];

    burst(l, 10, 0);
    EXPECT_EQ(path_pop(l.p, m, 4, 999999), 0);
    EXPECT_EQ(path_pop(l.p, m, 4, 1000000), 4);
    rte_pktmbuf_free_bulk(m, 4);
    EXPECT_LE(path_next(l.p), 1000000u);
    EXPECT_EQ(path_pop(l.p, m, 0, 1000000), 0);
    l.finish();
    EXPECT_EQ(path_counts(l.p)->out_packets, 10u);
    EXPECT_EQ(path_next(l.p), TIME_NEVER);
}

/* The fates of 64 packets, one bit each. */
uint64_t fates(const std::string &spec, uint64_t seed)
{
    Line l(spec, GHZ, seed);
    uint64_t v = 0;

    for (uint64_t i = 0; i < 64; i++)
        l.push(i);
    l.finish();
    for (const Out &o : l.out)
        v |= 1ull << o.id;
    return v;
}

TEST(Seed, DecidesAllFates)
{
    for (const char *spec :
         {"loss 50%", "loss 50% 20%", "loss state 30% 40%", "loss gemodel 30% 40% 90% 10%",
          "delay 1ms 1ms limit 32", "duplicate 50% delay 1ms limit 70", "slot 1us 9us limit 2",
          "rate 8gbit red min 100 max 1k probability 50% weight 1"}) {
        EXPECT_EQ(fates(spec, 1), fates(spec, 1)) << spec;
        EXPECT_EQ(fates(std::string("seed 1 ") + spec, 9), fates(spec, 1)) << spec;
    }
    EXPECT_NE(fates("loss 50%", 1), fates("loss 50%", 2));
    EXPECT_NE(fates("seed 3 loss 50%", 1), fates("loss 50%", 1));
    EXPECT_EQ(fates("loss 50% seed 3", 1), fates("seed 3 loss 50%", 2));
}

/* Which of 64 packets this copy of a path lets through. */
uint64_t copy_fates(const char *spec, uint32_t copy)
{
    struct path_config cfg = {GHZ, 1, 64, test_pool, 0, copy};
    struct rte_mbuf *m[64];
    char err[256] = "";
    struct path *p = path_create(spec, &cfg, 0, err, sizeof err);
    uint64_t bits = 0;

    EXPECT_NE(p, nullptr) << err;
    for (uint32_t i = 0; i < 64; i++) {
        m[i] = packet_make(100);
        mbuf_id(m[i]) = i;
    }
    path_push(p, m, 64, 1);
    for (uint16_t i = 0, n = path_pop(p, m, 64, 1); i < n; i++) {
        bits |= 1ull << mbuf_id(m[i]);
        rte_pktmbuf_free(m[i]);
    }
    path_destroy(p);
    return bits;
}

TEST(Seed, CopiesDrawNumbersOfTheirOwn)
{
    for (const char *spec : {"loss 50%", "seed 7 loss 50%"}) {
        uint64_t same = 0;

        EXPECT_EQ(copy_fates(spec, 3), copy_fates(spec, 3));
        for (uint32_t copy = 0; copy < 200; copy++)
            same += (uint64_t)__builtin_popcountll(
                ~(copy_fates(spec, copy) ^ copy_fates(spec, copy + 1)));
        expect_share(same, 200 * 64, 0.5, spec);
    }
}

/* Random numbers that one element draws do not change those of another. */
TEST(Seed, ElementsHaveNumbersOfTheirOwn)
{
    EXPECT_EQ(fates("delay 0 loss 50%", 1), fates("delay 10us 1us order loss 50%", 1));
    EXPECT_EQ(fates("corrupt 0% loss 50%", 1), fates("corrupt 50% loss 50%", 1));
    const uint64_t n = 1000000;
    Line l("loss 50% loss 50%");
    for (uint64_t i = 0; i < n; i++)
        l.push(i, 20);
    l.finish();
    expect_share(l.out.size(), n, 0.25, "survives both");
}

TEST(Seed, NearSeedsAreFarApart)
{
    // fates of 200 consecutive seeds: half of them are alike
    uint64_t same = 0;

    for (uint64_t seed = 0; seed < 200; seed++)
        same += (uint64_t)__builtin_popcountll(
            ~(fates("loss 50%", seed) ^ fates("loss 50%", seed + 1)));
    expect_share(same, 200 * 64, 0.5, "alike");
}

} // namespace
