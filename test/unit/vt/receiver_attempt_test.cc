// SPDX-License-Identifier: BSD-3-Clause
// A request whose units become smaller is split, or its attempt ends and another one begins.
#include <cerrno>

#include "receiver_fixture.h"

TEST_F(Receiver, GapsBehindTheLastUnitGoWhenUnitsShrink)
{
    post();
    EXPECT_EQ(unit(0, 0, 1000, 200), VT_PLACE);
    for (uint32_t sent : {7u, 8u, 9u}) {
        vt_receiver_heard(&r, pos(0, sent));
        now += 10;
        naks(now, true);
    }
    EXPECT_EQ(r.gaps.count, 3u) << "each was asked for at another time";
    EXPECT_EQ(unit(0, 9, 1000, 100), VT_PLACE);
    EXPECT_EQ(r.gaps.count, 1u);
    for (uint32_t u = 2; u < 9; u++)
        EXPECT_EQ(unit(0, u, 1000, 100), VT_PLACE);
    EXPECT_EQ(completions(), (std::vector<Received>{{0, 1000, 0}}));
}

TEST_F(Receiver, UnitsOfARequestMustAgree)
{
    post();
    EXPECT_EQ(unit(0, 1), VT_PLACE);
    EXPECT_EQ(unit(0, 2, 999), VT_MISMATCH);
    EXPECT_EQ(unit(0, 2, 1000, UNIT + 1), VT_MISMATCH);
    EXPECT_EQ(unit(0, 2, 999, UNIT / 2), VT_MISMATCH);
    EXPECT_EQ(unit(0, 0), VT_PLACE);
    EXPECT_EQ(unit(0, 5, 1000, UNIT - 1), VT_MISMATCH) << "too late for a new attempt";
    EXPECT_EQ(vt_receiver_ack(&r), pos(0, 2));
}

TEST_F(Receiver, ANewAttemptForgetsTheFirstOneAndAllAfterIt)
{
    post();
    post();
    EXPECT_EQ(unit(0, 3), VT_PLACE);
    EXPECT_EQ(unit(1, 2), VT_PLACE);
    EXPECT_EQ(unit(0, 5, 1000, 80), VT_PLACE);
    EXPECT_EQ(vt_receiver_ack(&r), pos(0, 0));
    EXPECT_EQ(r.announced, pos(0, 6));
    EXPECT_EQ(naks(1), 1u);
    EXPECT_EQ(nak[0].end, pos(0, 5));
    for (uint32_t u = 0; u < 13; u++)
        if (u != 5) {
            EXPECT_EQ(unit(0, u, 1000, 80), VT_PLACE) << u;
        }
    EXPECT_EQ(vt_receiver_ack(&r), pos(1, 0));
    for (uint32_t u = 0; u < 13; u++)
        EXPECT_EQ(unit(1, u, 1000, 80), VT_PLACE) << "the earlier unit does not count";
    EXPECT_EQ(completions().size(), 2u);
}

TEST_F(Receiver, ANewAttemptMayBeginWithAUnitThatWasThere)
{
    post();
    EXPECT_EQ(unit(0, 3), VT_PLACE);
    EXPECT_EQ(unit(0, 3, 1000, 80), VT_PLACE);
    EXPECT_EQ(unit(0, 3, 1000, 80), VT_DUPLICATE);
}

/* Units are halved within a request. Units that arrived stay, at doubled positions. */
TEST_F(Receiver, UnitsThatDivideKeepWhatCame)
{
    post();
    post();
    for (uint32_t u : {0, 1, 4})
        EXPECT_EQ(unit(0, u), VT_PLACE);
    EXPECT_EQ(unit(1, 1), VT_PLACE);
    EXPECT_EQ(naks(1), 2u);
    EXPECT_EQ(unit(0, 3, 1000, 50), VT_DUPLICATE) << "a half of a unit that is there";
    EXPECT_EQ(vt_receiver_ack(&r), pos(0, 4)) << "but now the size is known";
    EXPECT_EQ(unit(0, 6), VT_MISMATCH);
    EXPECT_EQ(unit(0, 8, 1000, 50), VT_DUPLICATE);
    EXPECT_EQ(unit(0, 9, 1000, 50), VT_DUPLICATE);
    ASSERT_EQ(naks(10000), 2u);
    EXPECT_EQ(nak[0].first, pos(0, 4));
    EXPECT_EQ(nak[0].end, pos(0, 8));
    EXPECT_EQ(nak[1].first, pos(0, 10));
    EXPECT_EQ(nak[1].end, pos(1, 1)) << "the other request has its old units";
    for (uint32_t u = 4; u < 20; u++)
        EXPECT_EQ(unit(0, u, 1000, 50), u == 8 || u == 9 ? VT_DUPLICATE : VT_PLACE) << u;
    EXPECT_EQ(vt_receiver_ack(&r), pos(1, 0));
    EXPECT_EQ(unit(1, 7, 1000, 50), VT_PLACE);
    for (uint32_t u = 0; u < 20; u++)
        EXPECT_EQ(unit(1, u, 1000, 50), u == 2 || u == 3 || u == 7 ? VT_DUPLICATE : VT_PLACE) << u;
    EXPECT_EQ(completions(), (std::vector<Received>{{0, 1000, 0}, {1, 1000, 0}}));
}

