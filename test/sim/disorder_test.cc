// SPDX-License-Identifier: BSD-3-Clause
// Each packet of a connection's life, one at a time, comes twice, or behind 1 to 4 later ones, or
// again when the connection is over.
#include <gtest/gtest.h>

#include "life.hh"

namespace
{

constexpr int kFaultsShown = 5;
constexpr uint64_t kBehindMax = 4;
constexpr uint64_t kMs = 1000000;

// By how much frame i must be late to arrive behind the k-th later frame of its direction; 0 if
// there is none.
uint64_t behind(const std::vector<LifeFrame> &frames, size_t i, uint64_t k)
{
    for (size_t n = i + 1; n < frames.size(); n++)
        if (frames[n].from == frames[i].from && --k == 0)
            return frames[n].at_ns - frames[i].at_ns + 1;
    return 0;
}

class Disorder
{
  public:
    explicit Disorder(const LifeOptions &o) : opt(o), whole(live(o, {}))
    {
    }

    size_t frames() const
    {
        return whole.frames.size();
    }

    void with(size_t i, const world_fate &f, const char *what)
    {
        if (shown >= kFaultsShown)
            return;
        LifeResult r = live(opt, {{i, f}});
        const LifeFrame &x = whole.frames[i];

        EXPECT_EQ(r.fault, "") << (opt.go_back_n ? "go-back-N" : "selective") << ", frame " << i
                               << " (from " << x.from << ", type " << x.type << ", flags "
                               << int(x.flags) << ") " << what << " +" << f.extra_ns[0] << " +"
                               << f.extra_ns[1] << " ns";
        shown += !r.fault.empty();
    }

    LifeOptions opt;
    LifeResult whole;
    int shown = 0;
};

void for_both_modes(uint64_t after_ns, const std::function<void(Disorder &)> &run)
{
    for (bool go_back_n : {false, true}) {
        LifeOptions o;
        o.go_back_n = go_back_n;
        o.after_ns = after_ns;
        Disorder d(o);
        ASSERT_EQ(d.whole.fault, "");
        ASSERT_GE(d.frames(), 64u);
        run(d);
    }
}

TEST(Disorder, EachPacketTwice)
{
    for_both_modes(0, [](Disorder &d) {
        for (size_t i = 0; i < d.frames(); i++)
            d.with(i, {2, {0, 0}}, "twice");
    });
}

TEST(Disorder, EachPacketAgainLater)
{
    for_both_modes(0, [](Disorder &d) {
        for (size_t i = 0; i < d.frames(); i++)
            if (uint64_t extra = behind(d.whole.frames, i, 3))
                d.with(i, {2, {0, extra}}, "again 3 later");
    });
}

// By then the connection is closing or closed, or its number is free again.
TEST(Disorder, EachPacketAgainAfterTheEnd)
{
    for (uint64_t extra : {10 * kMs, 100 * kMs, 2000 * kMs})
        for_both_modes(3000 * kMs, [extra](Disorder &d) {
            for (size_t i = 0; i < d.frames(); i += 1 + (extra > 10 * kMs))
                d.with(i, {2, {0, extra}}, "again");
        });
}

TEST(Disorder, EachPacketDisplaced)
{
    for_both_modes(0, [](Disorder &d) {
        for (size_t i = 0; i < d.frames(); i++)
            for (uint64_t k = 1; k <= kBehindMax; k++)
                if (uint64_t extra = behind(d.whole.frames, i, k))
                    d.with(i, {1, {extra, 0}}, "displaced");
    });
}

// Every pair of packets of the shortest life: each is lost, comes twice, comes again later, or is
// late.
TEST(Disorder, EachPairOfTheShortestLife)
{
    const char *const what[] = {"lost", "twice", "again later", "displaced"};

    for (bool go_back_n : {false, true}) {
        LifeOptions o;
        o.go_back_n = go_back_n;
        o.brief = true;
        LifeResult whole = live(o, {});
        int shown = 0;

        ASSERT_EQ(whole.fault, "");
        // losses cause more frames, and the second one may be one of these
        size_t n = whole.frames.size() + 6;
        for (size_t i = 0; i < whole.frames.size(); i++)
            for (size_t k = i + 1; k < n; k++)
                for (int pair = 1; pair < 16 && shown < kFaultsShown; pair++) {
                    const world_fate fates[] = {
                        {0, {0, 0}}, {2, {0, 0}}, {2, {0, 3 * kMs}}, {1, {kMs, 0}}};
                    LifeResult r = live(o, {{i, fates[pair % 4]}, {k, fates[pair / 4]}});

                    EXPECT_EQ(r.fault, "")
                        << (go_back_n ? "go-back-N" : "selective") << ", frame " << i << " "
                        << what[pair % 4] << ", frame " << k << " " << what[pair / 4];
                    shown += !r.fault.empty();
                }
    }
}

} // namespace
