// SPDX-License-Identifier: BSD-3-Clause
// Tells a path's own losses from those of too high a rate, on paths drawn at random.
#include <gtest/gtest.h>

#include <algorithm>

#include "../base/draw.hh"
#include "../base/seed.h"

extern "C" {
#include "control/loss.h"
}

namespace
{

constexpr int kTrials = 400;

// Loses packets in runs: a Gilbert model.
struct Path {
    double share, run;
    bool bad = false;

    bool lose(rng *r)
    {
        double turn = bad ? 1 / run : share / (1 - share) / run;

        if ((double)rng_below(r, 1000000) < turn * 1e6)
            bad = !bad;
        return bad;
    }
};

// So many packets are sent. One of `each` fits into the link, and the path may lose that one, too.
loss_sum send(rng *r, Path *path, uint64_t packets, uint64_t each = 1)
{
    loss_sum s = {};
    bool lost = false;

    for (uint64_t i = 0; i < packets; i++) {
        bool now = i % each != 0 || path->lose(r);

        s.runs += now && !lost;
        s.lost += now;
        s.packets += !now;
        lost = now;
    }
    return s;
}

// The number of these trials that were found to have lost too much.
int found(rng *r, loss *l, Path *path, uint64_t each, bool learns)
{
    int n = 0;

    for (int i = 0; i < kTrials; i++) {
        loss_sum s = send(r, path, 16 + rng_below(r, 200), each);

        n += loss_exceeds(l, &s);
        if (learns)
            loss_add(l, &s);
    }
    return n;
}

// A path drawn at random, and the losses that a connection that is alone there has learnt.
struct Learnt {
    Path path;
    loss l = {};

    Learnt(rng *r, double share_octaves, double run_octaves)
        : path{draw(r, 0.001, share_octaves), draw(r, 1, run_octaves)}
    {
        found(r, &l, &path, 1, true);
    }
};

} // namespace

// A few trials suffice to learn the losses of a path.
TEST(Loss, OfThePathIsLearnt)
{
    rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 50; i++) {
        Learnt x(&r, 8, 4);

        // Of 20000 paths, the worst had 41 of 400, and one in a hundred 24.
        EXPECT_LE(found(&r, &x.l, &x.path, 1, true), kTrials / 8)
            << x.path.share << " in runs of " << x.path.run;
    }
}

// Twice as much as fits, or more, is found, although the path loses packets anyway.
TEST(Loss, OfTooManyIsFound)
{
    rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 50; i++) {
        Learnt x(&r, 6, 2);

        EXPECT_GE(found(&r, &x.l, &x.path, 2 + rng_below(&r, 10), false), kTrials / 10)
            << x.path.share << " in runs of " << x.path.run;
    }
}

// A sender grows until too much is lost, then gives way. It does not take such losses for the
// path's own, although it may have sent an eighth too much while it learnt.
TEST(Loss, OfOurOwnIsNotLearnt)
{
    rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 50; i++) {
        double sent = 1, fits = draw(&r, 1, 6), most = 0;
        loss l = {};

        for (int k = 0; k < kTrials; k++) {
            uint64_t n = 16 + rng_below(&r, 200), lost = 0;

            if (sent > fits)
                lost = (uint64_t)((double)n * (1 - fits / sent));
            loss_sum s = {n - lost, lost, lost, 0, 0};
            most = k > kTrials / 2 ? std::max(most, sent / fits) : most;
            bool many = loss_exceeds(&l, &s);
            if (sent <= fits * 9 / 8)
                loss_add(&l, &s);
            sent = many ? std::min(sent, fits) : sent * 1.1;
        }
        EXPECT_LE(most, 2);
    }
}

// A path that lost less a moment ago does not lose more by itself.
TEST(Loss, OfTheLeastBlockCounts)
{
    loss_sum quiet = {490, 10, 10, 0, 0}, storm = {70, 30, 30, 0, 0}, s = {75, 25, 25, 0, 0};
    loss l = {}, other = {};

    for (int i = 0; i < 8; i++) {
        loss_add(&l, i == 3 ? &quiet : &storm);
        loss_add(&other, &storm);
    }
    EXPECT_TRUE(loss_exceeds(&l, &s));
    EXPECT_FALSE(loss_exceeds(&other, &s));
    loss_add(&l, &storm);
    for (int i = 0; i < 3; i++) {
        EXPECT_TRUE(loss_exceeds(&l, &s)) << "the quiet block is one of the last eight";
        loss_add(&l, &storm);
    }
    EXPECT_FALSE(loss_exceeds(&l, &s)) << "that block is forgotten";
}

// One run may be an accident, however long it is.
TEST(Loss, OfOneRunProvesNothing)
{
    loss l = {};
    loss_sum accident = {50, 200, 1, 0, 0}, none = {2000, 0, 0, 0, 0};

    EXPECT_FALSE(loss_exceeds(&l, &accident));
    EXPECT_FALSE(loss_exceeds(&l, &none));
    EXPECT_FALSE(loss_exceeds(&l, &accident));
    EXPECT_FALSE(loss_exceeds(&l, &accident));
    EXPECT_TRUE(loss_exceeds(&l, &accident)) << "the third in a row";
}

// The rate of arrival is that of all packets by which too many were lost: the newest alone may have
// met one long run. A queue that was still filling does not raise it.
TEST(Loss, RateOfArrivalIsThatOfAllInDoubt)
{
    loss l = {};
    loss_sum some = {80, 20, 1, 80000, 5000000}, most = {3, 19, 1, 3000, 2000000};

    EXPECT_FALSE(loss_exceeds(&l, &some));
    EXPECT_FALSE(loss_exceeds(&l, &some));
    EXPECT_TRUE(loss_exceeds(&l, &most));
    EXPECT_DOUBLE_EQ(l.many_Bps, 163e6 / 12);
}