/* The sender counts in the new units before the receiver does. A gap contains only real units. */
TEST_F(Receiver, UnitsThatDivideMayBeAnnouncedFirst)
{
    post();
    for (uint32_t u = 0; u < 8; u++)
        EXPECT_EQ(unit(0, u), VT_PLACE);
    EXPECT_EQ(unit(0, 9), VT_PLACE);
    EXPECT_FALSE(vt_receiver_heard(&r, pos(0, 20)));
    start();
    post();
    for (uint32_t u = 0; u < 8; u++)
        EXPECT_EQ(unit(0, u), VT_PLACE);
    EXPECT_TRUE(vt_receiver_heard(&r, pos(0, 18))) << "at most 10 units, as it knows";
    for (uint32_t u = 16; u < 20; u++)
        EXPECT_EQ(unit(0, u, 1000, 50), VT_PLACE) << u;
    EXPECT_EQ(vt_receiver_ack(&r), pos(1, 0));
    EXPECT_TRUE(span_set_empty(&r.gaps));
}

TEST_F(Receiver, UnitsThatDivideGoingBackN)
{
    start(8, 16, true);
    post();
    for (uint32_t u = 0; u < 3; u++)
        EXPECT_EQ(unit(0, u), VT_PLACE);
    EXPECT_EQ(unit(0, 7, 1000, 50), VT_OUT_OF_ORDER);
    for (uint32_t u = 6; u < 20; u++)
        EXPECT_EQ(unit(0, u, 1000, 50), VT_PLACE) << u;
    EXPECT_EQ(completions(), (std::vector<Received>{{0, 1000, 0}}));
}

/* A half of a unit that came shows the new size, too: or the sender would go back to it for ever.
 */
TEST_F(Receiver, UnitsThatDivideAreSeenGoingBackN)
{
    start(8, 16, true);
    post(4000);
    for (uint32_t u = 0; u <= 10; u++)
        EXPECT_EQ(unit(0, u, 4000), VT_PLACE);
    EXPECT_EQ(unit(0, 20, 4000, 50), VT_DUPLICATE);
    EXPECT_EQ(vt_receiver_ack(&r), pos(0, 22));
    EXPECT_EQ(unit(0, 21, 4000, 50), VT_DUPLICATE);
    EXPECT_EQ(unit(0, 23, 4000, 50), VT_OUT_OF_ORDER);
    EXPECT_EQ(unit(0, 22, 4000, 50), VT_PLACE);
}

/*
 * The refused request follows one that starts again. Its units come again, and the receiver must
 * pass it once more.
 */
TEST_F(Receiver, ANewAttemptPassesARefusedRequest)
{
    post();
    post(10);
    EXPECT_EQ(unit(0, 3), VT_PLACE);
    EXPECT_EQ(unit(1, 0), VT_TOO_LONG);
    for (uint32_t u = 0; u < 13; u++)
        EXPECT_EQ(unit(0, u, 1000, 80), VT_PLACE);
    for (uint32_t u = 0; u < 13; u++)
        unit(1, u, 1000, 80);
    EXPECT_EQ(vt_receiver_ack(&r), pos(2, 0));
    EXPECT_EQ(completions(), (std::vector<Received>{{0, 1000, 0}, {1, 0, -EMSGSIZE}}));
}

/* The gap begins with the missing unit's first half, so the second half would need another gap. */
TEST_F(Receiver, HalfAUnitMayNeedAGap)
{
    start(8, 2);
    post();
    EXPECT_EQ(unit(0, 0), VT_PLACE);
    EXPECT_EQ(unit(0, 2), VT_PLACE);
    EXPECT_EQ(unit(0, 3, 1000, 50), VT_NO_ROOM);
    EXPECT_EQ(unit(0, 7, 1000, 50), VT_NO_ROOM) << "at the edge";
    EXPECT_EQ(unit(0, 6, 1000, 50), VT_PLACE) << "at the edge";
    EXPECT_EQ(unit(0, 2, 1000, 50), VT_PLACE);
    EXPECT_EQ(unit(0, 3, 1000, 50), VT_PLACE);
    EXPECT_EQ(vt_receiver_ack(&r), pos(0, 7));
}

/* Three gaps before the new attempt remain, so a fourth one needs room. */
TEST_F(Receiver, ANewAttemptMayNeedAGap)
{
    start(8, 3);
    post();
    post();
    EXPECT_EQ(unit(0, 1), VT_PLACE);
    EXPECT_EQ(unit(0, 3), VT_PLACE);
    EXPECT_TRUE(vt_receiver_heard(&r, pos(1, 0)));
    for (uint32_t u = 0; u < 3; u++)
        EXPECT_EQ(unit(1, u), VT_PLACE);
    EXPECT_EQ(unit(1, 3, 1000, 80), VT_NO_ROOM) << "at the edge, but of other units";
    EXPECT_EQ(unit(0, 0), VT_PLACE);
    EXPECT_EQ(unit(0, 2), VT_PLACE);
    EXPECT_EQ(unit(1, 3, 1000, 80), VT_PLACE);
    EXPECT_EQ(unit(1, 3, 1000, 80), VT_DUPLICATE);
}
