// SPDX-License-Identifier: BSD-3-Clause
// Single cases of the sender: flags, going back, partial copies, the timer, and nonsense from the
// peer.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

extern "C" {
#include "base/clock.h"
#include "vt/receiver.h"
#include "vt/sender.h"
}

namespace
{
constexpr uint32_t R0 = UINT32_MAX; /* the second request is number 0 */
constexpr uint32_t UNIT = 100;
constexpr uint64_t ASK = 1000;

uint64_t pos(uint32_t request, uint32_t unit)
{
    return pos_make(R0 + request, unit);
}

class Sender : public testing::Test
{
  protected:
    void start(uint32_t early, bool go_back_n = false, uint32_t depth = 4, uint32_t gaps = 16)
    {
        struct vt_sender_config cfg = {};

        ring.resize(depth);
        spans.resize(gaps);
        pages.resize(4);
        cfg.ring = ring.data();
        cfg.depth = depth;
        cfg.spans = spans.data();
        cfg.gaps = (uint32_t)spans.size();
        cfg.pages = pages.data();
        cfg.page_count = (uint32_t)pages.size();
        cfg.initial_request = R0;
        cfg.unit_bytes = UNIT;
        cfg.early = early;
        cfg.ask_max_tsc = 10 * ASK;
        cfg.go_back_n = go_back_n;
        vt_sender_init(&s, &cfg);
    }

    void SetUp() override
    {
        start(4);
    }

    int post(uint64_t head, uint64_t tail = 0, bool provisional = false)
    {
        struct vt_send op = {};

        op.pieces[0] = {memory, head};
        op.pieces[1] = {memory, tail};
        op.provisional = provisional;
        op.user = user++;
        return vt_sender_post(&s, &op);
    }

    /* Sends the next unit. Returns its flags, or -1 if none may be sent. */
    int send(uint64_t *where = nullptr)
    {
        if (!vt_sender_peek(&s, &u))
            return -1;
        if (where)
            *where = u.pos;
        vt_sender_take(&s, &u, now, ASK);
        return u.flags;
    }

    int send_all()
    {
        int n = 0;

        while (send() >= 0)
            n++;
        return n;
    }

    bool control(uint64_t ack, std::vector<struct wire_span> naks = {}, uint32_t posted = 0,
                 std::vector<uint32_t> refused = {})
    {
        struct wire_cntl c = {};

        c.ack = ack;
        c.posted = R0 + posted;
        for (const struct wire_span &n : naks)
            c.spans[c.span_count++] = n;
        for (uint32_t request : refused)
            c.refused[c.refused_count++] = {R0 + request, WIRE_REFUSED_TOO_LONG};
        return vt_sender_control(&s, &c, now, ASK);
    }

    /* The status of the next completion; 1: none. */
    int complete()
    {
        return vt_sender_complete(&s, &done) ? done.status : 1;
    }

    uint8_t memory[2000];
    std::vector<struct vt_request> ring;
    std::vector<struct span> spans;
    std::vector<struct unit_set_page> pages;
    struct vt_sender s;
    struct vt_unit u;
    struct vt_sent done;
    uint64_t user = 0, now = 5000;
};
} // namespace

TEST_F(Sender, AnEmptyRequestIsOneUnitOfNothing)
{
    EXPECT_EQ(post(0), 0);
    EXPECT_EQ(send(), WIRE_DREQ);
    EXPECT_EQ(u.len, 0u);
    EXPECT_EQ(send(), -1);
    EXPECT_TRUE(control(pos(1, 0)));
    EXPECT_EQ(complete(), 0);
    EXPECT_EQ(done.len, 0u);
}

TEST_F(Sender, OnlyTheLastUnitAsksAndCloses)
{
    post(201);
    post(1);
    s.closing = true;
    EXPECT_EQ(send(), 0);
    EXPECT_EQ(send(), 0);
    EXPECT_EQ(send(), 0);
    EXPECT_EQ(u.len, 1u);
    EXPECT_EQ(send(), WIRE_DREQ | WIRE_WCLOSE);
    EXPECT_EQ(s.sent, pos(2, 0));
    EXPECT_EQ(post(1), -EPIPE);
}

