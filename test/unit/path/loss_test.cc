// SPDX-License-Identifier: BSD-3-Clause
// The element loss: random, chains, lists. And marks instead of loss.
#include "support.h"

namespace
{

constexpr uint64_t N = 1000000;

/* For each of n packets, whether it is lost. */
std::vector<bool> fates(const std::string &spec, uint64_t n = N, uint64_t seed = 1)
{
    Line l(spec, GHZ, seed);
    std::vector<bool> lost(n, true);

    for (uint64_t i = 0; i < n; i++)
        l.push(i, 20);
    l.finish();
    for (const Out &o : l.out)
        lost[o.id] = false;
    EXPECT_EQ(l.counts().dropped, n - l.out.size());
    return lost;
}

struct Bursts {
    uint64_t lost = 0, n = 0;
    std::vector<uint64_t> of_length = std::vector<uint64_t>(100, 0);

    explicit Bursts(const std::vector<bool> &v)
    {
        size_t run = 0;

        for (size_t i = 0; i < v.size(); i++) {
            lost += v[i];
            run = v[i] ? run + 1 : 0;
            if (v[i] && (i + 1 == v.size() || !v[i + 1])) {
                n++;
                of_length[std::min<size_t>(run, 99)]++;
            }
        }
    }
};

TEST(Loss, RandomRate)
{
    for (const char *spec : {"loss 1%", "loss random 1%"}) {
        Bursts b(fates(spec));

        expect_share(b.lost, N, 0.01, spec);
        expect_share(b.n, b.lost, 0.99, "alone");
    }
    EXPECT_EQ(Bursts(fates("loss 0%", 10000)).lost, 0u);
    EXPECT_EQ(Bursts(fates("loss 100%", 10000)).lost, 10000u);
}

TEST(Loss, RandomWithCorrelation)
{
    std::vector<bool> v = fates("loss 2% 25%");
    uint64_t lost = 0, after = 0;

    for (size_t i = 0; i + 1 < v.size(); i++) {
        lost += v[i];
        after += v[i] && v[i + 1];
    }
    expect_share(lost, N - 1, 0.02, "loss", 0.25);
    expect_share(after, lost, 0.25 + 0.75 * 0.02, "loss after loss");
}

TEST(Loss, StateChain)
{
    // states: 1 good, 2 good within a burst, 3 lost within a burst, 4 lost alone
    double p13 = 0.02, p31 = 0.3, p32 = 0.2, p23 = 0.6, p14 = 0.01;
    Chain c({{1 - p13 - p14, 0, p13, p14},
             {0, 1 - p23, p23, 0},
             {p31, p32, 1 - p31 - p32, 0},
             {1, 0, 0, 0}});
    std::vector<bool> v = fates("loss state 2% 30% 20% 60% 1%");
    Bursts b(v);
    auto lost = [](size_t s) { return s >= 2; };

    c.expect(
        b.lost, N, [&](size_t, size_t to) { return lost(to); }, "loss");
    c.expect(
        b.n, N, [&](size_t from, size_t to) { return lost(from) && !lost(to); }, "bursts");
    // a burst that began in state 3 stays there with 1 - p31 - p32, one in state 4 is 1 long
    double from3 = c.stationary[0] * p13 + c.stationary[1] * p23, from4 = c.stationary[0] * p14;
    double alone = (from3 * (p31 + p32) + from4) / (from3 + from4);
    expect_share(b.of_length[1], b.n, alone, "bursts of one");
    expect_share(b.of_length[2], b.n, (1 - alone) * (p31 + p32), "bursts of two");
}

TEST(Loss, StateDefaultsAreBernoulli)
{
    Bursts b(fates("loss state 5%"));

    expect_share(b.lost, N, 0.05, "loss");
    expect_share(b.of_length[1], b.n, 0.95, "bursts of one");
}

TEST(Loss, StateSharesOfExactlyTheWhole)
{
    EXPECT_EQ(spec_error("loss state 10% 50% 50%"), "");
    EXPECT_EQ(spec_error("loss state 10% 25% 75%"), "");
    EXPECT_EQ(spec_error("loss state 50% 100% 0% 100% 50%"), "");
    EXPECT_NE(spec_error("loss state 10% 50% 50.1%"), "");
    EXPECT_NE(spec_error("loss state 50.1% 100% 0% 100% 50%"), "");
    // state 3 always ends, so bursts have one packet
    Bursts b(fates("loss state 10% 50% 50%"));
    EXPECT_EQ(b.of_length[1], b.n);
}

TEST(Loss, GilbertElliott)
{
    double p = 0.01, r = 0.2, bad = 0.7, good = 0.001;
    // state and fate: good kept, good lost, bad kept, bad lost
    std::vector<double> from_good = {(1 - p) * (1 - good), (1 - p) * good, p * (1 - bad), p * bad};
    std::vector<double> from_bad = {r * (1 - good), r * good, (1 - r) * (1 - bad), (1 - r) * bad};
    Chain c({from_good, from_good, from_bad, from_bad});
    Bursts b(fates("loss gemodel 1% 20% 70% 0.1%"));

    c.expect(
        b.lost, N, [](size_t, size_t to) { return to % 2; }, "loss");
    c.expect(
        b.n, N, [](size_t from, size_t to) { return from % 2 && !(to % 2); }, "bursts");
}

TEST(Loss, GilbertBurstsAreGeometric)
{
    Bursts b(fates("loss gemodel 1% 25%"));

    Chain c({{0.99, 0.01}, {0.25, 0.75}});
    c.expect(
        b.lost, N, [](size_t, size_t to) { return to; }, "loss");
    for (size_t k = 1; k <= 6; k++)
        expect_share(b.of_length[k], b.n, 0.25 * std::pow(0.75, (double)k - 1), "burst length");
}

std::vector<uint32_t> lost_numbers(const std::string &spec, uint64_t n)
{
    std::vector<bool> v = fates(spec, n);
    std::vector<uint32_t> ids;

    for (uint32_t i = 0; i < n; i++)
        if (v[i])
            ids.push_back(i + 1);
    return ids;
}

TEST(Loss, List)
{
    EXPECT_EQ(lost_numbers("loss list 3,7,10-12", 30), (std::vector<uint32_t>{3, 7, 10, 11, 12}));
    EXPECT_EQ(lost_numbers("loss list 1", 30), (std::vector<uint32_t>{1}));
    for (const char *bad : {"3,", "0", "3,3", "5-3", "3,,4", "-3", "3-", "1;2", "a"})
        EXPECT_NE(spec_error(std::string("loss list ") + bad), "") << bad;
}

TEST(Loss, Every)
{
    EXPECT_EQ(lost_numbers("loss every 4", 13), (std::vector<uint32_t>{4, 8, 12}));
    EXPECT_EQ(lost_numbers("loss every 4 3", 13), (std::vector<uint32_t>{7, 11}));
    EXPECT_EQ(lost_numbers("loss every 1", 3), (std::vector<uint32_t>{1, 2, 3}));
}

TEST(Loss, Pattern)
{
    EXPECT_EQ(lost_numbers("loss pattern 00101", 12), (std::vector<uint32_t>{3, 5, 8, 10}));
    EXPECT_NE(spec_error("loss pattern 0012"), "");
    EXPECT_NE(spec_error("loss pattern"), "");
}

/* Sends one packet with each ECN value. Returns the ECN values that come out, -1 for none. */
std::vector<int> ecn_through(const std::string &spec, struct frame_route r)
{
    Line l(spec);
    std::vector<int> out(4, -1);

    l.look = [&](struct rte_mbuf *m) {
        EXPECT_TRUE(sums_right(m));
        out[mbuf_id(m)] = frame_of(m).ecn;
    };
    for (uint8_t ecn = 0; ecn < 4; ecn++) {
        r.ecn = ecn;
        r.dscp = 46;
        l.push(0, udp_make(r));
    }
    l.finish();
    return out;
}

TEST(Ecn, MarksInsteadOfLoss)
{
    struct frame_route v4 = route_make("10.1.2.3", "10.3.2.1"),
                       v6 = route_make("fd00::1", "fd00::2");
    struct frame_route tagged = v4;
    const std::vector<int> marked = {-1, 3, 3, 3}; // a packet that is not ECT is dropped

    tagged.vlan = 7;
    for (const char *spec : {"loss 100% ecn", "loss every 1 ecn", "loss pattern 1 ecn",
                             "loss gemodel 100% 0% 100% 100% ecn", "loss list 1-4 ecn"}) {
        EXPECT_EQ(ecn_through(spec, v4), marked) << spec;
        EXPECT_EQ(ecn_through(spec, v6), marked) << spec;
        EXPECT_EQ(ecn_through(spec, tagged), marked) << spec;
    }
    EXPECT_EQ(ecn_through("loss 0% ecn", v4), (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(ecn_through("loss 100%", v4), (std::vector<int>{-1, -1, -1, -1}));
}

TEST(Ecn, LeavesAllElseOfThePacket)
{
    for (const char *dst : {"10.3.2.1", "fd00::2"}) {
        struct frame_route r = route_make(dst[0] == 'f' ? "fd00::1" : "10.1.2.3", dst);
        Line l("loss 100% ecn");

        r.ecn = 1;
        r.dscp = 10;
        l.look = [&](struct rte_mbuf *m) {
            struct frame_route want = r;
            want.ecn = 3;
            struct rte_mbuf *w = udp_make(want);
            EXPECT_EQ(m->pkt_len, w->pkt_len);
            EXPECT_EQ(memcmp(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(w, void *), m->pkt_len),
                      0);
            rte_pktmbuf_free(w);
        };
        l.push(0, udp_make(r));
        l.finish();
        EXPECT_EQ(l.counts().marked, 1u);
    }
}

TEST(Ecn, WhatIsNoIpIsDropped)
{
    Line l("loss 100% ecn");

    for (uint32_t len : {0u, 5u, 14u, 20u, 60u})
        l.push(0, len);
    l.finish();
    EXPECT_EQ(l.out.size(), 0u);
}

} // namespace
