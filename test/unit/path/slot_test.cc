// SPDX-License-Identifier: BSD-3-Clause
// The elements slot (openings) and trace (opportunities).
#include <cstring>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

namespace
{

constexpr uint64_t MS = 1000000;

/* The number of packets that left at each time, in ms. */
std::map<uint64_t, int> bursts(const Line &l)
{
    std::map<uint64_t, int> b;

    for (const Out &o : l.out)
        b[o.at / MS]++;
    return b;
}

TEST(Slot, GapThenAllOfThem)
{
    Line l("slot 10ms");

    for (uint64_t ms : {0, 1, 9, 10, 12})
        l.push(ms * MS);
    l.finish();
    // the opening at 10 ms ends when no packet waits; the next gap begins with the next packet
    EXPECT_EQ(bursts(l), (std::map<uint64_t, int>{{10, 4}, {22, 1}}));
}

TEST(Slot, PacketsOfAnOpening)
{
    Line l("slot 10ms packets 3");

    for (int i = 0; i < 8; i++)
        l.push(0);
    l.finish();
    EXPECT_EQ(bursts(l), (std::map<uint64_t, int>{{10, 3}, {20, 3}, {30, 2}}));
}

TEST(Slot, BytesOfAnOpening)
{
    Line l("slot 10ms bytes 1000"), both("slot 10ms bytes 1000 packets 2");

    for (int i = 0; i < 7; i++) {
        l.push(0, 400); // the third packet may exceed the limit, as in netem
        both.push(0, 400);
    }
    l.finish();
    both.finish();
    EXPECT_EQ(bursts(l), (std::map<uint64_t, int>{{10, 3}, {20, 3}, {30, 1}}));
    EXPECT_EQ(bursts(both), (std::map<uint64_t, int>{{10, 2}, {20, 2}, {30, 2}, {40, 1}}));
}

/* Gaps between openings of one packet each, while packets always wait. */
std::vector<double> gaps(const std::string &spec, uint64_t n)
{
    Line l(spec + " packets 1");
    std::vector<double> v;

    l.push(0);
    for (uint64_t i = 0; i < n; i++) {
        while (path_counts(l.p)->held_packets > 2)
            l.poll(path_next(l.p));
        l.push(l.now);
    }
    l.finish();
    for (size_t i = 1; i < l.out.size(); i++)
        v.push_back((double)(l.out[i].at - l.out[i - 1].at));
    return v;
}

void check_gaps(const std::string &spec, double mu, double sigma, double kurtosis)
{
    std::vector<double> v = gaps(spec, 1000000);
    double n = (double)v.size(), mean = 0, square = 0;

    for (double x : v) {
        mean += x / n;
        square += (x - mu) * (x - mu) / n;
    }
    expect_mean(mean, v.size(), mu, sigma, spec.c_str());
    expect_mean(square, v.size(), sigma * sigma, sigma * sigma * std::sqrt(kurtosis - 1),
                spec.c_str());
}

TEST(Slot, GapsAreUniform)
{
    std::vector<double> v = gaps("slot 1ms 3ms", 1000000);
    std::vector<uint64_t> counts(20, 0);

    for (double x : v) {
        ASSERT_GE(x, 1e6);
        ASSERT_LE(x, 3e6);
        counts[(size_t)((x - 1e6) / 2000001 * 20)]++;
    }
    expect_even(counts, "gaps");
    check_gaps("slot 1ms 3ms", 2e6, 1e6 / std::sqrt(3), 1.8);
}

TEST(Slot, Distribution)
{
    check_gaps("slot distribution uniform 5ms 2ms", 5e6, 2e6 / std::sqrt(3), 1.8);
    check_gaps("slot distribution normal 5ms 500us", 5e6, 5e5, 3);
    // with shape 3 the fourth moment would be infinite; cut at 36.2 deviations (law.h), it is 192.4
    check_gaps("slot distribution pareto 5ms 500us", 5e6, 5e5, 192.4);
    EXPECT_NE(spec_error("slot distribution odd 5ms 1ms"), "");
    EXPECT_NE(spec_error("slot 5ms 1ms"), "");
}

TEST(Slot, Limits)
{
    Line packets("slot 10ms limit 3"), bytes("slot 10ms limit 1k");

    for (int i = 0; i < 10; i++) {
        packets.push(0, 256);
        bytes.push(0, 256);
    }
    packets.finish();
    bytes.finish();
    EXPECT_EQ(packets.out.size(), 3u);
    EXPECT_EQ(bytes.out.size(), 4u);
}

/* ---- trace ----------------------------------------------------------------------------------- */

TEST(Trace, OpportunitiesAndRepetition)
{
    TempFile f("1\n5\n5\n10\n");
    Line l("trace " + f.name);

    for (int i = 0; i < 10; i++)
        l.push(0, 1514);
    l.finish();
    EXPECT_EQ(bursts(l),
              (std::map<uint64_t, int>{
                  {1, 1}, {5, 2}, {10, 1}, {11, 1}, {15, 2}, {20, 1}, {21, 1}, {25, 1}}));
}

TEST(Trace, PacketsShareAnOpportunity)
{
    TempFile f("1\n2\n3\n");
    Line l("trace " + f.name);

    // 700 bytes each: two fit in the first one, one crosses into the next, and so on
    for (int i = 0; i < 6; i++)
        l.push(0, 714);
    l.finish();
    EXPECT_EQ(bursts(l), (std::map<uint64_t, int>{{1, 2}, {2, 2}, {3, 2}}));
}

TEST(Trace, LargePacketsTakeSeveral)
{
    TempFile f("1\n2\n3\n4\n");
    Line l("trace " + f.name);

    l.push(0, 3014); // exactly two opportunities
    l.push(0, 1515); // one opportunity and a byte
    l.push(0, 1000); // in the rest of that opportunity
    l.finish();
    EXPECT_EQ(bursts(l), (std::map<uint64_t, int>{{2, 1}, {4, 2}}));
}

TEST(Trace, UnusedOnesAreWasted)
{
    TempFile f("1\n2\n3\n4\n5\n");
    Line l("trace " + f.name, 2600000000);
    const uint64_t ms = 2600000;

    l.push(0, 100);
    l.push(ms + 1, 1514);          // the rest of the first opportunity is over
    l.push(3 * ms, 1514);          // just in time
    l.push(3 * ms, 1514);          // uses the next one
    l.push(1000003 * ms + 1, 100); // much later
    l.finish();
    std::vector<uint64_t> at;
    for (const Out &o : l.out)
        at.push_back(o.at);
    EXPECT_EQ(at, (std::vector<uint64_t>{ms, 2 * ms, 3 * ms, 4 * ms, 1000004 * ms}));
}

TEST(Trace, LongRunIsItsMean)
{
    TempFile f("3\n3\n7\n13\n");
    Line l("trace " + f.name, 2599999813);
    const uint64_t n = 400000;

    for (uint64_t i = 0; i < n; i++) {
        while (path_counts(l.p)->held_packets > 100)
            l.poll(path_next(l.p));
        l.push(l.now, 1514);
    }
    l.finish();
    EXPECT_EQ(l.out.back().at, cycles(n / 4 * 13 * MS, 2599999813));
}

TEST(Trace, ChangesToAnother)
{
    TempFile f("1\n"), g("4\n");
    Line l("trace " + f.name + " at 10ms trace " + g.name);

    for (uint64_t ms = 9; ms < 13; ms++)
        l.push(ms * MS + 1, 1514);
    l.finish();
    EXPECT_EQ(bursts(l), (std::map<uint64_t, int>{{10, 1}, {14, 1}, {18, 1}, {22, 1}}));
}

TEST(Trace, HasAQueue)
{
    TempFile f("1\n");
    Line l("trace " + f.name + " limit 3");

    for (int i = 0; i < 10; i++)
        l.push(0, 1514);
    l.finish();
    EXPECT_EQ(l.out.size(), 4u);
}

TEST(Files, ErrorsNameFileAndLine)
{
    const struct {
        const char *text, *cause;
    } bad[] = {{"", "no numbers"},      {"# only\n", "no numbers"},
               {"1\n2\nx\n", "line 3"}, {"1\n-1\n", "line 2"},
               {"1.5", "line 1"},       {"5\n4\n", "ascend"},
               {"0\n0\n", "ends at 0"}, {"1\n99999999999\n", "line 2"},
               {"1 2x\n", "line 1"}};

    for (auto b : bad) {
        TempFile f(b.text);
        std::string e = spec_error("trace " + f.name);

        EXPECT_NE(e.find(b.cause), std::string::npos) << b.text << ": " << e;
        EXPECT_NE(e.find("position "), std::string::npos) << e;
    }
    EXPECT_NE(spec_error("trace ./none").find("./none"), std::string::npos);
    EXPECT_NE(spec_error("trace .").find("position 7"), std::string::npos);
    EXPECT_NE(spec_error("trace").find("missing"), std::string::npos) << spec_error("trace");
}

TEST(Files, BytesThatAreNoText)
{
    TempFile f(std::string("1\n2\n\0garbage", 12));

    EXPECT_NE(spec_error("trace " + f.name), "");
}

/* A pipe has no writer. Reading must not wait for one. */
TEST(Files, PipesAreRefusedAtOnce)
{
    ASSERT_EQ(mkfifo("./path-test-pipe", 0600), 0);
    EXPECT_NE(spec_error("trace ./path-test-pipe"), "");
    unlink("./path-test-pipe");
}

} // namespace