TEST_F(Sender, TheLimitIsWhatIsPostedAndHowFarAhead)
{
    start(1);
    for (int i = 0; i < 4; i++)
        post(1);
    EXPECT_EQ(post(1), -ENOBUFS);
    EXPECT_EQ(send_all(), 1);
    s.ahead = 0;
    control(pos(0, 0), {}, 2);
    EXPECT_EQ(send(), WIRE_DREQ) << "the last one that may be sent";
    EXPECT_EQ(send(), -1);
    control(pos(0, 0), {}, 0x1000001);
    EXPECT_EQ(send(), -1) << "no host posts so many";
    control(pos(0, 0), {}, 0x1000000);
    EXPECT_EQ(send_all(), 2);
}

TEST_F(Sender, TooLongIsRefused)
{
    EXPECT_EQ(post(WIRE_REQUEST_MAX + 1), -EMSGSIZE);
    EXPECT_EQ(post(WIRE_REQUEST_MAX, 1), -EMSGSIZE);
    EXPECT_EQ(post(UINT64_MAX, 2), -EMSGSIZE) << "the sum wraps to a small number";
    EXPECT_EQ(post(2, UINT64_MAX), -EMSGSIZE) << "the sum wraps to a small number";
    EXPECT_EQ(post(WIRE_REQUEST_MAX), 0);
    EXPECT_EQ(s.backlog_bytes, WIRE_REQUEST_MAX);
}

TEST_F(Sender, RepeatsGoFirst)
{
    uint64_t where;

    post(500);
    send();
    send();
    send();
    control(pos(0, 0), {{pos(0, 1), pos(0, 2)}});
    EXPECT_EQ(send(&where), WIRE_REPEAT) << "more units follow";
    EXPECT_EQ(where, pos(0, 1));
    EXPECT_EQ(send(&where), 0);
    EXPECT_EQ(where, pos(0, 3));
    EXPECT_EQ(send(), WIRE_DREQ);
    control(pos(0, 0), {{pos(0, 0), pos(0, 2)}});
    EXPECT_EQ(send(), WIRE_REPEAT);
    EXPECT_EQ(send(), WIRE_REPEAT | WIRE_DREQ) << "the last one asks for an answer";
    EXPECT_EQ(s.repeats, 3u);
    EXPECT_EQ(s.naks, 2u);
    EXPECT_EQ(s.recoveries, 2u);
}

/* Units beyond its spans are repeated, too, once each and in order. */
TEST_F(Sender, RepeatsMoreThanItHasSpansFor)
{
    uint64_t where;

    start(4, false, 4, 2);
    post(1000);
    post(1000);
    send_all();
    control(pos(0, 1), {{pos(0, 3), pos(0, 4)},
                        {pos(0, 5), pos(0, 6)},
                        {pos(0, 7), pos(1, 1)},
                        {pos(1, 3), pos(1, 4)},
                        {pos(1, 9), pos(2, 0)}});
    control(pos(0, 1), {{pos(0, 1), pos(0, 2)}, {pos(0, 8), pos(0, 9)}});
    for (uint64_t p :
         {pos(0, 1), pos(0, 3), pos(0, 5), pos(0, 7), pos(0, 8), pos(0, 9), pos(1, 0), pos(1, 3)}) {
        EXPECT_EQ(send(&where), WIRE_REPEAT);
        EXPECT_EQ(where, p);
    }
    EXPECT_EQ(send(&where), WIRE_REPEAT | WIRE_DREQ);
    EXPECT_EQ(where, pos(1, 9));
    EXPECT_EQ(send(), -1);
    EXPECT_EQ(s.repeats, 9u);
    EXPECT_EQ(s.more.count, 0u);
}

/* Acknowledged units are not repeated. Nor is anything after the connection has ended. */
TEST_F(Sender, ForgetsWhatWasAcknowledged)
{
    uint64_t where;

    start(4, false, 4, 2);
    post(1000);
    send_all();
    std::vector<struct wire_span> naks;
    for (uint32_t unit = 0; unit < 10; unit += 2)
        naks.push_back({pos(0, unit), pos(0, unit + 1)});
    control(pos(0, 0), naks);
    control(pos(0, 7));
    EXPECT_EQ(send(&where), WIRE_REPEAT | WIRE_DREQ);
    EXPECT_EQ(where, pos(0, 8));
    control(pos(0, 7), naks);
    vt_sender_abort(&s, -ECONNABORTED);
    EXPECT_EQ(send(), -1);
    EXPECT_EQ(s.more.count, 0u);
}

