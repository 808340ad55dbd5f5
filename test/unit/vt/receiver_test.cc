// SPDX-License-Identifier: BSD-3-Clause
// Single cases of the receiver: closing, refusing, and nonsense from the peer.
#include <cerrno>

#include "receiver_fixture.h"

TEST_F(Receiver, AnEmptyRequestIsOneUnitOfNothing)
{
    post(0);
    post(0);
    EXPECT_EQ(unit(0, 0, 0), VT_PLACE);
    EXPECT_EQ(vt_receiver_ack(&r), pos(1, 0));
    EXPECT_EQ(completions(), (std::vector<Received>{{0, 0, 0}}));
    EXPECT_EQ(unit(1, 0, 1), VT_TOO_LONG);
}

TEST_F(Receiver, AGapIsNamedAtOnceAndAgainOnlyAfterARoundTrip)
{
    post();
    EXPECT_EQ(unit(0, 0), VT_PLACE);
    EXPECT_FALSE(tell);
    EXPECT_EQ(unit(0, 3), VT_PLACE);
    EXPECT_TRUE(tell);
    ASSERT_EQ(naks(5000), 1u);
    EXPECT_EQ(nak[0].first, pos(0, 1));
    EXPECT_EQ(nak[0].end, pos(0, 3));
    EXPECT_EQ(naks(5999, true), 0u) << "not even if forced";
    EXPECT_EQ(vt_receiver_next(&r, 5999, AGAIN, 7), 6000u);
    EXPECT_EQ(unit(0, 2), VT_PLACE);
    ASSERT_EQ(naks(6000), 1u);
    EXPECT_EQ(nak[0].end, pos(0, 2));
    EXPECT_EQ(r.naks, 2u);
}

TEST_F(Receiver, AGapIsUnaskedUntilItIsNamed)
{
    for (bool go_back_n : {false, true}) {
        start(8, 16, go_back_n);
        post();
        EXPECT_EQ(unit(0, 0), VT_PLACE);
        EXPECT_FALSE(vt_receiver_unasked(&r)) << "there is no gap";
        unit(0, 3);
        EXPECT_TRUE(vt_receiver_unasked(&r));
        ASSERT_EQ(naks(5000), 1u);
        EXPECT_FALSE(vt_receiver_unasked(&r)) << "also when it may be asked for again";
        unit(0, 5);
        EXPECT_EQ(vt_receiver_unasked(&r), !go_back_n) << "going back, all was asked for";
    }
}

TEST_F(Receiver, AskedForAtTimeZeroIsStillAsked)
{
    for (bool go_back_n : {false, true}) {
        start(8, 16, go_back_n);
        post();
        unit(0, 1);
        EXPECT_EQ(naks(0), 1u);
        EXPECT_EQ(naks(999), 0u);
        EXPECT_EQ(naks(1001), 1u);
    }
}

TEST_F(Receiver, ToleranceGrowsToTheDistanceSeen)
{
    post();
    struct wire_data late = data(0, 0);

    for (uint32_t u = 1; u < 4; u++)
        unit(0, u);
    EXPECT_EQ(naks(1), 1u);
    EXPECT_EQ(take(late), VT_PLACE);
    EXPECT_EQ(r.tolerance, 3u);
    EXPECT_EQ(r.lost, 0u) << "it was late, not lost";
    EXPECT_EQ(unit(0, 5), VT_PLACE);
    EXPECT_FALSE(tell) << "the unit may be on its way";
    EXPECT_EQ(naks(2), 0u);
    EXPECT_EQ(vt_receiver_next(&r, 2, AGAIN, 7), 2u + AGAIN);
    unit(0, 6);
    unit(0, 7);
    EXPECT_EQ(naks(3), 0u);
    unit(0, 8);
    EXPECT_EQ(naks(4), 1u) << "three packets later";
}

/* A timer, or a question of the peer, finds gaps of all ages. Units of a new gap may be on their
 * way. */
TEST_F(Receiver, WhatMayBeLateIsNotAskedForAtOnce)
{
    for (uint32_t tolerance : {0u, 100u}) {
        start(8, 64);
        post(4000);
        r.tolerance = tolerance;
        now = 10 * AGAIN;
        unit(0, 1);
        EXPECT_EQ(naks(now, true), tolerance == 0 ? 1u : 0u);
        EXPECT_EQ(naks(now + AGAIN - 1, true), 0u);
        unit(0, 3);
        EXPECT_EQ(naks(now + AGAIN, true), tolerance == 0 ? 2u : 1u) << "at least the first one";
        if (tolerance > 0) {
            EXPECT_EQ(naks(now + 2 * AGAIN - 1, true), 0u);
            EXPECT_EQ(naks(now + 2 * AGAIN, true), 2u);
        }
    }
}

