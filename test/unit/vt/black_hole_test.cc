// SPDX-License-Identifier: BSD-3-Clause
// When is a path taken for one that drops packets because of their size, and when is it not?
#include <gtest/gtest.h>

extern "C" {
#include "vt/black_hole.h"
}

namespace
{

constexpr uint64_t LEAST = 1000;

class VtHole : public testing::Test
{
  protected:
    void send(uint32_t n, uint32_t len)
    {
        while (n-- > 0)
            vt_black_hole_sent(&h, len);
    }

    bool news(bool seen = true)
    {
        struct vt_black_hole_report n = {ack, len, received, seen};

        return vt_black_hole_take(&h, &n, now, LEAST);
    }

    /* A round in which n packets of len are sent. All are lost unless received changes. */
    bool round(uint32_t n)
    {
        send(n, len);
        vt_black_hole_asked(&h);
        now += 400;
        return news();
    }

    struct vt_black_hole h = {};
    uint64_t ack = 5, received = 100, now = 50;
    uint32_t len = 1400;
};

TEST_F(VtHole, ThreeRoundsOfLongPackets)
{
    news(); // the watch begins
    EXPECT_FALSE(round(4));
    EXPECT_FALSE(round(4));
    EXPECT_TRUE(round(4));
    EXPECT_FALSE(round(4)) << "the watch begins again";
}

TEST_F(VtHole, FewPacketsTakeMoreRounds)
{
    news();
    for (int i = 0; i < 7; i++)
        EXPECT_FALSE(round(1)) << i;
    EXPECT_TRUE(round(1));
}

TEST_F(VtHole, AMomentIsNotEnough)
{
    news();
    for (int i = 0; i < 20; i++) {
        send(4, len);
        vt_black_hole_asked(&h);
        now += 49;
        EXPECT_FALSE(news()) << i;
    }
    EXPECT_TRUE(round(1));
}

/* Where shorter packets bring answers, no timer makes the sender ask for a round. */
TEST_F(VtHole, AWatchWithoutRoundsAsks)
{
    EXPECT_FALSE(vt_black_hole_ask(&h, now, LEAST)) << "nothing is watched";
    news();
    send(8, len);
    now += LEAST - 1;
    EXPECT_FALSE(vt_black_hole_ask(&h, now, LEAST)) << "too early";
    now++;
    EXPECT_TRUE(vt_black_hole_ask(&h, now, LEAST));
    vt_black_hole_asked(&h);
    EXPECT_FALSE(vt_black_hole_ask(&h, now, LEAST)) << "the answer has not come";
    EXPECT_FALSE(news());
    EXPECT_FALSE(vt_black_hole_ask(&h, now, LEAST)) << "no long packet since";
    send(1, len);
    EXPECT_TRUE(vt_black_hole_ask(&h, now, LEAST));
}

TEST_F(VtHole, OneThatCameIsEnough)
{
    news();
    for (int i = 0; i < 20; i++) {
        received += i % 3 == 2;
        EXPECT_FALSE(round(8)) << i;
    }
}

TEST_F(VtHole, ShorterOnesMayCome)
{
    news();
    for (int i = 0; i < 2; i++) {
        send(10, len - 1);
        received += 10;
        EXPECT_FALSE(round(4)) << i;
    }
    send(10, len - 1);
    received += 10;
    EXPECT_TRUE(round(4));
}

TEST_F(VtHole, ProgressBeginsTheWatchAnew)
{
    news();
    for (int i = 0; i < 20; i++) {
        ack += i % 3 == 2;
        EXPECT_FALSE(round(8)) << i;
    }
}

TEST_F(VtHole, WhatThePeerHasNotSeenTheEndOfIsNoRound)
{
    news();
    send(10, len);
    for (int i = 0; i < 10; i++) {
        now += 1000;
        EXPECT_FALSE(news(false));
        EXPECT_FALSE(news(true)) << "the question went before these packets";
    }
}

TEST_F(VtHole, NothingSentIsNothingLost)
{
    len = 0;
    for (int i = 0; i < 20; i++)
        EXPECT_FALSE(round(0));
}

} // namespace