/* A receiver may name the end of a request as the start of the next one. */
TEST_F(Sender, LastRepeatOfARequestAsks)
{
    post(500);
    send_all();
    control(pos(0, 4), {{pos(0, 4), pos(1, 0)}});
    EXPECT_EQ(send(), WIRE_REPEAT | WIRE_DREQ);
    EXPECT_EQ(send(), -1);
}

TEST_F(Sender, GoingBackSendsAllFromThereOn)
{
    uint64_t where;

    start(4, true);
    post(500);
    post(50);
    send_all();
    control(pos(0, 1), {{pos(0, 2), pos(0, 3)}, {pos(0, 1), pos(0, 2)}});
    for (uint32_t unit = 2; unit < 5; unit++) {
        EXPECT_EQ(send(&where), WIRE_REPEAT);
        EXPECT_EQ(where, pos(0, unit));
    }
    EXPECT_EQ(send(), WIRE_REPEAT | WIRE_DREQ);
    EXPECT_EQ(s.backlog_bytes, 0u);
    EXPECT_EQ(s.repeats, 4u);
}

TEST_F(Sender, AskedBeyondARequestsEndIsTheNextRequest)
{
    uint64_t where;

    start(4, true);
    post(500);
    post(50);
    send_all();
    control(pos(0, 0), {{pos(0, 9), pos(2, 0)}});
    EXPECT_EQ(send(&where), WIRE_REPEAT | WIRE_DREQ);
    EXPECT_EQ(where, pos(1, 0));
}

TEST_F(Sender, UnitsThatDoNotExistAreNotSentAgain)
{
    uint64_t where;

    post(500);
    post(500);
    send_all();
    control(pos(0, 0), {{pos(0, 7), pos(0, 9)}, {pos(0, 20), pos(1, 1)}, {pos(9, 0), pos(9, 9)}});
    EXPECT_EQ(send(&where), WIRE_REPEAT | WIRE_DREQ);
    EXPECT_EQ(where, pos(1, 0));
    EXPECT_EQ(send(), -1);
}

TEST_F(Sender, AckOfWhatWasNeverSentIsIgnored)
{
    struct vt_sender before;

    post(500);
    send();
    before = s;
    EXPECT_FALSE(control(pos(0, 2), {{pos(0, 0), pos(0, 1)}}, 3));
    EXPECT_EQ(memcmp(&before, &s, sizeof s), 0);
    EXPECT_TRUE(control(pos(0, 1)));
    EXPECT_EQ(s.ack, pos(0, 1));
    EXPECT_TRUE(control(pos(0, 0))) << "old news, but valid";
    EXPECT_EQ(s.ack, pos(0, 1));
}

TEST_F(Sender, ARefusedRequestFailsAndTheNextGoesOn)
{
    post(100);
    post(100);
    send_all();
    EXPECT_TRUE(control(pos(1, 0), {}, 0, {0}));
    EXPECT_EQ(complete(), -EMSGSIZE);
    EXPECT_EQ(complete(), 1);
    EXPECT_TRUE(control(pos(2, 0), {}, 0, {0, 7}));
    EXPECT_EQ(complete(), 0);
    EXPECT_EQ(s.acked_bytes, 100u);
}

/*
 * A receiver refuses a request with the first unit that it sees, and then acknowledges the whole
 * request. The sender must take the refusal, although it has not sent the rest. Otherwise it goes
 * on sending. And when the receiver takes the refusal for known, the sender reports success to its
 * application.
 */
TEST_F(Sender, RefusedWhileItIsSent)
{
    post(500);
    post(100);
    send();
    EXPECT_TRUE(control(pos(1, 0), {}, 2, {0}));
    EXPECT_EQ(complete(), -EMSGSIZE);
    EXPECT_EQ(s.backlog_bytes, 100u);
    EXPECT_EQ(send(), WIRE_DREQ) << "the next request, not the rest of the refused one";
    EXPECT_TRUE(control(pos(2, 0), {}, 2));
    EXPECT_EQ(complete(), 0);
}