// The sender may count in smaller units before the receiver does. Units that it says it has sent
// may then lie behind the last larger unit. They are no gap once all units are counted as smaller
// ones.

/* RFC 8985, section 6.2: the reordering that was seen is remembered for 16 recoveries. */
TEST_F(Receiver, ToleranceShrinksOnceRepeatsFillGaps)
{
    uint32_t next = 0;
    auto lose = [&](bool asked_at_once) { /* one unit, whose repeat comes a round trip later */
                                          unit(0, next + 1, 4000, 1);
                                          EXPECT_EQ(naks(now += 10000), asked_at_once ? 1u : 0u)
                                              << next;
                                          if (!asked_at_once) {
                                              EXPECT_EQ(naks(now += 10000, true), 1u);
                                          }
                                          unit(0, next + 2, 4000, 1);
                                          EXPECT_EQ(unit(0, next, 4000, 1), VT_PLACE) << next;
                                          next += 3;
    };
    auto reorder = [&](uint32_t distance, bool asked) {
        struct wire_data late = data(0, next, 4000, 1);

        for (uint32_t u = 1; u <= distance; u++)
            unit(0, next + u, 4000, 1);
        if (asked) {
            EXPECT_EQ(naks(now += 10000), 1u);
        }
        EXPECT_EQ(take(late), VT_PLACE);
        next += distance + 1;
    };

    post(4000);
    reorder(3, true);
    EXPECT_EQ(r.tolerance, 3u);
    for (int i = 0; i < 16; i++)
        lose(false);
    EXPECT_EQ(r.tolerance, 3u) << "that reordering was among them";
    for (int i = 0; i < 8; i++)
        lose(false);
    reorder(2, false);
    for (int i = 0; i < 8; i++)
        lose(false);
    EXPECT_EQ(r.tolerance, 2u) << "the longest distance since";
    for (int i = 0; i < 16; i++)
        lose(false);
    EXPECT_EQ(r.tolerance, 0u);
    lose(true);
}

/* Gaps that are repaired in one round trip are one recovery. */
TEST_F(Receiver, ToleranceCountsRoundTrips)
{
    start(8, 64);
    post(4000);
    r.tolerance = 5;
    for (uint32_t u = 1; u < 80; u += 2)
        unit(0, u, 4000, 1);
    EXPECT_GT(naks(now += 10000), 20u);
    for (uint32_t u = 0; u < 60; u += 2)
        unit(0, u, 4000, 1);
    EXPECT_EQ(r.tolerance, 5u);
}

TEST_F(Receiver, ARepeatTeachesNoTolerance)
{
    post();
    unit(0, 1);
    EXPECT_EQ(naks(1), 1u);
    unit(0, 2);
    EXPECT_EQ(unit(0, 0), VT_PLACE);
    EXPECT_EQ(r.tolerance, 0u);
}

TEST_F(Receiver, ToleranceHasAnEnd)
{
    post();
    struct wire_data late = data(0, 0);

    packet = 100000000;
    unit(0, 1);
    EXPECT_EQ(naks(1), 1u);
    EXPECT_EQ(take(late), VT_PLACE);
    EXPECT_EQ(r.tolerance, 1u << 24);
}

TEST_F(Receiver, WhatWasUnpostedIsAskedForTheMomentItIsPosted)
{
    EXPECT_EQ(unit(0, 0), VT_UNPOSTED);
    EXPECT_EQ(unit(0, 1), VT_UNPOSTED);
    EXPECT_EQ(naks(1, true), 0u);
    EXPECT_EQ(vt_receiver_next(&r, 1, AGAIN, 7), TIME_NEVER);
    EXPECT_TRUE(post());
    ASSERT_EQ(naks(2), 1u);
    EXPECT_EQ(nak[0].first, pos(0, 0));
    EXPECT_EQ(nak[0].end, pos(0, 2));
    EXPECT_FALSE(post()) << "no unit of the next one was seen";
}

TEST_F(Receiver, LossIsSeenWhenTheSenderSaysWhatItSent)
{
    post();
    EXPECT_FALSE(vt_receiver_heard(&r, pos(0, 0)));
    EXPECT_TRUE(vt_receiver_heard(&r, pos(0, 4)));
    EXPECT_FALSE(vt_receiver_heard(&r, pos(0, 4)));
    EXPECT_FALSE(vt_receiver_heard(&r, pos(0, 2))) << "an old packet";
    ASSERT_EQ(naks(1), 1u);
    EXPECT_EQ(nak[0].end, pos(0, 4));
    EXPECT_FALSE(vt_receiver_heard(&r, pos(0x1000001, 0))) << "nonsense";
    EXPECT_EQ(r.announced, pos(0, 4));
}