/* The same with a real receiver. CNTL are confirmed by number, as hosts do it. */
TEST_F(Sender, RefusedWhileItIsSentIsNoSuccess)
{
    struct vt_buffer buffer[2];
    struct span gap[8];
    struct vt_receiver r;
    struct vt_receiver_config cfg = {buffer, 2, gap, 8, R0, false, nullptr, 0};
    bool ask;

    vt_receiver_init(&r, &cfg);
    vt_receiver_post(&r, memory, 10, 0, &ask);
    post(500);
    for (uint32_t cntl = 1; cntl < 9; cntl++) {
        struct wire_cntl c = {};
        struct wire_data d = {};
        uint8_t *dst;

        if (vt_sender_peek(&s, &u)) {
            d.packet = s.packet;
            d.request = pos_request(u.pos);
            d.unit = pos_unit(u.pos);
            d.request_len = u.request->len;
            d.unit_bytes = u.request->unit_bytes;
            d.payload_len = u.len;
            vt_sender_take(&s, &u, now, ASK);
            vt_receiver_note(&r, &d, vt_receiver_check(&r, &d, &dst));
        }
        c.ack = vt_receiver_ack(&r);
        c.posted = r.tail;
        c.refused_count = vt_receiver_refused(&r, cntl, c.refused);
        vt_sender_control(&s, &c, now, ASK);
        vt_receiver_confirm(&r, cntl); /* the sender's next packet shows that it was seen */
    }
    EXPECT_EQ(complete(), -EMSGSIZE);
}

TEST_F(Sender, AProvisionalAckFreesTheCallersPart)
{
    post(250, 250, true);
    post(100);
    EXPECT_EQ(send(), 0);
    EXPECT_EQ(send(), 0);
    EXPECT_EQ(send(), WIRE_PACK) << "the unit with the last byte of the caller's part";
    EXPECT_EQ(u.pieces[0].len, 50u);
    EXPECT_EQ(u.pieces[1].len, 50u);
    send_all();
    control(pos(0, 2));
    EXPECT_EQ(complete(), 1);
    control(pos(0, 3));
    EXPECT_EQ(complete(), 0);
    EXPECT_TRUE(done.provisional);
    EXPECT_EQ(done.len, 250u);
    EXPECT_EQ(complete(), 1);
    control(pos(1, 0));
    EXPECT_EQ(complete(), 0);
    EXPECT_FALSE(done.provisional);
    EXPECT_EQ(done.len, 500u);
}

TEST_F(Sender, AProvisionalAckWaitsForMbufsOfTheCallersPartOnly)
{
    post(100, 100, true);
    send_all();
    rte_mbuf_ext_refcnt_update(&ring[0].shared[0], 1);
    rte_mbuf_ext_refcnt_update(&ring[0].shared[1], 1);
    control(pos(0, 1));
    EXPECT_EQ(complete(), 1);
    EXPECT_TRUE(vt_sender_lingers(&s));
    rte_mbuf_ext_refcnt_update(&ring[0].shared[0], -1);
    EXPECT_EQ(complete(), 0);
    EXPECT_FALSE(vt_sender_lingers(&s));
    control(pos(1, 0));
    EXPECT_TRUE(vt_sender_lingers(&s));
    EXPECT_EQ(complete(), 1);
    EXPECT_FALSE(vt_sender_idle(&s));
    rte_mbuf_ext_refcnt_update(&ring[0].shared[1], -1);
    EXPECT_TRUE(vt_sender_idle(&s));
    EXPECT_FALSE(vt_sender_lingers(&s)) << "it is ready to complete";
    EXPECT_EQ(complete(), 0);
}

TEST_F(Sender, ARequestThatIsAllTailCompletesAtOnce)
{
    post(0, 100, true);
    EXPECT_EQ(complete(), 0);
    EXPECT_TRUE(done.provisional);
    EXPECT_EQ(complete(), 1);
    EXPECT_EQ(send(), WIRE_DREQ) << "no flag, since the caller waits for nothing";
}

TEST_F(Sender, TheTimerDoublesUpToItsEnd)
{
    EXPECT_FALSE(vt_sender_ask(&s, UINT64_MAX - 1, ASK));
    post(100);
    send();
    EXPECT_EQ(s.ask_at, 6000u);
    EXPECT_FALSE(vt_sender_ask(&s, 5999, ASK));
    uint64_t wait[] = {2000, 4000, 8000, 10000, 10000};

    for (uint64_t w : wait) {
        now = s.ask_at;
        EXPECT_TRUE(vt_sender_ask(&s, now, ASK));
        EXPECT_EQ(s.ask_at, now + w);
    }
    for (int i = 0; i < 100; i++)
        EXPECT_TRUE(vt_sender_ask(&s, s.ask_at, ASK));
    EXPECT_LE(s.ask_backoff, 16u);
    control(pos(0, 0));
    EXPECT_GT(s.ask_backoff, 0u) << "this was no news";
    control(pos(0, 0), {{pos(0, 0), pos(0, 1)}});
    EXPECT_EQ(s.ask_at, now + ASK);
    control(pos(1, 0));
    EXPECT_EQ(s.ask_at, TIME_NEVER);
}

TEST_F(Sender, TheTimerRunsUntilTheCloseIsConfirmed)
{
    post(100);
    s.closing = true;
    send();
    control(pos(1, 0));
    EXPECT_EQ(s.ask_at, now + ASK);
    s.closed = true;
    EXPECT_FALSE(vt_sender_ask(&s, s.ask_at, ASK));
    EXPECT_EQ(s.ask_at, TIME_NEVER);
}

TEST_F(Sender, AbortFailsAllThatIsOutstanding)
{
    post(100, 50, true);
    post(100);
    post(100);
    send();
    send();
    control(pos(1, 0), {}, 0);
    vt_sender_abort(&s, -ECONNRESET);
    EXPECT_EQ(s.backlog_bytes, 0u);
    EXPECT_EQ(send(), -1);
    EXPECT_EQ(complete(), 0) << "it was acknowledged before";
    EXPECT_TRUE(done.provisional);
    EXPECT_EQ(complete(), 0);
    EXPECT_EQ(complete(), -ECONNRESET);
    EXPECT_EQ(complete(), -ECONNRESET);
    EXPECT_EQ(complete(), 1);
    EXPECT_TRUE(vt_sender_all_acked(&s));
    EXPECT_TRUE(vt_sender_idle(&s));
    EXPECT_EQ(post(1), -EPIPE);
    EXPECT_EQ(s.ask_at, TIME_NEVER);
}

TEST_F(Sender, AbortTellsBothPartsOfAPartialCopyOnce)
{
    start(1);
    post(100);
    post(100, 50, true);
    EXPECT_EQ(send_all(), 1) << "the second one has not begun";
    control(pos(0, 0), {}, 0, {0});
    vt_sender_abort(&s, -ECONNRESET);
    EXPECT_EQ(complete(), -EMSGSIZE) << "it had failed before";
    EXPECT_EQ(complete(), -ECONNRESET);
    EXPECT_TRUE(done.provisional);
    EXPECT_EQ(complete(), -ECONNRESET);
    EXPECT_FALSE(done.provisional);
    EXPECT_EQ(complete(), 1);
}

TEST_F(Sender, SmallerUnitsStartABegunRequestAnew)
{
    uint64_t where;

    post(100);
    post(500);
    post(200);
    for (int i = 0; i < 4; i++)
        send();
    control(pos(1, 0), {{pos(1, 0), pos(1, 2)}});
    EXPECT_EQ(s.backlog_bytes, 400u);
    vt_sender_set_unit(&s, 80);
    EXPECT_EQ(s.backlog_bytes, 700u);
    EXPECT_EQ(s.sent, pos(1, 0));
    EXPECT_EQ(send(&where), 0) << "no repeat, since the peer has none of it";
    EXPECT_EQ(where, pos(1, 0));
    EXPECT_EQ(u.len, 80u);
    EXPECT_EQ(send_all(), 6 + 3);
    vt_sender_set_unit(&s, 90);
    EXPECT_EQ(send(), -1) << "larger units apply to later requests";
    post(100);
    EXPECT_EQ(send(), 0);
    EXPECT_EQ(u.len, 90u);
}

/* Units are halved: positions double, acknowledged units stay acknowledged, and the rest is sent
 * again. */