TEST_F(Receiver, ABufferTooShortFailsTheRequestAndNothingElse)
{
    post(999);
    post(1000);
    EXPECT_EQ(unit(0, 4), VT_TOO_LONG);
    EXPECT_TRUE(tell);
    EXPECT_EQ(unit(0, 5), VT_DUPLICATE);
    EXPECT_EQ(vt_receiver_ack(&r), pos(1, 0));
    whole(1);
    EXPECT_EQ(completions(), (std::vector<Received>{{0, 0, -EMSGSIZE}, {1, 1000, 0}}));

    struct wire_refused out[WIRE_REFUSED_MAX];

    ASSERT_EQ(vt_receiver_refused(&r, 7, out), 1u);
    EXPECT_EQ(out[0].request, R0);
    EXPECT_EQ(vt_receiver_refused(&r, 8, out), 1u);
    vt_receiver_confirm(&r, 6);
    EXPECT_EQ(vt_receiver_refused(&r, 9, out), 1u);
    vt_receiver_confirm(&r, 7);
    EXPECT_EQ(vt_receiver_refused(&r, 10, out), 0u);
}

TEST_F(Receiver, NoMoreRefusalsThanACntlCanSay)
{
    start(16);
    for (int i = 0; i < 9; i++)
        post(10);
    for (uint32_t i = 0; i < 8; i++)
        EXPECT_EQ(unit(i, 0), VT_TOO_LONG);
    EXPECT_EQ(unit(8, 0), VT_NO_ROOM);
    struct wire_refused out[WIRE_REFUSED_MAX];

    EXPECT_EQ(vt_receiver_refused(&r, 1, out), 8u);
    vt_receiver_confirm(&r, 1);
    EXPECT_EQ(unit(8, 0), VT_TOO_LONG);
}

/* It needs no new gap, so a lack of room does not matter. */
TEST_F(Receiver, ADuplicateIsNoLossWhenGapsAreFull)
{
    start(8, 2);
    post();
    EXPECT_EQ(unit(0, 1), VT_PLACE);
    EXPECT_EQ(unit(0, 3), VT_NO_ROOM);
    EXPECT_EQ(unit(0, 1), VT_DUPLICATE);
}

/* There are far more gaps than spans. All arriving units are kept, and each missing unit is named
 * once. */
TEST_F(Receiver, GapsBeyondTheSpansAreJoined)
{
    start(8, 16, false, 4);
    post(4000);
    post(1000);
    for (uint32_t u = 0; u < 1000; u++)
        if (u % 3 == 1) {
            EXPECT_EQ(unit(0, u, 1000, 1), VT_PLACE) << u;
        }
    for (uint32_t u = 1; u < 10; u += 2)
        EXPECT_EQ(unit(1, u), VT_PLACE);
    EXPECT_EQ(r.units, 333u + 5);
    for (uint32_t u = 0; u < 1000; u++)
        if (u % 3 == 1) {
            EXPECT_EQ(unit(0, u, 1000, 1), VT_DUPLICATE) << u;
        }
    std::vector<uint64_t> named;
    for (uint32_t n; (n = naks(5000, true)) > 0;)
        for (uint32_t i = 0; i < n; i++)
            for (uint64_t p = nak[i].first; p != nak[i].end;
                 p = pos_request(p) == R0 && pos_unit(p) == 999 ? pos(1, 0) : p + 1)
                named.push_back(p);
    ASSERT_EQ(named.size(), 667u + 5);
    EXPECT_TRUE(std::is_sorted(named.begin(), named.end(),
                               [](uint64_t a, uint64_t b) { return seq64_before(a, b); }));
    for (uint32_t i = 0; i < 667; i++)
        EXPECT_EQ(pos_unit(named[i]), (i / 2) * 3 + (i % 2) * 2) << i;
    EXPECT_EQ(naks(5999, true), 0u);
    for (uint64_t p : named)
        EXPECT_EQ(pos_request(p) == R0 ? unit(0, pos_unit(p), 1000, 1) : unit(1, pos_unit(p)),
                  VT_PLACE);
    EXPECT_EQ(completions(), (std::vector<Received>{{0, 1000, 0}, {1, 1000, 0}}));
    EXPECT_EQ(r.arrived.count, 0u);
    EXPECT_EQ(r.units, 1000u + 10);
}

/* Spans that were asked for at different times stay apart, so that each unit is asked for in its
 * time. */
TEST_F(Receiver, OnlyGapsOfOneTimeAreJoined)
{
    start(8, 16, false, 4);
    post(4000);
    for (uint32_t u = 1; u < 14; u += 2) { /* 7 gaps, asked for at intervals of half a round trip */
        unit(0, u, 4000, 1);
        naks(now += 500, true);
    }
    now += 100000;
    naks(now, true);
    for (uint32_t u = 15; u < 100; u += 2)
        EXPECT_EQ(unit(0, u, 4000, 1), VT_PLACE);
    EXPECT_EQ(naks(now + 10, true), 32u);
    EXPECT_EQ(nak[0].first, pos(0, 14)) << "not the units that were asked for just now";
}

TEST_F(Receiver, TheLastGapIsKeptForWhatTheSenderSays)
{
    start(8, 2);
    post();
    EXPECT_EQ(unit(0, 1), VT_PLACE);
    EXPECT_EQ(unit(0, 3), VT_NO_ROOM);
    EXPECT_EQ(unit(0, 2), VT_PLACE) << "at the edge";
    EXPECT_TRUE(vt_receiver_heard(&r, pos(0, 5)));
    EXPECT_EQ(naks(1), 2u);
    EXPECT_EQ(unit(0, 4), VT_NO_ROOM);
    EXPECT_EQ(unit(0, 3), VT_PLACE);
    EXPECT_EQ(unit(0, 0), VT_PLACE);
}

TEST_F(Receiver, BeyondTheLastRequestIsNothing)
{
    post();
    post();
    EXPECT_TRUE(vt_receiver_close(&r, R0 + 1));
    EXPECT_TRUE(vt_receiver_close(&r, R0 + 1)) << "repeated";
    EXPECT_FALSE(vt_receiver_close(&r, R0 + 2)) << "contradicted";
    EXPECT_EQ(unit(1, 0), VT_BEYOND);
    EXPECT_FALSE(vt_receiver_all_done(&r));
    whole(0);
    EXPECT_TRUE(vt_receiver_all_done(&r));
    EXPECT_EQ(completions(), (std::vector<Received>{{0, 1000, 0}, {1, 0, -ENODATA}}));
    post();
    EXPECT_EQ(completions(), (std::vector<Received>{{2, 0, -ENODATA}}));
}

TEST_F(Receiver, TheLastUnitCloses)
{
    post();
    for (uint32_t u = 0; u < 10; u++) {
        struct wire_data d = data(0, u);

        d.h.flags = u == 9 ? WIRE_WCLOSE : 0;
        EXPECT_EQ(take(d), VT_PLACE);
        EXPECT_EQ(r.closing, u == 9);
    }
    EXPECT_TRUE(vt_receiver_all_done(&r));
}

TEST_F(Receiver, CloseSeenOnWhatIsNotPosted)
{
    struct wire_data d = data(0, 9);

    d.h.flags = WIRE_WCLOSE;
    EXPECT_EQ(take(d), VT_UNPOSTED);
    EXPECT_TRUE(r.closing);
    post();
    whole(0);
    EXPECT_TRUE(vt_receiver_all_done(&r));
}

TEST_F(Receiver, CloseCannotContradictThePast)
{
    post();
    EXPECT_EQ(unit(1, 0), VT_UNPOSTED);
    EXPECT_FALSE(vt_receiver_close(&r, R0 + 1));
    EXPECT_FALSE(vt_receiver_close(&r, R0 - 1));
    EXPECT_FALSE(vt_receiver_close(&r, R0 + 0x1000001));
    EXPECT_FALSE(r.closing);
    EXPECT_TRUE(vt_receiver_close(&r, R0 + 2));
}

TEST_F(Receiver, AbsurdlyFarAheadIsNothing)
{
    post();
    EXPECT_EQ(unit(0x1000000, 0), VT_UNPOSTED);
    EXPECT_EQ(unit(0x1000001, 0), VT_BEYOND);
    EXPECT_EQ(unit(0u - 1, 0), VT_DUPLICATE) << "the request before the first one";
}

TEST_F(Receiver, AbortCompletesInOrderWithItsStatus)
{
    post();
    post();
    post();
    whole(0);
    unit(1, 0);
    vt_receiver_abort(&r, -ECONNRESET);
    EXPECT_EQ(completions(),
              (std::vector<Received>{{0, 1000, 0}, {1, 0, -ECONNRESET}, {2, 0, -ECONNRESET}}));
    post();
    EXPECT_EQ(completions(), (std::vector<Received>{{3, 0, -ECONNRESET}}));
}