TEST_F(Sender, UnitsThatDivideGoOnInMidRequest)
{
    for (bool go_back_n : {false, true}) {
        uint64_t where;

        start(4, go_back_n);
        vt_sender_set_unit(&s, 200);
        post(1000, 100, true);
        post(100);
        for (int i = 0; i < 4; i++)
            send();
        control(pos(0, 2), {{pos(0, 3), pos(0, 4)}});
        EXPECT_EQ(vt_sender_awaited(&s), WIRE_DATA_BYTES + 200u);
        uint64_t backlog = s.backlog_bytes;
        vt_sender_set_unit(&s, 100);
        EXPECT_EQ(s.backlog_bytes, backlog);
        EXPECT_EQ(s.ack, pos(0, 4));
        EXPECT_EQ(s.sent, pos(0, 8));
        EXPECT_EQ(vt_sender_awaited(&s), WIRE_DATA_BYTES + 100u);
        for (uint32_t unit = 4; unit < 11; unit++) {
            int flags = send(&where);

            EXPECT_EQ(where, pos(0, unit));
            EXPECT_EQ(u.len, 100u);
            EXPECT_EQ(flags & WIRE_REPEAT, unit < 8 ? WIRE_REPEAT : 0) << unit;
            EXPECT_EQ(flags & WIRE_PACK, unit == 9 ? WIRE_PACK : 0) << unit;
        }
        EXPECT_EQ(s.backlog_bytes, 100u);
        EXPECT_EQ(send_all(), 1);
        control(pos(2, 0));
        EXPECT_EQ(vt_sender_awaited(&s), 0u);
        for (int i = 0; i < 3; i++)
            EXPECT_EQ(complete(), 0);
    }
}

TEST_F(Sender, AnOddPartOfAUnitLastsToTheRequestsEnd)
{
    vt_sender_set_unit(&s, 256);
    post(590);
    post(1);
    EXPECT_EQ(send_all(), 4);
    control(pos(0, 1));
    vt_sender_set_unit(&s, 64); /* 10 units, two of them in the third old unit */
    EXPECT_EQ(s.ack, pos(0, 4));
    EXPECT_EQ(s.sent, pos(2, 0));
    EXPECT_EQ(send_all(), 6 + 1) << "with the second request's unit, which began with large units";
}

/* All units that would tell the peer of the split were lost. It asks for an old unit, whose number
 * is below those of all new ones that it lacks. */
TEST_F(Sender, APeerThatCountsInLongerUnitsGetsWhatIsLeft)
{
    for (bool go_back_n : {false, true}) {
        start(4, go_back_n);
        vt_sender_set_unit(&s, 200);
        post(1000);
        EXPECT_EQ(send_all(), 5);
        control(pos(0, 2), {}, 4);
        vt_sender_set_unit(&s, 100);
        EXPECT_EQ(s.ack, pos(0, 4));
        for (int i = 0; i < 3; i++) {
            EXPECT_EQ(send_all(), 6);
            control(pos(0, 2), {{pos(0, 2), pos(0, 3)}}, 4);
        }
        EXPECT_EQ(send_all(), 6);
        control(pos(0, 4), {{pos(0, 4), pos(0, 5)}}, 4); // now it knows
        EXPECT_EQ(send_all(), go_back_n ? 6 : 1);
    }
}

/* Two requests were sent early. Then the peer has a buffer only for the first one. */
TEST_F(Sender, SmallerUnitsRepeatOnlyWhatHasABuffer)
{
    for (bool go_back_n : {false, true}) {
        uint64_t where;

        start(4, go_back_n);
        vt_sender_set_unit(&s, 200);
        post(400);
        post(400);
        EXPECT_EQ(send_all(), 4);
        s.ahead = 0;
        control(pos(0, 0), {}, 1);
        vt_sender_set_unit(&s, 100);
        for (uint32_t unit = 0; unit < 4; unit++) {
            EXPECT_NE(send(&where), -1);
            EXPECT_EQ(where, pos(0, unit));
        }
        EXPECT_EQ(send(), -1) << "the peer has no buffer yet";
        control(pos(1, 0), {{pos(1, 0), pos(2, 0)}}, 2);
        EXPECT_EQ(send_all(), 4);
    }
}