/* A completed buffer is never written again. So nothing is placed after an abort
 * (vt/receiver.h). */
TEST_F(Receiver, NothingIsPlacedAfterAnAbort)
{
    uint8_t *dst = nullptr;

    post();
    vt_receiver_abort(&r, -ECONNRESET);
    EXPECT_EQ(completions().size(), 1u);
    struct wire_data d = data(0, 0);

    EXPECT_NE(vt_receiver_check(&r, &d, &dst), VT_PLACE);
}

TEST_F(Receiver, ARingThatIsFullTakesNoMore)
{
    bool ask = true;

    start(2);
    post();
    post();
    EXPECT_EQ(vt_receiver_post(&r, memory, 1, 9, &ask), -ENOBUFS);
    EXPECT_FALSE(ask);
    whole(0);
    EXPECT_EQ(vt_receiver_post(&r, memory, 1, 9, &ask), -ENOBUFS) << "completion not taken yet";
    EXPECT_EQ(completions().size(), 1u);
    post();
}

TEST_F(Receiver, LossesAreCountedUntilTheLateOnesCome)
{
    post();
    unit(0, 0);
    struct wire_data late = data(0, 1);

    packet += 4;
    unit(0, 6);
    EXPECT_EQ(r.lost, 5u);
    take(late);
    EXPECT_EQ(r.lost, 4u);
    EXPECT_EQ(r.packets, 3u);
    EXPECT_EQ(r.packet_end, 7u);
}

/* Only a missing number can arrive late. */
TEST_F(Receiver, ADoubledPacketIsNoLateOne)
{
    post();
    struct wire_data first = data(0, 0);

    take(first);
    packet += 4;
    unit(0, 5);
    EXPECT_EQ(r.lost, 4u);
    for (int i = 0; i < 5; i++)
        EXPECT_EQ(take(first), VT_DUPLICATE);
    EXPECT_EQ(r.lost, 4u);
    EXPECT_EQ(r.packets, 2u);
    struct wire_data late = data(0, 1);

    late.packet = 1;
    take(late);
    take(late);
    EXPECT_EQ(r.lost, 3u);
    EXPECT_EQ(r.packets + r.lost, r.packet_end);
}

TEST_F(Receiver, NumbersAreRememberedForAWindow)
{
    post();
    struct wire_data d = data(0, 0);

    d.packet = 10000;
    take(d);
    EXPECT_EQ(r.lost, 10000u);
    d.packet = 10001 - VT_WINDOW;
    take(d);
    take(d);
    EXPECT_EQ(r.lost, 9999u);
    d.packet--;
    take(d);
    EXPECT_EQ(r.lost, 9999u) << "too late";
    d.packet = 10000 + VT_WINDOW - 1; /* 10000 is now the oldest one */
    take(d);
    d.packet = 10001;
    take(d);
    d.packet = 10000;
    take(d);
    EXPECT_EQ(r.lost, 9999u + VT_WINDOW - 3);
    EXPECT_EQ(r.packets + r.lost, r.packet_end);
}

TEST_F(Receiver, GoingBackAsksOnceARoundTrip)
{
    start(8, 16, true);
    post();
    EXPECT_EQ(unit(0, 0), VT_PLACE);
    EXPECT_EQ(unit(0, 2), VT_OUT_OF_ORDER);
    EXPECT_TRUE(tell);
    EXPECT_EQ(vt_receiver_next(&r, 10, AGAIN, 7), 17u);
    ASSERT_EQ(naks(10), 1u);
    EXPECT_EQ(nak[0].first, pos(0, 1));
    EXPECT_EQ(nak[0].end, pos(0, 3));
    EXPECT_EQ(unit(0, 3), VT_OUT_OF_ORDER);
    EXPECT_FALSE(tell) << "it was asked for already";
    EXPECT_EQ(naks(1009, true), 0u);
    EXPECT_EQ(vt_receiver_next(&r, 1009, AGAIN, 7), 1010u);
    EXPECT_EQ(naks(1010), 1u);
    EXPECT_EQ(nak[0].end, pos(0, 4));
    for (uint32_t u = 1; u < 4; u++)
        EXPECT_EQ(unit(0, u), VT_PLACE);
    EXPECT_EQ(vt_receiver_next(&r, 1020, AGAIN, 7), TIME_NEVER);
    EXPECT_EQ(naks(5000, true), 0u);
}
